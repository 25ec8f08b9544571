//! What a load is going to ask of host and servers.

use crate::files;
use crate::needs;
use crate::trial::{Target, Trial};

/// What trials ask for, each number the largest of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    /// Connections of one server.
    pub users: u64,
    /// Connections of all servers that are driven at once.
    pub all_users: u64,
    /// Files that dyno has open for all loads at once.
    pub load_files: u64,
    /// Tables of one server.
    pub tables: u64,
    /// Tables that all connections of one server have open at once.
    pub open_tables: u64,
    /// Statements that all connections of one server have prepared at once.
    pub prepared: u64,
    /// Rows of one server with their index, in bytes.
    pub data_bytes: u64,
    /// Servers that dyno starts at once.
    pub private_servers: u64,
    /// Buffer pools of the servers that dyno starts at once, in bytes.
    pub pool_bytes: u64,
    /// The quota of CPU time of one server, in thousandths of a CPU; 0 without one.
    pub cpu_thousandths: u64,
    /// On the disk of the cache at once, in bytes.
    pub disk_bytes: u64,
}

impl Asked {
    /// What one trial asks for.
    #[must_use]
    pub fn of(trial: &Trial) -> Self {
        let users = u64::from(trial.planned.load.threads);
        let servers = u64::from(trial.planned.topology.instances.max(1));
        let tables = u64::from(
            trial
                .workload
                .tables(&trial.options, trial.planned.load.threads),
        );
        let statements = match trial.planned.load.protocol {
            plan::Protocol::Prepared => trial.workload.statement_count(&trial.options),
            _ => 0,
        };
        let rows = tables.saturating_mul(trial.planned.data.rows);
        let asked = Self {
            users,
            all_users: users * servers,
            load_files: files::of_loads(trial),
            tables,
            open_tables: users.saturating_mul(tables),
            prepared: users.saturating_mul(statements),
            data_bytes: rows.saturating_mul(needs::ROW_BYTES),
            ..Self::default()
        };
        match &trial.target {
            Target::Private(spec) => Self {
                private_servers: servers,
                cpu_thousandths: trial
                    .planned
                    .topology
                    .node
                    .site
                    .cpus()
                    .map_or(0, thousandths),
                pool_bytes: servers.saturating_mul(pool_bytes(spec)),
                disk_bytes: asked.data_bytes.saturating_mul(servers),
                ..asked
            },
            Target::Given(_) | Target::Temporary(_) if trial.is_in_process() => Self {
                disk_bytes: asked.data_bytes.saturating_mul(servers),
                ..asked
            },
            Target::Given(_) | Target::Temporary(_) => asked,
        }
    }

    /// The most that one or the other asks for.
    #[must_use]
    pub fn most(self, other: Self) -> Self {
        Self {
            users: self.users.max(other.users),
            all_users: self.all_users.max(other.all_users),
            load_files: self.load_files.max(other.load_files),
            tables: self.tables.max(other.tables),
            open_tables: self.open_tables.max(other.open_tables),
            prepared: self.prepared.max(other.prepared),
            data_bytes: self.data_bytes.max(other.data_bytes),
            private_servers: self.private_servers.max(other.private_servers),
            pool_bytes: self.pool_bytes.max(other.pool_bytes),
            cpu_thousandths: self.cpu_thousandths.max(other.cpu_thousandths),
            disk_bytes: self.disk_bytes.max(other.disk_bytes),
        }
    }
}

/// The buffer pool of a study's servers.
fn pool_bytes(spec: &plan::EngineSpec) -> u64 {
    let needs = |engine: &dyn engine::Server| engine.needs(&crate::spec::config(spec), 0, 0);
    crate::spec::engine_of(spec).map_or(0, |engine| needs(engine).pool_bytes)
}

/// The study's numbers are bounded far below what fits.
fn thousandths(cpus: &plan::Spanned<f64>) -> u64 {
    (cpus.value * 1000.0).round() as u64
}

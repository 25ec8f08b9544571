//! What trials require of the host and of the servers.

use engine::checks::Demand;

use crate::needs;
use crate::trial::{Target, Trial};

/// Each number is the maximum over the trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Requirements {
    pub(super) server: Demand,
    /// Open files of dyno for all loads together.
    pub(super) load_files: u64,
    /// Number of servers that dyno starts at once.
    pub(super) private_servers: u64,
    /// Buffer pools of the servers that dyno starts at once.
    pub(super) pool_bytes: u64,
    /// CPU quota of each server, in thousandths of a CPU; 0 without a quota.
    pub(super) cpu_thousandths: u64,
    /// Disk space for the data of one trial.
    pub(super) disk_bytes: u64,
}

impl Requirements {
    /// What it requires of this host, or of each one elsewhere.
    pub(super) fn of(trial: &Trial, is_elsewhere: bool) -> Self {
        let topology = &trial.planned.topology;
        let cpus = topology.node.site.limits.cpus.as_ref();
        let server = server_demand(trial);
        let load_files = if is_elsewhere { 0 } else { trial.load_files() };
        let required = Self {
            server,
            load_files,
            ..Self::default()
        };
        if trial.is_elsewhere() != is_elsewhere {
            return required;
        }
        let on_host = topology.instances_by_host().into_iter();
        let servers = on_host.map(|nodes| nodes.len().max(1) as u64).max();
        let servers = servers.unwrap_or(1);
        let disk_bytes = server.data_bytes.saturating_mul(servers);
        match &trial.target {
            Target::Private(spec) => Self {
                private_servers: servers,
                // The range of `site.cpus` excludes an overflow.
                cpu_thousandths: cpus.map_or(0, |cpus| (cpus.value * 1000.0).round() as u64),
                pool_bytes: servers.saturating_mul(pool_bytes(spec)),
                disk_bytes,
                ..required
            },
            _ if trial.is_in_process() => Self {
                disk_bytes,
                ..required
            },
            _ => required,
        }
    }

    /// Requirements of a trial and of all trials that run concurrently with it.
    pub(super) fn at_once(trial: &Trial, trials: &[Trial], is_elsewhere: bool) -> Self {
        let together = trial.together(trials).into_iter();
        let each = together.map(|index| Self::of(&trials[index], is_elsewhere));
        let plus = |all: Self, one| all.with(one, u64::saturating_add);
        each.fold(Self::default(), plus)
    }

    pub(super) fn max(self, other: Self) -> Self {
        self.with(other, u64::max)
    }

    /// Combines what the servers of both require of the host; of each server, it is the maximum.
    fn with(self, other: Self, both: fn(u64, u64) -> u64) -> Self {
        let (server, others) = (self.server, other.server);
        Self {
            server: Demand {
                users: server.users.max(others.users),
                tables: server.tables.max(others.tables),
                open_tables: server.open_tables.max(others.open_tables),
                prepared: server.prepared.max(others.prepared),
                data_bytes: server.data_bytes.max(others.data_bytes),
            },
            load_files: both(self.load_files, other.load_files),
            private_servers: both(self.private_servers, other.private_servers),
            pool_bytes: both(self.pool_bytes, other.pool_bytes),
            cpu_thousandths: self.cpu_thousandths.max(other.cpu_thousandths),
            disk_bytes: both(self.disk_bytes, other.disk_bytes),
        }
    }
}

fn server_demand(trial: &Trial) -> Demand {
    let load = &trial.planned.load;
    let users = u64::from(load.threads);
    let tables = u64::from(trial.workload.tables(&trial.options, load.threads));
    let statements = match load.protocol {
        plan::StatementProtocol::Prepared => trial.workload.statement_count(&trial.options),
        plan::StatementProtocol::Text => 0,
    };
    let of_script = trial.workload.data().map(|data| data.rows);
    let rows = of_script.unwrap_or(tables.saturating_mul(trial.planned.data.rows));
    Demand {
        users,
        tables,
        open_tables: users.saturating_mul(tables),
        prepared: users.saturating_mul(statements),
        data_bytes: rows.saturating_mul(needs::ROW_BYTES),
    }
}

fn pool_bytes(spec: &plan::EngineSpec) -> u64 {
    let needs = |engine: &dyn engine::Server| engine.needs(&crate::spec::config(spec), 0, 0);
    crate::spec::engine_of(spec).map_or(0, |engine| needs(engine).pool_bytes)
}

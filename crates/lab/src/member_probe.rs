//! Asks a member of a cluster, repeatedly, for its role and whether it accepts a write.

use std::time::{Duration, Instant};

use engine::Sql;
use engine::replication::{Replication, Role, View};
use workload::session::SessionError;

use crate::Database;

/// The table that probes write to, with a row for each prober.
const TABLE: &str = "dyno_probe";
/// How long a member may take to answer at first, and at most. Each missed answer doubles the
/// limit, so that a hanging member does not accumulate abandoned sessions.
const FIRST_LIMIT: Duration = Duration::from_millis(250);
const MAX_LIMIT: Duration = Duration::from_secs(2);
/// How long the statements that create the table may take.
const CREATE_LIMIT: Duration = Duration::from_secs(60);

/// A probe of one member, with a connection of its own.
pub(crate) struct MemberProbe {
    database: Database,
    replication: Option<&'static dyn Replication>,
    /// The probe's row of [`TABLE`].
    row: u32,
    connection: Option<Box<dyn Sql>>,
    limit: Duration,
}

/// The result of a probe.
#[derive(Debug)]
pub(crate) struct Probed {
    /// When the member was asked.
    pub(crate) asked_at: Instant,
    /// When it answered or the limit passed.
    pub(crate) answered_at: Instant,
    /// The member's view of its cluster, or why it did not answer.
    pub(crate) view: Result<View, SessionError>,
    /// `None` if the member does not claim to accept writes.
    pub(crate) write: Option<Write>,
}

/// A write to a member.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) sent_at: Instant,
    /// When the write was answered or the limit passed.
    pub(crate) answered_at: Instant,
    pub(crate) accepted: Result<(), SessionError>,
}

impl Probed {
    pub(crate) fn has_accepted(&self) -> bool {
        let write = self.write.as_ref();
        write.is_some_and(|write| write.accepted.is_ok())
    }
}

/// The row that belongs to the prober that watches this server around faults. The others write to
/// the row of the server's number.
pub(crate) fn row_of_watch(server: u32) -> u32 {
    const OFFSET: u32 = 1_000_000;
    OFFSET + server
}

/// Asks a member once for its view of its cluster, with the longest limit of a probe.
pub(crate) fn view_of(
    database: &Database,
    replication: Option<&'static dyn Replication>,
) -> Result<View, SessionError> {
    let probe = MemberProbe::new(Database::clone(database), replication, 0);
    let limit = MAX_LIMIT;
    MemberProbe { limit, ..probe }.view()
}

/// Creates the table of probes with rows for `servers`.
pub(crate) fn create_table(
    primary: &Database,
    servers: impl Iterator<Item = u32>,
) -> Result<(), SessionError> {
    let mut connection = primary.connect(CREATE_LIMIT)?;
    let rows = servers.flat_map(|server| [server, row_of_watch(server)]);
    let rows: Vec<String> = rows.map(|row| format!("({row}, 0)")).collect();
    for sql in [
        format!("DROP TABLE IF EXISTS {TABLE}"),
        format!("CREATE TABLE {TABLE} (id INT NOT NULL PRIMARY KEY, beats BIGINT NOT NULL)"),
        format!("INSERT INTO {TABLE} VALUES {}", rows.join(", ")),
    ] {
        connection.rows(&sql, CREATE_LIMIT)?;
    }
    Ok(())
}

pub(crate) fn drop_table(primary: &Database) -> Result<(), SessionError> {
    let sql = format!("DROP TABLE IF EXISTS {TABLE}");
    let mut connection = primary.connect(MAX_LIMIT)?;
    connection.rows(&sql, MAX_LIMIT).map(drop)
}

impl MemberProbe {
    /// A probe that writes to row `row` of the table.
    pub(crate) fn new(
        database: Database,
        replication: Option<&'static dyn Replication>,
        row: u32,
    ) -> Self {
        Self {
            database,
            replication,
            row,
            connection: None,
            limit: FIRST_LIMIT,
        }
    }

    /// Asks for the member's view, and writes only if it claims to accept writes: another member
    /// could accept a write and be damaged by it.
    pub(crate) fn probe(&mut self) -> Probed {
        let asked_at = Instant::now();
        let view = self.view();
        let answered_at = Instant::now();
        let is_primary = |view: &View| view.state == Role::Primary;
        let write = view.as_ref().is_ok_and(is_primary).then(|| self.write());
        Probed {
            asked_at,
            answered_at,
            view,
            write,
        }
    }

    /// A single server is its own primary.
    pub(crate) fn view(&mut self) -> Result<View, SessionError> {
        if let Some(replication) = self.replication {
            let rows = self.rows(replication.traits().view_query)?;
            return Ok(replication.view(&rows));
        }
        let query = self.database.server().and_then(|one| one.role_query());
        let rows = query.map(|query| self.rows(query)).transpose()?;
        let role = rows.and_then(|rows| Some(self.database.server()?.role(&rows)));
        Ok(View {
            state: role.unwrap_or(Role::Primary),
            others: String::new(),
        })
    }

    /// Writes to its row, which a primary allows.
    pub(crate) fn write(&mut self) -> Write {
        let sent_at = Instant::now();
        let sql = format!(
            "UPDATE {TABLE} SET beats = beats + 1 WHERE id = {}",
            self.row
        );
        let accepted = self.rows(&sql).map(drop);
        Write {
            sent_at,
            answered_at: Instant::now(),
            accepted,
        }
    }

    /// Executes a statement, on a new connection if the last one failed.
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SessionError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.database.connect(self.limit)?,
        };
        let answered = connection.rows(sql, self.limit);
        match &answered {
            Ok(_) => self.limit = FIRST_LIMIT,
            Err(error) if error.is_from_server() => {}
            Err(_) => {
                self.limit = (self.limit * 2).min(MAX_LIMIT);
                return answered;
            }
        }
        self.connection = Some(connection);
        answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::DATABASE;

    #[test]
    fn a_single_server_accepts_writes_until_it_is_killed() {
        let keep = tempfile::tempdir().unwrap();
        let mut node = crate::testing::node(keep.path());
        let database = node.open(DATABASE).unwrap();
        create_table(&database, [7].into_iter()).unwrap();
        let mut probe = MemberProbe::new(database, None, 7);
        // On a busy machine, the first probe may miss its limit.
        assert!((0..10).any(|_| probe.probe().has_accepted()));
        node.kill();
        let probed = probe.probe();
        assert!(!probed.has_accepted(), "{probed:?}");
        let write = probed.write.unwrap();
        assert!(probed.asked_at <= write.sent_at && write.sent_at <= write.answered_at);
    }
}

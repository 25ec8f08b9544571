//! Asks a member of a cluster, repeatedly, for its role and whether it accepts a write.

use std::time::{Duration, Instant};

use engine::Sql;
use engine::replication::{Role, View};
use workload::session::SessionError;

use crate::Rows;
use crate::setup::cluster::{Cluster, Member};

/// The table that probes write to, with a row for each member.
const TABLE: &str = "dyno_probe";
/// How long a member may take to answer at first, and at most. Each missed answer doubles the
/// limit, so that a hanging member does not accumulate abandoned sessions.
const FIRST_LIMIT: Duration = Duration::from_millis(250);
const MAX_LIMIT: Duration = Duration::from_secs(2);
/// How long the statements that create the table may take.
const CREATE_LIMIT: Duration = Duration::from_secs(60);

/// A probe of one member, with a connection of its own.
pub(crate) struct MemberProbe<'a> {
    cluster: &'a Cluster,
    member: &'a Member,
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

/// Asks a member once for its view of its cluster, with the longest limit of a probe.
pub(crate) fn view_of(cluster: &Cluster, member: &Member) -> Result<View, SessionError> {
    let probe = MemberProbe::new(cluster, member);
    let limit = MAX_LIMIT;
    MemberProbe { limit, ..probe }.view()
}

/// Creates the table of probes on the primary.
pub(super) fn create_table(cluster: &Cluster) -> Result<(), SessionError> {
    let mut connection = cluster.primary().database.connect(CREATE_LIMIT)?;
    let rows = cluster.members().iter();
    let rows: Vec<String> = rows.map(|one| format!("({}, 0)", one.number)).collect();
    for sql in [
        format!("DROP TABLE IF EXISTS {TABLE}"),
        format!("CREATE TABLE {TABLE} (id INT NOT NULL PRIMARY KEY, beats BIGINT NOT NULL)"),
        format!("INSERT INTO {TABLE} VALUES {}", rows.join(", ")),
    ] {
        connection.rows(&sql, CREATE_LIMIT)?;
    }
    Ok(())
}

pub(super) fn drop_table(primary: &Member) -> Result<(), SessionError> {
    let sql = format!("DROP TABLE IF EXISTS {TABLE}");
    let mut connection = primary.database.connect(MAX_LIMIT)?;
    connection.rows(&sql, MAX_LIMIT).map(drop)
}

impl<'a> MemberProbe<'a> {
    pub(crate) fn new(cluster: &'a Cluster, member: &'a Member) -> Self {
        Self {
            cluster,
            member,
            connection: None,
            limit: FIRST_LIMIT,
        }
    }

    pub(crate) fn view(&mut self) -> Result<View, SessionError> {
        let (cluster, member) = (self.cluster, self.member);
        cluster.view(member, |sql| self.rows(sql))
    }

    /// Whether the member claims to accept writes, and does.
    pub(crate) fn accepts_writes(&mut self) -> bool {
        let is_primary = |view: View| view.state == Role::Primary;
        self.view().is_ok_and(is_primary) && self.write().accepted.is_ok()
    }

    /// Writes to its row, which a primary allows.
    pub(crate) fn write(&mut self) -> Write {
        let sent_at = Instant::now();
        let sql = format!(
            "UPDATE {TABLE} SET beats = beats + 1 WHERE id = {}",
            self.member.number
        );
        let accepted = self.rows(&sql).map(drop);
        Write {
            sent_at,
            answered_at: Instant::now(),
            accepted,
        }
    }

    /// Executes a statement, on a new connection if the last one failed.
    fn rows(&mut self, sql: &str) -> Result<Rows, SessionError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.member.database.connect(self.limit)?,
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
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_single_server_accepts_writes_until_it_is_killed() {
        let keep = tempfile::tempdir().unwrap();
        let node = crate::testing::node(keep.path());
        let cluster = Cluster::of(vec![node], &AtomicBool::new(false)).unwrap();
        create_table(&cluster).unwrap();
        let mut probe = MemberProbe::new(&cluster, cluster.primary());
        // On a busy machine, the first probe may miss its limit.
        assert!((0..10).any(|_| probe.accepts_writes()));
        cluster.primary().lock().unwrap().kill();
        let write = probe.write();
        assert!(write.accepted.is_err() && write.sent_at <= write.answered_at);
    }
}

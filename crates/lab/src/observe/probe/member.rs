//! A probe of one member, and the table that probes write to.

use std::time::Duration;

use engine::Sql;
use engine::replication::{Role, View};
use workload::session::SessionError;

use crate::{Cluster, Member, Rows};

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

/// Asks a member once for its view of its cluster, with the longest limit of a probe.
pub(crate) fn view_of(cluster: &Cluster, member: &Member) -> Result<View, SessionError> {
    let probe = MemberProbe::new(cluster, member);
    let limit = MAX_LIMIT;
    MemberProbe { limit, ..probe }.view()
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
        self.view().is_ok_and(is_primary) && self.write().is_ok()
    }

    /// Writes to its row, which a primary allows.
    pub(super) fn write(&mut self) -> Result<(), SessionError> {
        let number = self.member.number;
        let sql = format!("UPDATE {TABLE} SET beats = beats + 1 WHERE id = {number}");
        self.rows(&sql).map(drop)
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

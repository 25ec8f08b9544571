//! Probes the members of a cluster: who accepts writes, which virtual users follow, and how members
//! behave around faults.
//!
//! Each member has a thread that probes it: seldom while the primary is known and answers, at once
//! when a user loses its connection or a fault is requested, and otherwise every 10 ms. The threads
//! probe in parallel, so that finding the next primary takes no measurable time.

mod decision;
mod prober;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::Sql;
use engine::replication::{Role, View};
use workload::session::SessionError;

use crate::failure::canceled;
use crate::{Cluster, Failure, Instance, Member, Rig, Rows, Run, Trial};

pub(crate) use prober::Probers;

/// The table that probes write to, with a row for each member.
const TABLE: &str = "dyno_probe";
/// How long a member may take to answer at first, and at most. Each missed answer doubles the
/// limit, so that a hanging member does not accumulate abandoned sessions.
const FIRST_LIMIT: Duration = Duration::from_millis(250);
const MAX_LIMIT: Duration = Duration::from_secs(2);
/// How long the statements that create the table may take.
const CREATE_LIMIT: Duration = Duration::from_secs(60);
/// How long a cluster may be without a primary before the load, and how often members are asked.
const FIND_LIMIT: Duration = Duration::from_secs(30);
const FIND_INTERVAL: Duration = Duration::from_millis(10);
/// How long replicas may take to receive the tables of a load, and how often dyno asks.
const TABLES_LIMIT: Duration = Duration::from_secs(600);
const TABLES_INTERVAL: Duration = Duration::from_millis(100);

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

fn create_table(cluster: &Cluster) -> Result<(), SessionError> {
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

fn drop_table(primary: &Member) -> Result<(), SessionError> {
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
        self.view().is_ok_and(is_primary) && self.write().is_ok()
    }

    /// Writes to its row, which a primary allows.
    fn write(&mut self) -> Result<(), SessionError> {
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

/// Finds the primary of each cluster, and creates the table that probes write to.
pub(crate) fn prepare(trial: &Trial, rig: &Rig, run: &mut Run<'_>) -> Result<(), Failure> {
    for Instance { cluster, .. } in &rig.instances {
        if cluster.is_replicated() {
            find_primary(cluster, run.interrupted)?;
            create_table(cluster).map_err(|error| unprepared(&error))?;
        } else if trial.has_faults()
            && let Err(error) = create_table(cluster)
        {
            run.observer.note(&format!(
                "recovery is measured without writes of its own: cannot create a table: {error}"
            ));
        }
    }
    Ok(())
}

/// Drops the table of probes from servers that dyno did not start.
pub(crate) fn clean_up(trial: &Trial, rig: &Rig) {
    for Instance { cluster, .. } in &rig.instances {
        if cluster.is_started() || !(cluster.is_replicated() || trial.has_faults()) {
            continue;
        }
        let primary = ask_members(cluster).primary(cluster);
        // Without a primary, the table stays; it is small, and the next load replaces it.
        let primary = primary.and_then(|index| cluster.members().get(index));
        let _ = primary.map(drop_table);
    }
}

fn unprepared(error: &dyn fmt::Display) -> Failure {
    let message = format!("cannot follow the primary of the cluster: {error}");
    Failure::server(message)
}

/// Finds the member that claims to be the primary, within 30 s. If several do, the previous
/// primary remains.
pub(crate) fn find_primary(cluster: &Cluster, interrupted: &AtomicBool) -> Result<(), Failure> {
    let deadline = Instant::now() + FIND_LIMIT;
    loop {
        let answers = ask_members(cluster);
        cluster.set_many_primaries(answers.primaries.len() > 1);
        match answers.primary(cluster) {
            Some(primary) => {
                cluster.set_primary(primary);
                return Ok(());
            }
            None if interrupted.load(Ordering::Relaxed) => return Err(canceled()),
            None if Instant::now() < deadline => sleep(FIND_INTERVAL),
            None => return Err(unprepared(&answers.why_none())),
        }
    }
}

#[derive(Default)]
struct Answers {
    /// The indexes of the members that claim to be the primary.
    primaries: Vec<usize>,
    /// Why the remaining members did not answer.
    errors: Vec<String>,
}

fn ask_members(cluster: &Cluster) -> Answers {
    let mut answers = Answers::default();
    for (index, member) in cluster.members().iter().enumerate() {
        match view_of(cluster, member) {
            Ok(view) if view.state == Role::Primary => answers.primaries.push(index),
            Ok(_) => {}
            Err(error) => {
                let error = format!("server {}: {error}", member.number);
                answers.errors.push(error);
            }
        }
    }
    answers
}

impl Answers {
    /// The index of the primary; the previous one if there are several.
    fn primary(&self, cluster: &Cluster) -> Option<usize> {
        let known = Some(cluster.primary_index()).filter(|known| self.primaries.contains(known));
        known.or_else(|| self.primaries.first().copied())
    }

    fn why_none(&self) -> String {
        match self.errors.as_slice() {
            [] => "no member says that it is the primary".to_owned(),
            errors => errors.join("; "),
        }
    }
}

/// Waits at most 10 minutes until every member has the primary's tables.
pub(crate) fn wait_for_tables(cluster: &Cluster, run: &Run<'_>) -> Result<(), Failure> {
    let deadline = Instant::now() + TABLES_LIMIT;
    let wanted = cluster.primary().database.checksum()?;
    for member in cluster.members() {
        let checksum = || member.database.checksum();
        while !checksum().is_ok_and(|checksum| checksum == wanted) {
            if run.is_interrupted() {
                return Err(canceled());
            }
            if Instant::now() > deadline {
                let number = member.number;
                let message = format!("server {number} does not have the tables of the primary");
                let remedy = "check whether it replicates, and its lag";
                return Err(Failure::server(message).remedy(remedy));
            }
            sleep(TABLES_INTERVAL);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

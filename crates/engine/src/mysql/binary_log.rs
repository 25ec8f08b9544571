//! Replication by the binary log: a primary sends it to replicas. Before it acknowledges a commit,
//! it waits for none of them, or for one to receive the transaction.
//!
//! All members are copies of one prepared data directory without a log of its own, so a replica
//! begins with the first transaction of the primary. Members do not elect a primary: a server that
//! restarts refuses writes until it is known to be still the primary.

use std::time::{Duration, Instant};

use client::mysql::Error;
use client::reactor::sleep_until;
use plan::{ClusterTraits, Quorum};

use super::log_dialect::{Dialect, MARIADB, MYSQL};
use super::member::{
    DENIED, TLS_SETTINGS, as_root, create_account, rows, rows_of_other, run, strangers,
};
use crate::failure::Failure;
use crate::remote::{Rows, first_cell};
use crate::replication::{
    ClusterLayout, Failover, Member, OwnedSettings, Replication, ReplicationTraits, Role, View,
    cell, owned,
};

const SETTINGS: [(&str, &str); 2] = [("log_bin", "binlog"), ("relay_log", "relay")];
/// How long in total, and at once, a primary that is to refuse writes waits for running statements.
const REFUSE_LIMIT: Duration = Duration::from_secs(60);
const REFUSE_AT_ONCE: &str = "SET SESSION lock_wait_timeout = 1";
/// How long transactions run on before the next attempt.
const REFUSE_PAUSE: Duration = Duration::from_millis(50);
/// The error number of a statement that waited too long for a lock.
const LOCK_WAIT_TIMEOUT: u32 = 1205;
const ACCEPT_WRITES: &str = "SET GLOBAL read_only = OFF";
/// Whether a server refuses writes.
const READ_ONLY: &str = "SELECT @@global.read_only";

#[derive(Debug)]
pub(super) struct BinaryLog {
    dialect: &'static Dialect,
    /// Whether a commit waits until a replica has received it.
    is_semi_synchronous: bool,
}

/// MariaDB's kinds of clusters that use only the binary log.
pub(super) const MARIADB_ASYNCHRONOUS: &dyn Replication = &BinaryLog {
    dialect: &MARIADB,
    is_semi_synchronous: false,
};
pub(super) const MARIADB_SEMI_SYNCHRONOUS: &dyn Replication = &BinaryLog {
    dialect: &MARIADB,
    is_semi_synchronous: true,
};
/// MySQL's kinds of clusters that use only the binary log.
pub(super) const MYSQL_ASYNCHRONOUS: &dyn Replication = &BinaryLog {
    dialect: &MYSQL,
    is_semi_synchronous: false,
};
pub(super) const MYSQL_SEMI_SYNCHRONOUS: &dyn Replication = &BinaryLog {
    dialect: &MYSQL,
    is_semi_synchronous: true,
};

impl Replication for BinaryLog {
    fn traits(&'static self) -> ReplicationTraits {
        let [asynchronous, semi_synchronous] = self.dialect.conduct;
        let (name, conduct) = match self.is_semi_synchronous {
            false => ("asynchronous", asynchronous),
            true => ("semi-synchronous", semi_synchronous),
        };
        let cluster = ClusterTraits {
            name,
            elects: false,
            has_manager: false,
            has_coordinator: false,
            quorum: Quorum::One,
            conduct,
        };
        ReplicationTraits {
            failover: Some(self),
            ..ReplicationTraits::new(cluster, self.dialect.view, &[DENIED])
        }
    }

    fn settings(&self, cluster: &ClusterLayout, number: u32) -> OwnedSettings {
        let plugins = self.dialect.semi_sync_plugins.iter().copied();
        let plugins = plugins.filter(|_| self.is_semi_synchronous);
        let [source, replica] = self.dialect.semi_sync_switches;
        let switch = match number {
            // Without replicas, each commit would wait until the timeout.
            1 => Some(source).filter(|_| cluster.count() > 1),
            _ => Some(replica),
        };
        let switch = switch.filter(|_| self.is_semi_synchronous);
        let all = SETTINGS.iter().chain(&TLS_SETTINGS);
        let all = all.chain(self.dialect.settings).copied();
        let all = all.chain(plugins).chain(switch.map(|name| (name, "ON")));
        owned([("server_id", number)])
            .into_iter()
            .chain(owned(all))
            .collect()
    }

    fn restart_settings(&self, _: &ClusterLayout, _: &str, _: bool) -> OwnedSettings {
        owned([(self.dialect.read_only, "ON")])
    }

    fn join(&self, member: &Member<'_>) -> Result<(), Failure> {
        run(member, &create_account(member.cluster, "REPLICATION SLAVE"))?;
        match member.number {
            1 => Ok(()),
            _ => self.replicate_from(member, 1),
        }
    }

    /// A replica remembers its primary. Other members stay read-only if one of the others has
    /// become the primary in the meantime.
    fn rejoin(&self, member: &Member<'_>) -> Result<(), Failure> {
        let is_replica = !rows(member, "SHOW REPLICA STATUS")?.is_empty();
        let cluster = member.cluster;
        let mut others = (1..=cluster.count()).filter(|other| *other != member.number);
        if is_replica || others.any(|other| accepts_writes(cluster, other)) {
            return run(member, &[self.refuse_writes()]);
        }
        self.become_primary(member, cluster.count() > 1)
    }

    /// If the last remaining member was promoted, it has not waited for a replica so far.
    fn complete(&self, member: &Member<'_>) -> Result<(), Failure> {
        if !self.is_semi_synchronous || member.cluster.count() < 2 {
            return Ok(());
        }
        let [source, _] = self.dialect.semi_sync_switches;
        run(member, &[format!("SET GLOBAL {source} = ON")])
    }

    fn view(&self, rows: &Rows) -> View {
        let state = state_of(rows);
        View {
            state,
            others: format!("{state:?}"),
        }
    }

    fn state(&self, member: &Member<'_>) -> Result<Role, Failure> {
        Ok(state_of(&rows(member, self.dialect.view)?))
    }

    fn strangers(&self, member: &Member<'_>) -> Result<Vec<String>, Failure> {
        strangers(member, self.dialect.replicas)
    }
}

impl Failover for BinaryLog {
    fn received(&self, member: &Member<'_>) -> Result<u64, Failure> {
        (self.dialect.received)(member)
    }

    /// The member first applies what it has received.
    fn promote(&self, member: &Member<'_>) -> Result<(), Failure> {
        run(member, &["STOP REPLICA IO_THREAD".to_owned()])?;
        let wait = (self.dialect.wait_until_applied)(member)?;
        if first_cell(rows(member, &wait)?).as_deref() != Some("0") {
            let message = format!("{} did not apply what it had received", member.login.server);
            return Err(Failure::server(message));
        }
        run(member, &FORGET_SOURCE.map(str::to_owned))?;
        // The lost primary is not a replica yet.
        self.become_primary(member, member.cluster.count() > 2)
    }

    /// The server waits for running statements, and new ones wait for it. So if a statement waits
    /// for a row that another transaction has locked, none of the three goes on until a timeout.
    fn demote(&self, member: &Member<'_>) -> Result<bool, Failure> {
        let deadline = Instant::now() + REFUSE_LIMIT;
        let refuse = self.refuse_writes();
        let is_stuck = |error: &Error| error.number() == Some(LOCK_WAIT_TIMEOUT);
        let refused = as_root(member, async |connection| {
            connection.run(REFUSE_AT_ONCE).await?;
            loop {
                match connection.run(&refuse).await {
                    Err(error) if is_stuck(&error) && Instant::now() < deadline => {
                        sleep_until(Instant::now() + REFUSE_PAUSE).await;
                    }
                    Err(error) => {
                        // It may refuse some writes already, and remains the primary.
                        let _ = connection.run(ACCEPT_WRITES).await;
                        return Err(error);
                    }
                    done => return done,
                }
            }
        })?;
        refused.map_err(|error| member.refused(&error))?;
        Ok(true)
    }

    fn follow(&self, member: &Member<'_>, primary: u32) -> Result<(), Failure> {
        let mut statements = vec![self.refuse_writes()];
        if self.is_semi_synchronous {
            let [source, replica] = self.dialect.semi_sync_switches;
            statements.push(format!("SET GLOBAL {source} = OFF, GLOBAL {replica} = ON"));
        }
        statements.extend(FORGET_SOURCE.map(str::to_owned));
        run(member, &statements)?;
        let own = first_cell(rows(member, self.dialect.executed)?).unwrap_or_default();
        let question = (self.dialect.ask_for_lacking)(&own);
        let answer = first_cell(rows_of_other(member.cluster, primary, &question)?);
        let lacking = (self.dialect.lacking)(&own, &answer.unwrap_or_default());
        if !lacking.is_empty() {
            return Err(diverged(member, primary, &lacking));
        }
        self.replicate_from(member, primary)
    }
}

/// Succeeds even on a server that never had a source.
const FORGET_SOURCE: [&str; 2] = ["STOP REPLICA", "RESET REPLICA ALL"];

impl BinaryLog {
    fn refuse_writes(&self) -> String {
        format!("SET GLOBAL {} = ON", self.dialect.read_only)
    }

    fn replicate_from(&self, member: &Member<'_>, primary: u32) -> Result<(), Failure> {
        let source = member.cluster.member(primary);
        let source = source.map(|at| (self.dialect.source)(member.cluster, at));
        let rest = ["START REPLICA".to_owned(), self.refuse_writes()];
        let statements = source.into_iter().flatten().chain(rest);
        run(member, &statements.collect::<Vec<_>>())
    }

    fn become_primary(&self, member: &Member<'_>, has_replicas: bool) -> Result<(), Failure> {
        let mut statements = Vec::new();
        if self.is_semi_synchronous {
            let [source, replica] = self.dialect.semi_sync_switches;
            let waits = if has_replicas { "ON" } else { "OFF" };
            statements.push(format!(
                "SET GLOBAL {replica} = OFF, GLOBAL {source} = {waits}"
            ));
        }
        statements.push(ACCEPT_WRITES.to_owned());
        run(member, &statements)
    }
}

/// The role in an answer to [`Dialect::view`].
fn state_of(rows: &Rows) -> Role {
    let is_read_only = rows.first().map(|row| cell(row, 0));
    let is_running = |row: &Vec<_>| (1..row.len()).all(|place| cell(row, place) == "ON");
    match is_read_only {
        Some("0" | "OFF") => Role::Primary,
        Some(_) if rows.iter().all(is_running) => Role::Replica,
        _ => Role::Detached,
    }
}

/// Whether a member can be reached and accepts writes.
fn accepts_writes(cluster: &ClusterLayout, number: u32) -> bool {
    let answer = rows_of_other(cluster, number, READ_ONLY);
    answer.is_ok_and(|rows| state_of(&rows) == Role::Primary)
}

fn diverged(member: &Member<'_>, primary: u32, lacking: &str) -> Failure {
    Failure::server(format!(
        "{} cannot replicate from member {primary}, which lacks transactions that this server \
         committed as the primary: {lacking}",
        member.login.server
    ))
    .remedy("these transactions were lost with the failover; this server stays read-only")
}

#[cfg(test)]
mod tests {
    use std::thread;

    use testkit::{MariaDb, MySql, Server};

    use super::*;
    use crate::certificate::Certificate;
    use crate::launch::Login;
    use crate::replication::MemberAddress;
    use crate::{Access, MARIADB as MARIADB_ENGINE, Sql};

    const LIMIT: Duration = Duration::from_secs(30);

    fn formation(members: u16) -> ClusterLayout {
        ClusterLayout {
            id: String::new(),
            members: (0..members)
                .map(|port| MemberAddress {
                    ip: std::net::Ipv4Addr::LOCALHOST.into(),
                    port,
                    group_ports: Vec::new(),
                })
                .collect(),
            services: Vec::new(),
            certificate: Certificate::generate([]).unwrap(),
            password: String::new(),
            ttl: Duration::ZERO,
        }
    }

    #[test]
    fn a_primary_without_replicas_waits_for_none() {
        let waits = |members: u16, number| {
            let settings = MYSQL_SEMI_SYNCHRONOUS.settings(&formation(members), number);
            let mut names = settings.iter().map(|(name, _)| name.as_str());
            names.any(|name| name == "rpl_semi_sync_source_enabled")
        };
        assert!(waits(2, 1), "for the replica");
        assert!(!waits(2, 2), "a replica has no replicas of its own");
        assert!(!waits(1, 1));
    }

    fn session(server: &Server) -> Box<dyn Sql> {
        let url = server.url("sbtest");
        let database = MARIADB_ENGINE.open(&url, &Access::default(), None).unwrap();
        database.connect(LIMIT).unwrap()
    }

    /// Waits until so many sessions execute statements that begin with these words.
    fn wait_for(server: &Server, words: &str, count: usize) {
        let deadline = Instant::now() + LIMIT;
        let query =
            format!("SELECT id FROM information_schema.processlist WHERE info LIKE '{words}%'");
        while server.sql(&query).len() < count {
            assert!(Instant::now() < deadline, "{words}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// One transaction waits for a row that another one has locked, which has more to do.
    fn refuses_writes_of_waiting_transactions(kind: &'static dyn Replication, server: &Server) {
        server
            .sql("CREATE TABLE t (id INT PRIMARY KEY, n INT); INSERT INTO t VALUES (1, 0), (2, 0)");
        let mut owner = session(server);
        for sql in ["BEGIN", "UPDATE t SET n = 1 WHERE id = 1"] {
            owner.rows(sql, LIMIT).unwrap();
        }
        let failover = kind.traits().failover.unwrap();
        let cluster = formation(2);
        let member = Member {
            cluster: &cluster,
            number: 1,
            login: Login {
                server: "server 1",
                socket: &server.socket(),
                password: "",
            },
        };
        thread::scope(|scope| {
            let wait = || drop(session(server).rows("UPDATE t SET n = 2 WHERE id = 1", LIMIT));
            scope.spawn(wait);
            wait_for(server, "UPDATE t", 1);
            let demoted = scope.spawn(|| failover.demote(&member).unwrap());
            wait_for(server, "SET GLOBAL", 1);
            owner
                .rows("UPDATE t SET n = 1 WHERE id = 2", LIMIT)
                .unwrap();
            // Which of them comes first is the server's choice.
            let _ = owner.rows("COMMIT", LIMIT);
            assert!(demoted.join().unwrap());
        });
        assert_eq!(server.sql(READ_ONLY), [["1"]]);
    }

    #[test]
    fn a_primary_that_refuses_writes_lets_the_owners_of_locks_go_on() {
        let options = ["--innodb-lock-wait-timeout=600"];
        let server = MariaDb::start(&options);
        refuses_writes_of_waiting_transactions(MARIADB_ASYNCHRONOUS, &server);
        let server = MySql::start(&options);
        refuses_writes_of_waiting_transactions(MYSQL_ASYNCHRONOUS, &server);
    }
}

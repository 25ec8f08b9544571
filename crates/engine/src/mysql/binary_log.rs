//! Replication by the binary log: a primary sends it to replicas. Before it acknowledges a commit,
//! it waits for none of them, or for one to receive the transaction.
//!
//! All members are copies of one prepared data directory without a log of its own, so a replica
//! begins with the first transaction of the primary. Members do not elect a primary: a server that
//! restarts refuses writes until it is known to be still the primary.

use std::time::{Duration, Instant};

use client::mysql::{Connection, Error, Mysql};
use client::reactor::sleep_until;
use plan::{ClusterTraits, Failure, Quorum, StaticSettings};

use super::account::{DENIED, TLS_SETTINGS, create_account, rows_of_other};
use super::log_dialect::{Dialect, MARIADB, MYSQL, state_of};
use crate::remote::first_cell;
use crate::replication::{
    ClusterLayout, Failover, Member, OwnedSettings, Replication, ReplicationTraits, Role, settings,
};

const SETTINGS: StaticSettings = &[("log_bin", "binlog"), ("relay_log", "relay")];
/// How long in total, and at once, a primary that is to refuse writes waits for running statements.
const REFUSE_LIMIT: Duration = Duration::from_secs(60);
const REFUSE_AT_ONCE: &str = "SET SESSION lock_wait_timeout = 1";
/// How long transactions run on before the next attempt.
const REFUSE_PAUSE: Duration = Duration::from_millis(50);
/// The error number of a statement that waited too long for a lock.
const LOCK_WAIT_TIMEOUT: u32 = 1205;
const ACCEPT_WRITES: &str = "SET GLOBAL read_only = OFF";
const READ_ONLY: &str = "SELECT @@global.read_only";

#[derive(Debug)]
pub(super) struct BinaryLog {
    dialect: &'static Dialect,
    /// Whether a commit waits until a replica has received it.
    is_semi_synchronous: bool,
}

/// MariaDB's kinds of clusters that use only the binary log.
pub(super) static OF_MARIADB: [BinaryLog; 2] = BinaryLog::kinds(&MARIADB);
/// MySQL's kinds of clusters that use only the binary log.
pub(super) static OF_MYSQL: [BinaryLog; 2] = BinaryLog::kinds(&MYSQL);

impl Replication for BinaryLog {
    fn traits(&'static self) -> ReplicationTraits {
        let [asynchronous, semi_synchronous] = self.dialect.conduct;
        let (name, conduct) = match self.is_semi_synchronous {
            false => ("asynchronous", asynchronous),
            true => ("semi-synchronous", semi_synchronous),
        };
        let cluster = ClusterTraits::new(name, Quorum::One, conduct);
        ReplicationTraits {
            failover: Some(self),
            ..ReplicationTraits::new(cluster, &self.dialect.questions, &[DENIED])
        }
    }

    fn settings(&self, cluster: &ClusterLayout, number: u32) -> OwnedSettings {
        let [source, replica] = self.dialect.semi_sync_switches;
        let switch = match number {
            // Without replicas, each commit would wait until the timeout.
            1 => Some(source).filter(|_| cluster.count() > 1),
            _ => Some(replica),
        };
        let (switch, plugins) = match self.is_semi_synchronous {
            true => (switch, self.dialect.semi_sync_plugins),
            false => (None, &[][..]),
        };
        let own = [("server_id", number.to_string())].into_iter();
        let own = own.chain(switch.map(|name| (name, "ON".to_owned())));
        settings(
            own,
            &[SETTINGS, TLS_SETTINGS, self.dialect.settings, plugins],
        )
    }

    fn checked_settings(&self, _: u32) -> OwnedSettings {
        settings([], &[SETTINGS])
    }

    fn restart_settings(&self, _: &ClusterLayout, _: &str, _: bool) -> OwnedSettings {
        settings([(self.dialect.read_only, "ON".to_owned())], &[])
    }

    fn join(&self, member: &Member<'_>) -> Result<(), Failure> {
        member.run::<Mysql>(&create_account(member.cluster, "REPLICATION SLAVE"))?;
        match member.number {
            1 => Ok(()),
            _ => self.replicate_from(member, 1),
        }
    }

    /// A replica remembers its primary. Other members stay read-only if one of the others has
    /// become the primary in the meantime.
    fn rejoin(&self, member: &Member<'_>) -> Result<(), Failure> {
        let is_replica = !member.rows::<Mysql>("SHOW REPLICA STATUS")?.is_empty();
        let cluster = member.cluster;
        let mut others = (1..=cluster.count()).filter(|other| *other != member.number);
        if is_replica || others.any(|other| accepts_writes(cluster, other)) {
            return member.run::<Mysql>(&[self.refuse_writes()]);
        }
        self.become_primary(member, cluster.count() > 1)
    }

    /// If the last remaining member was promoted, it has not waited for a replica so far.
    fn complete(&self, member: &Member<'_>) -> Result<(), Failure> {
        if !self.is_semi_synchronous || member.cluster.count() < 2 {
            return Ok(());
        }
        let [source, _] = self.dialect.semi_sync_switches;
        member.run::<Mysql>(&[format!("SET GLOBAL {source} = ON")])
    }
}

impl Failover for BinaryLog {
    fn received(&self, member: &Member<'_>) -> Result<u64, Failure> {
        (self.dialect.received)(member)
    }

    /// The member first applies what it has received.
    fn promote(&self, member: &Member<'_>) -> Result<(), Failure> {
        member.run::<Mysql>(&["STOP REPLICA IO_THREAD".to_owned()])?;
        let wait = (self.dialect.wait_until_applied)(member)?;
        if first_cell(member.rows::<Mysql>(&wait)?).as_deref() != Some("0") {
            let message = format!("{} did not apply what it had received", member.login.server);
            return Err(Failure::server(message));
        }
        member.run::<Mysql>(&FORGET_SOURCE.map(str::to_owned))?;
        // The lost primary is not a replica yet.
        self.become_primary(member, member.cluster.count() > 2)
    }

    /// The server waits for running statements, and new ones wait for it. So if a statement waits
    /// for a row that another transaction has locked, none of the three goes on until a timeout.
    fn demote(&self, member: &Member<'_>) -> Result<bool, Failure> {
        let deadline = Instant::now() + REFUSE_LIMIT;
        let refuse = self.refuse_writes();
        let is_stuck = |error: &Error| error.number() == Some(LOCK_WAIT_TIMEOUT);
        let refused = member.administer(async |connection: &mut Connection| {
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

    fn reinstate(&self, member: &Member<'_>) -> Result<(), Failure> {
        member.run::<Mysql>(&[ACCEPT_WRITES.to_owned()])
    }

    fn follow(&self, member: &Member<'_>, primary: u32) -> Result<(), Failure> {
        let mut statements = vec![self.refuse_writes()];
        if self.is_semi_synchronous {
            let [source, replica] = self.dialect.semi_sync_switches;
            statements.push(format!("SET GLOBAL {source} = OFF, GLOBAL {replica} = ON"));
        }
        statements.extend(FORGET_SOURCE.map(str::to_owned));
        member.run::<Mysql>(&statements)?;
        let own = first_cell(member.rows::<Mysql>(self.dialect.executed)?).unwrap_or_default();
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
    const fn kinds(dialect: &'static Dialect) -> [Self; 2] {
        let kind = Self {
            dialect,
            is_semi_synchronous: false,
        };
        let semi_synchronous = Self {
            is_semi_synchronous: true,
            ..kind
        };
        [kind, semi_synchronous]
    }

    fn refuse_writes(&self) -> String {
        format!("SET GLOBAL {} = ON", self.dialect.read_only)
    }

    fn replicate_from(&self, member: &Member<'_>, primary: u32) -> Result<(), Failure> {
        let source = member.cluster.member(primary);
        let mut statements = (self.dialect.source)(member.cluster, source);
        statements.extend(["START REPLICA".to_owned(), self.refuse_writes()]);
        member.run::<Mysql>(&statements)
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
        member.run::<Mysql>(&statements)
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
            let settings = OF_MYSQL[1].settings(&formation(members), number);
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
        failover.reinstate(&member).unwrap();
        assert_eq!(server.sql(READ_ONLY), [["0"]]);
    }

    #[test]
    fn a_primary_that_refuses_writes_lets_the_owners_of_locks_go_on() {
        let options = ["--innodb-lock-wait-timeout=600"];
        let server = MariaDb::start(&options);
        refuses_writes_of_waiting_transactions(&OF_MARIADB[0], &server);
        let server = MySql::start(&options);
        refuses_writes_of_waiting_transactions(&OF_MYSQL[0], &server);
    }
}

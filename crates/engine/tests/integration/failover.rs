//! A replica takes over from a primary that died, on real servers.

use std::fs::{self, Permissions};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::certificate::Certificate;
use engine::replication::{ClusterLayout, Member, MemberAddress, Replication, Role};
use engine::{Failure, Login};
use tempfile::TempDir;
use testkit::{MariaDb, MySql, Server};

/// Long enough for a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(300);

/// The disk is not what fails.
const LAZY_DISK: &str = "--innodb-flush-log-at-trx-commit=2";

/// Servers that replicate semi-synchronously.
struct Members {
    kind: &'static dyn Replication,
    cluster: ClusterLayout,
    servers: Vec<Server>,
    _files: TempDir,
}

impl Members {
    fn start(
        start: fn(&[&str]) -> Server,
        kind: &'static dyn Replication,
        options: &[&str],
    ) -> Self {
        let mut cluster = ClusterLayout {
            id: "0".repeat(32),
            members: vec![
                MemberAddress {
                    ip: Ipv4Addr::LOCALHOST.into(),
                    port: 0,
                    group_ports: Vec::new(),
                };
                3
            ],
            services: Vec::new(),
            certificate: Certificate::generate([Ipv4Addr::LOCALHOST.into()]).unwrap(),
            password: "not-secret-7".to_owned(),
            ttl: std::time::Duration::ZERO,
        };
        // Servers read these files as they start, before the tests know their directories.
        let dir = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .unwrap();
        for file in kind.data_files(&cluster, 1) {
            fs::write(dir.path().join(file.name), file.text).unwrap();
        }
        let servers = (1..=3).map(|number| {
            let settings = kind.settings(&cluster, number);
            let settings = settings.iter().map(|(name, value)| {
                let file = Some(dir.path().join(value)).filter(|file| file.is_file());
                let value = file.map_or(value.clone(), |file| file.display().to_string());
                format!("{name}={value}")
            });
            let settings: Vec<String> = settings.collect();
            let settings = settings.iter().map(String::as_str);
            start(&settings.chain(options.iter().copied()).collect::<Vec<_>>())
        });
        let servers: Vec<Server> = servers.collect();
        for server in &servers {
            for file in kind.data_files(&cluster, 1) {
                fs::write(server.data_dir().join(file.name), file.text).unwrap();
            }
        }
        for (member, server) in cluster.members.iter_mut().zip(&servers) {
            member.port = server.port();
        }
        let formed = Self {
            kind,
            cluster,
            servers,
            _files: dir,
        };
        for number in 1..=3 {
            formed.on(number, |member| kind.join(member)).unwrap();
        }
        formed.wait_for_state(2, Role::Replica);
        formed.wait_for_state(3, Role::Replica);
        formed
    }

    fn server(&mut self, number: usize) -> &mut Server {
        &mut self.servers[number - 1]
    }

    fn on<T>(
        &self,
        number: u32,
        work: impl FnOnce(&Member<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let server = &self.servers[number as usize - 1];
        work(&Member {
            cluster: &self.cluster,
            number,
            login: Login {
                server: &format!("server {number}"),
                socket: &server.socket(),
                password: "",
            },
        })
    }

    fn state(&self, number: u32) -> Role {
        self.on(number, |member| {
            (self.kind.traits().questions.state)(member)
        })
        .unwrap()
    }

    fn wait_for_state(&self, number: u32, state: Role) {
        wait_until(|| self.state(number) == state);
    }

    fn received(&self, number: u32) -> u64 {
        self.on(number, |member| self.kind.failover()?.received(member))
            .unwrap()
    }

    fn follow(&self, number: u32, primary: u32) -> Result<(), Failure> {
        self.on(number, |member| {
            self.kind.failover()?.follow(member, primary)
        })
    }

    fn promote(&self, number: u32) {
        self.on(number, |member| self.kind.failover()?.promote(member))
            .unwrap();
        assert_eq!(self.state(number), Role::Primary);
    }

    /// Starts a member as the laboratory does: it refuses writes until it is known to be the
    /// primary.
    fn restart(&mut self, number: u32) {
        let settings = self.kind.restart_settings(&self.cluster, "", false);
        let server = self.server(number as usize);
        server.restart();
        for (name, value) in settings {
            server.sql(&format!("SET GLOBAL {name} = {value}"));
        }
        self.on(number, |member| self.kind.rejoin(member)).unwrap();
    }

    /// The rows of the members that run, which the replicas may have yet to apply.
    fn wait_for_rows(&self, number: u32, rows: &str) {
        let server = &self.servers[number as usize - 1];
        wait_until(|| server.sql("SELECT GROUP_CONCAT(id ORDER BY id) FROM t")[0][0] == rows);
    }
}

fn wait_until(done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "it takes too long");
        sleep(Duration::from_millis(20));
    }
}

/// `waiting` is the setting that makes a primary wait.
fn survives(mut members: Members, waiting: &str) {
    members
        .server(1)
        .sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)");
    members.wait_for_rows(2, "1");
    members.wait_for_rows(3, "1");
    assert!(members.received(1) >= 2);
    assert_eq!(members.received(1), members.received(2));

    // The primary commits what no replica gets, and dies.
    for replica in [2, 3] {
        members.server(replica).sql("STOP REPLICA IO_THREAD");
    }
    members.server(1).sql("INSERT INTO t VALUES (2)");
    assert_eq!(members.received(1), members.received(2) + 1);
    members.server(1).kill();
    members.promote(2);
    let waits = members.server(2).sql(&format!("SELECT @@global.{waiting}"));
    assert_eq!(waits[0][0], "1", "for the other replica");
    members.follow(3, 2).unwrap();
    members.wait_for_state(3, Role::Replica);
    members.server(2).sql("INSERT INTO t VALUES (3)");
    members.wait_for_rows(3, "1,3");

    // It returns, and neither accepts writes nor loses its own silently.
    members.restart(1);
    assert_eq!(members.state(1), Role::Detached);
    let error = members.follow(1, 2).unwrap_err();
    let (text, remedy) = (error.to_string(), error.remedy.as_deref());
    assert!(
        text.contains("server 1") && text.contains("member 2"),
        "{text}"
    );
    assert!(text.contains(&lost(&members)), "{text}");
    assert!(remedy.unwrap().contains("lost"));
    assert_eq!(members.state(1), Role::Detached);
    members.wait_for_rows(1, "1,2");

    // A primary without such transactions replicates from its successor.
    members.server(2).kill();
    members.promote(3);
    members.restart(2);
    members.follow(2, 3).unwrap();
    members.wait_for_state(2, Role::Replica);
    members.server(3).sql("INSERT INTO t VALUES (4)");
    members.wait_for_rows(2, "1,3,4");

    // The primary waits for the replica that is there again.
    let wait = format!("SET GLOBAL {waiting} = OFF");
    members.server(3).sql(&wait);
    let completed = members.on(3, |member| members.kind.complete(member));
    completed.unwrap();
    let waits = members.server(3).sql(&format!("SELECT @@global.{waiting}"));
    assert_eq!(waits[0][0], "1");

    // One that nobody replaced is the primary again.
    members.server(3).kill();
    members.restart(3);
    assert_eq!(members.state(3), Role::Primary);
    members.wait_for_state(2, Role::Replica);
    members.server(3).sql("INSERT INTO t VALUES (5)");
    members.wait_for_rows(2, "1,3,4,5");

    // A server without a source has no received transactions to apply first.
    members.promote(1);
}

/// How an error names the transaction that only the first member has.
fn lost(members: &Members) -> String {
    let first = &members.servers[0];
    match first.sql("SELECT VERSION()")[0][0].contains("MariaDB") {
        true => first.sql("SELECT @@global.gtid_binlog_pos")[0][0].clone(),
        false => {
            let uuid = first.sql("SELECT @@global.server_uuid")[0][0].clone();
            format!("{uuid}:{}", members.received(1))
        }
    }
}

#[test]
fn a_replica_of_mariadb_takes_over() {
    let kind = engine::MARIADB.replicates_as("semi-synchronous").unwrap();
    let options = [LAZY_DISK, "--rpl_semi_sync_master_timeout=500"];
    let members = Members::start(MariaDb::start, kind, &options);
    survives(members, "rpl_semi_sync_master_enabled");
}

#[test]
fn a_replica_of_mysql_takes_over() {
    let kind = engine::MYSQL.replicates_as("semi-synchronous").unwrap();
    let options = [LAZY_DISK, "--rpl_semi_sync_source_timeout=500"];
    let members = Members::start(MySql::start, kind, &options);
    survives(members, "rpl_semi_sync_source_enabled");
}

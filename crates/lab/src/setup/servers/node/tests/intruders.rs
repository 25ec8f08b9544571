//! Another account of this host tries to join clusters with servers of its own.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;

use super::*;

/// The user and the group `nobody`.
const NOBODY: u32 = 65534;

/// How often to check whether an intruder got in.
const PAUSE: Duration = Duration::from_millis(100);

/// A program of another user, with a directory of its own.
struct Intruder {
    dir: PathBuf,
}

impl Intruder {
    fn new(keep: &Path) -> Self {
        let dir = keep.join("intruder");
        fs::create_dir_all(&dir).unwrap();
        // The intruder can reach its own directory and no other.
        for closed in [keep, &dir] {
            fs::set_permissions(closed, fs::Permissions::from_mode(0o711)).unwrap();
        }
        std::os::unix::fs::chown(&dir, Some(NOBODY), Some(NOBODY)).unwrap();
        Self { dir }
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let log = File::options()
            .append(true)
            .create(true)
            .open(self.log_path());
        let (log, errors) = (
            log.unwrap(),
            File::options().append(true).open(self.log_path()),
        );
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.current_dir(&self.dir).uid(NOBODY).gid(NOBODY);
        command.stdin(std::process::Stdio::null());
        command.stdout(log).stderr(errors.unwrap());
        command
    }

    fn log_path(&self) -> PathBuf {
        self.dir.with_extension("log")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn run(&self, program: impl AsRef<Path>, arguments: &[&str]) {
        let ended = self.command(program).args(arguments).status().unwrap();
        assert!(ended.success(), "{arguments:?}: {}", self.log());
    }

    fn start(&self, program: impl AsRef<Path>, arguments: &[String]) -> Running {
        Running(self.command(program).args(arguments).spawn().unwrap())
    }
}

/// A process that is killed when this value is dropped.
struct Running(Child);

impl Running {
    /// Waits until the process ends, while `check` must hold.
    fn wait(mut self, mut check: impl FnMut()) -> std::process::ExitStatus {
        loop {
            check();
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            sleep(PAUSE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn layout(nodes: &[Node]) -> &engine::replication::ClusterLayout {
    &nodes[0].spec.membership.as_ref().unwrap().layout
}

/// The addresses at which the members of a group talk to each other.
fn group(nodes: &[Node]) -> String {
    let addresses = layout(nodes).group_addresses();
    let addresses: Vec<String> = addresses.map(|one| one.to_string()).collect();
    addresses.join(",")
}

/// Asserts that a member's log mentions the intruder with these words.
fn assert_noticed(nodes: &[Node], words: &str) {
    let seen: Vec<String> = nodes.iter().flat_map(Node::strangers).collect();
    assert!(seen.iter().any(|what| what.contains(words)), "{seen:?}");
}

fn assert_nobody_noticed(nodes: &[Node]) {
    let seen: Vec<String> = nodes.iter().flat_map(Node::strangers).collect();
    assert!(seen.is_empty(), "{seen:?}");
}

/// The intruder knows the addresses and the name of the group. It tries without encryption, then
/// with a certificate of its own.
pub(super) fn cannot_join_galera(nodes: &mut [Node], keep: &Path) {
    if !is_root() {
        return;
    }
    assert_nobody_noticed(nodes);
    let intruder = Intruder::new(keep);
    let path = |name: &str| intruder.dir.join(name).display().to_string();
    let data = format!("--datadir={}", path("data"));
    let install = ["--no-defaults", &data, "--skip-test-db"];
    intruder.run("/usr/bin/mariadb-install-db", &install);
    let request = format!(
        "req -x509 -newkey rsa:2048 -nodes -subj /CN=dyno -keyout {} -out {}",
        path("key.pem"),
        path("cert.pem")
    );
    let request: Vec<&str> = request.split(' ').collect();
    intruder.run("/usr/bin/openssl", &request);
    let certificate = format!(
        "socket.ssl=YES; socket.ssl_ca={0}; socket.ssl_cert={0}; socket.ssl_key={1}",
        path("cert.pem"),
        path("key.pem")
    );
    let members = nodes.len().to_string();
    let size = "SELECT variable_value FROM information_schema.GLOBAL_STATUS \
                WHERE variable_name = 'WSREP_CLUSTER_SIZE'";
    for encryption in ["socket.ssl=NO", &certificate] {
        let ports = crate::port::several(4, Ipv4Addr::LOCALHOST).unwrap();
        let arguments = [
            "--no-defaults".to_owned(),
            data.clone(),
            format!("--socket={}", path("s")),
            format!("--pid-file={}", path("pid")),
            format!("--port={}", ports[0]),
            "--bind-address=127.0.0.1".to_owned(),
            "--wsrep-on=ON".to_owned(),
            "--wsrep-provider=/usr/lib/galera/libgalera_smm.so".to_owned(),
            format!("--wsrep-cluster-name={}", layout(nodes).id),
            format!("--wsrep-cluster-address=gcomm://{}", group(nodes)),
            format!("--wsrep-node-address=127.0.0.1:{}", ports[1]),
            format!("--wsrep-sst-receive-address=127.0.0.1:{}", ports[2]),
            "--wsrep-sst-method=rsync".to_owned(),
            "--binlog-format=ROW".to_owned(),
            "--innodb-autoinc-lock-mode=2".to_owned(),
            format!(
                "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{}; \
                 ist.recv_addr=127.0.0.1:{}; pc.wait_prim_timeout=PT2S; \
                 pc.announce_timeout=PT2S; {encryption}",
                ports[1], ports[3]
            ),
        ];
        let running = intruder.start("/usr/sbin/mariadbd", &arguments);
        let status = running.wait(|| assert_eq!(ask(&nodes[0], size), members));
        assert!(!status.success(), "{}", intruder.log());
    }
    for words in ["unexpected eof", "tlsv1 alert unknown ca"] {
        assert_noticed(nodes, &format!("Failed to establish connection: {words}"));
    }
}

#[test]
fn nobody_else_joins_group_replication() {
    if !is_root() {
        return;
    }
    let keep = tempfile::tempdir().unwrap();
    let config = [("innodb_buffer_pool_size", "64M")];
    let mut nodes = cluster(engine::MYSQL, "group-replication", 2, &config, keep.path());
    nodes[1].wait_until_it_replicates(LIMIT, &NEVER).unwrap();
    assert_nobody_noticed(&nodes);
    let intruder = Intruder::new(keep.path());
    let path = |name: &str| intruder.dir.join(name).display().to_string();
    let server = nodes[0].installed.program.clone();
    let data = format!("--datadir={}", path("data"));
    intruder.run(&server, &["--no-defaults", "--initialize-insecure", &data]);
    let port = crate::port::free(Ipv4Addr::LOCALHOST).unwrap();
    let seeds: Vec<String> = nodes.iter().map(|one| one.address().to_string()).collect();
    let id = &layout(&nodes).id;
    let name = [&id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]].join("-");
    let config = fs::read_to_string(keep.path().join("1/my.cnf")).unwrap();
    let of_place = |line: &&str| line.starts_with("basedir") || line.starts_with("plugin_dir");
    let place = config.lines().filter(of_place);
    let place = place.map(|line| format!("--{}", line.replace(" = ", "=")));
    let arguments = [
        data,
        format!("--socket={}", path("s")),
        format!("--port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--secure-file-priv=NULL".to_owned(),
        "--mysqlx=OFF".to_owned(),
        "--server-id=9".to_owned(),
        "--log-bin=binlog".to_owned(),
        "--gtid-mode=ON".to_owned(),
        "--enforce-gtid-consistency=ON".to_owned(),
        "--report-host=127.0.0.1".to_owned(),
        "--plugin-load-add=group_replication.so".to_owned(),
        format!("--group-replication-group-name={name}"),
        format!("--group-replication-local-address=127.0.0.1:{port}"),
        format!("--group-replication-group-seeds={}", seeds.join(",")),
        "--group-replication-communication-stack=MYSQL".to_owned(),
        "--group-replication-recovery-get-public-key=ON".to_owned(),
        "--group-replication-start-on-boot=OFF".to_owned(),
    ];
    let arguments: Vec<String> = std::iter::once("--no-defaults".to_owned())
        .chain(place)
        .chain(arguments)
        .collect();
    let client = server.with_file_name("mysql");
    let login = format!("--socket={}", path("s"));
    let ask_intruder = |sql: &str| {
        let arguments = ["--no-defaults", "--user=root", &login, "-e", sql].map(str::to_owned);
        intruder.start(&client, &arguments)
    };
    let size = "SELECT COUNT(*) FROM performance_schema.replication_group_members";
    for mode in ["DISABLED", "REQUIRED"] {
        let mode = format!("--group-replication-ssl-mode={mode}");
        let arguments: Vec<String> = arguments.iter().cloned().chain([mode]).collect();
        let mut running = intruder.start(&server, &arguments);
        while !ask_intruder("SELECT 1").wait(|| ()).success() {
            let ended = running.0.try_wait().unwrap();
            assert!(ended.is_none(), "{}", intruder.log());
            sleep(PAUSE);
        }
        // The intruder connects to itself first, with the same account.
        let own = "SET sql_log_bin = 0; CREATE USER IF NOT EXISTS intruder IDENTIFIED BY 'guess'; \
                   GRANT ALL ON *.* TO intruder";
        assert!(
            ask_intruder(own).wait(|| ()).success(),
            "{}",
            intruder.log()
        );
        // It keeps trying for a minute.
        fs::write(intruder.log_path(), "").unwrap();
        let joins = ask_intruder("START GROUP_REPLICATION USER = 'intruder', PASSWORD = 'guess'");
        while !intruder
            .log()
            .contains("The member was unable to join the group")
        {
            assert_eq!(ask(&nodes[0], size), "2");
            sleep(PAUSE);
        }
        drop((joins, running));
    }
    assert_noticed(&nodes, "Access denied for user 'intruder'");
    assert_refused(&nodes, &client);
}

/// Logins without dyno's passwords are refused and logged.
fn assert_refused(nodes: &[Node], client: &Path) {
    let keep = tempfile::tempdir().unwrap();
    let intruder = Intruder::new(keep.path());
    for user in ["root", "dyno_replication"] {
        let arguments = [
            "--no-defaults".to_owned(),
            format!("--user={user}"),
            "--protocol=tcp".to_owned(),
            "--host=127.0.0.1".to_owned(),
            format!("--port={}", nodes[0].port()),
        ];
        let status = intruder.start(client, &arguments).wait(|| ());
        assert!(!status.success(), "{user}: {}", intruder.log());
        assert_noticed(nodes, &format!("Access denied for user '{user}'"));
    }
}

/// What a replica sends to an impostor that listens at its primary's address.
fn sent_to_impostor(address: SocketAddr, greeting: &[u8], then: &[u8]) -> Vec<u8> {
    let listener = TcpListener::bind(address).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    stream.write_all(greeting).unwrap();
    let mut sent = vec![0; then.len() * REQUEST_BYTES];
    stream.read_exact(&mut sent).unwrap();
    let _ = stream.write_all(then);
    // A replica that gives up closes the connection, or resets it.
    sent.resize(MOST_SENT_BYTES, 0);
    let count = stream.read(&mut sent).unwrap_or(0);
    sent.truncate(count);
    sent
}

/// Length of PostgreSQL's request for TLS.
const REQUEST_BYTES: usize = 8;
const MOST_SENT_BYTES: usize = 1024;

/// The greeting of a server of MySQL's protocol without TLS.
fn greeting(method: &str) -> Vec<u8> {
    let mut packet = vec![10];
    packet.extend(b"8.0.99\0\x01\0\0\0");
    packet.extend(b"abcdefgh\0\xff\xf7\x2d\x02\0\x08\0\x15");
    packet.extend([0; 10]);
    packet.extend(b"ijklmnopqrst\0");
    packet.extend(method.as_bytes());
    packet.push(0);
    let length = u8::try_from(packet.len()).unwrap();
    [&[length, 0, 0, 0], packet.as_slice()].concat()
}

#[test]
fn replicas_give_nothing_to_who_takes_their_primarys_port() {
    if !is_root() {
        return;
    }
    for (engine, method) in [
        (engine::MARIADB, "mysql_native_password"),
        (engine::MYSQL, "caching_sha2_password"),
    ] {
        let keep = tempfile::tempdir().unwrap();
        let config = [("innodb_buffer_pool_size", "64M")];
        let mut nodes = cluster(engine, "asynchronous", 2, &config, keep.path());
        nodes[1].wait_until_it_replicates(LIMIT, &NEVER).unwrap();
        assert_nobody_noticed(&nodes);
        let client = match engine == engine::MARIADB {
            true => PathBuf::from("/usr/bin/mariadb"),
            false => nodes[0].installed.program.with_file_name("mysql"),
        };
        assert_refused(&nodes, &client);
        nodes[0].kill();
        let sent = sent_to_impostor(nodes[0].address(), &greeting(method), &[]);
        assert!(
            sent.is_empty(),
            "{engine}: {}",
            String::from_utf8_lossy(&sent)
        );
    }
}

#[test]
fn standbys_give_nothing_to_who_takes_their_primarys_port() {
    if !is_root() {
        return;
    }
    let keep = tempfile::tempdir().unwrap();
    // Like the server that created the empty data.
    let config = [("max_wal_senders", "10")];
    let mut nodes = cluster(engine::POSTGRES, "asynchronous", 2, &config, keep.path());
    nodes[1].wait_until_it_replicates(LIMIT, &NEVER).unwrap();
    assert_nobody_noticed(&nodes);
    let intruder = Intruder::new(keep.path());
    for (user, words) in [
        (
            "dyno_replication",
            "password authentication failed for user",
        ),
        ("postgres", "no pg_hba.conf entry for"),
    ] {
        let url = format!(
            "postgres://{user}:guess@127.0.0.1:{}/postgres?replication=true",
            nodes[0].port()
        );
        let status = intruder.start("/usr/bin/psql", &[url]).wait(|| ());
        assert!(!status.success(), "{user}: {}", intruder.log());
        assert_noticed(&nodes, words);
    }
    nodes[0].kill();
    // The impostor claims to have no TLS.
    let sent = sent_to_impostor(nodes[0].address(), &[], b"N");
    assert!(sent.is_empty(), "{}", String::from_utf8_lossy(&sent));
}

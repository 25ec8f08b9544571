//! Members with network namespaces of their own: every kind of cluster forms in them, and nothing of
//! them stays.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::common::{Cache, Program, give_to_nobody};
use measure::setup::Outcome;

/// What a study needs for members with namespaces; its last line is the key.
const STUDY: &str = "title = \"t\"\n[server]\nengine = \"postgres\"\n[data]\nrows = 100\n[load]\n\
                     threads = 2\nwarmup = \"0s\"\ntime = \"2s\"\n[topology]\n\
                     cluster = \"quorum\"\nnetwork = \"namespaces\"\n";

/// Whether this user may make namespaces; records a skipped test where not.
fn can_make_namespaces() -> bool {
    // Tests of this file run at once: two must not try the same name.
    static CAN: OnceLock<bool> = OnceLock::new();
    let can = *CAN.get_or_init(|| {
        let name = format!("dyno-can-{}", std::process::id());
        let ip = |word: &str| Command::new("ip").args(["netns", word, &name]).output();
        let can = ip("add").is_ok_and(|output| output.status.success());
        if can {
            drop(ip("del"));
        }
        can
    });
    if !can {
        testkit::skip("no network namespaces can be made here");
    }
    can
}

/// The address that a server of a result listened on.
fn address(trial: &Path, number: u32) -> Ipv4Addr {
    let dir = trial.join(format!("servers/{number}"));
    let configs = ["my.cnf", "postgresql.conf"].map(|name| std::fs::read_to_string(dir.join(name)));
    let config: String = configs.into_iter().flatten().collect();
    let mut lines = config.lines();
    let found = lines.find_map(|line| {
        let (name, value) = line.split_once(" = ")?;
        let is_address = ["bind_address", "listen_addresses"].contains(&name);
        is_address.then(|| value.trim_matches('\'').parse().unwrap())
    });
    found.unwrap_or_else(|| panic!("no address in {}", dir.display()))
}

/// Drives clusters of this kind, and checks that each member had an address of its own.
fn drives(engine: &str, kind: &str, instances: u32) {
    if !can_make_namespaces() {
        return;
    }
    let place = Cache::new();
    let words = format!(
        "--set server.engine={engine} --set topology.cluster={kind} \
         --set topology.instances={instances}"
    );
    let done = Program::study(STUDY).args(&words).cache(&place).run();
    let done = done.succeeds();
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed);
    assert_eq!(trial.failures(), 0, "{:?}", trial.errors);
    let dir = &store::trial_dirs(&done.out()).unwrap()[0];
    let mut addresses: Vec<Ipv4Addr> = (1..=3 * instances).map(|n| address(dir, n)).collect();
    assert!(
        addresses.iter().all(|ip| ip.octets()[0] == 198),
        "{addresses:?}"
    );
    addresses.dedup();
    assert_eq!(addresses.len(), 3 * instances as usize);
    place.assert_nothing_left();
    let [a, b, c, _] = addresses[0].octets();
    let host = format!("/sys/class/net/dyno-{a}-{b}-{c}");
    assert!(!Path::new(&host).exists());
}

#[test]
fn several_clusters_share_a_network() {
    drives("postgres", "quorum", 2);
}

#[test]
fn group_replication_forms_between_namespaces() {
    drives("mysql", "group-replication", 1);
}

#[test]
fn galera_forms_between_namespaces() {
    drives("mariadb", "galera", 1);
}

/// The members reach etcd, which runs on the host.
#[test]
fn patroni_forms_between_namespaces() {
    drives("postgres", "patroni", 1);
}

/// Located at the key, before anything is built.
#[test]
fn a_missing_right_is_reported_with_its_remedy() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("only root can run dyno as somebody else");
    }
    let (cache, program) = (Cache::new(), Program::as_nobody().with_study(STUDY));
    give_to_nobody(cache.path());
    give_to_nobody(program.dir());
    let refused = program.args("run study.toml --out out").cache(&cache).run();
    let texts = [
        "cannot set up a network",
        "study.toml:12:11",
        "CAP_NET_ADMIN",
    ];
    refused.fails(2, &texts);
    assert!(cache.templates().is_empty());
}

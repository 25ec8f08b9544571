//! Members with network namespaces of their own: clusters form in them, and nothing of them stays.

use std::net::Ipv4Addr;
use std::path::Path;

use crate::common::{Cache, Program, give_to_nobody};

/// What a study needs for members with namespaces; its last line is the key.
const STUDY: &str = "title = \"t\"\n[server]\nengine = \"postgres\"\n[data]\nrows = 100\n[load]\n\
                     threads = 2\nwarmup = \"0s\"\ntime = \"2s\"\n[topology]\n\
                     cluster = \"quorum\"\nnetwork = \"namespaces\"\n";

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

/// Clusters of other kinds form in namespaces where their links break.
#[test]
fn several_clusters_share_a_network_in_which_each_member_has_an_address() {
    for (words, members) in [
        ("--set load.think=20ms --set topology.instances=2", 6),
        (
            "--set load.think=20ms --set server.engine=mariadb --set topology.cluster=galera",
            3,
        ),
    ] {
        let done = Program::study(STUDY).args(words).run_alone();
        if done.stderr.contains("CAP_NET_ADMIN") {
            return testkit::skip("this user may not make network namespaces");
        }
        let done = done.succeeds();
        let trial = done.completed();
        assert_eq!(trial.failures(), 0, "{:?}", trial.errors);
        let dir = &store::trial_dirs(&done.out()).unwrap()[0];
        let mut addresses: Vec<Ipv4Addr> = (1..=members).map(|n| address(dir, n)).collect();
        let is_own = |ip: &Ipv4Addr| ip.octets()[0] == 198;
        assert!(addresses.iter().all(is_own), "{addresses:?}");
        addresses.dedup();
        assert_eq!(addresses.len(), members as usize);
        let [a, b, c, _] = addresses[0].octets();
        let host = format!("/sys/class/net/dyno-{a}-{b}-{c}");
        assert!(!Path::new(&host).exists());
    }
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

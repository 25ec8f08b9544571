//! Servers in network namespaces: nothing of a network stays, whatever ends it.

use lab::Failure;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use engine::MARIADB;
use lab::clean_in;
use lab::servers::Node;
use machine::home::Home;
use machine::site::{Switch, ThisHost};

use crate::private::{self, NEVER, is_running, kept_home, open_dir, wait_until};

/// What a dyno does that is to be killed; nothing in a test run.
#[test]
fn a_dyno() {
    private::killed::play(|home, _, keep| {
        private::killed::serve(start(home, keep).unwrap());
    });
}

/// A server in a namespace.
fn start(home: &Home, keep: &Path) -> Result<Node, Failure> {
    let switch = Arc::new(Switch::new(home)?);
    let site = ThisHost::new(home, &plan::Site::default(), false, Some(&switch))?;
    private::start_at(home, MARIADB, site, keep)
}

/// The same, unless this user has no right to it: then the error says how to get it.
fn start_if_allowed(home: &Home, keep: &Path) -> Option<Node> {
    let is_denied = |error: &Failure| error.key.as_deref() == Some("topology.network");
    private::allowed(start(home, keep), is_denied, &["CAP_NET_ADMIN", "iproute2"])
}

/// The namespaces that a run has made and not removed.
fn namespaces(run: &Path) -> usize {
    let prefix = format!("dyno-{}-", run.file_name().unwrap().to_str().unwrap());
    let all = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    all.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .count()
}

/// The host's interface in the network of the server whose configuration was kept here.
fn interface(keep: &Path) -> PathBuf {
    let config = fs::read_to_string(keep.join("my.cnf")).unwrap();
    let mut lines = config.lines();
    let address = lines.find_map(|line| line.strip_prefix("bind_address = "));
    let (subnet, _) = address.unwrap().rsplit_once('.').unwrap();
    Path::new("/sys/class/net").join(format!("dyno-{}", subnet.replace('.', "-")))
}

#[test]
fn a_server_listens_only_in_its_namespace_and_survives_a_restart() {
    let (home, keep) = (kept_home(), open_dir());
    let Some(mut server) = start_if_allowed(&home, keep.path()) else {
        return;
    };
    let loopback = ("127.0.0.1", server.port());
    std::net::TcpStream::connect(loopback).unwrap_err();
    server.open("sbtest").unwrap();
    server.kill();
    server.restart(&NEVER).unwrap();
    server.open("sbtest").unwrap();
    let (run, host) = (home.run_dir().to_owned(), interface(keep.path()));
    assert!(host.exists());
    assert_eq!(namespaces(&run), 2);
    server.end().unwrap();
    assert!(!host.exists());
    assert_eq!(namespaces(&run), 0);
}

/// The unprivileged account of the servers, and nobody's rights on the network.
#[test]
fn a_server_in_a_namespace_has_no_rights_on_it() {
    let (home, keep) = (kept_home(), open_dir());
    let Some(server) = start_if_allowed(&home, keep.path()) else {
        return;
    };
    let pid = server.pid().unwrap();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    assert!(environment.contains("DYNO_RUN_DIR="), "{environment}");
    let inside = fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
    assert_ne!(inside, fs::read_link("/proc/self/ns/net").unwrap());
}

#[test]
fn nothing_of_a_killed_dyno_stays() {
    let dir = open_dir();
    let (root, keep) = (dir.path().join("cache"), dir.path().join("keep"));
    {
        let home = private::home_in(&root);
        if start_if_allowed(&home, &keep).is_none() {
            return;
        }
    }
    // A namespace of somebody else's, whose name is similar.
    let theirs = Theirs::new();
    let dyno = private::killed::dyno(&root, "serve", &keep);
    let run = dyno.run_dir();
    assert_eq!(namespaces(&run), 2);
    let host = interface(&keep);
    assert!(host.exists());
    let pids = private::processes_below(&run);
    assert!(!pids.is_empty());
    dyno.kill();
    clean_in(&root, false).unwrap();
    assert!(!run.exists());
    assert_eq!(namespaces(&run), 0);
    assert!(pids.iter().all(|pid| !is_running(*pid)));
    assert!(Path::new("/run/netns").join(&theirs.0).exists());
    // It goes with the namespace of the switch, when the kernel gets to it.
    wait_until("the end of the host's interface", || !host.exists());
}

/// A named namespace that no run of dyno has made.
struct Theirs(String);

impl Theirs {
    fn new() -> Self {
        let name = format!("dyno-theirs-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).status();
        assert!(made.unwrap().success());
        Self(name)
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

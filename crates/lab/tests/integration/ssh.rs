//! Servers on another host: an SSH server of the test's own stands for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::private::{
    self, NEVER, empty_data, entries, installed, is_running, kept_home, killed, open_dir, value,
    wait_until,
};
use engine::{Installed, MARIADB, POSTGRES, Server};
use lab::servers::{self, Node};
use machine::home::Home;
use machine::site::{Destination, Machine, Site};
use testkit::SshHost;

fn destination(config: &Path) -> Destination {
    Destination {
        host: SshHost::NAME.to_owned(),
        ssh_config: Some(config.to_owned()),
    }
}

fn start(home: &Home, site: Machine, engine: &'static dyn Server, keep: &Path) -> Node {
    let installed = installed(engine);
    servers::check_program(site.machine().unwrap(), &installed).unwrap();
    let data = empty_data(home, &installed);
    data.place(site.machine().unwrap(), &NEVER).unwrap();
    let spec = private::on_site(Arc::new(site), keep);
    servers::start(&installed, spec, data, &NEVER).unwrap()
}

/// The engines whose servers are one process and several.
const BOTH: [&dyn Server; 2] = [MARIADB, POSTGRES];

#[test]
fn servers_live_on_another_host_and_leave_nothing() {
    let (home, host, below) = (kept_home(), SshHost::start(), open_dir());
    let keep = tempfile::tempdir().unwrap();
    for engine in BOTH {
        let site = Machine::new(&home, &destination(&host.config()), below.path()).unwrap();
        let mut node = start(&home, site, engine, keep.path());
        assert_eq!(value(&node, "SELECT 40 + 2"), "42");
        assert!(node.data_dir().starts_with(below.path()));
        let pid = node.pid().unwrap();
        let server = host::process::read_family(node.site().files(), pid);
        assert_eq!(server.is_some(), is_running(pid));
        node.kill().unwrap();
        wait_until("the end of the server", || !is_running(pid));
        assert_eq!(private::shared_memory(pid), 0);
        node.restart(&NEVER).unwrap();
        assert_eq!(value(&node, "SELECT 40 + 2"), "42");
        node.stop(&NEVER).unwrap();
        assert_eq!(entries(below.path()), Vec::<PathBuf>::new());
    }
}

/// What the agent reads is what this host reads of itself.
#[test]
fn the_files_of_a_host_are_read_over_the_connection() {
    let (home, host, below) = (kept_home(), SshHost::start(), open_dir());
    let site = Machine::new(&home, &destination(&host.config()), below.path()).unwrap();
    let (there, here) = (site.files(), machine::site::ThisHost::default());
    let here = here.files();
    let dir = below.path();
    fs::write(dir.join("a b"), "one\n\n two").unwrap();
    std::os::unix::fs::symlink(dir.join("a b"), dir.join("link")).unwrap();
    assert_eq!(there.read(&dir.join("link")).unwrap(), "one\n\n two\n");
    assert_eq!(there.list(dir).unwrap(), here.list(dir).unwrap());
    let link = dir.join("link");
    assert_eq!(there.resolve(&link).unwrap(), here.resolve(&link).unwrap());
    let (space, own) = (there.space(dir).unwrap(), here.space(dir).unwrap());
    assert_eq!(
        (space.device, space.total_bytes),
        (own.device, own.total_bytes)
    );
    for missing in ["none", "a\nb"] {
        let missing = dir.join(missing);
        assert!(there.read(&missing).is_err() && there.list(&missing).is_err());
        assert!(there.resolve(&missing).is_err() && there.space(&missing).is_err());
    }
    let facts = host::HostFacts::read(there);
    assert_eq!(facts.cpu, host::HostFacts::read(here).cpu);
}

/// Why a host cannot be used.
fn refused(config: &Path, below: &Path) -> String {
    match Machine::new(&kept_home(), &destination(config), below) {
        Err(error) if error.key.as_deref() == Some("site.host") => {
            format!("{error}; {}", error.remedy.as_deref().unwrap())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_host_that_cannot_be_used_is_refused_with_the_reason() {
    let (host, below) = (SshHost::start(), open_dir());
    let config = host.config();
    let no_directory = refused(&config, &below.path().join("none"));
    assert!(no_directory.contains("site.directory"), "{no_directory}");
    let keys = fs::read_to_string(host.authorized_keys()).unwrap();
    fs::write(host.authorized_keys(), "").unwrap();
    let key_refused = refused(&config, below.path());
    assert!(key_refused.contains("ssh-copy-id"), "{key_refused}");
    fs::write(host.authorized_keys(), keys).unwrap();
    let known = fs::read_to_string(host.known_hosts()).unwrap();
    fs::write(host.known_hosts(), "").unwrap();
    let unknown = refused(&config, below.path());
    assert!(unknown.contains("is not known"), "{unknown}");
    fs::write(host.known_hosts(), known).unwrap();
    let host = host.change_key();
    let changed = refused(&config, below.path());
    assert!(changed.contains("its host key has changed"), "{changed}");
    // Its configuration disappears with it.
    let copy = below.path().join("config");
    fs::copy(&config, &copy).unwrap();
    drop(host);
    let unreachable = refused(&copy, below.path());
    assert!(unreachable.contains("Connection refused"), "{unreachable}");
    assert_eq!(entries(below.path()), [copy]);
}

#[test]
fn a_server_program_that_a_host_lacks_is_named() {
    let (home, host, below) = (kept_home(), SshHost::start(), open_dir());
    let site = Machine::new(&home, &destination(&host.config()), below.path()).unwrap();
    let check = |installed: &Installed| {
        let checked = servers::check_program(site.machine().unwrap(), installed);
        checked.unwrap_err().to_string()
    };
    let mut nowhere = installed(MARIADB);
    nowhere.program = "/nowhere/server".into();
    let nowhere = check(&nowhere);
    assert!(
        nowhere.contains("/nowhere/server does not run"),
        "{nowhere}"
    );
    let mut other = installed(MARIADB);
    other.build = "1.2.3-other".to_owned();
    let other = check(&other);
    assert!(other.contains("prepared by 1.2.3-other"), "{other}");
}

/// Plays a dyno with a server on another host.
#[test]
fn a_dyno() {
    killed::play(|home, _, place| {
        let config = fs::read_to_string(place.join("config")).unwrap();
        let to = destination(Path::new(&config));
        let site = Machine::new(home, &to, &place.join("below")).unwrap();
        let node = start(home, site, MARIADB, &place.join("keep"));
        fs::write(place.join("pid"), node.pid().unwrap().to_string()).unwrap();
        killed::ready();
        loop {
            std::thread::park();
        }
    });
}

#[test]
fn what_a_killed_dyno_left_on_another_host_is_removed() {
    let (host, dir) = (SshHost::start(), open_dir());
    let (root, below) = (dir.path().join("cache"), dir.path().join("below"));
    fs::create_dir(&below).unwrap();
    fs::write(
        dir.path().join("config"),
        host.config().display().to_string(),
    )
    .unwrap();
    let dyno = killed::dyno(&root, "", dir.path());
    let pid = fs::read_to_string(dir.path().join("pid")).unwrap();
    let pid = pid.parse().unwrap();
    assert!(is_running(pid) && entries(&below).len() == 1);
    dyno.kill();
    wait_until("the end of the server", || !is_running(pid));
    // While the host does not answer, its record stays.
    let keys = fs::read_to_string(host.authorized_keys()).unwrap();
    fs::write(host.authorized_keys(), "").unwrap();
    let cleaned = lab::clean_in(&root, false).unwrap();
    assert_eq!(
        (cleaned.run_dirs, cleaned.left.len()),
        (0, 1),
        "{cleaned:?}"
    );
    assert_eq!(entries(&below).len(), 1);
    fs::write(host.authorized_keys(), keys).unwrap();
    let cleaned = lab::clean_in(&root, false).unwrap();
    assert_eq!(
        (cleaned.run_dirs, cleaned.left.len()),
        (1, 0),
        "{cleaned:?}"
    );
    assert_eq!(entries(&below), Vec::<PathBuf>::new());
}

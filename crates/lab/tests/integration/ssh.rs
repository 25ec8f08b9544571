//! The connection to another host: an SSH server of the test's own stands for it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::private::{entries, installed, kept_home, killed, open_dir};
use engine::{Installed, MARIADB};
use lab::servers;
use machine::site::{Destination, Machine, Site};
use testkit::SshHost;

fn destination(config: &Path) -> Destination {
    Destination {
        host: SshHost::NAME.to_owned(),
        ssh_config: Some(config.to_owned()),
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

/// Plays a dyno that is connected to another host.
#[test]
fn a_dyno() {
    killed::play(|home, _, place| {
        let config = fs::read_to_string(place.join("config")).unwrap();
        let to = destination(Path::new(&config));
        let _site = Machine::new(home, &to, &place.join("below")).unwrap();
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
    assert_eq!(entries(&below).len(), 1);
    dyno.kill();
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

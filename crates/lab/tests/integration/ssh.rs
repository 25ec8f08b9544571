//! The connection to another host: an SSH server of the test's own stands for it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::private::{entries, kept_home, killed, open_dir};
use machine::site::{Destination, Machine};
use testkit::SshHost;

fn destination(config: &Path) -> Destination {
    Destination {
        host: SshHost::NAME.to_owned(),
        ssh_config: Some(config.to_owned()),
    }
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

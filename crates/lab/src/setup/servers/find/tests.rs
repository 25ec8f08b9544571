use std::fs;
use std::os::unix::fs::PermissionsExt;

use engine::{MARIADB, MYSQL};

use super::*;

/// A base directory whose server program is the script `text`.
fn base_with(name: &str, text: &str) -> tempfile::TempDir {
    let dir = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir()
        .unwrap();
    fs::create_dir(dir.path().join("bin")).unwrap();
    let program = dir.path().join("bin").join(name);
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

#[test]
fn a_program_is_what_it_says_it_is() {
    let says = "#!/bin/sh\necho \"$0  Ver 11.4.2-MariaDB for Linux on x86_64\"\n";
    let dir = base_with("mysqld", says);
    let found = find(MARIADB, Some(dir.path()), Some("11.4")).unwrap();
    assert_eq!(found.shown(), "MariaDB 11.4.2");
    assert_eq!(found.build, "11.4.2-MariaDB");
    let error = find(MYSQL, Some(dir.path()), None).unwrap_err();
    assert_eq!(error.key.as_deref(), Some("server.basedir"), "{error}");
    let error = find(MARIADB, Some(dir.path()), Some("11.5")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("requires MariaDB 11.5") && text.contains("11.4.2 ("),
        "{text}"
    );
}

#[test]
fn a_program_that_does_not_run_says_why() {
    let dir = base_with("mysqld", "#!/bin/sh\necho no libaio here >&2\nexit 127\n");
    let error = find(MYSQL, Some(dir.path()), None).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("exit code 127") && text.contains("no libaio here"),
        "{text}"
    );
    let dir = base_with("mysqld", "#!/bin/sh\necho hello\n");
    let error = find(MYSQL, Some(dir.path()), None).unwrap_err();
    assert!(error.to_string().contains("hello"), "{error}");
}

/// The child keeps the output open for ten minutes.
#[test]
fn a_program_that_leaves_a_child_is_not_waited_for() {
    let says = "#!/bin/sh\nsleep 600 &\necho \"$0  Ver 11.4.2-MariaDB for Linux on x86_64\"\n";
    let dir = base_with("mysqld", says);
    let begun = std::time::Instant::now();
    find(MARIADB, Some(dir.path()), None).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(300));
}

#[test]
fn what_is_missing_is_named_with_its_package() {
    let dir = base_with("other", "");
    for (engine, package) in [(MARIADB, "mariadb-server"), (MYSQL, "mysql-server-core")] {
        let error = find(engine, Some(dir.path()), None).unwrap_err();
        let shown = dir.path().display().to_string();
        assert!(error.to_string().contains(&shown), "{error}");
        let remedy = error.remedy.as_deref().unwrap();
        assert!(remedy.contains(package), "{remedy}");
        assert!(remedy.contains("scripts/install-servers.sh"), "{remedy}");
    }
}

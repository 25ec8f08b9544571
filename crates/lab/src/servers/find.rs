//! Which server programs this host has.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::{Installed, Invocation, Server};

use crate::account::Account;
use crate::error::LabError;
use crate::process;

/// How long a program may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// The most of what a program prints that is read.
const PRINTED_BYTES: u64 = 2000;

/// Finds an engine's server program as [`engine::find`] does.
///
/// # Errors
/// When there is none, only other versions, or one that does not run.
pub fn find(
    engine: &'static dyn Server,
    basedir: Option<&Path>,
    version: Option<&str>,
) -> Result<Installed, LabError> {
    let account = Account::for_servers()?;
    engine::find(engine, basedir, version, |invocation| {
        printed(invocation, &account)
    })
}

/// Runs a program to its end: what it prints, or why it does not run.
fn printed(invocation: &Invocation, account: &Account) -> Result<Result<String, String>, LabError> {
    let mut command = process::command(account, &invocation.program);
    command.args(&invocation.arguments);
    let failed = |error| LabError::at("run", &invocation.program)(error);
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let errors = writer.try_clone().map_err(failed)?;
    command
        .stdout(Stdio::from(writer))
        .stderr(Stdio::from(errors));
    let listening = std::thread::spawn(move || {
        let mut text = Vec::new();
        let limited = &mut std::io::Read::take(reader, PRINTED_BYTES);
        let _ = std::io::Read::read_to_end(limited, &mut text);
        text
    });
    let never = AtomicBool::new(false);
    let status = process::run(command, VERSION_LIMIT, &never)?;
    let text = listening.join().unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    Ok(match status {
        Some(status) if status.success() => Ok(text),
        Some(status) => Err(format!("it {}: {text}", process::how_it_ended(status))),
        None => Err(format!("it did not end in {} s", VERSION_LIMIT.as_secs())),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use engine::{EngineError, MARIADB, MYSQL};

    use super::*;

    /// A base directory with a program of that text.
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
        assert!(
            matches!(error, LabError::Engine(EngineError::NoServer { .. })),
            "{error}"
        );
        let error = find(MARIADB, Some(dir.path()), Some("11.5")).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("asks for MariaDB 11.5") && text.contains("11.4.2 ("),
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

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let dir = base_with("other", "");
        for (engine, package) in [(MARIADB, "mariadb-server"), (MYSQL, "mysql-server-core")] {
            let error = find(engine, Some(dir.path()), None).unwrap_err();
            let shown = dir.path().display().to_string();
            assert!(error.to_string().contains(&shown), "{error}");
            let remedy = error.remedy().unwrap();
            assert!(remedy.contains(package), "{remedy}");
            assert!(remedy.contains("scripts/install-servers.sh"), "{remedy}");
        }
    }
}

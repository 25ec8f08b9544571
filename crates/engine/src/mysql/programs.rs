//! Where the files of a server program are, and how a data directory is initialized.

use std::path::{Path, PathBuf};

use plan::Failure;

use crate::launch::{Invocation, Paths};
use crate::program::{Installed, bad_program, on_path};

/// How a data directory is initialized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Initializer {
    Script,
    Server,
}

/// Options for a server outside the system's directories that tell it where its own files are.
pub(super) fn place_options(installed: &Installed) -> Vec<(&'static str, String)> {
    let Some(base) = &installed.basedir else {
        return Vec::new();
    };
    // The unpacked tree of a package, whose server was built for /usr.
    let tree = base.join("usr");
    if !tree.join("share/mysql").is_dir() {
        return vec![("basedir", base.display().to_string())];
    }
    let below = |sub: &str| tree.join(sub).display().to_string();
    vec![
        ("basedir", tree.display().to_string()),
        ("lc_messages_dir", below("share/mysql")),
        ("character_sets_dir", below("share/mysql/charsets")),
        ("plugin_dir", below("lib/mysql/plugin")),
    ]
}

/// `script` contains the first statements.
pub(super) fn initialization(
    initializer: Initializer,
    installed: &Installed,
    paths: &Paths,
    script: &str,
) -> Result<Invocation, Failure> {
    let script = paths.dir.join(script);
    let mut arguments = vec![
        paths.config_option("--defaults-file"),
        format!("--datadir={}", paths.data.display()),
    ];
    let program = match initializer {
        Initializer::Script => {
            let options = [
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
                "--cross-bootstrap",
            ];
            arguments.extend(options.map(str::to_owned));
            arguments.push(format!("--extra-file={}", script.display()));
            if let Some(base) = &installed.basedir {
                arguments.push(format!("--basedir={}", base.display()));
            }
            install_program(installed)?
        }
        Initializer::Server => {
            arguments.push("--initialize-insecure".to_owned());
            arguments.push(format!("--init-file={}", script.display()));
            installed.program.clone()
        }
    };
    Ok(Invocation::new(program, arguments))
}

/// MariaDB's program for initializing a data directory.
fn install_program(installed: &Installed) -> Result<PathBuf, Failure> {
    let names = ["mariadb-install-db", "mysql_install_db"];
    let places = match &installed.basedir {
        Some(base) => ["bin", "scripts", "usr/bin"]
            .map(|sub| base.join(sub))
            .to_vec(),
        None => {
            let beside = installed.program.parent().unwrap_or(Path::new("/"));
            vec![
                beside.to_owned(),
                beside.join("../bin"),
                beside.join("../scripts"),
            ]
        }
    };
    let all = names
        .iter()
        .flat_map(|name| places.iter().map(move |dir| dir.join(name)));
    let mut programs = all.chain(names.iter().flat_map(|name| on_path(name)));
    programs
        .find(|program| program.is_file())
        .ok_or_else(|| bad_program(&installed.program, "its mariadb-install-db is missing"))
}

//! Where each engine's programs are, and how they want to be called.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::home;
use crate::process::{Account, output_of};

/// A database server program the kit can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// MariaDB.
    MariaDb,
    /// Oracle's MySQL.
    MySql,
}

impl Engine {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::MariaDb => "mariadb",
            Engine::MySql => "mysql",
        }
    }

    /// The server program; panics with what to do if it is not installed.
    pub(crate) fn server(self) -> PathBuf {
        let path = match self {
            Engine::MariaDb => PathBuf::from("/usr/sbin/mariadbd"),
            Engine::MySql => mysql_prefix().join("bin/mysqld"),
        };
        assert!(
            path.exists(),
            "there is no {}: run scripts/install-servers.sh {}",
            path.display(),
            self.name()
        );
        path
    }

    /// The engine's own command-line client.
    pub(crate) fn client(self) -> PathBuf {
        match self {
            Engine::MariaDb => PathBuf::from("/usr/bin/mariadb"),
            Engine::MySql => mysql_prefix().join("bin/mysql"),
        }
    }

    /// What `--version` says, fit for a file name: it tells templates of different servers apart.
    pub(crate) fn version(self) -> String {
        let mut command = Command::new(self.server());
        command.args(["--no-defaults", "--version"]);
        let text = output_of(command);
        let version = text.split("Ver ").nth(1).unwrap_or(&text);
        let version = version.split_whitespace().next().unwrap_or("unknown");
        version.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-")
    }

    /// The options every call of the server program needs, before the kit's sizes and the test's own options.
    pub(crate) fn base_options(self) -> Vec<String> {
        let mut options = vec!["--no-defaults".to_owned()];
        match self {
            Engine::MariaDb => options.push("--innodb-log-file-size=32M".to_owned()),
            Engine::MySql => {
                let usr = mysql_prefix().join("usr");
                let usr = usr.display();
                options.extend([
                    format!("--basedir={usr}"),
                    format!("--lc-messages-dir={usr}/share/mysql"),
                    format!("--character-sets-dir={usr}/share/mysql/charsets"),
                    format!("--plugin-dir={usr}/lib/mysql/plugin"),
                    "--secure-file-priv=NULL".to_owned(),
                    "--mysqlx=OFF".to_owned(),
                    "--innodb-redo-log-capacity=64M".to_owned(),
                ]);
            }
        }
        options.push("--innodb-buffer-pool-size=64M".to_owned());
        options
    }

    /// Fills the empty directory `data` with a new server's files, as `account`.
    pub(crate) fn initialize(self, data: &Path, account: &Account) {
        let data_option = format!("--datadir={}", data.display());
        let command = match self {
            Engine::MariaDb => {
                self.server(); // says what to install, if it is missing
                let mut command = account.command(Path::new("/usr/bin/mariadb-install-db"));
                command.args(["--no-defaults", &data_option, "--skip-test-db"]);
                command.args([
                    "--auth-root-authentication-method=normal",
                    "--innodb-log-file-size=32M",
                ]);
                command
            }
            Engine::MySql => {
                let mut command = account.command(&self.server());
                command.args(self.base_options());
                command.args([&data_option, "--initialize-insecure"]);
                command
            }
        };
        output_of(command);
        // The server's identity: two copies must not share it. MySQL makes a new one.
        let _ = std::fs::remove_file(data.join("auto.cnf"));
    }
}

/// Where `scripts/install-servers.sh` puts MySQL: the same rule as there.
fn mysql_prefix() -> PathBuf {
    let servers = match std::env::var_os("DYNO_SERVERS") {
        Some(dir) if !dir.is_empty() => PathBuf::from(dir),
        _ if home::is_root() => PathBuf::from("/opt/dyno/servers"),
        _ => PathBuf::from(std::env::var_os("HOME").expect("HOME is set"))
            .join(".cache/dyno/servers"),
    };
    servers.join("mysql-9.7")
}

//! The engines of a test, and their own clients.

use std::path::PathBuf;

use engine::Installed;

use crate::server::find;

/// A database server program the kit can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    MariaDb,
    MySql,
}

impl Engine {
    /// The server program; panics with what to do if it is not installed.
    pub(crate) fn installed(self) -> Installed {
        let engine = match self {
            Engine::MariaDb => engine::MARIADB,
            Engine::MySql => engine::MYSQL,
        };
        find(engine)
    }

    /// The engine's own command-line client, which comes with the server program.
    pub(crate) fn client(self, installed: &Installed) -> PathBuf {
        match self {
            Engine::MariaDb => PathBuf::from("/usr/bin/mariadb"),
            Engine::MySql => installed.program.with_file_name("mysql"),
        }
    }
}

//! The engines whose servers dyno starts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An engine that runs as a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// MariaDB.
    MariaDb,
    /// Oracle's MySQL.
    MySql,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        })
    }
}

impl Engine {
    /// Its name in a study, `mariadb` or `mysql`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }

    /// What its server program may be called, best first.
    pub(super) fn programs(self) -> &'static [&'static str] {
        match self {
            // Before 10.5 it had MySQL's names, and Debian still links them.
            Self::MariaDb => &["mariadbd", "mysqld"],
            Self::MySql => &["mysqld"],
        }
    }

    /// What to do when it is missing.
    pub(crate) fn how_to_install(self) -> &'static str {
        match self {
            Self::MariaDb => {
                "install Debian's package mariadb-server, run scripts/install-servers.sh mariadb, or \
                 name the directory of another one with server.basedir"
            }
            Self::MySql => {
                "run scripts/install-servers.sh mysql, which unpacks Debian's package \
                 mysql-server-core, or name the directory of another one with server.basedir"
            }
        }
    }
}

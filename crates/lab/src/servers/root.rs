//! The account `root` of a private server: the only one that can log in.
//!
//! A template's `root` is locked, or has a password that nobody kept. Each server sets a
//! password of its run by its init file, which it executes before it accepts connections.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::LabError;
use crate::servers::Engine;

/// Where the operating system gives random bytes.
const RANDOM: &str = "/dev/urandom";
/// Nobody guesses 192 bits.
const RANDOM_BYTES: usize = 24;
/// What plugins that check passwords ask for besides digits and small letters.
const ALL_CLASSES: &str = "-A1";

/// The password of `root` for one run. It is not shown.
#[derive(Clone)]
pub(super) struct Root {
    password: String,
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Root(***)")
    }
}

impl Root {
    /// A new random password.
    pub(super) fn random() -> Result<Self, LabError> {
        let mut bytes = [0; RANDOM_BYTES];
        File::open(RANDOM)
            .and_then(|mut file| file.read_exact(&mut bytes))
            .map_err(LabError::at("read", Path::new(RANDOM)))?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let password = format!("{digits}{ALL_CLASSES}");
        Ok(Self { password })
    }

    /// No password, for tests.
    pub(super) fn open() -> Self {
        Self {
            password: String::new(),
        }
    }

    pub(super) fn password(&self) -> &str {
        &self.password
    }

    /// The statements that open the account, for `localhost` (the socket) and 127.0.0.1.
    /// They are neither replicated nor logged.
    pub(super) fn statements(&self) -> [String; 2] {
        let password = &self.password;
        [
            "SET sql_log_bin = 0, sql_log_off = 1".to_owned(),
            format!(
                "ALTER USER root@localhost IDENTIFIED BY '{password}', \
                 root@'127.0.0.1' IDENTIFIED BY '{password}' ACCOUNT UNLOCK"
            ),
        ]
    }

    /// The same as an init file.
    pub(super) fn init_file(&self) -> String {
        format!("{};\n", self.statements().join(";\n"))
    }
}

/// The statements for a new data directory after which `root`, locked, is all there is.
pub(crate) fn lock_sql(engine: Engine) -> &'static str {
    match engine {
        // The program that runs it knows no accounts yet, only their table.
        Engine::MariaDb => {
            "DELETE FROM mysql.global_priv WHERE User NOT IN ('root', 'mariadb.sys') \
             OR Host NOT IN ('localhost', '127.0.0.1');\n\
             UPDATE mysql.global_priv SET Priv = \
             JSON_SET(Priv, '$.account_locked', JSON_COMPACT('true')) WHERE User = 'root';\n"
        }
        Engine::MySql => {
            "ALTER USER root@localhost ACCOUNT LOCK;\n\
             CREATE USER root@'127.0.0.1' ACCOUNT LOCK;\n\
             GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_new_each_time_and_not_shown() {
        let (one, other) = (Root::random().unwrap(), Root::random().unwrap());
        assert_ne!(one.password(), other.password());
        assert!(!format!("{one:?}").contains(one.password()));
    }
}

//! Which settings of a server are not its defaults.

use std::time::Duration;

use client::mysql::{Connection, Error, Target};
use client::reactor::{Reactor, timeout};

use super::checks::WANTED;
use super::flavor;
use crate::checks::Said;

/// More settings than a server has.
const MAX_SETTINGS: usize = 2000;
/// Most characters of a value that are kept.
const MAX_VALUE_CHARS: usize = 1000;
/// How long a server may take to answer.
const LIMIT: Duration = Duration::from_secs(10);
/// How long a server may take to answer the questions of checks.
const ASK_LIMIT: Duration = Duration::from_secs(3);
/// Most of a value that a check looks at, in characters.
const ASKED_VALUE_CHARS: usize = 200;
/// Said in place of a secret.
const HIDDEN: &str = "(hidden)";

/// Words in the names of settings whose values may be secrets. `init_` are statements,
/// which may hold a password.
const SECRET_WORDS: [&str; 10] = [
    "password",
    "passwd",
    "secret",
    "token",
    "credential",
    "private",
    "filekey",
    "access_key",
    "sst_auth",
    "init_",
];

/// Settings that no two servers on a host share: they say nothing about how a server performs.
const PER_SERVER: [&str; 19] = [
    "basedir",
    "bind_address",
    "datadir",
    "general_log_file",
    "hostname",
    "init_file",
    "log_bin_basename",
    "log_error",
    "mysqlx_port",
    "mysqlx_socket",
    "pid_file",
    "port",
    "replica_load_tmpdir",
    "secure_file_priv",
    "server_uuid",
    "slave_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "tmpdir",
];

/// A question that a server did not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum SettingsError {
    /// It refused, or cannot be reached.
    #[error("cannot read the settings of {server}: {error}")]
    Server {
        /// Which one, without password.
        server: String,
        /// In its own words.
        error: Error,
    },
    /// It took too long.
    #[error("cannot read the settings of {server}: no answer within {LIMIT:?}")]
    Timeout {
        /// Which one, without password.
        server: String,
    },
    /// This process could not ask.
    #[error("cannot ask for settings: {0}")]
    Io(#[from] std::io::Error),
}

/// Every setting of a server that is not its default, by name and value, in order of
/// name, without [`PER_SERVER`]. Values that may be secrets are hidden.
///
/// # Errors
/// When the server cannot be reached, refuses, or takes more than 10 s.
pub(super) fn not_default(target: &Target) -> Result<Vec<(String, String)>, SettingsError> {
    let server = || target.shown();
    let asked = Reactor::new()?.block_on(timeout(LIMIT, changed(target)))?;
    let rows = asked
        .map_err(|_| SettingsError::Timeout { server: server() })?
        .map_err(|error| SettingsError::Server {
            server: server(),
            error,
        })?;
    let settings = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        let (name, value) = (cells.next()??, cells.next()??);
        (!PER_SERVER.contains(&name.as_str())).then(|| shown(name, value))
    });
    Ok(settings.take(MAX_SETTINGS).collect())
}

async fn changed(target: &Target) -> Result<Vec<Vec<Option<String>>>, Error> {
    let mut connection = Connection::open(target).await?;
    let sql = flavor(&connection).changed_settings;
    let rows = connection.rows(sql).await?;
    connection.close().await;
    Ok(rows)
}

/// Asks for the settings that checks look at.
pub(super) fn ask(target: &Target) -> Result<Said, String> {
    let reactor = Reactor::new().map_err(|error| error.to_string())?;
    match reactor.block_on(timeout(ASK_LIMIT, answers(target))) {
        Err(error) => Err(format!("cannot ask the server: {error}")),
        Ok(Err(_)) => Err(format!("the server gave no answer within {ASK_LIMIT:?}")),
        Ok(Ok(answer)) => answer.map_err(|error| error.to_string()),
    }
}

async fn answers(target: &Target) -> Result<Said, Error> {
    let mut connection = Connection::open(target).await?;
    let names = WANTED.join("', '");
    let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('{names}')");
    let settings = connection.rows(&sql).await?;
    // An account that may not see the tables still has settings to look at.
    let sql = "SELECT SUM(data_length + index_length) FROM information_schema.tables \
               WHERE table_schema = DATABASE()";
    let data = connection.rows(sql).await.unwrap_or_default();
    connection.close().await;
    let settings = settings.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        let (name, value) = (cells.next()??, cells.next()??);
        let value = value.chars().take(ASKED_VALUE_CHARS).collect();
        Some((name.to_ascii_lowercase(), value))
    });
    let data = data.into_iter().flatten().flatten().next();
    Ok(Said {
        settings: settings.take(WANTED.len()).collect(),
        data_bytes: data.and_then(|bytes| bytes.parse().ok()),
    })
}

fn shown(name: String, value: String) -> (String, String) {
    let value = match is_secret(&name, &value) {
        true => HIDDEN.to_owned(),
        false => value.chars().take(MAX_VALUE_CHARS).collect(),
    };
    (name, value)
}

/// Whether a value may be a secret, by the setting's name as the server has it.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    !value.is_empty() && SECRET_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_hidden() {
        let value = |name: &str, value: &str| shown(name.into(), value.into()).1;
        for name in [
            "report_password",
            "wsrep_sst_auth",
            "s3_secret_key",
            "hashicorp_key_management_token",
            "file_key_management_filekey",
            "init_connect",
        ] {
            assert_eq!(value(name, "x"), HIDDEN, "{name}");
            assert_eq!(value(name, ""), "", "{name}");
        }
        assert_eq!(value("innodb_buffer_pool_size", "1"), "1");
        assert_eq!(value("sql_mode", &"x".repeat(5000)).len(), MAX_VALUE_CHARS);
    }
}

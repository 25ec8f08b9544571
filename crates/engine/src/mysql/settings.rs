//! What a server says of its settings: those that are not the defaults, and what checks look at.

use std::path::PathBuf;
use std::time::Duration;

use client::mysql::{Connection, Target};

use super::checks::WANTED;
use super::flavor;
use crate::checks::Said;
use crate::remote::{ServerError, ask as ask_server};
use crate::settings;

/// How long a server may take to list its settings.
const LIMIT: Duration = Duration::from_secs(10);
/// How long a server may take to answer the questions of checks.
const ASK_LIMIT: Duration = Duration::from_secs(3);

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

/// Every setting of a server that is not its default, by name and value, in order of
/// name, without [`PER_SERVER`]. Values that may be secrets are hidden.
///
/// # Errors
/// When the server cannot be reached, refuses, or takes more than 10 s.
pub(super) fn not_default(target: &Target) -> Result<Vec<(String, String)>, ServerError> {
    let rows = ask_server(target, LIMIT, async |connection: &mut Connection| {
        let sql = flavor(connection).changed_settings;
        Ok(connection.rows(sql).await?)
    })?;
    Ok(settings::changed(rows, &PER_SERVER, is_secret))
}

/// Asks for what checks look at.
pub(super) fn ask(target: &Target) -> Result<Said, ServerError> {
    ask_server(target, ASK_LIMIT, async |connection: &mut Connection| {
        let names = WANTED.join("', '");
        let sql = format!(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('{names}', 'datadir', 'hostname')"
        );
        let mut settings = settings::checked(connection.rows(&sql).await?);
        // An account that may not see the tables still has settings to look at.
        let sql = "SELECT SUM(data_length + index_length) FROM information_schema.tables \
                   WHERE table_schema = DATABASE()";
        let data = connection.rows(sql).await.unwrap_or_default();
        let data = data.into_iter().flatten().flatten().next();
        Ok(Said {
            data_dir: settings.remove("datadir").map(PathBuf::from),
            host_name: settings.remove("hostname"),
            settings,
            data_bytes: data.and_then(|bytes| bytes.parse().ok()),
        })
    })
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
        for name in [
            "report_password",
            "wsrep_sst_auth",
            "s3_secret_key",
            "hashicorp_key_management_token",
            "file_key_management_filekey",
            "init_connect",
        ] {
            assert!(is_secret(name, "x"), "{name}");
            assert!(!is_secret(name, ""), "{name}");
        }
        assert!(!is_secret("innodb_buffer_pool_size", "1"));
    }
}

//! Which settings of a server are not its defaults.

use std::time::Duration;

use client::mysql::{Connection, Error, Target};
use client::reactor::{Reactor, timeout};

use crate::servers::plain_name;

/// More settings than a server has.
const MAX_SETTINGS: usize = 2000;
/// Most characters of a value that are kept.
const MAX_VALUE_CHARS: usize = 1000;
/// How long a server may take to answer.
const LIMIT: Duration = Duration::from_secs(10);
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

/// What somebody set, as far as it differs from what is compiled in; what the server
/// works out from its host is none of it.
const MARIADB: &str = "SELECT LOWER(variable_name), global_value \
     FROM information_schema.SYSTEM_VARIABLES \
     WHERE global_value_origin NOT IN ('COMPILE-TIME', 'AUTO') \
       AND NOT (global_value <=> default_value) AND global_value IS NOT NULL \
     ORDER BY variable_name";
/// MySQL does not tell its defaults, only who set a variable.
const MYSQL: &str = "SELECT LOWER(i.variable_name), g.variable_value \
     FROM performance_schema.variables_info i \
     JOIN performance_schema.global_variables g USING (variable_name) \
     WHERE i.variable_source <> 'COMPILED' ORDER BY i.variable_name";

/// A question that a server did not answer.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
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
/// name. Values that may be secrets are hidden.
///
/// # Errors
/// When the server cannot be reached, refuses, or takes more than 10 s.
pub fn not_default(target: &Target) -> Result<Vec<(String, String)>, SettingsError> {
    let server = || target.shown();
    let asked = Reactor::new()?.block_on(timeout(LIMIT, ask(target)))?;
    let rows = asked
        .map_err(|_| SettingsError::Timeout { server: server() })?
        .map_err(|error| SettingsError::Server {
            server: server(),
            error,
        })?;
    let settings = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        let (name, value) = (cells.next()??, cells.next()??);
        Some(shown(name, value))
    });
    Ok(settings.take(MAX_SETTINGS).collect())
}

async fn ask(target: &Target) -> Result<Vec<Vec<Option<String>>>, Error> {
    let mut connection = Connection::open(target).await?;
    let sql = match connection.is_mariadb() {
        true => MARIADB,
        false => MYSQL,
    };
    let rows = connection.rows(sql).await?;
    connection.close().await;
    Ok(rows)
}

fn shown(name: String, value: String) -> (String, String) {
    let value = match is_secret(&name, &value) {
        true => HIDDEN.to_owned(),
        false => value.chars().take(MAX_VALUE_CHARS).collect(),
    };
    (name, value)
}

/// Settings as the result may keep them: values that may be secrets are hidden.
pub(crate) fn without_secrets(config: &[(String, String)]) -> Vec<(String, String)> {
    let kept = |(name, value): &(String, String)| match is_secret(&plain_name(name), value) {
        true => (name.clone(), HIDDEN.to_owned()),
        false => (name.clone(), value.clone()),
    };
    config.iter().map(kept).collect()
}

/// Whether a value may be a secret, by the setting's name as the server has it.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
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
        let config = [("S3-Secret-Key", "x"), ("innodb-buffer-pool-size", "1")];
        let config = config.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let kept = without_secrets(&config);
        assert_eq!((kept[0].1.as_str(), &kept[1]), (HIDDEN, &config[1]));
        assert_eq!(value("innodb_buffer_pool_size", "1"), "1");
        assert_eq!(value("sql_mode", &"x".repeat(5000)).len(), MAX_VALUE_CHARS);
    }
}

//! What a server says of its settings: those that are not the defaults, and what checks look at.

use std::path::PathBuf;
use std::time::Duration;

use client::postgres::{Connection, Target};

use super::checks::{VACUUMS, WANTED};
use super::counters::SIZE_QUERY;
use super::settings::is_secret;
use crate::checks::Said;
use crate::database::Whereabouts;
use crate::remote::{ServerError, ask as ask_server};
use crate::settings::{changed, checked};

/// How long a server may take to list its settings.
const LIMIT: Duration = Duration::from_secs(10);
/// How long a server may take to answer the questions of checks, or where it is.
const ASK_LIMIT: Duration = Duration::from_secs(3);

/// Settings that no two servers on a host share: they say nothing about how a server performs.
const PER_SERVER: [&str; 9] = [
    "cluster_name",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "log_directory",
    "log_filename",
    "port",
    "unix_socket_directories",
];

/// What dyno itself sets in its sessions is left out, as is what the server decides when it starts
/// (`override`). Values are shown with their units.
const CHANGED_QUERY: &str = "SELECT name, current_setting(name) FROM pg_settings \
     WHERE source NOT IN ('default', 'override', 'client', 'session') \
     AND setting IS DISTINCT FROM boot_val ORDER BY name";

/// Every setting of a server that is not its default, by name and value, in order of
/// name. Values that may be secrets are hidden.
///
/// # Errors
/// When the server cannot be reached, refuses, or takes more than 10 s.
pub(super) fn not_default(target: &Target) -> Result<Vec<(String, String)>, ServerError> {
    let rows = ask_server(target, LIMIT, async |connection: &mut Connection| {
        Ok(connection.rows(CHANGED_QUERY).await?)
    })?;
    Ok(changed(rows, &PER_SERVER, is_secret))
}

/// Asks for what checks look at. A setting that the account may not see is absent, as is one that
/// the version does not have.
pub(super) fn ask(target: &Target) -> Result<Said, ServerError> {
    ask_server(target, ASK_LIMIT, async |connection: &mut Connection| {
        let names = WANTED.join("', '");
        let sql = format!(
            "SELECT name, current_setting(name) FROM pg_settings \
             WHERE name IN ('{names}', 'data_directory') \
             UNION ALL SELECT '{VACUUMS}', count(*)::text FROM pg_stat_progress_vacuum"
        );
        let mut settings = checked(connection.rows(&sql).await?);
        // An account that may not see the tables still has settings to look at.
        let data = connection.rows(SIZE_QUERY).await.unwrap_or_default();
        let data = data.into_iter().flatten().flatten().next();
        Ok(Said {
            data_dir: settings.remove("data_directory").map(PathBuf::from),
            host_name: None,
            settings,
            data_bytes: data.and_then(|bytes| bytes.parse().ok()),
        })
    })
}

/// Asks where a server is, and calls `look` while the connection is open.
pub(super) fn locate(
    target: &Target,
    look: &mut dyn FnMut(&Whereabouts),
) -> Result<(), ServerError> {
    ask_server(target, ASK_LIMIT, async |connection: &mut Connection| {
        let rows = connection.rows("SHOW data_directory").await?;
        let data_dir = rows.into_iter().flatten().flatten().next();
        let data_dir = PathBuf::from(data_dir.unwrap_or_default());
        look(&Whereabouts {
            peer: connection.peer().ok(),
            pid_file: data_dir.join("postmaster.pid"),
            data_dir,
        });
        Ok(())
    })
}

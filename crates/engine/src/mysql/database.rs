//! Databases of MariaDB and MySQL servers.

use std::sync::atomic::AtomicBool;

use client::mysql::{Connection, Mysql, Target, refusal_remedy};
use client::{TargetError, TlsOptions};
use plan::Failure;
use workload::options::Options;
use workload::schema::table_name;
use workload::session::SessionError;

use super::counters::StatusFeed;
use super::flavor::Flavor;
use crate::data;
use crate::database::Access;
use crate::engine::Engine;
use crate::launch::Login;
use crate::network::{self, NetworkEngine};
use crate::remote::{connected, url_path};

/// The server's error number of a database that does not exist.
const UNKNOWN_DATABASE: u32 = 1049;

impl NetworkEngine for Mysql {
    type Feed = StatusFeed;

    const PER_SERVER_SETTINGS: &'static str = "basedir bind_address datadir general_log_file \
         hostname init_file log_bin_basename log_error mysqlx_port mysqlx_socket pid_file port \
         replica_load_tmpdir secure_file_priv server_uuid slave_load_tmpdir slow_query_log_file \
         socket tmpdir";
    const DATA_DIR_SETTING: &'static str = "datadir";
    const LOCATION_QUERY: &'static str = "SELECT @@datadir, @@pid_file";
    /// Replicas are read-only, and so are members of a group other than its primary. Since 12.0,
    /// MariaDB reports a word instead of a number.
    const ROLE_QUERY: &'static str = "SELECT CAST(@@global.read_only AS CHAR) IN ('0', 'OFF')";
    const SETTINGS_QUERY: &'static str = "SHOW GLOBAL VARIABLES";
    const SIZE_QUERY: &'static str = "SELECT SUM(data_length + index_length) \
         FROM information_schema.tables WHERE table_schema = DATABASE()";

    fn target(url: &str, access: &Access) -> Result<Target, TargetError> {
        Target::parse(url, access.password.as_deref(), &access.user, &access.tls)
    }

    fn secrets(target: &Target) -> (Option<&str>, &TlsOptions) {
        target.secrets()
    }

    /// Only the server's own user can create sockets in its directory, while any user may take a
    /// port.
    fn administrator(login: &Login<'_>) -> Result<Target, Failure> {
        let path = url_path(login.socket);
        let url = format!("mysql://root@localhost/mysql?socket={path}");
        Ok(Self::target(&url, &Access::private(Some(login.password)))?)
    }

    fn create_database(target: &Target) -> Result<(), Failure> {
        let name = format!("`{}`", target.database.replace('`', "``"));
        let create = async |connection: &mut Connection| match connection
            .run(&format!("USE {name}"))
            .await
        {
            Err(error) if error.number() == Some(UNKNOWN_DATABASE) => {
                if !network::is_primary(connection).await? {
                    return Ok(());
                }
                let sql = format!("CREATE DATABASE IF NOT EXISTS {name}");
                connection.run(&sql).await.map(drop)
            }
            used => used.map(drop),
        };
        connected(&target.with_database(""), &AtomicBool::new(false), create)
    }

    fn engine(connection: &Connection) -> &'static dyn Engine {
        Flavor::behind(connection)
    }

    fn refusal_remedy(error: &SessionError) -> Option<&'static str> {
        refusal_remedy(error.number?)
    }

    fn read_statements(options: &Options) -> Vec<String> {
        let read = |table| {
            let [by_rows, by_index] = match options.data.secondary {
                true => [String::new(), String::new()],
                false => [
                    " FORCE INDEX (PRIMARY)".to_owned(),
                    format!(" FORCE INDEX (k_{table})"),
                ],
            };
            data::reading(options, &table_name(table), &by_rows, &by_index)
        };
        (1..=options.data.tables).flat_map(read).collect()
    }
}

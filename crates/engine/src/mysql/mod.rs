//! MariaDB and MySQL: one engine in most respects. How they differ is data, a [`Flavor`] each.

mod binary_log;
mod checks;
mod counters;
mod database;
mod feed;
mod flavor;
mod group_replication;
mod load;
mod log;
mod option_file;
mod programs;
mod reserved;
mod root;
mod server;
mod sessions;
mod settings;

pub use counters::renamed_metric;
pub(crate) use flavor::Flavor;
pub use flavor::{MARIADB, MYSQL};

use client::mysql::Connection;

/// Which of the two is at the other end.
fn flavor(connection: &Connection) -> &'static Flavor {
    match connection.is_mariadb() {
        true => &flavor::MARIADB_FLAVOR,
        false => &flavor::MYSQL_FLAVOR,
    }
}

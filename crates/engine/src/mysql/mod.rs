//! MariaDB and MySQL: one engine in most respects. Their differences are data, a [`Flavor`] each.

mod account;
mod acknowledged;
mod binary_log;
mod checks;
mod counters;
mod database;
mod flavor;
mod galera;
mod group_replication;
mod gtid;
mod load;
mod log;
mod log_dialect;
mod option_file;
mod server;
mod settings;

pub use flavor::{MARIADB, MYSQL};

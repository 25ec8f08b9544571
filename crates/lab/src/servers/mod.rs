//! Private servers: child processes of an unprivileged user, each with its own
//! directory, socket, port, configuration and password, that die with dyno.
//!
//! [`find`] looks for the program, [`start`] runs it on a [`DataDir`], and a
//! [`Private`] server ends when it is dropped, whatever happens before.

mod check;
mod config;
mod data_dir;
mod engine;
mod find;
mod log;
mod port;
mod private;
mod root;
mod start;

pub use data_dir::DataDir;
pub use engine::Engine;
pub use find::{Installed, find};
pub use private::Private;
pub use start::{Wanted, start};

pub(crate) use check::check;
pub(crate) use config::{allowed_connections, check_settings, plain_name, same_name};
pub(crate) use find::find_file;
pub(crate) use log::failure_of;
pub(crate) use root::lock_sql;
pub(crate) use start::{write_init_config, write_readable};

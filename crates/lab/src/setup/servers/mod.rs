//! Private servers: child processes of an unprivileged user, each with its own directory, socket,
//! port, configuration and password, which end with dyno.
//!
//! [`find`] finds the program, [`start`] runs it on a [`DataDir`], and a [`Node`] ends when it is
//! dropped.

mod account;
mod check;
mod configuration;
mod data_dir;
mod elsewhere;
mod family;
mod files;
mod find;
mod log;
mod managed;
mod membership;
mod node;
mod password;
mod running;
mod service;
mod start;

pub use account::{account, open_home};
pub use data_dir::DataDir;
pub use elsewhere::{check_program, place};
pub use find::find;
pub use membership::Membership;
pub use node::Node;
pub use running::ProcessId;
pub use start::{NodeSpec, start};

pub(crate) use check::check;
pub(crate) use files::{write_for_server, write_readable};
pub(crate) use log::{failure, read_tail};
pub(crate) use running::REPORT_LIMIT;
pub(crate) use service::Services;

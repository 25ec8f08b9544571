//! Private servers: child processes of an unprivileged user, each with its own directory, socket,
//! port, configuration and password, which end with dyno.
//!
//! [`find`] finds the program, [`start`] runs it on a [`DataDir`], and a [`Node`] ends when it is
//! dropped.

mod check;
mod data_dir;
mod files;
mod find;
mod log;
mod membership;
mod nats;
mod node;
mod process;
mod service;

pub use data_dir::DataDir;
pub use find::{account, find, open_home};
pub use membership::Membership;
pub(crate) use membership::{MemberPlace, Password};
pub use nats::{NatsServer, NatsTls};
pub(crate) use node::of_former;
pub use node::{Node, NodeSpec, start};
pub use process::ProcessId;

pub(crate) use check::check;
pub(crate) use files::{append, write_for_server, write_readable};
pub(crate) use log::{failure, read_end, read_tail};
pub(crate) use process::{REPORT_LIMIT, freeze};
pub(crate) use service::Services;

//! What a virtual user does: transactions, deterministic rows, random distributions.
//! Pure: generic over [`session::Session`], never a socket.
//!
//! [`virtual_user`] has the traits of a workload, [`program`] those of a script. [`name`] is the
//! table of those that are built in, [`mix`] several of them at once, [`built_in`] the type that
//! runs any of them, [`options`] what can be chosen. [`schema`] and [`rows`] make the tables,
//! [`catalog`] holds the statements.

pub mod built_in;
pub mod bulk_insert;
pub mod catalog;
pub mod distribution;
pub mod ledger;
pub mod mix;
pub mod name;
pub mod oltp;
pub mod options;
pub mod pgbench;
pub mod program;
pub mod quotes;
pub mod random;
pub mod rows;
pub mod schema;
pub mod session;
pub mod virtual_user;

mod dialect;
mod digits;

//! What a virtual user does: the OLTP transactions, deterministic rows, random
//! distributions. Pure: generic over [`session::Session`], never a socket.
//!
//! In the order of use: [`name`] says which workload, [`options`] how much of
//! each statement, [`schema`] and [`rows`] make its tables, [`catalog`] its
//! statements, [`user`] sends them.

pub mod catalog;
pub mod distribution;
pub mod kind;
pub mod name;
pub mod options;
pub mod rows;
pub mod schema;
pub mod session;
pub mod user;

mod digits;
mod random;
mod sql;
mod step;

pub use step::kinds;

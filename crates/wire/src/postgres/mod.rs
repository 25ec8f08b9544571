//! The PostgreSQL frontend/backend protocol, version 3.0, as PostgreSQL 13 to 18 speak it.
//!
//! Follows the chapter "Frontend/Backend Protocol" of PostgreSQL's documentation.

pub mod certificate;
pub mod command;
pub mod login;
pub mod message;
pub mod reply;
pub mod rows;
pub mod scram;

mod error;

pub use error::parse_error;

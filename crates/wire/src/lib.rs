//! Database protocols: bytes in, messages out; never a socket.
//!
//! All input from a server is untrusted: lengths are bounded, and bytes that violate the
//! protocol are a [`ProtocolError`], never a panic.

pub mod gather;
pub mod mysql;
pub mod postgres;
pub mod reply;
pub mod rows;

mod error;
mod fields;

pub use error::{ProtocolError, ServerError};

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Int(i64),
    Double(f64),
    Text(&'a [u8]),
    Null,
}

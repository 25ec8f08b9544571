//! Database protocols: bytes in, messages out; never a socket.
//!
//! Everything that comes from a server is untrusted: lengths are bounded, and bytes that
//! violate the protocol are an error ([`mysql::ProtocolError`], [`postgres::ProtocolError`]),
//! never a panic.

pub mod mysql;
pub mod postgres;

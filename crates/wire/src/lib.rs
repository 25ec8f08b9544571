//! Database protocols: bytes in, messages out; never a socket.
//!
//! Everything that comes from a server is untrusted: lengths are bounded, and
//! what does not fit the protocol is a [`mysql::ProtocolError`], never a panic.

pub mod mysql;

//! How far a connection can be trusted with a password.

/// What is known about the connection to a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Channel {
    /// The peer is a Unix socket.
    pub(crate) is_unix: bool,
    /// The connection is encrypted.
    pub(crate) has_tls: bool,
    /// The certificate was verified.
    pub(crate) is_verified: bool,
}

impl Channel {
    /// Whether the peer is known to be the server that the user meant.
    pub(crate) fn is_trusted(self) -> bool {
        self.is_unix || (self.has_tls && self.is_verified)
    }
}

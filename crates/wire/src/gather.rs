//! Gathers whole messages from a stream of bytes, for logins and small results. The load's
//! replies go through each protocol's `ReplyReader` instead.

use crate::ProtocolError;

/// A message that can be told apart from what follows it.
pub trait Message: Sized {
    /// The message at the front of `bytes` and its length there; `None` until it is whole.
    fn split(bytes: &[u8], limit: usize) -> Result<Option<(Self, usize)>, ProtocolError>;
}

/// Bytes that arrived and were not used yet.
#[derive(Debug)]
pub struct Gatherer {
    buffer: Vec<u8>,
    /// Number of bytes at the front of the buffer that have been consumed. They are removed once per
    /// read, because a read can contain thousands of messages.
    used: usize,
    limit: usize,
}

impl Gatherer {
    /// A gatherer that refuses messages over `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            used: 0,
            limit,
        }
    }

    /// Takes bytes from the socket.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..std::mem::take(&mut self.used));
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes received that no message has used yet.
    pub fn pending(&self) -> &[u8] {
        &self.buffer[self.used..]
    }

    /// The next message, once it is whole.
    pub fn take_message<M: Message>(&mut self) -> Result<Option<M>, ProtocolError> {
        let Some((message, length)) = M::split(self.pending(), self.limit)? else {
            return Ok(None);
        };
        self.used += length;
        Ok(Some(message))
    }
}

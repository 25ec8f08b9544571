//! Messages: a type, a length that counts itself, and the payload.

use super::ProtocolError;

/// Bytes in front of each payload.
pub const HEADER_BYTES: usize = 5;
/// Bytes of the length, which counts itself.
const LENGTH_BYTES: u32 = 4;

/// Type and length of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The message's type, a letter or digit.
    pub kind: u8,
    /// Bytes of payload.
    pub length: usize,
}

impl Header {
    /// Parses the five bytes.
    ///
    /// # Errors
    /// When the length is negative or does not cover itself.
    #[inline]
    pub fn parse([kind, a, b, c, d]: [u8; HEADER_BYTES]) -> Result<Self, ProtocolError> {
        let announced = u32::from_be_bytes([a, b, c, d]);
        match announced.checked_sub(LENGTH_BYTES) {
            Some(length) if announced <= i32::MAX as u32 => Ok(Self {
                kind,
                length: length as usize,
            }),
            _ => Err(ProtocolError::InvalidLength(announced)),
        }
    }
}

/// Appends a message of this type; `fill` writes the payload.
#[inline]
pub fn write(out: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    write_untyped(out, fill);
}

/// Appends a message without a type, as the first of a connection.
#[inline]
pub fn write_untyped(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES as usize]);
    fill(out);
    // The server refuses anything longer than 1 GiB anyway.
    let length = i32::try_from(out.len() - start).unwrap_or(i32::MAX);
    if let Some(place) = out[start..].first_chunk_mut() {
        *place = length.to_be_bytes();
    }
}

/// Appends a string and its zero byte.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// Gathers whole messages from a stream of bytes, for the login and for small results;
/// the load's replies go through [`super::reply::ReplyReader`].
#[derive(Debug)]
pub struct Gatherer {
    buffer: Vec<u8>,
    limit: usize,
}

/// A whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its type.
    pub kind: u8,
    /// What it says.
    pub payload: Vec<u8>,
}

impl Gatherer {
    /// A gatherer that refuses messages over `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            limit,
        }
    }

    /// Takes bytes from the socket.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes received that no message has used yet.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.buffer
    }

    /// The next byte that is not part of a message, as in the answer to a request for TLS.
    pub fn take_byte(&mut self) -> Option<u8> {
        let first = self.buffer.first().copied();
        self.buffer.drain(..usize::from(first.is_some()));
        first
    }

    /// The next message, once it is whole.
    ///
    /// # Errors
    /// When its length is invalid or over the limit.
    pub fn take_message(&mut self) -> Result<Option<Message>, ProtocolError> {
        let Some((header, rest)) = self.buffer.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let Header { kind, length } = Header::parse(*header)?;
        check_length(length, self.limit)?;
        let Some(payload) = rest.get(..length).map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        self.buffer.drain(..HEADER_BYTES + length);
        Ok(Some(Message { kind, payload }))
    }
}

pub(super) fn check_length(length: usize, limit: usize) -> Result<(), ProtocolError> {
    match length <= limit {
        true => Ok(()),
        false => Err(ProtocolError::TooLong { length, limit }),
    }
}

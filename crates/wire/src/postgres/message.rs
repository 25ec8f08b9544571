//! Messages: a type, a length that counts itself, and the payload.

use crate::ProtocolError;
use crate::error::check_length;
use crate::gather;

/// Bytes in front of each payload.
pub const HEADER_BYTES: usize = 5;
/// Bytes of the length, which counts itself.
const LENGTH_BYTES: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The message's type, a letter or digit.
    pub kind: u8,
    pub length: usize,
}

impl Header {
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub kind: u8,
    pub payload: Vec<u8>,
}

impl gather::Message for Message {
    fn split(bytes: &[u8], limit: usize) -> Result<Option<(Self, usize)>, ProtocolError> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let Header { kind, length } = Header::parse(*header)?;
        check_length(length, limit)?;
        Ok(rest.get(..length).map(|payload| {
            let payload = payload.to_vec();
            (Self { kind, payload }, HEADER_BYTES + length)
        }))
    }
}

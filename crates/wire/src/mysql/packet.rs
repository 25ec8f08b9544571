//! Packets: a 3-byte length, a sequence number, and up to 16 MiB - 1 of payload.

use crate::ProtocolError;
use crate::error::check_length;
use crate::gather;

/// Bytes in front of each payload.
pub const HEADER_BYTES: usize = 4;
/// A payload of this length continues in the next packet.
pub const MAX_PAYLOAD_BYTES: usize = 0xff_ffff;

/// Length and sequence number of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub length: usize,
    /// Its sequence number: a command starts at 0, and 255 is followed by 0.
    pub sequence: u8,
}

impl Header {
    #[inline]
    pub fn parse(bytes: [u8; HEADER_BYTES]) -> Self {
        let word = u32::from_le_bytes(bytes);
        Self {
            length: (word & 0xff_ffff) as usize,
            sequence: (word >> 24) as u8,
        }
    }
}

/// Appends the packets of one message to `out`, starting with sequence number `sequence`;
/// `fill` writes the payload. Returns the next packet's number.
pub fn write(out: &mut Vec<u8>, sequence: u8, fill: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    fill(out);
    let length = out.len() - start - HEADER_BYTES;
    if length < MAX_PAYLOAD_BYTES {
        out[start..start + HEADER_BYTES].copy_from_slice(&header(length, sequence));
        return sequence.wrapping_add(1);
    }
    split(out, start, sequence)
}

/// Splits the long payload after `start` into packets.
fn split(out: &mut Vec<u8>, start: usize, mut sequence: u8) -> u8 {
    let payload = out.split_off(start + HEADER_BYTES);
    out.truncate(start);
    // A last packet of full length is followed by an empty one, which ends the message.
    let is_full = payload.len().is_multiple_of(MAX_PAYLOAD_BYTES);
    let end = is_full.then_some(&[][..]);
    for chunk in payload.chunks(MAX_PAYLOAD_BYTES).chain(end) {
        out.extend_from_slice(&header(chunk.len(), sequence));
        out.extend_from_slice(chunk);
        sequence = sequence.wrapping_add(1);
    }
    sequence
}

#[inline]
fn header(length: usize, sequence: u8) -> [u8; HEADER_BYTES] {
    let [a, b, c, ..] = (length as u32).to_le_bytes();
    [a, b, c, sequence]
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub payload: Vec<u8>,
    /// The sequence number of its last packet.
    pub sequence: u8,
}

impl gather::Message for Message {
    fn split(bytes: &[u8], limit: usize) -> Result<Option<(Self, usize)>, ProtocolError> {
        let mut payload = Vec::new();
        let mut rest = bytes;
        loop {
            let Some((header, body)) = rest.split_first_chunk::<HEADER_BYTES>() else {
                return Ok(None);
            };
            let Header { length, sequence } = Header::parse(*header);
            check_length(payload.len() + length, limit)?;
            let Some((part, after)) = body.split_at_checked(length) else {
                return Ok(None);
            };
            payload.extend_from_slice(part);
            rest = after;
            if length < MAX_PAYLOAD_BYTES {
                let message = Self { payload, sequence };
                return Ok(Some((message, bytes.len() - rest.len())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gather::Gatherer;

    #[test]
    fn a_message_over_the_limit_is_refused_before_it_is_gathered() {
        let mut gatherer = Gatherer::new(100);
        gatherer.push(&[0xff, 0xff, 0x00, 0]);
        let (length, limit) = (65535, 100);
        let refused = Err(ProtocolError::TooLong { length, limit });
        assert_eq!(gatherer.take_message::<Message>(), refused);
    }

    #[test]
    fn taking_a_message_does_not_move_what_follows_it() {
        let mut gatherer = Gatherer::new(100);
        gatherer.push(b"\x01\0\0\0a\x01\0\0\x01b\x01");
        let rest = gatherer.pending()[5..].as_ptr();
        let mut take = |more: &[u8]| {
            gatherer.push(more);
            let message = gatherer.take_message::<Message>().unwrap().unwrap();
            (message.payload, gatherer.pending().as_ptr())
        };
        assert_eq!(take(b""), (b"a".to_vec(), rest));
        assert_eq!(take(b"").0, b"b");
        assert_eq!(take(b"\0\0\x02c").0, b"c");
    }
}

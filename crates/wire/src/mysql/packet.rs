//! Packets: a 3-byte length, a sequence number, and up to 16 MiB - 1 of payload.

use super::ProtocolError;

/// Bytes in front of each payload.
pub const HEADER_BYTES: usize = 4;
/// A payload of this length goes on in the next packet.
pub const MAX_PAYLOAD_BYTES: usize = 0xff_ffff;

/// Length and sequence number of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes of payload in this packet.
    pub length: usize,
    /// Its number; a command starts at 0 and the number goes round at 255.
    pub sequence: u8,
}

impl Header {
    /// Reads the four bytes.
    #[inline]
    #[must_use]
    pub fn parse(bytes: [u8; HEADER_BYTES]) -> Self {
        let word = u32::from_le_bytes(bytes);
        Self {
            length: (word & 0xff_ffff) as usize,
            sequence: (word >> 24) as u8,
        }
    }
}

/// Appends the packets of one message to `out`, starting with number `sequence`;
/// `fill` writes the payload. Returns the number of the next packet.
pub fn write(out: &mut Vec<u8>, sequence: u8, fill: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    fill(out);
    let length = out.len() - start - HEADER_BYTES;
    if length < MAX_PAYLOAD_BYTES {
        put_header(&mut out[start..], length, sequence);
        return sequence.wrapping_add(1);
    }
    split(out, start, sequence)
}

/// Cuts the long payload behind `start` into packets.
fn split(out: &mut Vec<u8>, start: usize, mut sequence: u8) -> u8 {
    let payload = out.split_off(start + HEADER_BYTES);
    out.truncate(start);
    let mut chunks = payload.chunks(MAX_PAYLOAD_BYTES).peekable();
    while let Some(chunk) = chunks.next() {
        push(out, chunk, &mut sequence);
        // A last chunk of full length needs an empty one behind it, to end the message.
        if chunks.peek().is_none() && chunk.len() == MAX_PAYLOAD_BYTES {
            push(out, &[], &mut sequence);
        }
    }
    sequence
}

fn push(out: &mut Vec<u8>, payload: &[u8], sequence: &mut u8) {
    let at = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    put_header(&mut out[at..], payload.len(), *sequence);
    out.extend_from_slice(payload);
    *sequence = sequence.wrapping_add(1);
}

#[inline]
fn put_header(at: &mut [u8], length: usize, sequence: u8) {
    let [a, b, c, ..] = (length as u32).to_le_bytes();
    if let Some(header) = at.first_chunk_mut::<HEADER_BYTES>() {
        *header = [a, b, c, sequence];
    }
}

/// Gathers whole messages out of a stream of bytes, for the handshake and for
/// small results; the load's replies go through [`super::reply::ReplyReader`].
#[derive(Debug)]
pub struct Gatherer {
    buffer: Vec<u8>,
    limit: usize,
}

/// A whole message and the number of its last packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The payloads of its packets, joined.
    pub payload: Vec<u8>,
    /// The number of its last packet.
    pub sequence: u8,
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

    /// What came and was not yet given out.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.buffer
    }

    /// The next whole message, if it is there.
    ///
    /// # Errors
    /// When a message is longer than the limit.
    pub fn take_message(&mut self) -> Result<Option<Message>, ProtocolError> {
        let mut payload = Vec::new();
        let mut at = 0;
        loop {
            let Some(header) = self.buffer[at..].first_chunk::<HEADER_BYTES>() else {
                return Ok(None);
            };
            let header = Header::parse(*header);
            let length = payload.len() + header.length;
            if length > self.limit {
                return Err(ProtocolError::TooLong {
                    length,
                    limit: self.limit,
                });
            }
            let start = at + HEADER_BYTES;
            let Some(part) = self.buffer.get(start..start + header.length) else {
                return Ok(None);
            };
            payload.extend_from_slice(part);
            at = start + header.length;
            if header.length < MAX_PAYLOAD_BYTES {
                self.buffer.drain(..at);
                return Ok(Some(Message {
                    payload,
                    sequence: header.sequence,
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(length: usize) -> (usize, Message) {
        let mut out = Vec::new();
        write(&mut out, 3, |out| out.resize(out.len() + length, b'x'));
        let mut gatherer = Gatherer::new(usize::MAX);
        for part in out.chunks(1 << 20) {
            gatherer.push(part);
        }
        (out.len(), gatherer.take_message().unwrap().unwrap())
    }

    #[test]
    fn a_small_message_is_one_packet() {
        let (bytes, message) = round_trip(10);
        assert_eq!(
            (bytes, message.payload.len(), message.sequence),
            (14, 10, 3)
        );
    }

    #[test]
    fn a_message_of_exactly_the_maximum_ends_with_an_empty_packet() {
        let (bytes, message) = round_trip(MAX_PAYLOAD_BYTES);
        assert_eq!(bytes, MAX_PAYLOAD_BYTES + 8);
        assert_eq!(
            (message.payload.len(), message.sequence),
            (MAX_PAYLOAD_BYTES, 4)
        );
    }

    #[test]
    fn a_long_message_is_split_and_joined() {
        let (_, message) = round_trip(2 * MAX_PAYLOAD_BYTES + 5);
        assert_eq!(
            (message.payload.len(), message.sequence),
            (2 * MAX_PAYLOAD_BYTES + 5, 5)
        );
    }

    #[test]
    fn a_message_over_the_limit_is_refused_before_it_is_gathered() {
        let mut gatherer = Gatherer::new(100);
        gatherer.push(&[0xff, 0xff, 0x00, 0]);
        assert_eq!(
            gatherer.take_message(),
            Err(ProtocolError::TooLong {
                length: 65535,
                limit: 100
            })
        );
    }
}

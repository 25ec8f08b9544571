//! Replies on the load's hot path: rows are counted, never copied or looked at.

mod interpret;
mod whole;

use super::packet::{HEADER_BYTES, Header, MAX_PAYLOAD_BYTES};
use super::{ProtocolError, ServerError, capability};

/// Longest message that is gathered (OK, ERR, a count of columns); rows and
/// column definitions are skipped and have no limit but the server's.
const MAX_GATHERED_BYTES: usize = 1 << 20;

/// What a reply said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The statement was done.
    Done(Done),
    /// A statement was prepared.
    Prepared {
        /// Its number for execution.
        statement: u32,
        /// How many parameters it takes.
        params: u16,
    },
    /// The server waits for the lines of LOAD DATA LOCAL; after they are sent,
    /// [`ReplyReader::expect_rest`] reads the result.
    WantsFile {
        /// The sequence number of the first packet to send.
        sequence: u8,
    },
    /// The server refused.
    Refused(ServerError),
}

/// Counts of a statement that was done; of several results, their sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows in the results.
    pub rows: u64,
    /// Rows that the statement matched.
    pub affected: u64,
    /// The server's status flags at the end.
    pub status: u16,
    /// How many warnings it raised.
    pub warnings: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first packet of a result.
    First,
    /// The first packet of a reply to PREPARE.
    FirstPrepared,
    /// Definitions to skip, then rows; the second number is columns of an
    /// EOF-terminated list.
    Columns(u64),
    /// The EOF behind the columns, from servers that still send it.
    ColumnsEnd,
    Rows,
    /// Definitions behind PREPARE to skip (EOF packets included).
    Definitions {
        left: u32,
        statement: u32,
        params: u16,
    },
}

/// Reads one reply out of a stream of bytes that comes in any pieces.
#[derive(Debug)]
pub struct ReplyReader {
    state: State,
    done: Done,
    /// Number of the next packet.
    sequence: u8,
    /// Bytes of a skipped packet that are still to come.
    skip: usize,
    /// The packet that is skipped goes on in the next one.
    continues: bool,
    /// The piece of a packet that came so far, when it has to be looked at.
    partial: Vec<u8>,
    deprecate_eof: bool,
    /// The count of columns says whether their definitions follow.
    may_omit_columns: bool,
}

impl ReplyReader {
    /// A reader for a connection with these [capabilities](capability).
    #[must_use]
    pub fn new(capabilities: u64) -> Self {
        Self {
            state: State::First,
            done: Done::default(),
            sequence: 1,
            skip: 0,
            continues: false,
            partial: Vec::new(),
            deprecate_eof: capabilities & capability::DEPRECATE_EOF != 0,
            may_omit_columns: capabilities & capability::CACHE_METADATA != 0,
        }
    }

    /// A command was sent: its reply comes next.
    #[inline]
    pub fn expect_result(&mut self) {
        self.expect(State::First, 1);
    }

    /// A PREPARE was sent.
    pub fn expect_prepared(&mut self) {
        self.expect(State::FirstPrepared, 1);
    }

    /// The lines of LOAD DATA LOCAL were sent up to the packet before `sequence`.
    pub fn expect_rest(&mut self, sequence: u8) {
        self.expect(State::First, sequence);
    }

    /// The command took several packets: the first of its reply has this number.
    #[inline]
    pub fn expect_number(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    #[inline]
    fn expect(&mut self, state: State, sequence: u8) {
        self.state = state;
        self.sequence = sequence;
        self.done = Done::default();
        self.skip = 0;
        self.continues = false;
        self.partial.clear();
    }

    /// Takes bytes from the socket; gives the reply once it is whole.
    ///
    /// # Errors
    /// When the bytes are not the protocol, or go on behind the reply.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        match self.whole_reply(bytes) {
            Some(done) => Ok(Some(Reply::Done(done))),
            None => self.feed_piece(bytes),
        }
    }

    /// Whether a part of the reply was read before.
    #[inline]
    fn is_begun(&self) -> bool {
        self.skip > 0 || self.continues || !self.partial.is_empty() || self.done != Done::default()
    }

    fn feed_piece(&mut self, mut bytes: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let skipped = self.skip.min(bytes.len());
                self.skip -= skipped;
                bytes = &bytes[skipped..];
            }
            if self.skip > 0 {
                break;
            }
            self.skip_whole_rows(&mut bytes);
            let reply = if let Some(prepared) = self.last_definition_skipped() {
                Some(prepared)
            } else if bytes.is_empty() {
                None
            } else if self.partial.is_empty() {
                self.take_packet(&mut bytes)?
            } else {
                self.complete_partial(&mut bytes)?
            };
            if let Some(reply) = reply {
                return match bytes.first() {
                    None => Ok(Some(reply)),
                    Some(first) => Err(ProtocolError::Unexpected {
                        first: *first,
                        place: "behind a reply",
                    }),
                };
            }
        }
        // A definition may end with what is here without a byte left to skip.
        Ok(if self.skip == 0 {
            self.last_definition_skipped()
        } else {
            None
        })
    }

    /// Skips the rows that are whole in `bytes`: nearly all that a range SELECT
    /// gives. Whatever is out of the ordinary is left to the packets' own way.
    #[inline]
    fn skip_whole_rows(&mut self, bytes: &mut &[u8]) {
        if self.state != State::Rows || self.continues || !self.partial.is_empty() {
            return;
        }
        while let [a, b, c, sequence, first, ..] = **bytes {
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            let ordinary = first < 0xfe && (1..MAX_PAYLOAD_BYTES).contains(&length);
            if !ordinary || sequence != self.sequence {
                return;
            }
            let Some(rest) = bytes.get(HEADER_BYTES + length..) else {
                return;
            };
            *bytes = rest;
            self.sequence = sequence.wrapping_add(1);
            self.done.rows += 1;
        }
    }

    /// Handles the packet at the front of `bytes`, or keeps its beginning.
    #[inline]
    fn take_packet(&mut self, bytes: &mut &[u8]) -> Result<Option<Reply>, ProtocolError> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            self.partial.extend_from_slice(bytes);
            *bytes = &[];
            return Ok(None);
        };
        let header = Header::parse(*header);
        let body = &bytes[HEADER_BYTES..];
        if body.is_empty() && header.length > 0 {
            // Its first byte says what it is, and has not come yet.
            self.partial.extend_from_slice(bytes);
            *bytes = &[];
            return Ok(None);
        }
        let first = body.first().copied().filter(|_| header.length > 0);
        if self.is_skipped(header, first) {
            self.count_skipped(header)?;
            *bytes = body;
            return Ok(None);
        }
        let Some(payload) = body.get(..header.length) else {
            check_gathered(header)?;
            self.partial.extend_from_slice(bytes);
            *bytes = &[];
            return Ok(None);
        };
        *bytes = &body[header.length..];
        self.look(header, payload)
    }

    /// Gathers what is missing of a packet that came in pieces.
    fn complete_partial(&mut self, bytes: &mut &[u8]) -> Result<Option<Reply>, ProtocolError> {
        // Header and first byte decide whether the packet is skipped.
        self.gather(bytes, HEADER_BYTES);
        let Some(header) = self.partial.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let header = Header::parse(*header);
        self.gather(bytes, HEADER_BYTES + header.length.min(1));
        let first = self.partial.get(HEADER_BYTES).copied();
        if first.is_none() && header.length > 0 {
            return Ok(None);
        }
        if self.is_skipped(header, first) {
            self.count_skipped(header)?;
            self.skip -= usize::from(first.is_some());
            self.partial.clear();
            return Ok(None);
        }
        check_gathered(header)?;
        let whole = HEADER_BYTES + header.length;
        self.gather(bytes, whole);
        if self.partial.len() < whole {
            return Ok(None);
        }
        let packet = std::mem::take(&mut self.partial);
        self.look(header, &packet[HEADER_BYTES..])
    }

    /// The reply to a PREPARE ends with the last of its definitions, which no
    /// packet follows.
    #[inline]
    fn last_definition_skipped(&self) -> Option<Reply> {
        match self.state {
            State::Definitions {
                left: 0,
                statement,
                params,
            } if !self.continues => Some(Reply::Prepared { statement, params }),
            _ => None,
        }
    }

    fn gather(&mut self, bytes: &mut &[u8], length: usize) {
        let missing = length.saturating_sub(self.partial.len()).min(bytes.len());
        self.partial.extend_from_slice(&bytes[..missing]);
        *bytes = &bytes[missing..];
    }
}

fn check_gathered(header: Header) -> Result<(), ProtocolError> {
    if header.length > MAX_GATHERED_BYTES {
        return Err(ProtocolError::TooLong {
            length: header.length,
            limit: MAX_GATHERED_BYTES,
        });
    }
    Ok(())
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;

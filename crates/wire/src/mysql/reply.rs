//! Replies on the load's hot path: rows are counted, never copied or decoded.

mod interpret;
mod whole;

use super::packet::{HEADER_BYTES, Header, MAX_PAYLOAD_BYTES};
use super::{SERVER_STATUS_IN_TRANS, capability};
use crate::ProtocolError;
use crate::error::check_length;
use crate::reply::{self, Done};

/// Longest message that is gathered (OK, ERR, a column count). Rows and column definitions
/// are skipped and have no limit but the server's.
const MAX_GATHERED_BYTES: usize = 1 << 20;

/// A whole reply. A prepared statement has a number. Data for LOAD DATA LOCAL starts with the
/// sequence number that it carries; [`ReplyReader::expect_result`] then reads the result.
pub type Reply = reply::Reply<u32, u8>;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first packet of a result.
    #[default]
    First,
    /// The first packet of the reply to a PREPARE.
    FirstPrepared,
    /// Column definitions to skip: how many are left.
    Columns(u64),
    /// The EOF after the column definitions, from servers that still send it.
    ColumnsEnd,
    Rows,
    /// Definitions after a PREPARE to skip, EOF packets included.
    Definitions {
        left: u32,
        statement: u32,
    },
}

/// Reads one reply from a stream of bytes that arrives in pieces of any size.
#[derive(Debug, Default)]
pub struct ReplyReader {
    state: State,
    done: Done,
    /// The server's status flags in the last reply.
    pub(super) status: u16,
    /// Sequence number of the next packet.
    sequence: u8,
    /// Bytes of a skipped packet that are still to come.
    skip: usize,
    /// The skipped packet continues in the next one.
    continues: bool,
    /// The beginning of a packet that must be parsed and is not complete yet.
    partial: Vec<u8>,
    deprecate_eof: bool,
    /// The column count says whether definitions follow.
    may_omit_columns: bool,
}

impl ReplyReader {
    /// A reader for a connection with these [capabilities](capability).
    pub fn new(capabilities: u64) -> Self {
        Self {
            sequence: 1,
            deprecate_eof: capabilities & capability::DEPRECATE_EOF != 0,
            may_omit_columns: capabilities & capability::CACHE_METADATA != 0,
            ..Self::default()
        }
    }

    /// A command, or the data of LOAD DATA LOCAL, was sent: its reply comes next. `sequence` is the
    /// number of the packet after what was sent.
    #[inline]
    pub fn expect_result(&mut self, sequence: u8) {
        self.expect(State::First, sequence);
    }

    /// A PREPARE was sent, up to the packet before `sequence`.
    pub fn expect_prepared(&mut self, sequence: u8) {
        self.expect(State::FirstPrepared, sequence);
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

    /// Whether a transaction may be open: the last reply says so, or was an error, after
    /// which it may or may not be.
    #[inline]
    pub fn is_in_transaction(&self) -> bool {
        self.status & SERVER_STATUS_IN_TRANS != 0
    }

    /// Takes bytes from the socket; returns the reply once it is whole.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        match self.whole_reply(bytes) {
            Some((done, status)) => {
                self.status = status;
                Ok(Some(Reply::Done(done)))
            }
            None => self.feed_piece(bytes),
        }
    }

    /// Whether part of the reply has been read.
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
                    Some(first) => Err(ProtocolError::unexpected(*first, "after a reply")),
                };
            }
        }
        // The last definition may end exactly here.
        Ok(if self.skip == 0 {
            self.last_definition_skipped()
        } else {
            None
        })
    }

    /// Skips the rows that are whole in `bytes`: nearly all of a range SELECT's result.
    /// Anything out of the ordinary is left to [`Self::take_packet`].
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

    /// Processes the packet at the front of `bytes`, or keeps its beginning.
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
            // Its first byte, which says what it is, has not arrived yet.
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
            check_length(header.length, MAX_GATHERED_BYTES)?;
            self.partial.extend_from_slice(bytes);
            *bytes = &[];
            return Ok(None);
        };
        *bytes = &body[header.length..];
        self.parse(header, payload)
    }

    /// Gathers what is missing from a packet that arrives in pieces.
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
        check_length(header.length, MAX_GATHERED_BYTES)?;
        let whole = HEADER_BYTES + header.length;
        self.gather(bytes, whole);
        if self.partial.len() < whole {
            return Ok(None);
        }
        let packet = std::mem::take(&mut self.partial);
        self.parse(header, &packet[HEADER_BYTES..])
    }

    /// The reply to a PREPARE ends with its last definition; no packet follows.
    #[inline]
    fn last_definition_skipped(&self) -> Option<Reply> {
        match self.state {
            State::Definitions { left: 0, statement } if !self.continues => {
                Some(Reply::Prepared(statement))
            }
            _ => None,
        }
    }

    fn gather(&mut self, bytes: &mut &[u8], length: usize) {
        let missing = length.saturating_sub(self.partial.len()).min(bytes.len());
        self.partial.extend_from_slice(&bytes[..missing]);
        *bytes = &bytes[missing..];
    }
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;

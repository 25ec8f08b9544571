//! Replies on the load's hot path: rows are counted, never copied or looked at.

use super::packet::{HEADER_BYTES, Header, MAX_PAYLOAD_BYTES};
use super::read::Fields;
use super::{ProtocolError, SERVER_MORE_RESULTS_EXISTS, ServerError, capability};

/// Longest message that is gathered (OK, ERR, a count of columns); rows and
/// column definitions are skipped and have no limit but the server's.
const MAX_GATHERED_BYTES: usize = 1 << 20;
/// Most columns that a result may announce (MySQL's own limit is 4,096).
const MAX_COLUMNS: u64 = 1 << 16;

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

    /// Reads a whole reply that begins and ends with these bytes and holds nothing out of
    /// the ordinary, as nearly every one does. `None`: it has to be read packet by packet.
    #[inline]
    fn whole_reply(&self, bytes: &[u8]) -> Option<Done> {
        // Shorter than a packet that goes on in the next one.
        let is_short = bytes.len() < MAX_PAYLOAD_BYTES;
        if !is_short || self.state != State::First || self.is_begun() {
            return None;
        }
        let mut packets = Packets {
            bytes,
            sequence: self.sequence,
        };
        let mut done = Done::default();
        let mut last = packets.next()?;
        if last.first != 0x00 {
            let columns = match *last.payload {
                [columns @ 1..=0xfa] if !self.may_omit_columns => columns,
                [1..=0xfa, 0] if self.may_omit_columns => 0,
                [columns @ 1..=0xfa, 1] if self.may_omit_columns => columns,
                _ => return None,
            };
            for _ in 0..columns {
                packets.next().filter(|column| column.first < 0xfe)?;
            }
            if !self.deprecate_eof {
                packets.next().filter(|end| end.first == 0xfe)?;
            }
            last = packets.next()?;
            while last.first < 0xfe {
                done.rows += 1;
                last = packets.next()?;
            }
        }
        let is_eof = last.first == 0xfe && !self.deprecate_eof;
        let (status, warnings) = match *last.payload {
            [0xfe, w0, w1, s0, s1] if is_eof => ([s0, s1], [w0, w1]),
            [
                0x00 | 0xfe,
                affected @ ..=0xfa,
                _id @ ..=0xfa,
                s0,
                s1,
                w0,
                w1,
                ..,
            ] if !is_eof => {
                done.affected = affected.into();
                ([s0, s1], [w0, w1])
            }
            _ => return None,
        };
        done.status = u16::from_le_bytes(status);
        done.warnings = u16::from_le_bytes(warnings);
        let is_last = done.status & SERVER_MORE_RESULTS_EXISTS == 0 && packets.bytes.is_empty();
        is_last.then_some(done)
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

    /// Rows and definitions are skipped; what ends them is looked at.
    #[inline]
    fn is_skipped(&self, header: Header, first: Option<u8>) -> bool {
        if self.continues {
            return true;
        }
        match self.state {
            State::Rows => match first {
                Some(0xff) => false,
                // A row may begin with 0xfe only as the length of a text of 16 MiB.
                Some(0xfe) => header.length == MAX_PAYLOAD_BYTES,
                Some(_) => true,
                None => false,
            },
            State::Columns(_) | State::Definitions { .. } => {
                first.is_some_and(|first| first != 0xff)
            }
            State::First | State::FirstPrepared | State::ColumnsEnd => false,
        }
    }

    /// Counts a packet that is skipped; its payload is still to come.
    #[inline]
    fn count_skipped(&mut self, header: Header) -> Result<(), ProtocolError> {
        self.next_sequence(header)?;
        self.skip = header.length;
        let continued = std::mem::replace(&mut self.continues, header.length == MAX_PAYLOAD_BYTES);
        if continued {
            return Ok(());
        }
        match &mut self.state {
            State::Rows => self.done.rows += 1,
            State::Columns(left) => {
                *left -= 1;
                if *left == 0 {
                    self.state = self.behind_columns();
                }
            }
            State::Definitions { left, .. } => *left -= 1,
            State::First | State::FirstPrepared | State::ColumnsEnd => {}
        }
        Ok(())
    }

    fn behind_columns(&self) -> State {
        match self.deprecate_eof {
            true => State::Rows,
            false => State::ColumnsEnd,
        }
    }

    #[inline]
    fn next_sequence(&mut self, header: Header) -> Result<(), ProtocolError> {
        if header.sequence != self.sequence {
            return Err(ProtocolError::Sequence {
                got: header.sequence,
                expected: self.sequence,
            });
        }
        self.sequence = self.sequence.wrapping_add(1);
        Ok(())
    }

    /// Understands a packet that is not skipped.
    fn look(&mut self, header: Header, payload: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        let first = *payload.first().ok_or(ProtocolError::Truncated("reply"))?;
        if first == 0xff {
            // A server that gives up in the middle of a statement, or before it,
            // numbers its last words as it likes.
            return ServerError::parse(payload).map(|error| Some(Reply::Refused(error)));
        }
        self.next_sequence(header)?;
        match (self.state, first) {
            (State::First, 0x00) => self.end_of_result(payload, false),
            (State::First, 0xfb) => Ok(Some(Reply::WantsFile {
                sequence: self.sequence,
            })),
            (State::First, _) => {
                let mut fields = Fields::new(payload, "column count");
                let Some(columns @ 1..=MAX_COLUMNS) = fields.lenenc()? else {
                    return Err(unexpected(first));
                };
                let are_omitted = self.may_omit_columns && fields.u8()? == 0;
                self.state = match are_omitted {
                    true => self.behind_columns(),
                    false => State::Columns(columns),
                };
                Ok(None)
            }
            (State::FirstPrepared, 0x00) => self.prepared(payload),
            (State::ColumnsEnd, 0xfe) => {
                self.state = State::Rows;
                Ok(None)
            }
            (State::Rows, 0xfe) => self.end_of_result(payload, true),
            _ => Err(unexpected(first)),
        }
    }

    fn prepared(&mut self, payload: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        let mut fields = Fields::new(payload, "reply to a prepare");
        fields.u8()?;
        let statement = fields.u32()?;
        let (columns, params) = (fields.u16()?, fields.u16()?);
        let lists = [columns, params];
        let ends = if self.deprecate_eof {
            0
        } else {
            lists.iter().filter(|length| **length > 0).count() as u32
        };
        let left = u32::from(columns) + u32::from(params) + ends;
        if left == 0 {
            return Ok(Some(Reply::Prepared { statement, params }));
        }
        self.state = State::Definitions {
            left,
            statement,
            params,
        };
        Ok(None)
    }

    /// An OK packet, or an EOF packet of a server that still sends them.
    fn end_of_result(
        &mut self,
        payload: &[u8],
        behind_rows: bool,
    ) -> Result<Option<Reply>, ProtocolError> {
        let mut fields = Fields::new(payload, "end of a reply");
        fields.u8()?;
        if behind_rows && !self.deprecate_eof {
            self.done.warnings = fields.u16()?;
            self.done.status = fields.u16()?;
        } else {
            // A server may say -1, so the sum of several can run over.
            let affected = fields.lenenc()?.unwrap_or(0);
            self.done.affected = self.done.affected.saturating_add(affected);
            let _last_insert_id = fields.lenenc()?;
            self.done.status = fields.u16()?;
            self.done.warnings = fields.u16()?;
        }
        if self.done.status & SERVER_MORE_RESULTS_EXISTS != 0 {
            self.state = State::First;
            return Ok(None);
        }
        Ok(Some(Reply::Done(self.done)))
    }
}

/// Packets that are whole, not empty and in order; of the maximum length none, which would
/// go on in the next one.
struct Packets<'a> {
    bytes: &'a [u8],
    sequence: u8,
}

/// A packet's payload, which is not empty, and its first byte.
#[derive(Clone, Copy)]
struct Packet<'a> {
    first: u8,
    payload: &'a [u8],
}

impl<'a> Packets<'a> {
    #[inline(always)]
    fn next(&mut self) -> Option<Packet<'a>> {
        let (header, rest) = self.bytes.split_first_chunk::<HEADER_BYTES>()?;
        let Header { length, sequence } = Header::parse(*header);
        let (payload, rest) = rest.split_at_checked(length)?;
        let first = *payload.first()?;
        if sequence != self.sequence {
            return None;
        }
        (self.bytes, self.sequence) = (rest, sequence.wrapping_add(1));
        Some(Packet { first, payload })
    }
}

fn unexpected(first: u8) -> ProtocolError {
    ProtocolError::Unexpected {
        first,
        place: "in a reply",
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

//! Replies on the load's hot path: rows are counted, never copied or decoded.

use super::message::{HEADER_BYTES, Header, check_length};
use super::read::Fields;
use super::{ProtocolError, ServerError};

/// Longest message that is gathered (an error, a command's tag, parameter types); rows and
/// their descriptions are skipped and have no limit but the server's.
const MAX_GATHERED_BYTES: usize = 1 << 20;

const BIND_COMPLETE: u8 = b'2';
const COMMAND_COMPLETE: u8 = b'C';
const COPY_IN: u8 = b'G';
const DATA_ROW: u8 = b'D';
const EMPTY_QUERY: u8 = b'I';
const ERROR: u8 = b'E';
const NOTICE: u8 = b'N';
const NOTIFICATION: u8 = b'A';
const NO_DATA: u8 = b'n';
const PARAMETER_STATUS: u8 = b'S';
const PARAMETER_TYPES: u8 = b't';
const PARSE_COMPLETE: u8 = b'1';
const READY: u8 = b'Z';
const ROW_DESCRIPTION: u8 = b'T';

/// What a reply said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The statement was executed.
    Done(Done),
    /// A statement was prepared; the type OIDs of its parameters.
    Prepared(Vec<u32>),
    /// The server waits for the lines of COPY FROM STDIN; after they are sent,
    /// [`ReplyReader::expect_copied`] reads the result.
    CopyIn,
    /// The server refused.
    Refused(Box<ServerError>),
}

/// Counts of a statement; for several statements in one query, their sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows in the results.
    pub rows: u64,
    /// Rows that the statement changed or found to change.
    pub affected: u64,
}

/// Whether a transaction is open, as the server said last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TransactionStatus {
    /// None is.
    #[default]
    Idle,
    /// One is open.
    Open,
    /// One has failed, and the server accepts only its end.
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The reply has been read: only messages that may come at any time.
    Nothing,
    /// To Bind, Execute and Sync.
    Execution,
    /// To Parse, Describe and Sync.
    Preparation,
    /// To a Query.
    Query,
    /// To the end of the lines of a COPY.
    Copied,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Begin,
    /// Rows follow, or a statement's description.
    Body,
    /// All was said but ReadyForQuery.
    Complete,
}

/// Reads one reply from a stream of bytes that comes in any pieces.
#[derive(Debug)]
pub struct ReplyReader {
    expected: Expected,
    phase: Phase,
    done: Done,
    status: TransactionStatus,
    types: Vec<u32>,
    error: Option<Box<ServerError>>,
    /// Bytes of a skipped message that are still to come.
    skip: usize,
    /// The beginning of a message that is not whole yet.
    partial: Vec<u8>,
}

impl Default for ReplyReader {
    fn default() -> Self {
        Self {
            expected: Expected::Nothing,
            phase: Phase::Begin,
            done: Done::default(),
            status: TransactionStatus::default(),
            types: Vec::new(),
            error: None,
            skip: 0,
            partial: Vec::new(),
        }
    }
}

impl ReplyReader {
    /// A Bind, Execute and Sync were sent: their reply comes next.
    #[inline]
    pub fn expect_execution(&mut self) {
        self.expect(Expected::Execution);
    }

    /// A Parse, Describe and Sync were sent.
    pub fn expect_preparation(&mut self) {
        self.expect(Expected::Preparation);
    }

    /// A Query was sent.
    #[inline]
    pub fn expect_query(&mut self) {
        self.expect(Expected::Query);
    }

    /// The lines of a COPY and their end were sent.
    pub fn expect_copied(&mut self) {
        self.expect(Expected::Copied);
    }

    /// The beginning of a message that came behind the last reply stays.
    #[inline]
    fn expect(&mut self, expected: Expected) {
        self.expected = expected;
        self.phase = Phase::Begin;
        self.done = Done::default();
    }

    /// Whether a transaction is open, as of the last reply.
    #[inline]
    #[must_use]
    pub fn transaction_status(&self) -> TransactionStatus {
        self.status
    }

    /// An error that the server reported between two statements, before it closed the connection.
    pub fn take_last_words(&mut self) -> Option<Box<ServerError>> {
        self.error.take()
    }

    /// Takes bytes from the socket; gives the reply once it is whole.
    ///
    /// # Errors
    /// When the bytes violate the protocol, or another reply follows.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        match self.whole_reply(bytes) {
            Some((done, status)) => {
                self.status = status;
                self.expected = Expected::Nothing;
                Ok(Some(Reply::Done(done)))
            }
            None => self.feed_piece(bytes),
        }
    }

    /// Reads a whole reply that begins and ends with these bytes and holds nothing out of
    /// the ordinary, as nearly every one does. `None`: it has to be read message by message.
    #[inline]
    fn whole_reply(&self, bytes: &[u8]) -> Option<(Done, TransactionStatus)> {
        let is_begun = self.skip > 0 || !self.partial.is_empty() || self.phase != Phase::Begin;
        if is_begun || self.error.is_some() {
            return None;
        }
        let mut messages = Messages(bytes);
        let mut message = messages.next()?;
        match (self.expected, message.kind) {
            (Expected::Execution, BIND_COMPLETE) | (Expected::Query, ROW_DESCRIPTION) => {
                message = messages.next()?;
            }
            (Expected::Query, COMMAND_COMPLETE) => {}
            _ => return None,
        }
        let mut done = Done::default();
        while message.kind == DATA_ROW {
            done.rows += 1;
            message = messages.next()?;
        }
        if message.kind != COMMAND_COMPLETE {
            return None;
        }
        done.affected = affected(message.payload);
        let ready = messages.next()?;
        let is_last = ready.kind == READY && messages.0.is_empty();
        let status = transaction_status(ready.payload).ok()?;
        is_last.then_some((done, status))
    }

    fn feed_piece(&mut self, mut bytes: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        let mut reply = None;
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            self.skip_whole_rows(&mut bytes);
            if bytes.is_empty() {
                return Ok(reply);
            }
            self.gather(&mut bytes, HEADER_BYTES);
            let Some(header) = self.partial.first_chunk::<HEADER_BYTES>() else {
                return Ok(reply);
            };
            let header = Header::parse(*header)?;
            if is_skipped(header.kind) {
                self.pass(header.kind)?;
                self.skip = header.length;
                self.partial.clear();
                continue;
            }
            check_length(header.length, MAX_GATHERED_BYTES)?;
            let whole = HEADER_BYTES + header.length;
            self.gather(&mut bytes, whole);
            if self.partial.len() < whole {
                return Ok(reply);
            }
            let mut message = std::mem::take(&mut self.partial);
            let said = self.understand(header.kind, &message[HEADER_BYTES..])?;
            message.clear();
            self.partial = message;
            reply = reply.or(said);
        }
    }

    fn gather(&mut self, bytes: &mut &[u8], length: usize) {
        let missing = length.saturating_sub(self.partial.len()).min(bytes.len());
        self.partial.extend_from_slice(&bytes[..missing]);
        *bytes = &bytes[missing..];
    }

    /// Skips the rows that are whole in `bytes`: nearly all of a long result.
    #[inline]
    fn skip_whole_rows(&mut self, bytes: &mut &[u8]) {
        if self.phase != Phase::Body || !self.partial.is_empty() || self.skip > 0 {
            return;
        }
        if !matches!(self.expected, Expected::Execution | Expected::Query) {
            return;
        }
        let mut messages = Messages(bytes);
        while messages.0.first() == Some(&DATA_ROW) && messages.next().is_some() {
            self.done.rows += 1;
            *bytes = messages.0;
        }
    }

    /// Notes a message that is skipped.
    fn pass(&mut self, kind: u8) -> Result<(), ProtocolError> {
        use Expected::{Execution, Preparation, Query};
        use Phase::{Begin, Body, Complete};
        self.phase = match (self.expected, self.phase, kind) {
            // These may come at any time.
            (_, phase, NOTICE | PARAMETER_STATUS | NOTIFICATION) => phase,
            (Execution | Query, Body, DATA_ROW) => {
                self.done.rows += 1;
                Body
            }
            (Execution, Begin, BIND_COMPLETE)
            | (Preparation, Begin, PARSE_COMPLETE)
            | (Query, Begin | Complete, ROW_DESCRIPTION) => Body,
            (Preparation, Body, ROW_DESCRIPTION | NO_DATA) => Complete,
            _ => return Err(self.unexpected(kind)),
        };
        Ok(())
    }

    /// Understands a message that is gathered.
    fn understand(&mut self, kind: u8, payload: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        use Expected::{Copied, Execution, Nothing, Preparation, Query};
        use Phase::{Begin, Body, Complete};
        match (self.expected, self.phase, kind) {
            (_, _, ERROR) => return self.refused(payload),
            (Execution | Query, Body, COMMAND_COMPLETE)
            | (Query, Begin | Complete, COMMAND_COMPLETE)
            | (Copied, Begin, COMMAND_COMPLETE) => {
                self.done.affected = self.done.affected.saturating_add(affected(payload));
                self.phase = Complete;
            }
            (Execution, Body, EMPTY_QUERY) | (Query, Begin, EMPTY_QUERY) => self.phase = Complete,
            (Preparation, Body, PARAMETER_TYPES) => self.types = parameter_types(payload)?,
            (Query, Begin | Complete, COPY_IN) => {
                self.expected = Nothing;
                return Ok(Some(Reply::CopyIn));
            }
            (Execution | Query | Preparation | Copied, Complete, READY) => {
                self.status = transaction_status(payload)?;
                return Ok(Some(self.finish()));
            }
            _ => return Err(self.unexpected(kind)),
        }
        Ok(None)
    }

    /// A reply goes on with ReadyForQuery after an error, unless the server closes the connection.
    fn refused(&mut self, payload: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        let error = Box::new(ServerError::parse(payload)?);
        self.phase = Phase::Complete;
        match self.expected {
            Expected::Nothing => self.error = Some(error),
            _ if error.is_fatal => {
                self.expected = Expected::Nothing;
                return Ok(Some(Reply::Refused(error)));
            }
            _ => self.error = Some(error),
        }
        Ok(None)
    }

    fn finish(&mut self) -> Reply {
        let expected = std::mem::replace(&mut self.expected, Expected::Nothing);
        let types = std::mem::take(&mut self.types);
        match (self.error.take(), expected) {
            (Some(error), _) => Reply::Refused(error),
            (None, Expected::Preparation) => Reply::Prepared(types),
            (None, _) => Reply::Done(self.done),
        }
    }

    fn unexpected(&self, kind: u8) -> ProtocolError {
        let place = match self.expected {
            Expected::Nothing => "behind a reply",
            _ => "in a reply",
        };
        ProtocolError::unexpected(kind, place)
    }
}

/// Whole messages, of which the payload of most is not looked at.
struct Messages<'a>(&'a [u8]);

#[derive(Clone, Copy)]
struct Message<'a> {
    kind: u8,
    payload: &'a [u8],
}

impl<'a> Messages<'a> {
    #[inline(always)]
    fn next(&mut self) -> Option<Message<'a>> {
        let (&[kind, a, b, c, d], rest) = self.0.split_first_chunk::<HEADER_BYTES>()?;
        let length = u32::from_be_bytes([a, b, c, d]).checked_sub(4)?;
        let (payload, rest) = rest.split_at_checked(length as usize)?;
        self.0 = rest;
        Some(Message { kind, payload })
    }
}

fn is_skipped(kind: u8) -> bool {
    !matches!(
        kind,
        COMMAND_COMPLETE | COPY_IN | EMPTY_QUERY | ERROR | PARAMETER_TYPES | READY
    )
}

/// The rows that a command changed, from its tag: `INSERT 0 1`, `UPDATE 3`, `COPY 500`.
#[inline]
fn affected(tag: &[u8]) -> u64 {
    // SELECT, FETCH and MOVE count rows that they read; BEGIN and the like count nothing.
    if !matches!(tag.first(), Some(b'I' | b'U' | b'D' | b'M' | b'C')) || tag.starts_with(b"MOVE") {
        return 0;
    }
    let digits = tag
        .strip_suffix(&[0])
        .unwrap_or(tag)
        .rsplit(|byte| *byte == b' ')
        .next();
    digits
        .unwrap_or_default()
        .iter()
        .try_fold(0_u64, |number, digit| {
            let digit = digit.wrapping_sub(b'0');
            let shifted = number.checked_mul(10)?;
            if digit < 10 {
                shifted.checked_add(digit.into())
            } else {
                None
            }
        })
        .unwrap_or(0)
}

#[inline]
fn transaction_status(payload: &[u8]) -> Result<TransactionStatus, ProtocolError> {
    match payload {
        b"I" => Ok(TransactionStatus::Idle),
        b"T" => Ok(TransactionStatus::Open),
        b"E" => Ok(TransactionStatus::Failed),
        _ => Err(ProtocolError::Truncated("transaction status")),
    }
}

fn parameter_types(payload: &[u8]) -> Result<Vec<u32>, ProtocolError> {
    let mut fields = Fields::new(payload, "parameter types");
    let count = fields.u16()?;
    (0..count).map(|_| fields.u32()).collect()
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;

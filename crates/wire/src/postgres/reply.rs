//! Replies on the load's hot path: rows are counted, never copied or decoded.

mod interpret;
mod whole;

use super::message::{HEADER_BYTES, Header};
use crate::error::check_length;
use crate::reply::{self, Done};
use crate::{ProtocolError, ServerError};
use interpret::is_skipped;
pub(super) use interpret::{affected, is_in_transaction};
use whole::Messages;

/// The types of messages in a reply.
mod kind {
    pub(super) const BIND_COMPLETE: u8 = b'2';
    pub(super) const CLOSE_COMPLETE: u8 = b'3';
    pub(super) const COMMAND_COMPLETE: u8 = b'C';
    pub(super) const COPY_IN: u8 = b'G';
    pub(super) const DATA_ROW: u8 = b'D';
    pub(super) const EMPTY_QUERY: u8 = b'I';
    pub(super) const ERROR: u8 = b'E';
    pub(super) const NOTICE: u8 = b'N';
    pub(super) const NOTIFICATION: u8 = b'A';
    pub(super) const NO_DATA: u8 = b'n';
    pub(super) const PARAMETER_STATUS: u8 = b'S';
    pub(super) const PARAMETER_TYPES: u8 = b't';
    pub(super) const PARSE_COMPLETE: u8 = b'1';
    pub(super) const READY: u8 = b'Z';
    pub(super) const ROW_DESCRIPTION: u8 = b'T';
}

/// Longest message that is gathered (an error, a command's tag, parameter types); rows and
/// their descriptions are skipped and have no limit but the server's.
const MAX_GATHERED_BYTES: usize = 1 << 20;

/// A whole reply. After a COPY FROM STDIN's data was sent, [`ReplyReader::expect_copied`] reads the
/// result.
pub type Reply = reply::Reply<Description, ()>;

/// What the server says about a prepared statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// Type OIDs of the parameters.
    pub types: Vec<u32>,
    /// Whether it has a result set.
    pub has_result: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// Nothing: the reply has been read, and only messages that may come at any time follow.
    #[default]
    Nothing,
    /// To Bind, Execute and Sync.
    Execution,
    /// To Parse, Describe and Sync.
    Preparation,
    Query,
    /// To the end of the lines of a COPY.
    Copied,
    /// To Close and Sync.
    Closing,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Begin,
    /// Rows follow, or a statement's description.
    Body,
    /// Only ReadyForQuery is missing.
    Complete,
}

/// Reads one reply from a stream of bytes that arrives in pieces of any size.
#[derive(Debug, Default)]
pub struct ReplyReader {
    expected: Expected,
    phase: Phase,
    done: Done,
    is_in_transaction: bool,
    description: Description,
    error: Option<Box<ServerError>>,
    /// Bytes of a skipped message that are still to come.
    skip: usize,
    /// The beginning of a message that is not complete yet.
    partial: Vec<u8>,
}

impl ReplyReader {
    /// A Bind, Execute and Sync were sent: their reply comes next. It does not say itself whether
    /// the statement has a result set.
    #[inline]
    pub fn expect_execution(&mut self, has_result: bool) {
        self.expect(Expected::Execution);
        self.done.has_result = has_result;
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

    /// A Close and Sync were sent.
    pub fn expect_closed(&mut self) {
        self.expect(Expected::Closing);
    }

    /// The beginning of a message that followed the last reply is kept.
    #[inline]
    fn expect(&mut self, expected: Expected) {
        self.expected = expected;
        self.phase = Phase::Begin;
        self.done = Done::default();
    }

    /// Whether a transaction is open or has failed, according to the last reply.
    #[inline]
    pub fn is_in_transaction(&self) -> bool {
        self.is_in_transaction
    }

    /// An error that the server reported between two statements, before it closed the connection.
    pub fn take_last_words(&mut self) -> Option<Box<ServerError>> {
        self.error.take()
    }

    /// The part of the next message that arrived with the last reply, for a caller that reads it in
    /// the reader's place.
    pub fn take_begun(&mut self) -> Vec<u8> {
        let mut begun = std::mem::take(&mut self.partial);
        if self.skip > 0 {
            // The rest of a skipped message passes for a shorter one.
            let length = (std::mem::take(&mut self.skip) + HEADER_BYTES - 1) as u32;
            begun.push(kind::NOTICE);
            begun.extend(length.to_be_bytes());
        }
        begun
    }

    /// Notes the end of a reply, which may have been read in the reader's place.
    #[inline]
    pub(super) fn ended(&mut self, is_in_transaction: bool) {
        self.is_in_transaction = is_in_transaction;
        self.expected = Expected::Nothing;
    }

    /// Takes bytes from the socket; returns the reply once it is whole.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        match self.whole_reply(bytes) {
            Some((done, is_in_transaction)) => {
                self.ended(is_in_transaction);
                Ok(Some(Reply::Done(done)))
            }
            None => self.feed_piece(bytes),
        }
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
            let parsed = self.parse(header.kind, &message[HEADER_BYTES..])?;
            message.clear();
            self.partial = message;
            reply = reply.or(parsed);
        }
    }

    fn gather(&mut self, bytes: &mut &[u8], length: usize) {
        let missing = length.saturating_sub(self.partial.len()).min(bytes.len());
        self.partial.extend_from_slice(&bytes[..missing]);
        *bytes = &bytes[missing..];
    }

    /// Skips the rows that are whole in `bytes`: nearly all of a range SELECT's result.
    #[inline]
    fn skip_whole_rows(&mut self, bytes: &mut &[u8]) {
        if self.phase != Phase::Body || !self.partial.is_empty() || self.skip > 0 {
            return;
        }
        if !matches!(self.expected, Expected::Execution | Expected::Query) {
            return;
        }
        let mut messages = Messages(bytes);
        while messages.0.first() == Some(&kind::DATA_ROW) && messages.next().is_some() {
            self.done.rows += 1;
            *bytes = messages.0;
        }
    }
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;

//! The fast path: a reply that arrives in one piece is read in one pass.

use super::super::message::HEADER_BYTES;
use super::interpret::{affected, is_in_transaction};
use super::kind::{BIND_COMPLETE, COMMAND_COMPLETE, DATA_ROW, READY, ROW_DESCRIPTION};
use super::{Expected, Phase, ReplyReader};
use crate::reply::Done;

impl ReplyReader {
    /// Reads a complete reply that fills `bytes` and needs no special treatment, as nearly all
    /// do. `None`: it must be read message by message.
    #[inline]
    pub(super) fn whole_reply(&self, bytes: &[u8]) -> Option<(Done, bool)> {
        let is_begun = self.skip > 0 || !self.partial.is_empty() || self.phase != Phase::Begin;
        if is_begun || self.error.is_some() {
            return None;
        }
        let mut messages = Messages(bytes);
        let mut message = messages.next()?;
        let mut done = self.done;
        match (self.expected, message.kind) {
            (Expected::Execution, BIND_COMPLETE) | (Expected::Query, ROW_DESCRIPTION) => {
                done.has_result |= message.kind == ROW_DESCRIPTION;
                message = messages.next()?;
            }
            (Expected::Query, COMMAND_COMPLETE) => {}
            _ => return None,
        }
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
        let is_in_transaction = is_in_transaction(ready.payload).ok()?;
        is_last.then_some((done, is_in_transaction))
    }
}

/// Whole messages; the payload of most is not read.
pub(super) struct Messages<'a>(pub(super) &'a [u8]);

#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) kind: u8,
    pub(super) payload: &'a [u8],
}

impl<'a> Messages<'a> {
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Message<'a>> {
        let (&[kind, a, b, c, d], rest) = self.0.split_first_chunk::<HEADER_BYTES>()?;
        let length = u32::from_be_bytes([a, b, c, d]).checked_sub(4)?;
        let (payload, rest) = rest.split_at_checked(length as usize)?;
        self.0 = rest;
        Some(Message { kind, payload })
    }
}

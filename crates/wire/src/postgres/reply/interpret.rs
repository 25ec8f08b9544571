//! Interprets the messages of a reply: which are skipped, and what the others mean.

use super::super::parse_error;
use super::kind::{
    BIND_COMPLETE, CLOSE_COMPLETE, COMMAND_COMPLETE, COPY_IN, DATA_ROW, EMPTY_QUERY, ERROR,
    NO_DATA, NOTICE, NOTIFICATION, PARAMETER_STATUS, PARAMETER_TYPES, PARSE_COMPLETE, READY,
    ROW_DESCRIPTION,
};
use super::{Expected, Phase, Reply, ReplyReader};
use crate::ProtocolError;
use crate::fields::Fields;

impl ReplyReader {
    /// Notes a message that is skipped.
    pub(super) fn pass(&mut self, kind: u8) -> Result<(), ProtocolError> {
        use Expected::{Closing, Execution, Preparation, Query};
        use Phase::{Begin, Body, Complete};
        self.phase = match (self.expected, self.phase, kind) {
            // These may come at any time.
            (_, phase, NOTICE | PARAMETER_STATUS | NOTIFICATION) => phase,
            (Execution | Query, Body, DATA_ROW) => {
                self.done.rows += 1;
                Body
            }
            (Execution, Begin, BIND_COMPLETE) | (Preparation, Begin, PARSE_COMPLETE) => Body,
            (Query, Begin | Complete, ROW_DESCRIPTION) => {
                self.done.has_result = true;
                Body
            }
            (Preparation, Body, ROW_DESCRIPTION | NO_DATA) => {
                self.description.has_result = kind == ROW_DESCRIPTION;
                Complete
            }
            (Closing, Begin, CLOSE_COMPLETE) => Complete,
            _ => return Err(self.unexpected(kind)),
        };
        Ok(())
    }

    /// Parses a message that is gathered.
    pub(super) fn parse(
        &mut self,
        kind: u8,
        payload: &[u8],
    ) -> Result<Option<Reply>, ProtocolError> {
        use Expected::{Closing, Copied, Execution, Nothing, Preparation, Query};
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
            (Preparation, Body, PARAMETER_TYPES) => {
                self.description.types = parameter_types(payload)?;
            }
            (Query, Begin | Complete, COPY_IN) => {
                self.expected = Nothing;
                return Ok(Some(Reply::WantsData(())));
            }
            (Execution | Query | Preparation | Copied | Closing, Complete, READY) => {
                self.is_in_transaction = is_in_transaction(payload)?;
                return Ok(Some(self.finish()));
            }
            _ => return Err(self.unexpected(kind)),
        }
        Ok(None)
    }

    /// ReadyForQuery follows an error, unless the server closes the connection.
    fn refused(&mut self, payload: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        let error = Box::new(parse_error(payload)?);
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
        let description = std::mem::take(&mut self.description);
        match (self.error.take(), expected) {
            (Some(error), _) => Reply::Refused(error),
            (None, Expected::Preparation) => Reply::Prepared(description),
            (None, _) => Reply::Done(self.done),
        }
    }

    fn unexpected(&self, kind: u8) -> ProtocolError {
        let place = match self.expected {
            Expected::Nothing => "after a reply",
            _ => "in a reply",
        };
        ProtocolError::unexpected(kind, place)
    }
}

pub(super) fn is_skipped(kind: u8) -> bool {
    !matches!(
        kind,
        COMMAND_COMPLETE | COPY_IN | EMPTY_QUERY | ERROR | PARAMETER_TYPES | READY
    )
}

/// The rows that a command changed, according to its tag: `INSERT 0 1`, `UPDATE 3`, `COPY 500`.
#[inline]
pub(in crate::postgres) fn affected(tag: &[u8]) -> u64 {
    // SELECT, FETCH and MOVE count rows read; BEGIN and the like have no count.
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

/// Parses ReadyForQuery's transaction status: idle, in a transaction, or in a failed one.
#[inline]
pub(in crate::postgres) fn is_in_transaction(payload: &[u8]) -> Result<bool, ProtocolError> {
    match payload {
        b"I" => Ok(false),
        b"T" | b"E" => Ok(true),
        _ => Err(ProtocolError::Truncated("transaction status")),
    }
}

fn parameter_types(payload: &[u8]) -> Result<Vec<u32>, ProtocolError> {
    let mut fields = Fields::new(payload, "parameter types");
    let count = fields.u16_be()?;
    (0..count).map(|_| fields.u32_be()).collect()
}

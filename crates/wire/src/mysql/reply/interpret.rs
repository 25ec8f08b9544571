//! Interprets the packets of a reply: which are skipped, and what the others mean.

use super::super::packet::{Header, MAX_PAYLOAD_BYTES};
use super::super::{SERVER_MORE_RESULTS_EXISTS, SERVER_STATUS_IN_TRANS, lenenc, parse_error};
use super::{Reply, ReplyReader, State};
use crate::ProtocolError;
use crate::fields::Fields;

/// Most columns that a result may announce (MySQL's own limit is 4,096).
const MAX_COLUMNS: u64 = 1 << 16;

impl ReplyReader {
    /// Rows and definitions are skipped; the packets that end them are parsed.
    #[inline]
    pub(super) fn is_skipped(&self, header: Header, first: Option<u8>) -> bool {
        if self.continues {
            return true;
        }
        match self.state {
            State::Rows => match first {
                Some(0xff) => false,
                // A row begins with 0xfe only as the length of a string of 16 MiB or more.
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

    /// Counts a packet whose payload will be skipped.
    #[inline]
    pub(super) fn count_skipped(&mut self, header: Header) -> Result<(), ProtocolError> {
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
                    self.state = self.after_columns();
                }
            }
            State::Definitions { left, .. } => *left -= 1,
            State::First | State::FirstPrepared | State::ColumnsEnd => {}
        }
        Ok(())
    }

    fn after_columns(&self) -> State {
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

    /// Parses a packet that is not skipped.
    pub(super) fn parse(
        &mut self,
        header: Header,
        payload: &[u8],
    ) -> Result<Option<Reply>, ProtocolError> {
        let first = *payload.first().ok_or(ProtocolError::Truncated("reply"))?;
        if first == 0xff {
            // A server that gives up before or during a statement may send any sequence number.
            let error = Box::new(parse_error(payload)?);
            // A deadlock has ended the transaction; other errors may not have.
            self.status = SERVER_STATUS_IN_TRANS;
            return Ok(Some(Reply::Refused(error)));
        }
        self.next_sequence(header)?;
        match (self.state, first) {
            (State::First, 0x00) => self.end_of_result(payload, false),
            (State::First, 0xfb) => Ok(Some(Reply::WantsData(self.sequence))),
            (State::First, _) => {
                let mut fields = Fields::new(payload, "column count");
                let Some(columns @ 1..=MAX_COLUMNS) = lenenc::integer(&mut fields)? else {
                    return Err(ProtocolError::unexpected(first, "in a reply"));
                };
                self.done.has_result = true;
                let are_omitted = self.may_omit_columns && fields.u8()? == 0;
                self.state = match are_omitted {
                    true => self.after_columns(),
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
            _ => Err(ProtocolError::unexpected(first, "in a reply")),
        }
    }

    fn prepared(&mut self, payload: &[u8]) -> Result<Option<Reply>, ProtocolError> {
        let mut fields = Fields::new(payload, "reply to a prepare");
        fields.u8()?;
        let statement = fields.u32_le()?;
        let (columns, params) = (fields.u16_le()?, fields.u16_le()?);
        let lists = [columns, params];
        let ends = if self.deprecate_eof {
            0
        } else {
            lists.iter().filter(|length| **length > 0).count() as u32
        };
        let left = u32::from(columns) + u32::from(params) + ends;
        if left == 0 {
            return Ok(Some(Reply::Prepared(statement)));
        }
        self.state = State::Definitions { left, statement };
        Ok(None)
    }

    /// An OK packet, or an EOF packet of a server that still sends them.
    fn end_of_result(
        &mut self,
        payload: &[u8],
        after_rows: bool,
    ) -> Result<Option<Reply>, ProtocolError> {
        let mut fields = Fields::new(payload, "end of a reply");
        fields.u8()?;
        if after_rows && !self.deprecate_eof {
            let _warnings = fields.u16_le()?;
            self.status = fields.u16_le()?;
        } else {
            // A server may report -1, so the sum of several could overflow.
            let affected = lenenc::integer(&mut fields)?.unwrap_or(0);
            self.done.affected = self.done.affected.saturating_add(affected);
            let _last_insert_id = lenenc::integer(&mut fields)?;
            self.status = fields.u16_le()?;
        }
        if self.status & SERVER_MORE_RESULTS_EXISTS != 0 {
            self.state = State::First;
            return Ok(None);
        }
        Ok(Some(Reply::Done(self.done)))
    }
}

//! What the packets of a reply mean: which are skipped, and what the others say.

use super::super::packet::{Header, MAX_PAYLOAD_BYTES};
use super::super::read::Fields;
use super::super::{ProtocolError, SERVER_MORE_RESULTS_EXISTS, ServerError};
use super::{Reply, ReplyReader, State};

/// Most columns that a result may announce (MySQL's own limit is 4,096).
const MAX_COLUMNS: u64 = 1 << 16;

impl ReplyReader {
    /// Rows and definitions are skipped; what ends them is looked at.
    #[inline]
    pub(super) fn is_skipped(&self, header: Header, first: Option<u8>) -> bool {
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
    pub(super) fn look(
        &mut self,
        header: Header,
        payload: &[u8],
    ) -> Result<Option<Reply>, ProtocolError> {
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

fn unexpected(first: u8) -> ProtocolError {
    ProtocolError::Unexpected {
        first,
        place: "in a reply",
    }
}

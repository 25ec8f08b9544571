//! The fast path: a reply that arrives in one piece is read in one pass.

use super::super::SERVER_MORE_RESULTS_EXISTS;
use super::super::packet::{HEADER_BYTES, Header, MAX_PAYLOAD_BYTES};
use super::{ReplyReader, State};
use crate::reply::Done;

impl ReplyReader {
    /// Reads a complete reply that fills `bytes` and needs no special treatment, as nearly
    /// all do; returns its counts and status flags. `None`: it must be read packet by packet.
    #[inline]
    pub(super) fn whole_reply(&self, bytes: &[u8]) -> Option<(Done, u16)> {
        // Too short for a packet that continues in the next one.
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
            done.has_result = true;
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
        let status = match *last.payload {
            [0xfe, _, _, s0, s1] if is_eof => [s0, s1],
            // After the status come two bytes of warnings.
            [
                0x00 | 0xfe,
                affected @ ..=0xfa,
                _id @ ..=0xfa,
                s0,
                s1,
                _,
                _,
                ..,
            ] if !is_eof => {
                done.affected = affected.into();
                [s0, s1]
            }
            _ => return None,
        };
        let status = u16::from_le_bytes(status);
        let is_last = status & SERVER_MORE_RESULTS_EXISTS == 0 && packets.bytes.is_empty();
        is_last.then_some((done, status))
    }
}

/// Complete packets, in sequence and not empty. None has the maximum length, which would
/// continue in the next one.
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

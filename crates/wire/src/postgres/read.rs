//! Reads fields from a message; every read checks the message's end.

use super::ProtocolError;

/// A message that is read from its front.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    /// What is being read, for the error.
    what: &'static str,
}

impl<'a> Fields<'a> {
    pub(super) fn new(payload: &'a [u8], what: &'static str) -> Self {
        Self {
            rest: payload,
            what,
        }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn bytes(&mut self, length: usize) -> Result<&'a [u8], ProtocolError> {
        let split = self.rest.split_at_checked(length);
        let (taken, rest) = split.ok_or(ProtocolError::Truncated(self.what))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let split = self.rest.split_first_chunk::<N>();
        let (taken, rest) = split.ok_or(ProtocolError::Truncated(self.what))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, ProtocolError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, ProtocolError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.array().map(u32::from_be_bytes)
    }

    /// A string up to its zero byte, which is consumed.
    pub(super) fn text(&mut self) -> Result<String, ProtocolError> {
        let end = self.rest.iter().position(|byte| *byte == 0);
        let end = end.ok_or(ProtocolError::Truncated(self.what))?;
        let text = String::from_utf8_lossy(&self.rest[..end]).into_owned();
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }
}

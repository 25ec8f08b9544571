//! Reads the fields of a message; every read checks the message's end.

use crate::ProtocolError;

/// A message that is read from its front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    /// What is being read, for the error.
    what: &'static str,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(payload: &'a [u8], what: &'static str) -> Self {
        Self {
            rest: payload,
            what,
        }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn truncated(&self) -> ProtocolError {
        ProtocolError::Truncated(self.what)
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Result<&'a [u8], ProtocolError> {
        let split = self.rest.split_at_checked(length);
        let (taken, rest) = split.ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let split = self.rest.split_first_chunk::<N>();
        let (taken, rest) = split.ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ProtocolError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16_le(&mut self) -> Result<u16, ProtocolError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32_le(&mut self) -> Result<u32, ProtocolError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u16_be(&mut self) -> Result<u16, ProtocolError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32_be(&mut self) -> Result<u32, ProtocolError> {
        self.array().map(u32::from_be_bytes)
    }

    /// The bytes up to a zero byte, which is consumed.
    pub(crate) fn bytes_until_nul(&mut self) -> Result<&'a [u8], ProtocolError> {
        let end = self.rest.iter().position(|byte| *byte == 0);
        let text = self.bytes(end.ok_or_else(|| self.truncated())?)?;
        self.bytes(1)?;
        Ok(text)
    }

    /// The text up to a zero byte, which is consumed.
    pub(crate) fn text(&mut self) -> Result<String, ProtocolError> {
        let bytes = self.bytes_until_nul()?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

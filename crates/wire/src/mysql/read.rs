//! Fields out of a message; every read is checked against its end.

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
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(ProtocolError::Truncated(self.what))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (taken, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(ProtocolError::Truncated(self.what))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, ProtocolError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, ProtocolError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, ProtocolError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A length-encoded integer; `None` stands for NULL (0xfb).
    pub(super) fn lenenc(&mut self) -> Result<Option<u64>, ProtocolError> {
        Ok(Some(match self.u8()? {
            0xfb => return Ok(None),
            0xfc => u64::from(self.u16()?),
            0xfd => {
                let [a, b, c] = self.array()?;
                u64::from(u32::from_le_bytes([a, b, c, 0]))
            }
            0xfe => u64::from_le_bytes(self.array()?),
            0xff => return Err(ProtocolError::Truncated(self.what)),
            small => u64::from(small),
        }))
    }

    /// Bytes behind their length; `None` stands for NULL.
    pub(super) fn lenenc_bytes(&mut self) -> Result<Option<&'a [u8]>, ProtocolError> {
        let Some(length) = self.lenenc()? else {
            return Ok(None);
        };
        let length = usize::try_from(length).map_err(|_| ProtocolError::Truncated(self.what))?;
        self.bytes(length).map(Some)
    }

    /// Bytes up to a zero byte, which is skipped; up to the end if there is none.
    pub(super) fn until_nul(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == 0);
        let (text, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &self.rest[..0]),
        };
        self.rest = rest;
        text
    }
}

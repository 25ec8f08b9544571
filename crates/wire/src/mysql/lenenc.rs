//! Length-encoded integers and byte strings.

use crate::ProtocolError;
use crate::fields::Fields;

/// Reads an integer; `None` stands for NULL (0xfb).
pub(super) fn integer(fields: &mut Fields<'_>) -> Result<Option<u64>, ProtocolError> {
    Ok(Some(match fields.u8()? {
        0xfb => return Ok(None),
        0xfc => fields.u16_le()?.into(),
        0xfd => {
            let [a, b, c] = fields.array()?;
            u32::from_le_bytes([a, b, c, 0]).into()
        }
        0xfe => u64::from_le_bytes(fields.array()?),
        0xff => return Err(fields.truncated()),
        small => small.into(),
    }))
}

/// Reads bytes preceded by their length; `None` stands for NULL.
pub(super) fn bytes<'a>(fields: &mut Fields<'a>) -> Result<Option<&'a [u8]>, ProtocolError> {
    let Some(length) = integer(fields)? else {
        return Ok(None);
    };
    let length = usize::try_from(length).map_err(|_| fields.truncated())?;
    fields.bytes(length).map(Some)
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_integer(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_integer(out: &mut Vec<u8>, number: u64) {
    let bytes = number.to_le_bytes();
    let (prefix, length) = match number {
        0..=0xfa => return out.push(bytes[0]),
        0xfb..=0xffff => (0xfc, 2),
        0x1_0000..=0xff_ffff => (0xfd, 3),
        _ => (0xfe, 8),
    };
    out.push(prefix);
    out.extend_from_slice(&bytes[..length]);
}

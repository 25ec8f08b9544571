//! Messages between dyno and its program on another host: JSON after its length.

use std::io::{self, ErrorKind, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;

/// Maximum length of a message.
const MAX_BYTES: u32 = 32 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Ask {
        id: u64,
        ask: Value,
    },
    /// The answer to this request is no longer wanted.
    Cancel {
        id: u64,
    },
    /// What the clocks say.
    Clock {
        id: u64,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reply {
    pub(super) id: u64,
    pub(super) answer: Result<Value, Failure>,
}

pub(super) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).ok();
    let length = length.filter(|length| *length <= MAX_BYTES);
    let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
    let whole = [&length.to_be_bytes()[..], &text].concat();
    to.write_all(&whole)?;
    to.flush()
}

/// The next message; `None` at the end of the connection.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_be_bytes(length);
    if length > MAX_BYTES {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut text = Vec::new();
    let read = from.take(length.into()).read_to_end(&mut text)?;
    if u32::try_from(read) != Ok(length) {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(serde_json::from_slice(&text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let mut pipe = Vec::new();
        write(&mut pipe, &Request::Cancel { id: 7 }).unwrap();
        write(&mut pipe, &"two").unwrap();
        let mut rest = &*pipe;
        let first: Option<Request> = read(&mut rest).unwrap();
        assert!(matches!(first, Some(Request::Cancel { id: 7 })));
        assert_eq!(read::<String>(&mut rest).unwrap().as_deref(), Some("two"));
        assert_eq!(read::<String>(&mut rest).unwrap(), None);
    }

    #[test]
    fn a_message_that_is_too_long_or_cut_or_none_is_refused() {
        for bytes in [&b"\xff\xff\xff\xff{}"[..], b"\0\0\0\x09{}", b"\0\0\0\x02{{"] {
            let mut rest = bytes;
            assert!(read::<Value>(&mut rest).is_err(), "{bytes:?}");
        }
    }
}

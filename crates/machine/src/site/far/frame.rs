//! Messages between dyno and its program on another host: a line of JSON each.

use std::io::{self, BufRead, ErrorKind, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;

/// Maximum length of a line.
const MAX_BYTES: u64 = 32 << 20;

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
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    if line.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("the message is too long"));
    }
    to.write_all(&line)?;
    to.flush()
}

/// The next message; `None` at the end of the connection.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.take(MAX_BYTES).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) => Err(ErrorKind::InvalidData.into()),
    }
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
    fn a_message_that_is_cut_or_none_is_refused() {
        for bytes in [&b"{\"id\":1"[..], b"{}", b"{{\n"] {
            let mut rest = bytes;
            assert!(read::<Value>(&mut rest).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_message_that_is_too_long_is_neither_written_nor_read() {
        let mut pipe = Vec::new();
        let long = "x".repeat(32 << 20);
        write(&mut pipe, &long).unwrap_err();
        let mut rest = &*[b"\"", long.as_bytes(), b"\"\n"].concat();
        assert!(read::<String>(&mut rest).is_err());
    }
}

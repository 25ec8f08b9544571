//! A reader must read the same reply, however the stream is split.

use std::fmt::Debug;

use wire::ProtocolError;

/// Feeds `stream` to two readers, once as a whole and once in pieces of `size` bytes, and
/// compares the results. `is_after` recognizes errors in bytes after the reply: only the reader
/// of the whole stream sees these.
pub fn compare<R, F>(
    stream: &[u8],
    size: u8,
    is_after: fn(&ProtocolError) -> bool,
    reader: impl Fn() -> F,
) where
    R: Debug + PartialEq,
    F: FnMut(&[u8]) -> Result<Option<R>, ProtocolError>,
{
    let at_once = reader()(stream);
    let in_pieces = stream
        .chunks(usize::from(size).max(1))
        .map(reader())
        .find(|fed| !matches!(fed, Ok(None)))
        .unwrap_or(Ok(None));
    let is_same = match (&at_once, &in_pieces) {
        (Err(error), Ok(Some(_))) => is_after(error),
        // The unexpected byte may differ, but not its place.
        (
            Err(ProtocolError::Unexpected { place, .. }),
            Err(ProtocolError::Unexpected { place: other, .. }),
        ) => place == other,
        (at_once, in_pieces) => at_once == in_pieces,
    };
    assert!(is_same, "{at_once:?} and {in_pieces:?}");
}

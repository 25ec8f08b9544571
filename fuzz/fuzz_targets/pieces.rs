//! A reader must read the same reply however the stream is cut.

use std::fmt::Debug;

use wire::ProtocolError;

/// Feeds `stream` to two readers, at once and in pieces of `size` bytes, and compares.
/// `is_after` recognizes the errors of bytes after the reply, which are seen only together
/// with its end.
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
        // The next byte differs.
        (
            Err(ProtocolError::Unexpected { place, .. }),
            Err(ProtocolError::Unexpected { place: other, .. }),
        ) => place == other,
        (at_once, in_pieces) => at_once == in_pieces,
    };
    assert!(is_same, "{at_once:?} and {in_pieces:?}");
}

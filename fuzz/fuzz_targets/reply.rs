//! The reader of the load's replies: it must say the same however the stream is
//! cut, and keep no more than it was given.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::mysql::reply::{Reply, ReplyReader};
use wire::mysql::{ProtocolError, capability};

fuzz_target!(|data: &[u8]| {
    // How to read comes first: what is expected, and the length of the pieces.
    let [how, size, stream @ ..] = data else {
        return;
    };
    let mut whole = start(*how);
    let at_once = whole.feed(stream);
    let mut pieces = start(*how);
    let in_pieces = stream
        .chunks(usize::from(*size).max(1))
        .map(|piece| pieces.feed(piece))
        .find(|fed| !matches!(fed, Ok(None)))
        .unwrap_or(Ok(None));
    assert!(agree(&at_once, &in_pieces), "{at_once:?} and {in_pieces:?}");
});

fn start(how: u8) -> ReplyReader {
    let mut capabilities = 0;
    if how & 1 != 0 {
        capabilities |= capability::DEPRECATE_EOF;
    }
    if how & 8 != 0 {
        capabilities |= capability::CACHE_METADATA;
    }
    let mut reader = ReplyReader::new(capabilities);
    match how >> 1 & 3 {
        0 => reader.expect_prepared(),
        1 => reader.expect_rest(how),
        _ => reader.expect_result(),
    }
    reader
}

type Fed = Result<Option<Reply>, ProtocolError>;

/// Bytes behind the reply are seen only in one piece with its end.
fn agree(at_once: &Fed, in_pieces: &Fed) -> bool {
    let behind = |fed: &Fed| matches!(fed, Err(ProtocolError::Unexpected { place, .. }) if *place == "behind a reply");
    at_once == in_pieces
        || (behind(at_once) && matches!(in_pieces, Ok(Some(_))))
        || (behind(at_once) && behind(in_pieces))
}

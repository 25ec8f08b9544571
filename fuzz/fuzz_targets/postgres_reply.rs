//! The reader of PostgreSQL's replies: it must say the same however the stream is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::postgres::ProtocolError;
use wire::postgres::reply::{Reply, ReplyReader};

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
    let mut reader = ReplyReader::default();
    match how & 3 {
        0 => reader.expect_execution(),
        1 => reader.expect_preparation(),
        2 => reader.expect_query(),
        _ => reader.expect_copied(),
    }
    reader
}

type Fed = Result<Option<Reply>, ProtocolError>;

/// Bytes behind the reply are seen only in one piece with its end.
fn agree(at_once: &Fed, in_pieces: &Fed) -> bool {
    at_once == in_pieces || (at_once.is_err() && matches!(in_pieces, Ok(Some(_))))
}

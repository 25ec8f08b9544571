//! The reader of MySQL's replies.
#![no_main]

mod pieces;

use libfuzzer_sys::fuzz_target;
use wire::ProtocolError;
use wire::mysql::capability;
use wire::mysql::reply::ReplyReader;

fuzz_target!(|data: &[u8]| {
    // The first bytes select the expected reply and the size of the pieces.
    let [how, size, stream @ ..] = data else {
        return;
    };
    pieces::compare(stream, *size, is_after, || {
        let mut reader = reader(*how);
        move |piece: &[u8]| reader.feed(piece)
    });
});

fn is_after(error: &ProtocolError) -> bool {
    matches!(error, ProtocolError::Unexpected { place, .. } if *place == "after a reply")
}

fn reader(how: u8) -> ReplyReader {
    let mut capabilities = 0;
    if how & 1 != 0 {
        capabilities |= capability::DEPRECATE_EOF;
    }
    if how & 8 != 0 {
        capabilities |= capability::CACHE_METADATA;
    }
    let mut reader = ReplyReader::new(capabilities);
    match how >> 1 & 3 {
        0 => reader.expect_prepared(1),
        1 => reader.expect_result(how),
        _ => reader.expect_result(1),
    }
    reader
}

//! The reader of PostgreSQL's replies.
#![no_main]

mod pieces;

use libfuzzer_sys::fuzz_target;
use wire::postgres::reply::ReplyReader;

fuzz_target!(|data: &[u8]| {
    // The first bytes select the expected reply and the size of the pieces.
    let [how, size, stream @ ..] = data else {
        return;
    };
    // Any error may belong to a message after the reply.
    pieces::compare(
        stream,
        *size,
        |_| true,
        || {
            let mut reader = reader(*how);
            move |piece: &[u8]| reader.feed(piece)
        },
    );
});

fn reader(how: u8) -> ReplyReader {
    let mut reader = ReplyReader::default();
    match how & 3 {
        0 => reader.expect_execution(false),
        1 => reader.expect_preparation(),
        2 => reader.expect_query(),
        _ => reader.expect_copied(),
    }
    reader
}

//! Results of MySQL's text statements.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::gather::Gatherer;
use wire::mysql::reply::ReplyReader;
use wire::mysql::rows::TextResult;
use wire::rows::TextReply;

fuzz_target!(|data: &[u8]| {
    let [how, stream @ ..] = data else {
        return;
    };
    let mut gatherer = Gatherer::new(1 << 20);
    let mut result = TextResult::new(how & 1 != 0);
    let mut reader = ReplyReader::default();
    for piece in stream.chunks(usize::from(how >> 1).max(1)) {
        gatherer.push(piece);
        while let Ok(Some(message)) = gatherer.take_message() {
            match result.message(&message, &mut reader) {
                Ok(None) => {}
                Ok(Some(TextReply::Rows(text))) => {
                    // Each row has at least a header.
                    assert!(text.rows.len() <= stream.len() / 4);
                    return;
                }
                Ok(Some(TextReply::Refused(_))) | Err(_) => return,
            }
        }
    }
});

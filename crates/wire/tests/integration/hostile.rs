//! Bytes of nobody's making: never a panic, and never more memory than came.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use wire::ProtocolError;
use wire::gather::Gatherer;
use wire::mysql::handshake::{Greeting, Next, not_mysql};
use wire::mysql::packet::Message;
use wire::mysql::parse_error;
use wire::mysql::reply::ReplyReader;
use wire::mysql::rows::TextResult;

/// Bytes of which some are those that mean something.
fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let meaning = prop::sample::select(vec![0, 1, 2, 3, 8, 10, 0xfb, 0xfc, 0xfd, 0xfe, 0xff]);
    vec(prop_oneof![2 => meaning, 1 => any::<u8>()], 0..most)
}

/// Messages that at least have a right length and number.
fn framed() -> impl Strategy<Value = Vec<u8>> {
    vec(bytes(40), 0..20).prop_map(|messages| common::stream(1, &messages))
}

fn message_of(payload: Vec<u8>) -> Message {
    Message {
        payload,
        sequence: 1,
    }
}

fn start(deprecate_eof: bool, kind: u8) -> ReplyReader {
    let mut reader = common::reader(deprecate_eof);
    match kind {
        0 => reader.expect_result(1),
        1 => reader.expect_prepared(1),
        sequence => reader.expect_result(sequence),
    }
    reader
}

proptest! {
    #![proptest_config(common::cases(500))]

    #[test]
    fn the_handshake_survives(bytes in bytes(200)) {
        let _ = Greeting::parse(&bytes);
        let _ = Greeting::parse(&[&[10], &bytes[..]].concat());
        let _ = Next::parse(&bytes);
        let _ = parse_error(&bytes);
        let _ = not_mysql(&bytes).to_string();
    }

    #[test]
    fn the_gatherer_survives(bytes in bytes(400), limit in 0..300_usize, lengths in vec(1..50_usize, 1..5)) {
        let mut gatherer = Gatherer::new(limit);
        'pieces: for piece in common::pieces(&bytes, &lengths) {
            gatherer.push(piece);
            loop {
                match gatherer.take_message::<Message>() {
                    Ok(Some(message)) => prop_assert!(message.payload.len() <= limit),
                    Ok(None) => break,
                    Err(_) => break 'pieces,
                }
            }
            // What waits is one message, whose header has passed, at most.
            prop_assert!(gatherer.pending().len() <= limit + 4 + 50);
        }
    }

    #[test]
    fn replies_survive(
        bytes in prop_oneof![bytes(400), framed()],
        deprecate_eof: bool,
        kind: u8,
        lengths in vec(1..50_usize, 1..5),
    ) {
        let mut pieces = start(deprecate_eof, kind);
        let in_pieces = common::pieces(&bytes, &lengths)
            .into_iter()
            .map(|piece| pieces.feed(piece))
            .find(|fed| !matches!(fed, Ok(None)));
        let whole = start(deprecate_eof, kind).feed(&bytes);
        match in_pieces {
            // In one piece it is seen at once what goes on behind the reply.
            Some(Ok(reply)) => if let Ok(whole) = whole { prop_assert_eq!(whole, reply) },
            Some(Err(error)) => prop_assert_eq!(whole, Err(error)),
            None => prop_assert_eq!(whole, Ok(None)),
        }
    }

    #[test]
    fn text_results_survive(messages in vec(bytes(60), 0..30), deprecate_eof: bool) {
        let mut result = TextResult::new(deprecate_eof);
        let mut reader = common::reader(deprecate_eof);
        for message in messages {
            if !matches!(result.message(&message_of(message), &mut reader), Ok(None)) {
                break;
            }
        }
    }
}

/// A row of NULLs is a byte for each on the wire, and a cell for each in memory.
#[test]
fn a_result_of_nothing_but_nulls_is_bounded() {
    let (mut result, mut reader) = (TextResult::new(true), common::reader(true));
    let mut take = |message: &Message| result.message(message, &mut reader);
    let columns = [&[0xfc], &4096_u16.to_le_bytes()[..]].concat();
    take(&message_of(columns)).unwrap();
    let definition = message_of(b"\x03def\0\0\0\x01c\0".to_vec());
    for _ in 0..4096 {
        take(&definition).unwrap();
    }
    let row = message_of(vec![0xfb; 4096]);
    let refused = (0..100_000).find_map(|_| take(&row).err());
    assert_eq!(refused, Some(ProtocolError::LargeResult));
}

use super::super::message::{self, Message};
use super::super::rows::TextResult;
use super::*;
use crate::gather::Gatherer;

/// Type and payload.
type Sent<'a> = (u8, &'a [u8]);

fn stream(messages: &[Sent<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, payload) in messages {
        message::write(&mut out, *kind, |out| out.extend_from_slice(payload));
    }
    out
}

fn reader(expected: Expected) -> ReplyReader {
    let mut reader = ReplyReader::default();
    reader.expect(expected);
    reader
}

/// The reply must be the same however the stream is cut.
#[track_caller]
fn read_in_pieces(expected: Expected, bytes: &[u8]) -> (Reply, bool) {
    let mut whole = reader(expected);
    let reply = whole.feed(bytes).unwrap().unwrap();
    for size in 1..bytes.len() {
        let mut reader = reader(expected);
        let mut replies = bytes.chunks(size).map(|piece| reader.feed(piece).unwrap());
        let last = replies.by_ref().find_map(|reply| reply).unwrap();
        assert_eq!(last, reply, "cut every {size} bytes");
        assert!(replies.all(|more| more.is_none()));
        assert_eq!(
            reader.is_in_transaction, whole.is_in_transaction,
            "cut every {size} bytes"
        );
    }
    (reply, whole.is_in_transaction)
}

fn done(rows: u64, affected: u64) -> Reply {
    Reply::Done(Done {
        has_result: false,
        rows,
        affected,
    })
}

/// The reply to a query with a result set.
fn selected(rows: u64, affected: u64) -> Reply {
    Reply::Done(Done {
        has_result: true,
        rows,
        affected,
    })
}

const BOUND: Sent<'static> = (b'2', b"");
const ROW: Sent<'static> = (b'D', b"\0\x01\0\0\0\x01x");
const SELECTED: Sent<'static> = (b'C', b"SELECT 2\0");
const IDLE: Sent<'static> = (b'Z', b"I");
const NOTICE: Sent<'static> = (b'N', b"SNOTICE\0Mhello\0\0");
const DEADLOCK: Sent<'static> = (b'E', b"SERROR\0VERROR\0C40P01\0Mdeadlock detected\0\0");
const KILLED: Sent<'static> = (b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");

#[test]
fn rows_are_counted() {
    let bytes = stream(&[BOUND, ROW, ROW, SELECTED, IDLE]);
    let read = read_in_pieces(Expected::Execution, &bytes);
    assert_eq!(read, (done(2, 0), false));
    let bytes = stream(&[(b'T', b"\0\0"), ROW, SELECTED, (b'Z', b"T")]);
    let read = read_in_pieces(Expected::Query, &bytes);
    assert_eq!(read, (selected(1, 0), true));
    let bytes = stream(&[(b'T', b"\0\0"), SELECTED, IDLE]);
    let read = read_in_pieces(Expected::Query, &bytes);
    assert_eq!(read, (selected(0, 0), false));
}

#[test]
fn changed_rows_are_counted_by_the_tag() {
    for (tag, rows) in [
        ("INSERT 0 3", 3),
        ("UPDATE 18446744073709551615", u64::MAX),
        ("UPDATE 99999999999999999999", 0),
        ("DELETE 0", 0),
        ("MERGE 7", 7),
        ("COPY 500000", 500_000),
        ("SELECT 9", 0),
        ("FETCH 9", 0),
        ("MOVE 9", 0),
        ("COMMIT", 0),
        ("CREATE TABLE", 0),
        ("DROP INDEX", 0),
        ("", 0),
    ] {
        let tag = format!("{tag}\0");
        let bytes = stream(&[BOUND, (b'C', tag.as_bytes()), IDLE]);
        let (reply, _) = read_in_pieces(Expected::Execution, &bytes);
        assert_eq!(reply, done(0, rows), "{tag}");
    }
}

#[test]
fn several_statements_in_one_query_are_one_reply() {
    let update: Sent<'static> = (b'C', b"UPDATE 2\0");
    let bytes = stream(&[update, (b'T', b"\0\0"), ROW, SELECTED, NOTICE, update, IDLE]);
    assert_eq!(read_in_pieces(Expected::Query, &bytes).0, selected(1, 4));
}

#[test]
fn notices_and_settings_may_come_at_any_time() {
    let setting: Sent<'static> = (b'S', b"TimeZone\0UTC\0");
    let bytes = stream(&[
        NOTICE, BOUND, setting, ROW, NOTICE, ROW, SELECTED, setting, IDLE, NOTICE,
    ]);
    assert_eq!(read_in_pieces(Expected::Execution, &bytes).0, done(2, 0));
}

#[test]
fn a_prepared_statement_has_the_types_of_its_parameters() {
    let types: Sent<'static> = (b't', b"\0\x02\0\0\0\x17\0\0\x04\x13");
    for (description, has_result) in [((b'T', &b"\0\0"[..]), true), ((b'n', &b""[..]), false)] {
        let bytes = stream(&[(b'1', b""), types, description, IDLE]);
        let (reply, _) = read_in_pieces(Expected::Preparation, &bytes);
        let types = vec![23, 1043];
        let expected = Description { types, has_result };
        assert_eq!(reply, Reply::Prepared(expected));
    }
}

#[test]
fn an_execution_has_the_result_set_of_its_statement() {
    let bytes = stream(&[BOUND, (b'C', b"SELECT 0\0"), IDLE]);
    for size in 1..=bytes.len() {
        for (has_result, expected) in [(false, done(0, 0)), (true, selected(0, 0))] {
            let mut reader = ReplyReader::default();
            reader.expect_execution(has_result);
            let mut replies = bytes.chunks(size).map(|piece| reader.feed(piece).unwrap());
            assert_eq!(replies.find_map(|reply| reply), Some(expected));
        }
    }
}

#[test]
fn a_statement_is_closed() {
    let bytes = stream(&[NOTICE, (b'3', b""), (b'Z', b"T")]);
    let read = read_in_pieces(Expected::Closing, &bytes);
    assert_eq!(read, (done(0, 0), true));
}

#[test]
fn an_error_is_the_reply_wherever_it_comes() {
    for before in [&[][..], &[BOUND], &[BOUND, ROW]] {
        let bytes = stream(&[before, &[DEADLOCK, (b'Z', b"E")]].concat());
        let (reply, is_in_transaction) = read_in_pieces(Expected::Execution, &bytes);
        let Reply::Refused(error) = reply else {
            panic!("{reply:?}")
        };
        assert_eq!((error.sqlstate(), error.is_fatal), ("40P01", false));
        assert!(is_in_transaction);
    }
}

#[test]
fn a_fatal_error_needs_no_end() {
    let bytes = stream(&[BOUND, ROW, KILLED]);
    let (reply, _) = read_in_pieces(Expected::Execution, &bytes);
    assert!(matches!(reply, Reply::Refused(error) if error.sqlstate() == "57P01"));
}

#[test]
fn what_the_server_said_before_it_closed_is_kept() {
    let bytes = stream(&[BOUND, SELECTED, IDLE, KILLED]);
    for size in 1..=bytes.len() {
        let mut reader = reader(Expected::Execution);
        let replies: Vec<_> = bytes
            .chunks(size)
            .filter_map(|piece| reader.feed(piece).unwrap())
            .collect();
        assert_eq!(replies, [done(0, 0)]);
        assert_eq!(reader.take_last_words().unwrap().sqlstate(), "57P01");
    }
}

#[test]
fn a_reader_reads_one_reply_after_another() {
    let bytes = stream(&[BOUND, ROW, SELECTED, IDLE]);
    let mut reader = ReplyReader::default();
    for _ in 0..3 {
        reader.expect_execution(false);
        assert_eq!(reader.feed(&bytes).unwrap(), Some(done(1, 0)));
        reader.expect_execution(false);
        assert_eq!(reader.feed(&bytes[..9]).unwrap(), None);
        assert_eq!(reader.feed(&bytes[9..]).unwrap(), Some(done(1, 0)));
    }
    // A message may begin behind one reply and end before the next.
    let notice = stream(&[NOTICE]);
    reader.expect_execution(false);
    let first = reader.feed(&[&bytes[..], &notice[..7]].concat()).unwrap();
    assert_eq!(first, Some(done(1, 0)));
    reader.expect_execution(false);
    let second = reader.feed(&[&notice[7..], &bytes[..]].concat()).unwrap();
    assert_eq!(second, Some(done(1, 0)));
}

#[test]
fn a_message_that_has_begun_can_be_read_on_elsewhere() {
    let (reply, notice) = (stream(&[BOUND, SELECTED, IDLE]), stream(&[NOTICE]));
    for cut in 0..notice.len() {
        let mut reader = reader(Expected::Execution);
        let first = reader.feed(&[&reply[..], &notice[..cut]].concat());
        assert_eq!(first, Ok(Some(done(0, 0))));
        let mut gatherer = Gatherer::new(100);
        gatherer.push(&reader.take_begun());
        gatherer.push(&[&notice[cut..], &stream(&[IDLE])[..]].concat());
        let mut kind = || gatherer.take_message::<Message>().unwrap().unwrap().kind;
        assert_eq!([kind(), kind()], [b'N', b'Z'], "cut at {cut}");
    }
}

#[test]
fn what_follows_a_text_reply_is_read_on() {
    let mut reader = reader(Expected::Query);
    let (mut gatherer, mut result) = (Gatherer::new(100), TextResult::default());
    gatherer.push(&stream(&[SELECTED, IDLE, KILLED]));
    let mut reply = None;
    while reply.is_none() {
        let message = gatherer.take_message().unwrap().unwrap();
        reply = result.message(&message, &mut reader).unwrap();
    }
    assert_eq!(reader.feed(gatherer.pending()), Ok(None));
    assert_eq!(reader.take_last_words().unwrap().sqlstate(), "57P01");
}

#[test]
fn what_is_out_of_place_is_refused() {
    let cases: [(Expected, &[Sent<'_>]); 10] = [
        (Expected::Execution, &[BOUND, SELECTED, IDLE, IDLE]),
        (Expected::Execution, &[BOUND, SELECTED, IDLE, BOUND]),
        (Expected::Execution, &[IDLE]),
        (Expected::Execution, &[ROW]),
        (Expected::Execution, &[BOUND, IDLE]),
        (Expected::Execution, &[(b'G', b"\0\0\0")]),
        (Expected::Query, &[ROW]),
        (Expected::Preparation, &[SELECTED]),
        (Expected::Copied, &[ROW]),
        (Expected::Closing, &[IDLE]),
    ];
    for (expected, messages) in cases {
        let bytes = stream(messages);
        let error = reader(expected).feed(&bytes).unwrap_err();
        assert!(matches!(error, ProtocolError::Unexpected { .. }), "{error}");
    }
}

#[test]
fn lengths_are_bounded() {
    for length in [0_u32, 3, 0x8000_0000, u32::MAX] {
        let bytes = [&b"C"[..], &length.to_be_bytes()].concat();
        let error = reader(Expected::Query).feed(&bytes).unwrap_err();
        assert_eq!(error, ProtocolError::InvalidLength(length));
    }
    let bytes = [&b"E"[..], &(2_u32 << 20).to_be_bytes()].concat();
    let error = reader(Expected::Query).feed(&bytes).unwrap_err();
    assert!(matches!(error, ProtocolError::TooLong { .. }), "{error}");
}

use super::*;

/// A reader for servers that end results with OK packets, or still with EOF packets.
fn reader(deprecate_eof: bool) -> ReplyReader {
    ReplyReader::new(if deprecate_eof {
        capability::DEPRECATE_EOF
    } else {
        0
    })
}

fn stream(payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, payload) in payloads.iter().enumerate() {
        super::super::packet::write(&mut out, number as u8 + 1, |out| {
            out.extend_from_slice(payload);
        });
    }
    out
}

/// The reply must be the same however the stream is cut.
fn read_in_pieces(start: fn(&mut ReplyReader, u8), eof: bool, bytes: &[u8]) -> Reply {
    let whole = {
        let mut reader = reader(!eof);
        start(&mut reader, 1);
        reader.feed(bytes).unwrap().unwrap()
    };
    for size in 1..bytes.len() {
        let mut reader = reader(!eof);
        start(&mut reader, 1);
        let mut replies = bytes.chunks(size).map(|piece| reader.feed(piece).unwrap());
        let last = replies.by_ref().find_map(|reply| reply).unwrap();
        assert_eq!(last, whole, "cut every {size} bytes");
        assert!(replies.next().is_none());
    }
    whole
}

fn done(has_result: bool, rows: u64, affected: u64) -> Reply {
    Reply::Done(Done {
        has_result,
        rows,
        affected,
    })
}

const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

#[test]
fn an_ok_gives_the_rows_matched() {
    let reply = read_in_pieces(ReplyReader::expect_result, false, &stream(&[OK]));
    assert_eq!(reply, done(false, 0, 1));
}

#[test]
fn rows_are_counted_with_and_without_eof_packets() {
    let rows: &[&[u8]] = &[&[0, 0, 5, b'a'], &[0, 0, 0xfe], &[0, 0, 0xff]];
    let new = [&[&[1_u8][..], b"\x03def"], rows, &[END]].concat();
    let old = [&[&[1_u8][..], b"\x03def", EOF], rows, &[EOF]].concat();
    for (eof, packets) in [(false, new), (true, old)] {
        let reply = read_in_pieces(ReplyReader::expect_result, eof, &stream(&packets));
        assert_eq!(reply, done(true, 3, 0));
    }
}

#[test]
fn a_result_set_may_be_empty() {
    let packets: &[&[u8]] = &[&[1], b"\x03def", END];
    let reply = read_in_pieces(ReplyReader::expect_result, false, &stream(packets));
    assert_eq!(reply, done(true, 0, 0));
}

#[test]
fn several_results_are_one_reply() {
    let more: &[u8] = &[0xfe, 0, 0, 8, 0, 0, 0];
    let packets: &[&[u8]] = &[&[1], b"\x03def", &[0, 0, 1], more, OK];
    let reply = read_in_pieces(ReplyReader::expect_result, false, &stream(packets));
    assert_eq!(reply, done(true, 1, 1));
    // Also if the first of them, an empty one, comes in one piece.
    let packets: &[&[u8]] = &[&[1], b"\x03def", more, OK];
    let bytes = stream(packets);
    let mut reader = reader(true);
    reader.expect_result(1);
    let (first, second) = bytes.split_at(bytes.len() - OK.len() - HEADER_BYTES);
    assert_eq!(reader.feed(first).unwrap(), None);
    assert_eq!(reader.feed(second).unwrap(), Some(done(true, 0, 1)));
}

#[test]
fn a_prepare_ends_with_its_last_definition() {
    let ok: &[u8] = &[0, 7, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0];
    let packets: &[&[u8]] = &[ok, b"\x03def?", b"\x03def?", b"\x03defc"];
    let reply = read_in_pieces(ReplyReader::expect_prepared, false, &stream(packets));
    assert_eq!(reply, Reply::Prepared(7));
    let packets: &[&[u8]] = &[ok, b"\x03def?", b"\x03def?", EOF, b"\x03defc", EOF];
    let reply = read_in_pieces(ReplyReader::expect_prepared, true, &stream(packets));
    assert_eq!(reply, Reply::Prepared(7));
}

#[test]
fn an_error_in_the_middle_of_rows_is_the_reply() {
    let error: &[u8] = b"\xff\xbd\x04#40001Deadlock found";
    let packets: &[&[u8]] = &[&[1], b"\x03def", &[0, 0, 1], error];
    let reply = read_in_pieces(ReplyReader::expect_result, false, &stream(packets));
    let Reply::Refused(error) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!((error.number, error.sqlstate()), (Some(1213), "40001"));
    assert_eq!(error.message, "Deadlock found");
}

#[test]
fn a_row_over_several_packets_is_one_row() {
    let mut bytes = stream(&[&[1], b"\x03def"]);
    let long = vec![0_u8; MAX_PAYLOAD_BYTES + 10];
    let next = super::super::packet::write(&mut bytes, 3, |out| out.extend_from_slice(&long));
    super::super::packet::write(&mut bytes, next, |out| out.extend_from_slice(END));
    let mut reader = reader(true);
    reader.expect_result(1);
    let mut replies = bytes
        .chunks(65_536)
        .map(|piece| reader.feed(piece).unwrap());
    let reply = replies.find_map(|reply| reply);
    assert!(
        matches!(reply, Some(Reply::Done(Done { rows: 1, .. }))),
        "{reply:?}"
    );
}

#[test]
fn a_wrong_number_and_bytes_behind_a_reply_are_errors() {
    let mut reader = reader(true);
    reader.expect_result(1);
    let mut bytes = stream(&[OK]);
    bytes[3] = 9;
    assert!(matches!(
        reader.feed(&bytes),
        Err(ProtocolError::Sequence { got: 9, .. })
    ));
    reader.expect_result(1);
    assert!(matches!(
        reader.feed(&stream(&[OK, OK])),
        Err(ProtocolError::Unexpected { .. })
    ));
}

#[test]
fn definitions_that_the_client_has_may_be_omitted() {
    let end: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
    let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
    let read = |capabilities: u64, payloads: &[&[u8]]| {
        let bytes = stream(payloads);
        for size in 1..=bytes.len() {
            let mut reader = ReplyReader::new(capabilities);
            reader.expect_result(1);
            let mut pieces = bytes.chunks(size).map(|piece| reader.feed(piece).unwrap());
            let reply = pieces.find_map(|reply| reply);
            assert_eq!(reply, Some(done(true, 2, 0)), "cut every {size} bytes");
        }
    };
    let caching = capability::CACHE_METADATA | capability::DEPRECATE_EOF;
    read(caching, &[&[1, 0], b"\0\0a", b"\0\0b", end]);
    read(caching, &[&[1, 1], b"\x03def", b"\0\0a", b"\0\0b", end]);
    let old = capability::CACHE_METADATA;
    read(old, &[&[1, 0], eof, b"\0\0a", b"\0\0b", eof]);
    read(old, &[&[1, 1], b"\x03def", eof, b"\0\0a", b"\0\0b", eof]);
}

#[test]
fn a_transaction_is_open_if_the_server_says_so_or_after_an_error() {
    let mut reader = reader(true);
    let mut read = |packet: &[u8]| {
        reader.expect_result(1);
        reader.feed(&stream(&[packet])).unwrap().unwrap();
        reader.is_in_transaction()
    };
    assert!(!read(OK));
    assert!(read(&[0, 1, 0, 3, 0, 0, 0]));
    assert!(!read(OK));
    assert!(read(b"\xff\xbd\x04#40001Deadlock found"));
}

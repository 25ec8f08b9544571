//! Replies as the oracle writes them, cut in arbitrary pieces.

use crate::common;
use mysql_common::constants::{CapabilityFlags, ColumnType};
use mysql_common::io::{BufMutExt, ParseBuf};
use mysql_common::packets::{
    Column, CommonOkPacket, ErrPacket, LocalInfilePacket, OkPacket, OkPacketDeserializer,
    OldEofPacket, ResultSetTerminator, ServerError, SqlState, StmtPacket,
};
use mysql_common::proto::MyDeserialize;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use wire::gather::Gatherer;
use wire::mysql::SERVER_MORE_RESULTS_EXISTS;
use wire::mysql::reply::{Reply, ReplyReader};
use wire::mysql::rows::TextResult;
use wire::reply::Done;
use wire::rows::{TextReply, TextRows};

type Row = Vec<Option<String>>;

/// One of the results of a statement.
#[derive(Debug, Clone)]
enum Part {
    /// Rows of a text statement.
    Rows { columns: usize, rows: Vec<Row> },
    /// Rows of a prepared statement, in their binary form.
    Binary { columns: usize, rows: Vec<Vec<u8>> },
    /// None.
    Ok {
        affected: u64,
        id: u64,
        info: String,
    },
}

fn row(columns: usize) -> impl Strategy<Value = Row> {
    let text = prop_oneof![8 => ".{0,20}", 1 => "x{250,260}"];
    vec(option::weighted(0.8, text), columns)
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        (1..5_usize)
            .prop_flat_map(|columns| (Just(columns), vec(row(columns), 0..12)))
            .prop_map(|(columns, rows)| Part::Rows { columns, rows }),
        (1..5_usize, vec(vec(any::<u8>(), 0..40), 0..12))
            .prop_map(|(columns, rows)| Part::Binary { columns, rows }),
        (any::<u32>(), any::<u64>(), "[a-z: ]{0,20}").prop_map(|(affected, id, info)| Part::Ok {
            affected: u64::from(affected),
            id,
            info
        }),
    ]
}

fn column(number: usize) -> Vec<u8> {
    let name = format!("c{number}");
    let column = Column::new(ColumnType::MYSQL_TYPE_VAR_STRING)
        .with_schema(b"sbtest")
        .with_table(b"t")
        .with_org_table(b"t")
        .with_name(name.as_bytes())
        .with_org_name(name.as_bytes())
        .with_character_set(45)
        .with_column_length(480);
    common::bytes_of(&column)
}

/// An OK packet; the oracle has no writer for it, but must read it alike.
fn ok(header: u8, affected: u64, id: u64, status: u16, warnings: u16, info: &str) -> Vec<u8> {
    let mut out = vec![header];
    out.put_lenenc_int(affected);
    out.put_lenenc_int(id);
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&warnings.to_le_bytes());
    if !info.is_empty() {
        out.put_lenenc_str(info.as_bytes());
    }
    let oracle = match header {
        0 => oracle_reads::<OkPacketDeserializer<'_, CommonOkPacket>>(&out).into_inner(),
        _ => oracle_reads::<OkPacketDeserializer<'_, ResultSetTerminator>>(&out).into_inner(),
    };
    check_ok(&oracle, status, warnings);
    out
}

fn eof(status: u16, warnings: u16) -> Vec<u8> {
    let [a, b] = warnings.to_le_bytes();
    let [c, d] = status.to_le_bytes();
    let out = vec![0xfe, a, b, c, d];
    let oracle = oracle_reads::<OkPacketDeserializer<'_, OldEofPacket>>(&out).into_inner();
    check_ok(&oracle, status, warnings);
    out
}

fn oracle_reads<'a, T: MyDeserialize<'a, Ctx = CapabilityFlags>>(bytes: &'a [u8]) -> T {
    ParseBuf(bytes)
        .parse(CapabilityFlags::CLIENT_PROTOCOL_41)
        .unwrap()
}

fn check_ok(oracle: &OkPacket<'_>, status: u16, warnings: u16) {
    assert_eq!(oracle.status_flags().bits(), status);
    assert_eq!(oracle.warnings(), warnings);
}

/// The messages of a reply.
fn messages(parts: &[Part], deprecate_eof: bool, warnings: u16) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let status = match number + 1 {
            last if last == parts.len() => 2,
            _ => 2 | SERVER_MORE_RESULTS_EXISTS,
        };
        let (columns, rows) = match part {
            Part::Ok { affected, id, info } => {
                out.push(ok(0, *affected, *id, status, warnings, info));
                continue;
            }
            Part::Rows { columns, rows } => (*columns, rows.iter().map(text_row).collect()),
            Part::Binary { columns, rows } => {
                (*columns, rows.iter().map(|row| binary_row(row)).collect())
            }
        };
        let rows: Vec<Vec<u8>> = rows;
        let mut count = Vec::new();
        count.put_lenenc_int(columns as u64);
        out.push(count);
        out.extend((0..columns).map(column));
        if !deprecate_eof {
            out.push(eof(status, 0));
        }
        out.extend(rows);
        out.push(match deprecate_eof {
            true => ok(0xfe, 0, 0, status, warnings, ""),
            false => eof(status, warnings),
        });
    }
    out
}

fn text_row(row: &Row) -> Vec<u8> {
    let mut out = Vec::new();
    for cell in row {
        match cell {
            Some(text) => out.put_lenenc_str(text.as_bytes()),
            None => out.push(0xfb),
        }
    }
    out
}

fn binary_row(values: &[u8]) -> Vec<u8> {
    [&[0], values].concat()
}

fn expected(parts: &[Part]) -> Done {
    let mut done = Done {
        has_result: parts.iter().any(|part| !matches!(part, Part::Ok { .. })),
        ..Done::default()
    };
    for part in parts {
        match part {
            Part::Rows { rows, .. } => done.rows += rows.len() as u64,
            Part::Binary { rows, .. } => done.rows += rows.len() as u64,
            Part::Ok { affected, .. } => done.affected += affected,
        }
    }
    done
}

/// Feeds the pieces; the reply must come with the last one and not before.
fn feed(reader: &mut ReplyReader, bytes: &[u8], lengths: &[usize]) -> Reply {
    let pieces = common::pieces(bytes, lengths);
    let (last, first) = pieces.split_last().unwrap();
    for piece in first {
        assert_eq!(reader.feed(piece).unwrap(), None);
    }
    reader.feed(last).unwrap().expect("the reply is whole")
}

proptest! {
    #![proptest_config(common::cases(256))]

    #[test]
    fn rows_and_changes_are_counted(
        parts in vec(part(), 1..4),
        deprecate_eof: bool,
        warnings: u16,
        lengths in vec(1..200_usize, 1..8),
        small in vec(1..6_usize, 1..8),
    ) {
        let bytes = common::stream(1, &messages(&parts, deprecate_eof, warnings));
        let mut reader = common::reader(deprecate_eof);
        // One reader reads one reply after another.
        for lengths in [&[usize::MAX], &lengths[..], &small] {
            reader.expect_result(1);
            let reply = feed(&mut reader, &bytes, lengths);
            prop_assert_eq!(reply, Reply::Done(expected(&parts)));
        }
    }

    #[test]
    fn text_results_are_gathered_whole(
        parts in vec(part(), 1..4),
        deprecate_eof: bool,
        lengths in vec(1..200_usize, 1..8),
    ) {
        prop_assume!(!parts.iter().any(|part| matches!(part, Part::Binary { .. })));
        let bytes = common::stream(1, &messages(&parts, deprecate_eof, 0));
        let mut gatherer = Gatherer::new(1 << 20);
        let mut result = TextResult::new(deprecate_eof);
        let mut reader = common::reader(deprecate_eof);
        let mut replies = Vec::new();
        for piece in common::pieces(&bytes, &lengths) {
            gatherer.push(piece);
            while let Some(message) = gatherer.take_message().unwrap() {
                replies.extend(result.message(&message, &mut reader).unwrap());
            }
        }
        let mut text = TextRows { done: expected(&parts), ..TextRows::default() };
        for part in &parts {
            if let Part::Rows { columns, rows } = part {
                text.columns = (0..*columns).map(|number| format!("c{number}")).collect();
                text.rows.clone_from(rows);
            }
        }
        prop_assert_eq!(replies, vec![TextReply::Rows(text)]);
    }

    #[test]
    fn an_error_ends_a_reply_wherever_it_comes(
        parts in vec(part(), 1..3),
        deprecate_eof: bool,
        at: prop::sample::Index,
        lengths in vec(1..50_usize, 1..8),
        code: u16,
        text in ".{0,60}",
    ) {
        let mut messages = messages(&parts, deprecate_eof, 0);
        messages.truncate(at.index(messages.len()));
        let error = ServerError::new(code, Some(SqlState::new(*b"40001")), text.as_bytes());
        messages.push(common::bytes_of(&ErrPacket::Error(error)));
        let mut reader = common::reader(deprecate_eof);
        reader.expect_result(1);
        let reply = feed(&mut reader, &common::stream(1, &messages), &lengths);
        let Reply::Refused(error) = reply else { panic!("{reply:?}") };
        prop_assert_eq!((error.number, error.sqlstate()), (Some(code.into()), "40001"));
        prop_assert_eq!(error.message, text.replace('\r', " "));
    }

    #[test]
    fn a_prepared_statement_has_its_number(
        statement: u32,
        params in 0..300_u16,
        columns in 0..300_u16,
        deprecate_eof: bool,
        lengths in vec(1..300_usize, 1..8),
    ) {
        let mut first = vec![0];
        first.extend_from_slice(&statement.to_le_bytes());
        first.extend_from_slice(&columns.to_le_bytes());
        first.extend_from_slice(&params.to_le_bytes());
        first.extend_from_slice(&[0, 0, 0]);
        let oracle: StmtPacket = ParseBuf(&first).parse(()).unwrap();
        prop_assert_eq!((oracle.statement_id(), oracle.num_params()), (statement, params));
        let mut messages = vec![first];
        for list in [params, columns] {
            messages.extend((0..usize::from(list)).map(column));
            if list > 0 && !deprecate_eof {
                messages.push(eof(2, 0));
            }
        }
        let mut reader = common::reader(deprecate_eof);
        reader.expect_prepared(1);
        let reply = feed(&mut reader, &common::stream(1, &messages), &lengths);
        prop_assert_eq!(reply, Reply::Prepared(statement));
    }

    #[test]
    fn a_file_is_asked_for_and_its_result_follows(name in "[a-z/.]{0,40}", sent: u8, lengths in vec(1..20_usize, 1..4)) {
        let wish = common::bytes_of(&LocalInfilePacket::new(name.into_bytes()));
        let mut reader = common::reader(true);
        reader.expect_result(1);
        let reply = feed(&mut reader, &common::stream(1, &[wish]), &lengths);
        prop_assert_eq!(reply, Reply::WantsData(2));
        // The number goes round at 255, however much was sent.
        reader.expect_result(sent);
        let end = common::stream(sent, &[ok(0, 7, 0, 2, 1, "Records: 7")]);
        let reply = feed(&mut reader, &end, &lengths);
        prop_assert_eq!(reply, Reply::Done(Done { affected: 7, ..Done::default() }));
    }
}

#[test]
fn a_text_result_says_whether_a_transaction_is_open() {
    let end = |status| ok(0, 1, 0, status, 0, "");
    let error = ServerError::new(1064, Some(SqlState::new(*b"42000")), &b"no"[..]);
    let error = common::bytes_of(&ErrPacket::Error(error));
    let mut reader = common::reader(true);
    for (message, is_in_transaction) in [
        (end(3), true),
        (end(2), false),
        (error, true),
        (end(2), false),
    ] {
        let mut gatherer = Gatherer::new(100);
        gatherer.push(&common::stream(1, &[message]));
        let message = gatherer.take_message().unwrap().unwrap();
        let reply = TextResult::new(true).message(&message, &mut reader);
        assert!(reply.unwrap().is_some());
        assert_eq!(reader.is_in_transaction(), is_in_transaction);
    }
}

#[test]
fn more_than_255_packets_go_round() {
    let rows = vec![vec![Some("x".to_owned())]; 1000];
    let parts = [Part::Rows { columns: 1, rows }];
    for deprecate_eof in [true, false] {
        let bytes = common::stream(1, &messages(&parts, deprecate_eof, 0));
        let mut reader = common::reader(deprecate_eof);
        reader.expect_result(1);
        let reply = feed(&mut reader, &bytes, &[997]);
        assert_eq!(reply, Reply::Done(expected(&parts)));
    }
}

#[test]
fn a_row_that_begins_like_an_end_is_a_row() {
    // Behind 0xfe comes the length of a text that fills more than one packet.
    let parts = [Part::Rows {
        columns: 1,
        rows: vec![vec![Some("x".repeat(17 << 20))]],
    }];
    for deprecate_eof in [true, false] {
        let bytes = common::stream(1, &messages(&parts, deprecate_eof, 0));
        let mut reader = common::reader(deprecate_eof);
        reader.expect_result(1);
        let reply = feed(&mut reader, &bytes, &[65_536, 7]);
        assert_eq!(reply, Reply::Done(expected(&parts)));
    }
}

#[test]
fn affected_rows_of_several_results_cannot_run_over() {
    let part = Part::Ok {
        affected: u64::MAX,
        id: 0,
        info: String::new(),
    };
    let bytes = common::stream(1, &messages(&[part.clone(), part], true, 0));
    let mut reader = common::reader(true);
    reader.expect_result(1);
    let Reply::Done(done) = feed(&mut reader, &bytes, &[usize::MAX]) else {
        panic!("no end")
    };
    assert_eq!(done.affected, u64::MAX);
}

/// No server sends such a definition, but a reader must not wait for ever on it.
#[test]
fn a_definition_of_one_byte_ends_a_prepare() {
    let messages = [vec![0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], vec![3]];
    let bytes = common::stream(1, &messages);
    for size in 1..=bytes.len() {
        let mut reader = common::reader(true);
        reader.expect_prepared(1);
        let reply = feed(&mut reader, &bytes, &[size]);
        assert_eq!(reply, Reply::Prepared(1), "in pieces of {size}");
    }
}

/// Before its first byte has come, a long row could still be an error message,
/// which must not be long.
#[test]
fn a_long_row_may_be_cut_behind_its_header() {
    let start = common::stream(1, &[vec![1], column(0)]);
    let row = vec![Some("x".repeat(2 << 20))];
    let rest = common::stream(3, &[text_row(&row), ok(0xfe, 0, 0, 2, 0, "")]);
    for cut in 0..8 {
        let mut reader = common::reader(true);
        reader.expect_result(1);
        assert_eq!(reader.feed(&start).unwrap(), None);
        let reply = feed(&mut reader, &rest, &[cut, usize::MAX]);
        assert!(matches!(reply, Reply::Done(Done { rows: 1, .. })));
    }
}

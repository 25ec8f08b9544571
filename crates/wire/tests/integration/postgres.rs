//! The codec of PostgreSQL's protocol against `postgres-protocol` as the oracle.

use crate::common;
use std::collections::HashMap;
use std::error::Error;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::sasl;
use postgres_protocol::message::frontend;
use postgres_protocol::password::scram_sha_256;
use proptest::collection::vec;
use proptest::prelude::*;
use ring::hmac;
use wire::gather::Gatherer;
use wire::postgres::certificate;
use wire::postgres::command::{self, Statement};
use wire::postgres::login::{self, Next};
use wire::postgres::message;
use wire::postgres::reply::{Description, Reply, ReplyReader};
use wire::postgres::rows::TextResult;
use wire::postgres::scram::{self, ChannelBinding, Scram};
use wire::reply::Done;
use wire::rows::{TextReply, TextRows};
use wire::{ProtocolError, Value};

/// What one function appends.
fn ours(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// What the oracle's functions append.
fn oracle(write: impl FnOnce(&mut BytesMut)) -> Vec<u8> {
    let mut out = BytesMut::new();
    write(&mut out);
    out.to_vec()
}

const INT2: u32 = 21;
const INT4: u32 = 23;
const INT8: u32 = 20;
const FLOAT8: u32 = 701;
const VARCHAR: u32 = 1043;
const NUMERIC: u32 = 1700;

type Encoded = Result<IsNull, Box<dyn Error + Sync + Send>>;

/// A Bind, Execute and Sync as the oracle writes them; `None` is NULL.
fn oracle_execute(number: u32, formats: &[i16], values: &[Option<Vec<u8>>]) -> Vec<u8> {
    oracle(|out| {
        let put = |value: &Option<Vec<u8>>, out: &mut BytesMut| -> Encoded {
            let Some(value) = value else {
                return Ok(IsNull::Yes);
            };
            out.extend_from_slice(value);
            Ok(IsNull::No)
        };
        let name = format!("s{number}");
        let formats = formats.iter().copied();
        frontend::bind("", &name, formats, values, put, [], out)
            .map_err(|_| "the oracle writes no Bind")
            .unwrap();
        frontend::execute("", 0, out).unwrap();
        frontend::sync(out);
    })
}

/// A statement with parameters of these types.
fn statement(number: u32, types: Vec<u32>) -> Statement {
    let has_result = false;
    Statement::new(number, Description { types, has_result })
}

#[test]
fn messages_are_the_oracles() {
    let encoding = ("client_encoding", "UTF8");
    let parameters = [("user", "ü"), ("database", "d"), encoding];
    let expected = oracle(|out| frontend::startup_message(parameters, out).unwrap());
    assert_eq!(ours(|out| login::start(out, &parameters)), expected);
    assert_eq!(ours(login::request_tls), oracle(frontend::ssl_request));
    let expected = oracle(|out| frontend::password_message("sécret".as_bytes(), out).unwrap());
    assert_eq!(ours(|out| login::password(out, "sécret")), expected);
    assert_eq!(
        ours(|out| login::sasl_first(out, "SCRAM-SHA-256", b"n,,n=,r=x")),
        oracle(|out| frontend::sasl_initial_response("SCRAM-SHA-256", b"n,,n=,r=x", out).unwrap())
    );
    assert_eq!(
        ours(|out| login::sasl_next(out, b"c=biws,r=xy,p=z")),
        oracle(|out| frontend::sasl_response(b"c=biws,r=xy,p=z", out).unwrap())
    );
    let expected = oracle(|out| frontend::query("SELECT 'ü'", out).unwrap());
    assert_eq!(ours(|out| command::query(out, "SELECT 'ü'")), expected);
    assert_eq!(
        ours(|out| command::prepare(out, 12, "SELECT $1")),
        oracle(|out| {
            frontend::parse("s12", "SELECT $1", [], out).unwrap();
            frontend::describe(b'S', "s12", out).unwrap();
            frontend::sync(out);
        })
    );
    assert_eq!(
        ours(|out| command::copy_data(out, |out| out.extend_from_slice(b"1\tx\n"))),
        oracle(|out| frontend::CopyData::new(&b"1\tx\n"[..]).unwrap().write(out))
    );
    let statement = statement(12, Vec::new());
    assert_eq!(
        ours(|out| command::close(out, &statement)),
        oracle(|out| {
            frontend::close(b'S', "s12", out).unwrap();
            frontend::sync(out);
        })
    );
    assert_eq!(ours(command::copy_done), oracle(frontend::copy_done));
    assert_eq!(ours(command::terminate), oracle(frontend::terminate));
}

#[derive(Debug, Clone)]
enum Typed {
    Small(i16),
    Int(i32),
    Big(i64),
    Double(f64),
    Text(String),
    /// NULL of this type.
    Null(u32),
}

fn typed() -> impl Strategy<Value = Typed> {
    prop_oneof![
        any::<i16>().prop_map(Typed::Small),
        any::<i32>().prop_map(Typed::Int),
        any::<i64>().prop_map(Typed::Big),
        any::<f64>().prop_map(Typed::Double),
        "\\PC{0,30}".prop_map(Typed::Text),
        any::<u32>().prop_map(Typed::Null),
    ]
}

impl Typed {
    fn oid(&self) -> u32 {
        match self {
            Self::Small(_) => INT2,
            Self::Int(_) => INT4,
            Self::Big(_) => INT8,
            Self::Double(_) => FLOAT8,
            Self::Text(_) => VARCHAR,
            Self::Null(oid) => *oid,
        }
    }

    fn value(&self) -> Value<'_> {
        match self {
            Self::Small(number) => Value::Int((*number).into()),
            Self::Int(number) => Value::Int((*number).into()),
            Self::Big(number) => Value::Int(*number),
            Self::Double(number) => Value::Double(*number),
            Self::Text(text) => Value::Text(text.as_bytes()),
            Self::Null(_) => Value::Null,
        }
    }

    fn binary(&self) -> Option<Vec<u8>> {
        Some(match self {
            Self::Small(number) => number.to_be_bytes().to_vec(),
            Self::Int(number) => number.to_be_bytes().to_vec(),
            Self::Big(number) => number.to_be_bytes().to_vec(),
            Self::Double(number) => number.to_be_bytes().to_vec(),
            Self::Text(text) => text.clone().into_bytes(),
            Self::Null(_) => return None,
        })
    }

    fn text(&self) -> Option<Vec<u8>> {
        Some(match self.value() {
            Value::Int(number) => number.to_string().into_bytes(),
            Value::Double(number) => number.to_string().into_bytes(),
            Value::Text(text) => text.to_vec(),
            Value::Null => return None,
        })
    }
}

/// A message of the server, and what it changes.
#[derive(Debug, Clone)]
enum Part {
    Rows(Vec<Vec<Option<String>>>),
    Update(u32),
    Notice,
    Setting,
}

fn part() -> impl Strategy<Value = Part> {
    let row = vec(prop::option::weighted(0.8, "\\PC{0,20}"), 3);
    prop_oneof![
        vec(row, 0..10).prop_map(Part::Rows),
        any::<u32>().prop_map(Part::Update),
        Just(Part::Notice),
        Just(Part::Setting),
    ]
}

fn put(out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    message::write(out, kind, |out| out.extend_from_slice(payload));
}

fn put_row(out: &mut Vec<u8>, row: &[Option<String>]) {
    message::write(out, b'D', |out| {
        out.extend_from_slice(&(row.len() as u16).to_be_bytes());
        for cell in row {
            let length = cell.as_ref().map_or(-1, |text| text.len() as i32);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(cell.as_deref().unwrap_or_default().as_bytes());
        }
    });
}

const COLUMNS: [&str; 3] = ["id", "", "länge"];

/// A RowDescription's payload.
fn description() -> Vec<u8> {
    let mut out = (COLUMNS.len() as u16).to_be_bytes().to_vec();
    for name in COLUMNS {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&[0; 19]);
    }
    out
}

/// The reply to a Query with these statements.
fn query_reply(parts: &[Part]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        match part {
            Part::Rows(rows) => {
                put(&mut out, b'T', &description());
                rows.iter().for_each(|row| put_row(&mut out, row));
                let done = format!("SELECT {}\0", rows.len());
                put(&mut out, b'C', done.as_bytes());
            }
            Part::Update(rows) => put(&mut out, b'C', format!("UPDATE {rows}\0").as_bytes()),
            Part::Notice => put(&mut out, b'N', b"SNOTICE\0Mx\0\0"),
            Part::Setting => put(&mut out, b'S', b"TimeZone\0UTC\0"),
        }
    }
    let is_reply = |part: &Part| matches!(part, Part::Rows(_) | Part::Update(_));
    if !parts.iter().any(is_reply) {
        put(&mut out, b'I', b"");
    }
    put(&mut out, b'Z', b"T");
    out
}

fn expected(parts: &[Part]) -> Done {
    let mut done = Done {
        has_result: parts.iter().any(|part| matches!(part, Part::Rows(_))),
        ..Done::default()
    };
    for part in parts {
        match part {
            Part::Rows(rows) => done.rows += rows.len() as u64,
            Part::Update(rows) => done.affected += u64::from(*rows),
            Part::Notice | Part::Setting => {}
        }
    }
    done
}

/// A server that knows the password: what it says to the client's final message.
fn server_final(verifier: &str, client_first_bare: &str, server_first: &str, last: &str) -> String {
    let server_key = BASE64.decode(verifier.rsplit(':').next().unwrap()).unwrap();
    let (without_proof, _) = last.split_once(",p=").unwrap();
    let signed = format!("{client_first_bare},{server_first},{without_proof}");
    let key = hmac::Key::new(hmac::HMAC_SHA256, &server_key);
    format!("v={}", BASE64.encode(hmac::sign(&key, signed.as_bytes())))
}

/// Both bindings, as ours and the oracle's.
fn bindings() -> [(ChannelBinding, sasl::ChannelBinding); 3] {
    use {ChannelBinding as Ours, sasl::ChannelBinding as Oracles};
    let hash = b"hash".to_vec();
    let end_point = Oracles::tls_server_end_point(hash.clone());
    [
        (Ours::Unsupported, Oracles::unsupported()),
        (Ours::NotOffered, Oracles::unrequested()),
        (Ours::EndPoint(hash), end_point),
    ]
}

proptest! {
    #![proptest_config(common::cases(256))]

    #[test]
    fn parameters_are_binary_where_their_types_are_known(typed in vec(typed(), 0..12), number: u32) {
        let statement = statement(number, typed.iter().map(Typed::oid).collect());
        let written = ours(|out| command::execute(out, &statement, typed.iter().map(Typed::value)));
        let values: Vec<_> = typed.iter().map(Typed::binary).collect();
        prop_assert_eq!(written, oracle_execute(number, &[1], &values));
    }

    #[test]
    fn parameters_of_other_types_are_text(typed in vec(typed(), 1..12), at: prop::sample::Index) {
        prop_assume!(!matches!(at.get(&typed), Typed::Null(_)));
        let mut types: Vec<_> = typed.iter().map(Typed::oid).collect();
        *at.get_mut(&mut types) = NUMERIC;
        let statement = statement(7, types);
        let written = ours(|out| command::execute(out, &statement, typed.iter().map(Typed::value)));
        let values: Vec<_> = typed.iter().map(Typed::text).collect();
        prop_assert_eq!(written, oracle_execute(7, &[], &values));
    }

    #[test]
    fn rows_and_changes_are_counted(
        parts in vec(part(), 0..5),
        lengths in vec(1..200_usize, 1..8),
        small in vec(1..6_usize, 1..8),
    ) {
        let bytes = query_reply(&parts);
        let mut reader = ReplyReader::default();
        for lengths in [&[usize::MAX], &lengths[..], &small] {
            reader.expect_query();
            let pieces = common::pieces(&bytes, lengths);
            let (last, first) = pieces.split_last().unwrap();
            for piece in first {
                prop_assert_eq!(reader.feed(piece).unwrap(), None);
            }
            prop_assert_eq!(reader.feed(last).unwrap(), Some(Reply::Done(expected(&parts))));
        }
    }

    #[test]
    fn text_results_are_gathered_whole(parts in vec(part(), 0..5), lengths in vec(1..200_usize, 1..8)) {
        let mut gatherer = Gatherer::new(1 << 20);
        let mut result = TextResult::default();
        let mut reader = ReplyReader::default();
        let mut replies = Vec::new();
        for piece in common::pieces(&query_reply(&parts), &lengths) {
            gatherer.push(piece);
            while let Some(message) = gatherer.take_message().unwrap() {
                replies.extend(result.message(&message, &mut reader).unwrap());
            }
        }
        let mut text = TextRows { done: expected(&parts), ..TextRows::default() };
        for part in &parts {
            if let Part::Rows(rows) = part {
                text.columns = COLUMNS.map(str::to_owned).to_vec();
                text.rows.clone_from(rows);
            }
        }
        prop_assert_eq!(replies, vec![TextReply::Rows(text)]);
        prop_assert!(reader.is_in_transaction());
    }

    /// Bytes of nobody's making are an error or not enough, and never a panic.
    #[test]
    fn any_bytes_are_understood_or_refused(bytes in vec(any::<u8>(), 0..300), how in 0..4_u8) {
        let mut reader = ReplyReader::default();
        match how {
            0 => reader.expect_execution(false),
            1 => reader.expect_preparation(),
            2 => reader.expect_query(),
            _ => reader.expect_copied(),
        }
        let _ = reader.feed(&bytes);
        let _ = certificate::end_point(&bytes);
        let mut gatherer = Gatherer::new(1 << 16);
        gatherer.push(&bytes);
        let mut result = TextResult::default();
        while let Ok(Some(message)) = gatherer.take_message() {
            let _ = Next::parse(&message);
            let _ = result.message(&message, &mut reader);
        }
        let _ = login::not_postgres(&bytes).to_string();
        let _ = Scram::new("n", ChannelBinding::Unsupported).prove("p", &bytes);
    }

    /// A reply in which one byte is wrong is read alike in pieces and at once; bytes behind its
    /// end are seen only if they come with it.
    #[test]
    fn damage_is_seen_however_the_stream_is_cut(
        parts in vec(part(), 0..4),
        at: prop::sample::Index,
        byte: u8,
        lengths in vec(1..40_usize, 1..6),
    ) {
        let mut bytes = query_reply(&parts);
        *at.get_mut(&mut bytes) = byte;
        let mut whole = ReplyReader::default();
        whole.expect_query();
        let at_once = whole.feed(&bytes);
        let mut cut = ReplyReader::default();
        cut.expect_query();
        let mut pieces = common::pieces(&bytes, &lengths).into_iter().map(|piece| cut.feed(piece));
        let in_pieces = pieces.find(|fed| !matches!(fed, Ok(None))).unwrap_or(Ok(None));
        let is_behind = at_once.is_err() && matches!(in_pieces, Ok(Some(_)));
        prop_assert!(at_once == in_pieces || is_behind, "{:?} and {:?}", at_once, in_pieces);
    }

    #[test]
    fn md5_is_the_oracles(user in "\\PC{0,20}", password in "\\PC{0,20}", salt: [u8; 4]) {
        let oracle = postgres_protocol::authentication::md5_hash(user.as_bytes(), password.as_bytes(), salt);
        prop_assert_eq!(login::md5_proof(&user, &password, salt), oracle);
    }
}

proptest! {
    #![proptest_config(common::cases(12))]

    /// Also with passwords that SASLprep changes, and with those that it does not allow.
    #[test]
    fn scram_is_the_oracles(password in "[ -~]{0,20}|\\PC{1,10}|[\u{a0}\u{ad}\u{2168}\u{7}]{1,4}") {
        let verifier = scram_sha_256(password.as_bytes());
        let salt = verifier.split([':', '$']).nth(2).unwrap();
        let salt_bytes = BASE64.decode(salt).unwrap();
        prop_assert_eq!(scram::verifier(&password, &salt_bytes), &verifier[..]);
        for (binding, oracle_binding) in bindings() {
            let mut oracle = sasl::ScramSha256::new(password.as_bytes(), oracle_binding);
            let first = String::from_utf8(oracle.message().to_vec()).unwrap();
            let (_, nonce) = first.split_once(",r=").unwrap();
            let ours = Scram::new(nonce, binding);
            prop_assert_eq!(&ours.first(), first.as_bytes());
            let server_first = format!("r={nonce}server,s={salt},i=4096");
            oracle.update(server_first.as_bytes()).unwrap();
            let (last, proven) = ours.prove(&password, server_first.as_bytes()).unwrap();
            prop_assert_eq!(&last, oracle.message());
            let bare = format!("n=,r={nonce}");
            let last = String::from_utf8(last).unwrap();
            let server = server_final(&verifier, &bare, &server_first, &last);
            oracle.finish(server.as_bytes()).unwrap();
            proven.verify(server.as_bytes()).unwrap();
            let forged = server_final(&verifier, &bare, "r=x,s=,i=1", &last);
            prop_assert!(proven.verify(forged.as_bytes()).is_err());
        }
    }
}

#[test]
fn a_challenge_out_of_bounds_is_refused() {
    for (challenge, wanted) in [
        ("r=nonceX,s=c2FsdA==,i=1000001", "1000001"),
        ("r=nonceX,s=c2FsdA==,i=4294967295", "4294967295"),
        ("r=nonceX,s=c2FsdA==,i=0", "malformed"),
        ("r=nonceX,s=c2FsdA==", "malformed"),
        ("r=nonceX,s=%,i=1", "malformed"),
        ("m=x,r=nonceX,s=c2FsdA==,i=1", "malformed"),
        ("r=nonce,s=c2FsdA==,i=1", "nonce"),
        ("r=other,s=c2FsdA==,i=1", "nonce"),
        ("", "malformed"),
    ] {
        let scram = Scram::new("nonce", ChannelBinding::Unsupported);
        let error = scram.prove("secret", challenge.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(wanted), "{challenge}: {error}");
    }
    let scram = Scram::new("nonce", ChannelBinding::Unsupported);
    let long = format!("r=nonce{},s=c2FsdA==,i=1", "x".repeat(1 << 16));
    let error = scram.prove("secret", long.as_bytes()).unwrap_err();
    assert!(matches!(error, ProtocolError::TooLong { .. }), "{error}");
}

#[test]
fn a_server_has_to_prove_itself() {
    let scram = Scram::new("nonce", ChannelBinding::Unsupported);
    let (_, proven) = scram
        .prove("secret", b"r=nonceX,s=c2FsdA==,i=4096")
        .unwrap();
    for (last, wanted) in [
        ("v=", "impostor"),
        ("v=AAAA", "impostor"),
        ("v=%", "malformed"),
        ("", "malformed"),
        ("e=other-error", "other-error"),
    ] {
        let error = proven.verify(last.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(wanted), "{last}: {error}");
    }
}

#[test]
fn an_error_has_the_servers_fields() {
    let fields = [
        "SFATALE",
        "VFATAL",
        "C3D000",
        "Mdatabase \"x\" does not exist",
        "Dmore",
        "Htry\nthis",
        "Fpostinit.c",
        "L885",
        "RInitPostgres",
    ];
    let payload = fields.map(|field| format!("{field}\0")).concat() + "\0";
    let mut bytes = Vec::new();
    put(&mut bytes, b'E', payload.as_bytes());
    let mut gatherer = Gatherer::new(1000);
    gatherer.push(&bytes);
    let message = gatherer.take_message().unwrap().unwrap();
    let Ok(Next::Refused(error)) = Next::parse(&message) else {
        panic!("{message:?}")
    };
    assert_eq!((error.sqlstate(), error.is_fatal), ("3D000", true));
    let message = "database \"x\" does not exist; detail: more; hint: try this";
    assert_eq!(error.message, message);
    // The oracle reads the same.
    let mut buffer = BytesMut::from(&bytes[..]);
    let parsed = postgres_protocol::message::backend::Message::parse(&mut buffer);
    let Ok(Some(postgres_protocol::message::backend::Message::ErrorResponse(body))) = parsed else {
        panic!("the oracle reads no error")
    };
    let mut read = HashMap::new();
    let mut iterator = body.fields();
    while let Some(field) = fallible_iterator::FallibleIterator::next(&mut iterator).unwrap() {
        read.insert(field.type_(), field.value_bytes().to_vec());
    }
    assert!(message.as_bytes().starts_with(&read[&b'M']));
}

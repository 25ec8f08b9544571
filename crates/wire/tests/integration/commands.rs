//! Commands, byte for byte as the oracle writes them.

use crate::common;
use bytes::BytesMut;
use mysql_common::Value as OracleValue;
use mysql_common::packets::ComStmtExecuteRequestBuilder;
use mysql_common::proto::codec::packet_to_chunks;
use proptest::collection::vec;
use proptest::prelude::*;
use wire::Value;
use wire::gather::Gatherer;
use wire::mysql::command;
use wire::mysql::packet::{MAX_PAYLOAD_BYTES, Message};

#[derive(Debug, Clone)]
enum Parameter {
    Int(i64),
    Double(f64),
    Text(String),
    Null,
}

impl Parameter {
    fn ours(&self) -> Value<'_> {
        match self {
            Self::Int(number) => Value::Int(*number),
            Self::Double(number) => Value::Double(*number),
            Self::Text(text) => Value::Text(text.as_bytes()),
            Self::Null => Value::Null,
        }
    }

    fn oracles(&self) -> OracleValue {
        match self {
            Self::Int(number) => OracleValue::Int(*number),
            Self::Double(number) => OracleValue::Double(*number),
            Self::Text(text) => OracleValue::Bytes(text.clone().into_bytes()),
            Self::Null => OracleValue::NULL,
        }
    }
}

/// The lengths at which the length's own form changes are among them.
fn parameters() -> impl Strategy<Value = Vec<Parameter>> {
    let text = prop_oneof![
        8 => (1..300_usize).boxed(),
        1 => (65_530..65_540_usize).boxed(),
    ];
    let text = text.prop_map(|length| Parameter::Text("x".repeat(length)));
    vec(
        prop_oneof![
            any::<i64>().prop_map(Parameter::Int),
            any::<f64>().prop_map(Parameter::Double),
            text,
            Just(Parameter::Null),
        ],
        0..40,
    )
}

/// A message in the oracle's packets.
fn oracles_packets(message: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    packet_to_chunks(0, &mut &message[..], &mut out);
    out.to_vec()
}

proptest! {
    #![proptest_config(common::cases(128))]

    #[test]
    fn an_execution_is_the_oracles(statement: u32, parameters in parameters()) {
        let mut ours = Vec::new();
        command::execute(&mut ours, statement, true, parameters.iter().map(Parameter::ours));
        let values: Vec<_> = parameters.iter().map(Parameter::oracles).collect();
        let (request, _) = ComStmtExecuteRequestBuilder::new(statement).build(&values);
        prop_assert_eq!(ours, oracles_packets(&common::bytes_of(&request)));
    }

    #[test]
    fn a_second_execution_leaves_only_the_types_out(statement: u32, parameters in parameters()) {
        prop_assume!(!parameters.is_empty());
        let values = || parameters.iter().map(Parameter::ours);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        command::execute(&mut first, statement, true, values());
        command::execute(&mut second, statement, false, values());
        // Header, command, statement, flags, iterations, a bit for each value, then the types.
        let flag = 4 + 1 + 4 + 1 + 4 + parameters.len().div_ceil(8);
        prop_assert_eq!((first[flag], second[flag]), (1, 0));
        prop_assert_eq!(&first[3..flag], &second[3..flag]);
        prop_assert_eq!(&first[flag + 1 + 2 * parameters.len()..], &second[flag + 1..]);
    }

    #[test]
    fn statements_are_the_command_and_the_text(sql in ".{0,200}") {
        let (mut query, mut prepare) = (Vec::new(), Vec::new());
        command::query(&mut query, &sql);
        command::prepare(&mut prepare, &sql);
        prop_assert_eq!(query, oracles_packets(&[&[3], sql.as_bytes()].concat()));
        prop_assert_eq!(prepare, oracles_packets(&[&[22], sql.as_bytes()].concat()));
    }
}

#[test]
fn a_statement_is_freed_by_its_number() {
    let mut out = Vec::new();
    command::close(&mut out, 0x0403_0201);
    assert_eq!(out, oracles_packets(&[0x19, 1, 2, 3, 4]));
}

#[test]
fn an_empty_text_is_no_null() {
    let mut out = Vec::new();
    command::execute(&mut out, 1, true, [Value::Text(b"")].into_iter());
    assert_eq!(out[4 + 10], 0, "no bit of the NULLs is set");
    assert_eq!(out.last(), Some(&0), "its length");
}

#[test]
fn long_statements_are_split_as_the_oracle_splits() {
    let full = MAX_PAYLOAD_BYTES;
    for length in [10, full - 1, full, full + 1, 2 * full, 2 * full + 5] {
        let sql = "x".repeat(length - 1);
        let mut out = Vec::new();
        let reply = command::query(&mut out, &sql);
        assert_eq!(usize::from(reply), length / full + 1);
        let oracles = oracles_packets(&[&[3], sql.as_bytes()].concat());
        assert!(out == oracles, "a message of {length} bytes");
        let mut gatherer = Gatherer::new(usize::MAX);
        out.chunks(1 << 20).for_each(|part| gatherer.push(part));
        let message = gatherer.take_message::<Message>().unwrap().unwrap();
        assert_eq!(message.payload.len(), length);
        assert_eq!(usize::from(message.sequence), length / full);
        assert!(gatherer.pending().is_empty());
    }
}

#[test]
fn a_long_parameter_is_whole() {
    let long = "y".repeat(17 << 20);
    let mut out = Vec::new();
    let value = Value::Text(long.as_bytes());
    command::execute(&mut out, 1, true, [value].into_iter());
    let mut gatherer = Gatherer::new(usize::MAX);
    gatherer.push(&out);
    let message = gatherer.take_message::<Message>().unwrap().unwrap();
    assert!(message.payload.ends_with(long.as_bytes()));
    assert_eq!(message.sequence, 1, "two packets");
}

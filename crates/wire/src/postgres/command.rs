//! Messages to the server once the connection is open.

use super::message::{self, put_text};
use super::reply::Description;
use crate::Value;

/// Type OIDs (`pg_type.oid`) of parameters that are sent in binary.
mod oid {
    pub(super) const INT8: u32 = 20;
    pub(super) const INT2: u32 = 21;
    pub(super) const INT4: u32 = 23;
    pub(super) const TEXT: u32 = 25;
    pub(super) const FLOAT8: u32 = 701;
    pub(super) const BPCHAR: u32 = 1042;
    pub(super) const VARCHAR: u32 = 1043;
}

/// Execute of the unnamed portal for all its rows, then Sync.
const EXECUTE_AND_SYNC: [u8; 15] = *b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
const SYNC: [u8; 5] = *b"S\0\0\0\x04";
/// One format code, binary, for all parameters.
const ALL_BINARY: [u8; 4] = [0, 1, 0, 1];
/// No format code: all parameters are text.
const ALL_TEXT: [u8; 2] = [0, 0];
/// The length of NULL: -1.
const NULL: [u8; 4] = [0xff; 4];

/// A statement that the server has prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// What a Bind begins with: the unnamed portal and the statement's name.
    names: Box<[u8]>,
    types: Box<[u32]>,
    /// Whether it has a result set.
    pub has_result: bool,
}

impl Statement {
    /// The statement that was prepared with this number.
    pub fn new(number: u32, description: Description) -> Self {
        Self {
            names: format!("\0s{number}\0").into_bytes().into(),
            types: description.types.into(),
            has_result: description.has_result,
        }
    }
}

pub fn terminate(out: &mut Vec<u8>) {
    message::write(out, b'X', |_| {});
}

/// Runs SQL by the simple protocol.
pub fn query(out: &mut Vec<u8>, sql: &str) {
    message::write(out, b'Q', |out| put_text(out, sql));
}

/// Prepares a statement under a number, and asks for its parameters' types.
pub fn prepare(out: &mut Vec<u8>, number: u32, sql: &str) {
    let name = format!("s{number}");
    message::write(out, b'P', |out| {
        put_text(out, &name);
        put_text(out, sql);
        // The server infers the parameters' types.
        out.extend_from_slice(&[0, 0]);
    });
    message::write(out, b'D', |out| {
        out.push(b'S');
        put_text(out, &name);
    });
    out.extend_from_slice(&SYNC);
}

/// Frees a prepared statement: Close and Sync.
pub fn close(out: &mut Vec<u8>, statement: &Statement) {
    message::write(out, b'C', |out| {
        out.push(b'S');
        // Without the portal's name, which is empty.
        out.extend_from_slice(&statement.names[1..]);
    });
    out.extend_from_slice(&SYNC);
}

/// Executes a prepared statement: Bind, Execute and Sync. Its rows come as text.
#[inline]
pub fn execute<'a>(
    out: &mut Vec<u8>,
    statement: &Statement,
    values: impl ExactSizeIterator<Item = Value<'a>> + Clone,
) {
    let start = out.len();
    if !bind_binary(out, statement, values.clone()) {
        out.truncate(start);
        bind_text(out, statement, values);
    }
    out.extend_from_slice(&EXECUTE_AND_SYNC);
}

/// Appends a Bind whose parameters are binary; `false` if one has no binary form that
/// is known here, and what was appended is useless.
#[inline]
fn bind_binary<'a>(
    out: &mut Vec<u8>,
    statement: &Statement,
    values: impl ExactSizeIterator<Item = Value<'a>>,
) -> bool {
    if values.len() != statement.types.len() {
        return false;
    }
    let mut is_binary = true;
    message::write(out, b'B', |out| {
        put_bind_head(out, statement, &ALL_BINARY, values.len());
        for (oid, value) in statement.types.iter().zip(values) {
            is_binary = is_binary && put_binary(out, *oid, value);
        }
        out.extend_from_slice(&ALL_TEXT);
    });
    is_binary
}

#[inline]
fn put_binary(out: &mut Vec<u8>, oid: u32, value: Value<'_>) -> bool {
    match (oid, value) {
        (oid::INT4, Value::Int(number)) => match i32::try_from(number) {
            Ok(number) => put_bytes(out, &number.to_be_bytes()),
            Err(_) => return false,
        },
        (oid::INT8, Value::Int(number)) => put_bytes(out, &number.to_be_bytes()),
        (oid::INT2, Value::Int(number)) => match i16::try_from(number) {
            Ok(number) => put_bytes(out, &number.to_be_bytes()),
            Err(_) => return false,
        },
        (oid::TEXT | oid::VARCHAR | oid::BPCHAR, Value::Text(text)) => put_bytes(out, text),
        (oid::FLOAT8, Value::Double(number)) => put_bytes(out, &number.to_be_bytes()),
        (_, Value::Null) => out.extend_from_slice(&NULL),
        _ => return false,
    }
    true
}

/// The server understands, or refuses, any value as text.
#[cold]
fn bind_text<'a>(
    out: &mut Vec<u8>,
    statement: &Statement,
    values: impl ExactSizeIterator<Item = Value<'a>>,
) {
    message::write(out, b'B', |out| {
        put_bind_head(out, statement, &ALL_TEXT, values.len());
        for value in values {
            match value {
                Value::Int(number) => put_bytes(out, number.to_string().as_bytes()),
                Value::Double(number) => put_bytes(out, number.to_string().as_bytes()),
                Value::Text(text) => put_bytes(out, text),
                Value::Null => out.extend_from_slice(&NULL),
            }
        }
        out.extend_from_slice(&ALL_TEXT);
    });
}

#[inline]
fn put_bind_head(out: &mut Vec<u8>, statement: &Statement, formats: &[u8], values: usize) {
    out.extend_from_slice(&statement.names);
    out.extend_from_slice(formats);
    // The server has refused to prepare a statement with more.
    let count = u16::try_from(values).unwrap_or(u16::MAX);
    out.extend_from_slice(&count.to_be_bytes());
}

#[inline]
fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Sends lines of a COPY FROM STDIN; `fill` appends them.
pub fn copy_data(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    message::write(out, b'd', fill);
}

/// Ends the lines of a COPY FROM STDIN.
pub fn copy_done(out: &mut Vec<u8>) {
    message::write(out, b'c', |_| {});
}

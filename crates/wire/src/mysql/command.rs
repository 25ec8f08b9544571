//! Commands to the server. Those that have a reply return the sequence number of its first
//! packet: 1, unless the command itself spans several packets.

use super::{lenenc, packet};
use crate::Value;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

const TYPE_DOUBLE: u8 = 0x05;
const TYPE_NULL: u8 = 0x06;
const TYPE_LONGLONG: u8 = 0x08;
const TYPE_VAR_STRING: u8 = 0xfd;

pub fn quit(out: &mut Vec<u8>) {
    packet::write(out, 0, |out| out.push(COM_QUIT));
}

pub fn query(out: &mut Vec<u8>, sql: &str) -> u8 {
    packet::write(out, 0, |out| {
        out.push(COM_QUERY);
        out.extend_from_slice(sql.as_bytes());
    })
}

pub fn prepare(out: &mut Vec<u8>, sql: &str) -> u8 {
    packet::write(out, 0, |out| {
        out.push(COM_STMT_PREPARE);
        out.extend_from_slice(sql.as_bytes());
    })
}

/// Frees a prepared statement, which has no reply.
pub fn close(out: &mut Vec<u8>, statement: u32) {
    packet::write(out, 0, |out| {
        out.push(COM_STMT_CLOSE);
        out.extend_from_slice(&statement.to_le_bytes());
    });
}

/// Executes a prepared statement without a cursor. The server remembers the parameters'
/// types, so an execution needs `with_types` only if one differs from what it was; NULL fits any.
pub fn execute<'a>(
    out: &mut Vec<u8>,
    statement: u32,
    with_types: bool,
    values: impl ExactSizeIterator<Item = Value<'a>> + Clone,
) -> u8 {
    packet::write(out, 0, |out| {
        let [a, b, c, d] = statement.to_le_bytes();
        // No cursor; the iteration count is always 1.
        out.extend_from_slice(&[COM_STMT_EXECUTE, a, b, c, d, 0, 1, 0, 0, 0]);
        if values.len() == 0 {
            return;
        }
        let nulls = out.len();
        out.resize(nulls + values.len().div_ceil(8), 0);
        out.push(u8::from(with_types));
        if with_types {
            for value in values.clone() {
                let kind = match value {
                    Value::Int(_) => TYPE_LONGLONG,
                    Value::Double(_) => TYPE_DOUBLE,
                    Value::Text(_) => TYPE_VAR_STRING,
                    Value::Null => TYPE_NULL,
                };
                out.extend_from_slice(&[kind, 0]);
            }
        }
        for (index, value) in values.enumerate() {
            match value {
                Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
                Value::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
                Value::Text(text) => lenenc::put_bytes(out, text),
                Value::Null => out[nulls + index / 8] |= 1 << (index % 8),
            }
        }
    })
}

//! The protocol as a connection uses it.

use std::net::SocketAddr;

use wire::mysql::capability::DEPRECATE_EOF;
use wire::mysql::command::{self, Value};
use wire::mysql::handshake::Greeting;
use wire::mysql::packet::{self, Message};
use wire::mysql::reply::ReplyReader;
use wire::mysql::rows::TextResult;
use wire::rows::TextReply;
use wire::{ProtocolError, ServerError};
use workload::session::Param;

use super::error::{meaning, refusal_remedy};
use super::login;
use super::target::Target;
use crate::connection::{Protocol, Reply};
use crate::error::{Error, Refusal};
use crate::net::Stream;
use crate::reactor::Permit;
use crate::statement_text::write_value;

/// The MySQL protocol on an open connection.
#[derive(Debug)]
pub struct Mysql {
    reader: ReplyReader,
    deprecate_eof: bool,
    /// The part of the server's greeting that [`Connection`] reports; only the login needs the
    /// rest.
    version: Box<str>,
    connection_id: u32,
    is_mariadb: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Statement {
    number: u32,
    /// Whether the server knows the types of the parameters.
    is_bound: bool,
}

impl Mysql {
    /// The protocol after a login; `capabilities` are those of both ends.
    pub(super) fn new(greeting: Greeting, capabilities: u64) -> Self {
        Self {
            reader: ReplyReader::new(capabilities),
            deprecate_eof: capabilities & DEPRECATE_EOF != 0,
            is_mariadb: greeting.is_mariadb(),
            connection_id: greeting.connection_id,
            version: greeting.version.into(),
        }
    }
}

pub type Connection = crate::connection::Connection<Mysql>;

impl Connection {
    pub fn is_mariadb(&self) -> bool {
        self.protocol.is_mariadb
    }

    pub fn id(&self) -> u32 {
        self.protocol.connection_id
    }
}

impl Protocol for Mysql {
    type Target = Target;
    type Message = Message;
    /// The statement's number.
    type Prepared = u32;
    type Statement = Statement;
    /// The sequence number of the next packet.
    type Transfer = u8;

    fn addresses(target: &Target) -> &[SocketAddr] {
        target.endpoint.addresses()
    }

    async fn log_in(target: &Target, permit: Permit) -> Result<(Stream, Self), Error> {
        login::log_in(target, permit).await
    }

    fn server_version(&self) -> &str {
        &self.version
    }

    fn query(&mut self, out: &mut Vec<u8>, sql: &str) {
        self.reader.expect_result(command::query(out, sql));
    }

    fn prepare(&mut self, out: &mut Vec<u8>, sql: &str) {
        self.reader.expect_prepared(command::prepare(out, sql));
    }

    fn statement(&self, number: u32) -> Statement {
        Statement {
            number,
            is_bound: false,
        }
    }

    #[inline]
    fn execute(&mut self, out: &mut Vec<u8>, statement: &mut Statement, params: &[Param<'_>]) {
        let values = params.iter().map(|param| match param {
            Param::Int(number) => Value::Int(*number),
            Param::Text(text) => Value::Bytes(text.as_bytes()),
        });
        let with_types = !std::mem::replace(&mut statement.is_bound, true);
        let number = command::execute(out, statement.number, with_types, values);
        self.reader.expect_result(number);
    }

    fn transfer(
        &mut self,
        out: &mut Vec<u8>,
        sequence: &mut u8,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        // The empty packet ends the file.
        let mut is_end = false;
        *sequence = packet::write(out, *sequence, |out| {
            let start = out.len();
            fill(out);
            is_end = out.len() == start;
        });
        self.reader.expect_result(*sequence);
        is_end
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        command::quit(out);
    }

    #[inline]
    fn feed(&mut self, bytes: &[u8]) -> Result<Option<Reply<Self>>, ProtocolError> {
        self.reader.feed(bytes)
    }

    fn text_result(&self) -> impl FnMut(&Message) -> Result<Option<TextReply>, ProtocolError> {
        let mut result = TextResult::new(self.deprecate_eof);
        move |message| result.message(message)
    }

    #[inline]
    fn is_in_transaction(&self) -> bool {
        self.reader.is_in_transaction()
    }

    fn refusal(error: Box<ServerError>) -> Refusal {
        let number = error.number.unwrap_or_default();
        Refusal {
            meaning: meaning(number, &error.message),
            remedy: refusal_remedy(number),
            error,
        }
    }

    fn write_text(out: &mut String, sql: &str, params: &[Param<'_>]) {
        out.clear();
        let mut params = params.iter();
        for part in sql.split('?') {
            out.push_str(part);
            if let Some(param) = params.next() {
                write_value(out, param, |c| matches!(c, '\'' | '\\').then_some('\\'));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_statements_have_their_values_in_place() {
        let mut out = String::new();
        let params = [Param::Text("it's \\"), Param::Int(-7)];
        Mysql::write_text(&mut out, "UPDATE t SET c=? WHERE id=?", &params);
        assert_eq!(out, r"UPDATE t SET c='it\'s \\' WHERE id=-7");
    }
}

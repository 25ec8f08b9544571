//! The protocol as a connection uses it.

use std::net::SocketAddr;

use wire::mysql::capability::DEPRECATE_EOF;
use wire::mysql::command;
use wire::mysql::handshake::Greeting;
use wire::mysql::packet::{self, Message};
use wire::mysql::reply::ReplyReader;
use wire::mysql::rows::TextResult;
use wire::rows::TextReply;
use wire::{ProtocolError, ServerError};
use workload::quotes::outside_quotes;
use workload::session::Param;

use super::error::{meaning, refusal_remedy};
use super::login;
use super::target::Target;
use crate::connection::{Protocol, Reply, values};
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
    /// The types that the server knows of the first 16 parameters, two bits each; the others are
    /// integers. 0 if it knows none.
    types: u32,
}

impl Statement {
    /// Notes the types of the parameters that are sent next. Returns whether the server has to be
    /// told.
    #[inline]
    fn note_types(&mut self, params: &[Param<'_>]) -> bool {
        let (first, others) = params.split_at(params.len().min(16));
        let (mut types, mut nulls) = (0, 0);
        for (place, param) in first.iter().enumerate() {
            match param {
                // Fits any type.
                Param::Null => nulls |= 3_u32 << (2 * place),
                Param::Int(_) => types |= 1 << (2 * place),
                Param::Text(_) => types |= 2 << (2 * place),
                Param::Double(_) => types |= 3 << (2 * place),
            }
        }
        let fits = others.iter().all(|param| matches!(param, Param::Int(_)));
        let is_known = fits && self.types != 0 && self.types & !nulls == types;
        if !is_known {
            self.types = if fits { types } else { 0 };
        }
        !is_known
    }
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
        Statement { number, types: 0 }
    }

    #[inline]
    fn execute(&mut self, out: &mut Vec<u8>, statement: &mut Statement, params: &[Param<'_>]) {
        let with_types = statement.note_types(params);
        let number = command::execute(out, statement.number, with_types, values(params));
        self.reader.expect_result(number);
    }

    fn free(&mut self, out: &mut Vec<u8>, statement: Statement) -> bool {
        command::close(out, statement.number);
        false
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

    fn text_result(&mut self) -> impl FnMut(&Message) -> Result<Option<TextReply>, ProtocolError> {
        let mut result = TextResult::new(self.deprecate_eof);
        let reader = &mut self.reader;
        move |message| result.message(message, reader)
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
        for part in outside_quotes(sql, '?', true) {
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
        let params = [Param::Text(b"it's \\"), Param::Int(-7)];
        Mysql::write_text(&mut out, "UPDATE t SET c=? WHERE id=?", &params);
        assert_eq!(out, r"UPDATE t SET c='it\'s \\' WHERE id=-7");
        Mysql::write_text(
            &mut out,
            r"SELECT '\'?', ?, ?",
            &[Param::Null, Param::Int(1)],
        );
        assert_eq!(out, r"SELECT '\'?', NULL, 1");
    }

    #[test]
    fn types_are_told_when_they_change() {
        use Param::{Double, Int, Null, Text};
        let mut statement = Statement {
            number: 1,
            types: 0,
        };
        for (params, is_told) in [
            ([Null, Null], true),
            ([Int(1), Null], true),
            ([Int(2), Null], false),
            ([Null, Null], false),
            ([Int(1), Text(b"x")], true),
            ([Null, Text(b"y")], false),
            ([Int(1), Null], false),
            ([Double(1.0), Null], true),
            // What the second was before was not told again.
            ([Double(1.0), Text(b"x")], true),
            ([Text(b"x"), Text(b"x")], true),
            ([Text(b"x"), Text(b"x")], false),
        ] {
            assert_eq!(statement.note_types(&params), is_told, "{params:?}");
        }
    }

    #[test]
    fn many_types_are_known_if_those_behind_the_first_16_are_integers() {
        let mut statement = Statement {
            number: 1,
            types: 0,
        };
        let mut told = |params: &[Param<'_>]| statement.note_types(params);
        let mut params = vec![Param::Int(1); 100];
        assert!(told(&params) && !told(&params));
        params[15] = Param::Double(1.0);
        assert!(told(&params) && !told(&params));
        params[15] = Param::Null;
        assert!(!told(&params));
        for other in [Param::Null, Param::Text(b"x")] {
            params[16] = other;
            assert!(told(&params) && told(&params));
            params[16] = Param::Int(1);
            assert!(told(&params) && !told(&params));
        }
    }
}

//! The protocol as a connection uses it.

use std::borrow::Cow;
use std::net::SocketAddr;

use wire::postgres::command::{self, Statement};
use wire::postgres::message::Message;
use wire::postgres::reply::{Description, ReplyReader};
use wire::postgres::rows::TextResult;
use wire::postgres::scram;
use wire::rows::TextReply;
use wire::{ProtocolError, ServerError};
use workload::quotes::{numbered, outside_quotes};
use workload::session::Param;

use super::error::{meaning, refusal_remedy};
use super::login::{self, nonce};
use super::target::Target;
use crate::connection::{Protocol, Reply, values};
use crate::error::{Error, Refusal};
use crate::net::Stream;
use crate::reactor::Permit;
use crate::statement_text::write_value;

/// The PostgreSQL protocol on an open connection.
#[derive(Debug, Default)]
pub struct Postgres {
    reader: ReplyReader,
    prepared: u32,
    pub(super) server_version: String,
    pub(super) backend_pid: u32,
}

pub type Connection = crate::connection::Connection<Postgres>;

impl Connection {
    /// The server process of this connection, for `pg_terminate_backend`.
    pub fn backend_pid(&self) -> u32 {
        self.protocol.backend_pid
    }

    /// Sets a role's password; an empty one locks the role out. Only the server's stored form is
    /// sent, so that no log can contain the password.
    pub async fn set_password(&mut self, role: &str, password: &str) -> Result<(), Error> {
        let stored = match password {
            "" => "NULL".to_owned(),
            password => format!("'{}'", scram::verifier(password, nonce()?.as_bytes())),
        };
        let role = role.replace('"', "\"\"");
        let statement = format!("ALTER ROLE \"{role}\" PASSWORD {stored}");
        self.run(&statement).await.map(drop)
    }
}

impl Protocol for Postgres {
    type Target = Target;
    type Message = Message;
    type Prepared = Description;
    type Statement = Statement;
    type Transfer = ();

    fn addresses(target: &Target) -> &[SocketAddr] {
        target.endpoint.addresses()
    }

    async fn log_in(target: &Target, permit: Permit) -> Result<(Stream, Self), Error> {
        login::log_in(target, permit).await
    }

    fn server_version(&self) -> &str {
        &self.server_version
    }

    fn query(&mut self, out: &mut Vec<u8>, sql: &str) {
        command::query(out, sql);
        self.reader.expect_query();
    }

    fn prepare(&mut self, out: &mut Vec<u8>, sql: &str) {
        self.prepared += 1;
        command::prepare(out, self.prepared, sql);
        self.reader.expect_preparation();
    }

    fn statement(&self, description: Description) -> Statement {
        Statement::new(self.prepared, description)
    }

    #[inline]
    fn execute(&mut self, out: &mut Vec<u8>, statement: &mut Statement, params: &[Param<'_>]) {
        command::execute(out, statement, values(params));
        self.reader.expect_execution(statement.has_result);
    }

    fn free(&mut self, out: &mut Vec<u8>, statement: Statement) -> bool {
        command::close(out, &statement);
        self.reader.expect_closed();
        true
    }

    fn transfer(
        &mut self,
        out: &mut Vec<u8>,
        (): &mut (),
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        let mut is_end = false;
        command::copy_data(out, |out| {
            let start = out.len();
            fill(out);
            is_end = out.len() == start;
        });
        if is_end {
            out.clear();
            command::copy_done(out);
        }
        self.reader.expect_copied();
        is_end
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        command::terminate(out);
    }

    #[inline]
    fn feed(&mut self, bytes: &[u8]) -> Result<Option<Reply<Self>>, ProtocolError> {
        self.reader.feed(bytes)
    }

    fn take_last_words(&mut self) -> Option<Box<ServerError>> {
        self.reader.take_last_words()
    }

    fn take_begun(&mut self) -> Vec<u8> {
        self.reader.take_begun()
    }

    fn text_result(&mut self) -> impl FnMut(&Message) -> Result<Option<TextReply>, ProtocolError> {
        let mut result = TextResult::default();
        let reader = &mut self.reader;
        move |message| result.message(message, reader)
    }

    #[inline]
    fn is_in_transaction(&self) -> bool {
        self.reader.is_in_transaction()
    }

    fn refusal(error: Box<ServerError>) -> Refusal {
        Refusal {
            meaning: meaning(error.sqlstate()),
            remedy: refusal_remedy(error.sqlstate()),
            error,
        }
    }

    fn with_placeholders(sql: &str) -> Cow<'_, str> {
        numbered(sql).into()
    }

    fn write_text(out: &mut String, sql: &str, params: &[Param<'_>]) {
        out.clear();
        let mut parts = outside_quotes(sql, '$', false);
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = part.split_at(digits);
            let index = number.parse::<usize>().ok();
            match index.and_then(|index| params.get(index.checked_sub(1)?)) {
                // With standard_conforming_strings, which every supported version has on by default,
                // a backslash is an ordinary character.
                Some(param) => write_value(out, param, |c| (c == '\'').then_some('\'')),
                None => {
                    out.push('$');
                    out.push_str(number);
                }
            }
            out.push_str(rest);
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
        for (sql, text) in [
            (
                "UPDATE t SET c=$1 WHERE id=$2",
                r"UPDATE t SET c='it''s \' WHERE id=-7",
            ),
            ("SELECT $2,$2,$1", r"SELECT -7,-7,'it''s \'"),
            ("SELECT $3, $, $0, $x", "SELECT $3, $, $0, $x"),
            ("SELECT 1", "SELECT 1"),
            ("SELECT '$2', $2", "SELECT '$2', -7"),
        ] {
            Postgres::write_text(&mut out, sql, &params);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn placeholders_are_numbered() {
        for (sql, numbered) in [
            ("SELECT ?, '?', ?", "SELECT $1, '?', $2"),
            ("SELECT 1", "SELECT 1"),
        ] {
            assert_eq!(Postgres::with_placeholders(sql), numbered);
        }
    }
}

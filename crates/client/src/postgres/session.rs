//! A virtual user's connection.

use std::fmt::Write as _;
use std::sync::Arc;

use wire::postgres::command::{Statement, Value};
use wire::postgres::reply::{Done, TransactionStatus};
use workload::catalog::{Catalog, Label};
use workload::session::{Connect, Param, Reply, Session, SessionError};

use super::connection::Connection;
use super::error::Error;
use super::target::Target;
use crate::shown::shortened;
use crate::statement_protocol::StatementProtocol;

/// Opens connections to one server.
#[derive(Debug)]
pub struct Connector {
    /// The server and the account.
    pub target: Target,
    /// How statements reach it.
    pub protocol: StatementProtocol,
    /// Have the kernel stamp the arrival of replies, where it can.
    pub stamp_replies: bool,
}

/// One connection with its statements.
#[derive(Debug)]
pub struct PostgresSession {
    connection: Connection,
    catalog: Arc<Catalog>,
    /// By the catalog's numbers; empty for the simple protocol.
    prepared: Box<[Statement]>,
    /// The simple protocol's statement, kept for the next one.
    text: String,
}

impl Connect for Connector {
    type Session = PostgresSession;

    async fn connect(&self, catalog: &Arc<Catalog>) -> Result<PostgresSession, SessionError> {
        let opened = Connection::open(&self.target).await;
        let mut connection = opened.map_err(|error| error.into_session_error(None))?;
        if self.stamp_replies {
            // Without stamps replies are timed when they are read; a summary says so.
            let _ = connection.stamp_replies();
        }
        let mut prepared = Vec::new();
        if self.protocol == StatementProtocol::Prepared {
            prepared.reserve_exact(catalog.statements.len());
            for statement in &catalog.statements {
                let outcome = connection.prepare(&statement.sql).await;
                let failed = |error: Error| error.into_session_error(Some(&statement.sql));
                prepared.push(outcome.map_err(failed)?);
            }
        }
        Ok(PostgresSession {
            connection,
            catalog: Arc::clone(catalog),
            prepared: prepared.into_boxed_slice(),
            text: String::new(),
        })
    }
}

#[inline]
fn finish(done: Result<Done, Error>, sql: &str) -> Result<Reply, SessionError> {
    match done {
        Ok(Done { rows, affected }) => Ok(Reply { rows, affected }),
        Err(error) => Err(error.into_session_error(Some(&shortened(sql)))),
    }
}

impl Session for PostgresSession {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let sql = &self.catalog.statements[statement as usize].sql;
        if let Some(prepared) = self.prepared.get(statement as usize) {
            let values = params.iter().map(|param| match param {
                Param::Int(number) => Value::Int(*number),
                Param::Text(text) => Value::Text(text),
            });
            let done = self.connection.execute(prepared, values, sql).await;
            return finish(done, sql);
        }
        write_text(&mut self.text, sql, params);
        let done = self.connection.run(&self.text).await;
        finish(done, &self.text)
    }

    async fn query(&mut self, _label: Label, sql: &str) -> Result<Reply, SessionError> {
        finish(self.connection.run(sql).await, sql)
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        if self.connection.transaction_status() == TransactionStatus::Idle {
            return Ok(());
        }
        let sql = "ROLLBACK";
        finish(self.connection.run(sql).await, sql).map(drop)
    }

    #[inline]
    fn reply_arrived_ns(&self) -> Option<u64> {
        self.connection.reply_arrived_ns()
    }

    async fn close(self) {
        self.connection.close().await;
    }
}

/// Replaces `$1`, `$2`, … by the values.
fn write_text(out: &mut String, sql: &str, params: &[Param<'_>]) {
    out.clear();
    let mut parts = sql.split('$');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let index = number.parse::<usize>().ok();
        match index.and_then(|index| params.get(index.checked_sub(1)?)) {
            Some(param) => put(out, param),
            None => {
                out.push('$');
                out.push_str(number);
            }
        }
        out.push_str(rest);
    }
}

fn put(out: &mut String, param: &Param<'_>) {
    match param {
        Param::Int(number) => {
            // Into a String it cannot fail.
            let _ = write!(out, "{number}");
        }
        // With standard_conforming_strings, which every supported version has on by default,
        // a backslash is an ordinary character.
        Param::Text(text) => {
            out.push('\'');
            for character in text.chars() {
                if character == '\'' {
                    out.push('\'');
                }
                out.push(character);
            }
            out.push('\'');
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
        for (sql, text) in [
            (
                "UPDATE t SET c=$1 WHERE id=$2",
                r"UPDATE t SET c='it''s \' WHERE id=-7",
            ),
            ("SELECT $2,$2,$1", r"SELECT -7,-7,'it''s \'"),
            ("SELECT $3, $, $0, $x", "SELECT $3, $, $0, $x"),
            ("SELECT 1", "SELECT 1"),
        ] {
            write_text(&mut out, sql, &params);
            assert_eq!(out, text);
        }
    }
}

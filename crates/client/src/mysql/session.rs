//! A virtual user's connection.

use std::sync::Arc;

use wire::mysql::SERVER_STATUS_IN_TRANS;
use wire::mysql::command::Value;
use wire::mysql::reply::Done;
use workload::catalog::{Catalog, Label};
use workload::session::{Connect, Param, Reply, Session, SessionError};

use super::connection::Connection;
use super::error::Error;
use super::target::Target;
use crate::shown::shortened;
use crate::statement_protocol::StatementProtocol;

/// MySQL's error for a statement that cannot be prepared, such as BEGIN.
const NOT_PREPARABLE: u16 = 1295;

/// Opens connections to one server.
#[derive(Debug)]
pub struct Connector {
    /// The server and the account.
    pub target: Target,
    /// How statements reach it.
    pub protocol: StatementProtocol,
    /// Make the kernel stamp the arrival of replies, where it can.
    pub stamp_replies: bool,
}

/// One connection with its statements.
#[derive(Debug)]
pub struct MysqlSession {
    connection: Connection,
    catalog: Arc<Catalog>,
    /// By the catalog's numbers; empty for the text protocol, and `None` for a statement
    /// that cannot be prepared.
    prepared: Box<[Option<Prepared>]>,
    /// The text protocol's statement; reused.
    text: String,
    in_transaction: bool,
}

#[derive(Debug, Clone, Copy)]
struct Prepared {
    number: u32,
    /// Whether the server knows the types of its parameters.
    bound: bool,
}

impl Connect for Connector {
    type Session = MysqlSession;

    async fn connect(&self, catalog: &Arc<Catalog>) -> Result<MysqlSession, SessionError> {
        let opened = Connection::open(&self.target).await;
        let mut connection = opened.map_err(|error| error.into_session_error(None))?;
        if self.stamp_replies {
            // Without stamps replies are timed when they are read; the summary says so.
            let _ = connection.stamp_replies();
        }
        let mut prepared = Vec::new();
        if self.protocol == StatementProtocol::Prepared {
            prepared.reserve_exact(catalog.statements.len());
            for statement in &catalog.statements {
                let number = match connection.prepare(&statement.sql).await {
                    Ok(number) => Some(number),
                    Err(error) if error.code() == Some(NOT_PREPARABLE) => None,
                    Err(error) => return Err(error.into_session_error(Some(&statement.sql))),
                };
                let unbound = |number| Prepared {
                    number,
                    bound: false,
                };
                prepared.push(number.map(unbound));
            }
        }
        Ok(MysqlSession {
            connection,
            catalog: Arc::clone(catalog),
            prepared: prepared.into_boxed_slice(),
            text: String::new(),
            in_transaction: false,
        })
    }
}

impl MysqlSession {
    #[inline]
    fn finish(
        &mut self,
        done: Result<Done, Error>,
        sql: Option<u32>,
    ) -> Result<Reply, SessionError> {
        match done {
            Ok(done) => {
                self.in_transaction = done.status & SERVER_STATUS_IN_TRANS != 0;
                Ok(Reply {
                    rows: done.rows,
                    affected: done.affected,
                })
            }
            Err(error) => {
                // A deadlock has ended the transaction; other errors may not have.
                self.in_transaction = true;
                let sql = sql.map(|number| self.catalog.statements[number as usize].sql.as_str());
                Err(error.into_session_error(sql.or(Some(&self.text))))
            }
        }
    }
}

impl Session for MysqlSession {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let sql = &self.catalog.statements[statement as usize].sql;
        if let Some(Some(prepared)) = self.prepared.get_mut(statement as usize) {
            let values = params.iter().map(|param| match param {
                Param::Int(number) => Value::Int(*number),
                Param::Text(text) => Value::Bytes(text.as_bytes()),
            });
            let with_types = !std::mem::replace(&mut prepared.bound, true);
            let done = self
                .connection
                .execute(prepared.number, with_types, values, sql)
                .await;
            return self.finish(done, Some(statement));
        }
        write_text(&mut self.text, sql, params);
        let done = self.connection.run(&self.text).await;
        self.finish(done, None)
    }

    async fn query(&mut self, _label: Label, sql: &str) -> Result<Reply, SessionError> {
        let done = self.connection.run(sql).await;
        if done.is_err() {
            self.text = shortened(sql);
        }
        self.finish(done, None)
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        if !self.in_transaction {
            return Ok(());
        }
        let done = self.connection.run("ROLLBACK").await;
        self.finish(done, None).map(|_| ())
    }

    #[inline]
    fn reply_arrived_ns(&self) -> Option<u64> {
        self.connection.reply_arrived_ns()
    }

    async fn close(self) {
        self.connection.close().await;
    }
}

/// Replaces the question marks of a statement by its parameters.
fn write_text(out: &mut String, sql: &str, params: &[Param<'_>]) {
    out.clear();
    let mut params = params.iter();
    for part in sql.split('?') {
        out.push_str(part);
        put(out, params.next());
    }
}

fn put(out: &mut String, param: Option<&Param<'_>>) {
    match param {
        Some(Param::Int(number)) => out.push_str(&number.to_string()),
        Some(Param::Text(text)) => {
            out.push('\'');
            for character in text.chars() {
                if matches!(character, '\'' | '\\') {
                    out.push('\\');
                }
                out.push(character);
            }
            out.push('\'');
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_statements_have_their_values_in_place() {
        let mut out = String::new();
        let params = [Param::Text("it's \\"), Param::Int(-7)];
        write_text(&mut out, "UPDATE t SET c=? WHERE id=?", &params);
        assert_eq!(out, r"UPDATE t SET c='it\'s \\' WHERE id=-7");
    }
}

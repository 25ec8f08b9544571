//! A virtual user's connection to a server.

use std::sync::Arc;

use wire::reply::Done;
use workload::catalog::{Catalog, Label};
use workload::session::{Connect, Param, Reply, Session, SessionError};

use crate::connection::{Connection, Protocol};
use crate::error::Error;
use crate::statement_protocol::StatementProtocol;

/// Opens connections to one server.
#[derive(Debug)]
pub struct Connector<P: Protocol> {
    /// The server and the account.
    pub target: P::Target,
    /// How statements are sent.
    pub protocol: StatementProtocol,
    /// Make the kernel stamp the arrival of replies, where it can.
    pub stamp_replies: bool,
}

/// One connection with its statements.
#[derive(Debug)]
pub struct NetworkSession<P: Protocol> {
    connection: Connection<P>,
    catalog: Arc<Catalog>,
    /// By the catalog's numbers; empty for the text protocol, and `None` for a statement that
    /// cannot be prepared.
    prepared: Box<[Option<P::Statement>]>,
    /// The text protocol's statement; reused.
    text: String,
}

impl<P: Protocol> Connect for Connector<P> {
    type Session = NetworkSession<P>;

    async fn connect(&self, catalog: &Arc<Catalog>) -> Result<NetworkSession<P>, SessionError> {
        let opened = Connection::open(&self.target).await;
        let mut connection = opened.map_err(|error| error.into_session_error(None))?;
        if self.stamp_replies {
            // Without stamps, replies are timed when they are read; the summary says so.
            let _ = connection.stamp_replies();
        }
        let mut prepared = Vec::new();
        if self.protocol == StatementProtocol::Prepared {
            prepared.reserve_exact(catalog.statements.len());
            for statement in &catalog.statements {
                prepared.push(match connection.prepare(&statement.sql).await {
                    Ok(prepared) => Some(prepared),
                    Err(error) if P::is_unpreparable(&error) => None,
                    Err(error) => return Err(error.into_session_error(Some(&statement.sql))),
                });
            }
        }
        Ok(NetworkSession {
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
        Err(error) => Err(error.into_session_error(Some(sql))),
    }
}

impl<P: Protocol> Session for NetworkSession<P> {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let sql = &self.catalog.statements[statement as usize].sql;
        if let Some(Some(prepared)) = self.prepared.get_mut(statement as usize) {
            let done = self.connection.execute(prepared, params, sql).await;
            return finish(done, sql);
        }
        P::write_text(&mut self.text, sql, params);
        finish(self.connection.run(&self.text).await, &self.text)
    }

    async fn query(&mut self, _label: Label, sql: &str) -> Result<Reply, SessionError> {
        let done = self.connection.run(sql).await;
        finish(done, sql)
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        if !self.connection.is_in_transaction() {
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

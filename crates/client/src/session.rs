//! A virtual user's connection to a server.

use std::borrow::Cow;
use std::sync::Arc;

use slab::Slab;
use wire::reply::Done;
use workload::catalog::{Catalog, Label};
use workload::session::{Connect, FailureKind, Param, Reply, Rows, Session, SessionError};

use crate::connection::{Connection, Protocol};
use crate::error::{Error, Meaning};
use crate::reactor::before;
use crate::route::{Place, Route};
use plan::StatementProtocol;

/// Opens connections to one server, or to those of several that its route has opened.
#[derive(Debug)]
pub struct Connector<P: Protocol> {
    /// The servers, with an account each, in the order of the route.
    pub targets: Vec<Arc<P::Target>>,
    pub route: Arc<Route>,
    pub protocol: StatementProtocol,
    /// Whether the kernel stamps the arrival of replies, if it can.
    pub stamp_replies: bool,
}

#[derive(Debug)]
pub struct NetworkSession<P: Protocol> {
    /// The first field, so that it is dropped before the connection is closed.
    place: Place,
    connection: Connection<P>,
    protocol: StatementProtocol,
    catalog: Arc<Catalog>,
    /// By number; nothing for a statement that is sent as text, or is freed.
    prepared: Vec<Option<P::Statement>>,
    /// The texts that a script has prepared. Their numbers are behind those of the catalog.
    scripted: Slab<Arc<str>>,
    /// Buffer for statements of the text protocol.
    text: String,
}

/// A connection and the statements that were prepared on it.
type Opened<P> = (Connection<P>, Vec<Option<<P as Protocol>::Statement>>);

impl<P: Protocol> Connector<P> {
    async fn open(&self, target: &P::Target, catalog: &Catalog) -> Result<Opened<P>, SessionError> {
        let opened = Connection::open(target).await;
        let mut connection = opened.map_err(|error| error.into_session_error(None))?;
        if self.stamp_replies {
            // Without stamps, replies are timed when they are read; the summary says so.
            let _ = connection.stream.stamp_arrivals();
        }
        let mut prepared = Vec::new();
        if self.protocol == StatementProtocol::Prepared {
            prepared.reserve_exact(catalog.statements.len());
            for statement in &catalog.statements {
                let one = prepare(&mut connection, &statement.sql).await;
                prepared.push(one.map_err(|error| error.into_session_error(Some(&statement.sql)))?);
            }
        }
        Ok((connection, prepared))
    }

    /// Opens a connection to a server, unless it is closed meanwhile.
    async fn open_to(
        &self,
        server: usize,
        catalog: &Arc<Catalog>,
    ) -> Result<NetworkSession<P>, SessionError> {
        let target = self.targets.get(server).ok_or_else(no_server)?;
        // A login to a hanging server would take until its limit.
        let opening = before(self.route.closed(server), self.open(target, catalog));
        let (connection, prepared) = opening.await.ok_or_else(no_server)??;
        let place = self.route.add(server, connection.stream.socket());
        Ok(NetworkSession {
            place: place.ok_or_else(no_server)?,
            connection,
            protocol: self.protocol,
            catalog: Arc::clone(catalog),
            prepared,
            scripted: Slab::new(),
            text: String::new(),
        })
    }
}

impl<P: Protocol> Connect for Connector<P> {
    type Session = NetworkSession<P>;

    async fn connect(&self, catalog: &Arc<Catalog>) -> Result<NetworkSession<P>, SessionError> {
        let Some(server) = self.route.next() else {
            self.route.alert();
            return Err(no_server());
        };
        let opened = self.open_to(server, catalog).await;
        opened.inspect_err(|_| self.route.failed(server))
    }

    fn route(&self) -> Option<u64> {
        self.route.choice()
    }

    async fn rerouted(&self, from: Option<u64>) {
        self.route.changed(from).await;
    }
}

fn no_server() -> SessionError {
    SessionError {
        kind: FailureKind::Away,
        sqlstate: None,
        number: None,
        message: "no server of the cluster accepts connections of the load".to_owned(),
        statement: None,
    }
}

/// Prepares a statement; `None` if the server can run it only as text.
async fn prepare<P: Protocol>(
    connection: &mut Connection<P>,
    sql: &str,
) -> Result<Option<P::Statement>, Error> {
    let prepared = connection.prepare(sql).await;
    prepared.map(Some).or_else(|error| match error.meaning() {
        Some(Meaning::NotPreparable) => Ok(None),
        _ => Err(error),
    })
}

impl<P: Protocol> NetworkSession<P> {
    #[inline]
    fn finish(&self, done: Result<Done, Error>, sql: &str) -> Result<Reply, SessionError> {
        match done {
            Ok(done) => {
                if done.affected > 0 {
                    self.place.wrote();
                }
                Ok(Reply {
                    has_result: done.has_result,
                    rows: done.rows,
                    affected: done.affected,
                })
            }
            Err(error) => Err(self.failed(error, sql)),
        }
    }

    #[cold]
    fn failed(&self, error: Error, sql: &str) -> SessionError {
        let expects_writes = self.place.expects_writes();
        let meaning = error.meaning();
        let has_lost_role = meaning.is_some_and(|it| it.has_lost_role(expects_writes));
        let mut error = error.into_session_error(Some(sql));
        if error.kind == FailureKind::Refused && has_lost_role {
            error.kind = FailureKind::Away;
        }
        if matches!(error.kind, FailureKind::Lost | FailureKind::Away) {
            self.place.failed();
        }
        error
    }
}

impl<P: Protocol> Session for NetworkSession<P> {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let (index, known) = (statement as usize, &self.catalog.statements);
        let sql: &str = match known.get(index) {
            Some(known) => &known.sql,
            None => {
                let text = self.scripted.get(index - known.len());
                text.map_or("", AsRef::as_ref)
            }
        };
        if let Some(Some(prepared)) = self.prepared.get_mut(index) {
            let done = self.connection.execute(prepared, params, sql).await;
            return self.finish(done, sql);
        }
        P::write_text(&mut self.text, sql, params);
        let done = self.connection.run(&self.text).await;
        self.finish(done, &self.text)
    }

    async fn query(&mut self, _label: Label, sql: &str) -> Result<Reply, SessionError> {
        let done = self.connection.run(sql).await;
        self.finish(done, sql)
    }

    async fn fetch(&mut self, sql: &str, rows: &mut Rows) -> Result<Reply, SessionError> {
        let fetched = self.connection.fetch(sql).await;
        let done = fetched.map(|text| {
            (rows.columns, rows.rows) = (text.columns, text.rows);
            text.done
        });
        self.finish(done, sql)
    }

    async fn prepare(&mut self, sql: &Arc<str>) -> Result<u32, SessionError> {
        let text = P::with_placeholders(sql);
        let prepared = match self.protocol {
            StatementProtocol::Prepared => prepare(&mut self.connection, &text).await,
            StatementProtocol::Text => Ok(None),
        };
        let prepared = prepared.map_err(|error| self.failed(error, &text))?;
        // Users share the text unless it is sent with the server's placeholders each time.
        let sql = match text {
            Cow::Owned(text) if prepared.is_none() => text.into(),
            _ => Arc::clone(sql),
        };
        let number = self.catalog.statements.len() + self.scripted.insert(sql);
        let count = self.prepared.len().max(number + 1);
        self.prepared.resize_with(count, || None);
        self.prepared[number] = prepared;
        Ok(number as u32)
    }

    async fn free(&mut self, statement: u32) {
        let index = statement as usize;
        if let Some(place) = index.checked_sub(self.catalog.statements.len()) {
            self.scripted.try_remove(place);
        }
        if let Some(prepared) = self.prepared.get_mut(index).and_then(Option::take) {
            self.connection.free(prepared).await;
        }
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        if !self.connection.protocol.is_in_transaction() {
            return Ok(());
        }
        let sql = "ROLLBACK";
        let done = self.connection.run(sql).await;
        self.finish(done, sql).map(drop)
    }

    #[inline]
    fn reply_arrived_ns(&self) -> Option<u64> {
        self.connection.stream.arrived_ns()
    }

    async fn close(self) {
        drop(self.place);
        self.connection.close().await;
    }
}

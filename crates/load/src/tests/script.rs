//! A server that answers by a script, and the log of its requests.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use workload::catalog::{Catalog, Label};
use workload::session::{Connect, FailureKind, Param, Reply, Rows, Session, SessionError};

use super::SERVICE;
use super::simulation::Simulation;
use crate::clock::Clock;

/// The kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Connection,
    Statement,
    Rollback,
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) at_ns: u64,
    pub(crate) asked: Asked,
    /// Connections count from 0.
    pub(crate) connection: u32,
    /// Number of earlier requests of this kind, on any connection.
    pub(crate) number: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Replies after this many nanoseconds.
    After(u64, Result<Reply, SessionError>),
    /// Never replies.
    Never,
}

/// A successful reply after this many nanoseconds.
pub(crate) fn done(after_ns: u64) -> Answer {
    Answer::After(after_ns, Ok(Reply::default()))
}

/// An immediate error; code 0 means that the connection failed.
pub(crate) fn fails(kind: FailureKind, code: u32) -> Answer {
    Answer::After(0, Err(error(kind, code)))
}

pub(crate) fn error(kind: FailureKind, code: u32) -> SessionError {
    SessionError {
        kind,
        sqlstate: None,
        number: (code > 0).then_some(code),
        message: format!("{kind:?} {code}"),
        statement: None,
    }
}

/// A server that is gone for a while, in nanoseconds on the clock.
pub(crate) fn away(gone: Range<u64>, kind: FailureKind) -> impl Fn(Request) -> Answer {
    move |request| match request.asked {
        Asked::Close => done(0),
        _ if gone.contains(&request.at_ns) => fails(kind, 0),
        Asked::Statement => done(SERVICE),
        Asked::Connection | Asked::Rollback => done(0),
    }
}

/// What has become of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) request: Request,
    /// When the reply came, and whether it was a success; `None` if none came.
    pub(crate) replied: Option<(u64, bool)>,
}

pub(crate) struct Server {
    simulation: Simulation,
    script: Box<dyn Fn(Request) -> Answer>,
    connections: Cell<u32>,
    /// Requests of each kind so far.
    counts: RefCell<[u32; 4]>,
    log: RefCell<Vec<Entry>>,
    /// Difference between time stamp and arrival of a reply, as if a clock had been set.
    stamp_offset_ns: Cell<Option<i64>>,
    /// Changes of the route and their times, in order.
    routes: RefCell<Vec<(u64, Option<u64>)>>,
}

#[derive(Clone)]
pub(crate) struct Scripted(Rc<Server>);

impl Scripted {
    /// A server that accepts connections at once and answers statements by `script`.
    pub(crate) fn answering(
        simulation: &Simulation,
        script: impl Fn(Request) -> Answer + 'static,
    ) -> Self {
        Self::new(simulation, move |request| match request.asked {
            Asked::Statement => script(request),
            Asked::Connection | Asked::Rollback | Asked::Close => done(0),
        })
    }

    /// A server whose statements take `service_ns`; the call of one of them blocks its worker.
    pub(crate) fn blocking(number: u32, blocked_ns: u64, service_ns: u64) -> Self {
        let simulation = super::simulation();
        let of_script = simulation.clone();
        Self::answering(&simulation, move |request| {
            if request.number == number {
                of_script.block_worker(blocked_ns);
            }
            done(service_ns)
        })
    }

    pub(crate) fn new(
        simulation: &Simulation,
        script: impl Fn(Request) -> Answer + 'static,
    ) -> Self {
        Self(Rc::new(Server {
            simulation: simulation.clone(),
            script: Box::new(script),
            connections: Cell::new(0),
            counts: RefCell::default(),
            log: RefCell::default(),
            stamp_offset_ns: Cell::new(None),
            routes: RefCell::default(),
        }))
    }

    /// Stamps the arrival of each reply with this offset.
    pub(crate) fn stamp_replies(&self, offset_ns: i64) {
        self.0.stamp_offset_ns.set(Some(offset_ns));
    }

    /// Changes the route at these times; it is `Some(0)` before.
    pub(crate) fn reroute(&self, routes: impl IntoIterator<Item = (u64, Option<u64>)>) {
        self.0.routes.borrow_mut().extend(routes);
    }

    pub(crate) fn simulation(&self) -> &Simulation {
        &self.0.simulation
    }

    /// All requests in order.
    pub(crate) fn log(&self) -> Vec<Entry> {
        self.0.log.borrow().clone()
    }

    /// The requests of one kind.
    pub(crate) fn requests(&self, asked: Asked) -> Vec<Entry> {
        let mut log = self.log();
        log.retain(|entry| entry.request.asked == asked);
        log
    }

    async fn ask(&self, asked: Asked, connection: u32) -> Result<Reply, SessionError> {
        let (request, place) = self.receive(asked, connection);
        match (self.0.script)(request) {
            Answer::After(after_ns, reply) => {
                let clock = &self.0.simulation;
                clock.sleep_until(request.at_ns + after_ns).await;
                let replied = (clock.now_ns(), reply.is_ok());
                self.0.log.borrow_mut()[place].replied = Some(replied);
                reply
            }
            Answer::Never => std::future::pending().await,
        }
    }

    fn receive(&self, asked: Asked, connection: u32) -> (Request, usize) {
        let count = &mut self.0.counts.borrow_mut()[asked as usize];
        let request = Request {
            at_ns: self.0.simulation.now_ns(),
            asked,
            connection,
            number: *count,
        };
        *count += 1;
        let mut log = self.0.log.borrow_mut();
        log.push(Entry {
            request,
            replied: None,
        });
        (request, log.len() - 1)
    }
}

pub(crate) struct Connection {
    server: Scripted,
    number: u32,
    arrived_ns: Option<u64>,
}

impl Connect for Scripted {
    type Session = Connection;

    async fn connect(&self, _: &Arc<Catalog>) -> Result<Connection, SessionError> {
        let number = self.0.connections.replace(self.0.connections.get() + 1);
        self.ask(Asked::Connection, number).await?;
        Ok(Connection {
            server: self.clone(),
            number,
            arrived_ns: None,
        })
    }

    fn route(&self) -> Option<u64> {
        let now_ns = self.0.simulation.now_ns();
        let routes = self.0.routes.borrow();
        let last = routes.iter().rev().find(|(at_ns, _)| *at_ns <= now_ns);
        last.map_or(Some(0), |(_, route)| *route)
    }

    async fn rerouted(&self, from: Option<u64>) {
        while self.route() == from {
            let now_ns = self.0.simulation.now_ns();
            let next_ns = {
                let routes = self.0.routes.borrow();
                let mut times = routes.iter().map(|(at_ns, _)| *at_ns);
                times.find(|at_ns| *at_ns > now_ns)
            };
            match next_ns {
                Some(at_ns) => self.0.simulation.sleep_until(at_ns).await,
                None => std::future::pending().await,
            }
        }
    }
}

impl Connection {
    async fn statement(&mut self) -> Result<Reply, SessionError> {
        let reply = self.server.ask(Asked::Statement, self.number).await;
        let server = &self.server.0;
        let offset_ns = server.stamp_offset_ns.get();
        self.arrived_ns =
            offset_ns.map(|offset_ns| server.simulation.now_ns().saturating_add_signed(offset_ns));
        reply
    }
}

impl Session for Connection {
    async fn execute(&mut self, _: u32, _: &[Param<'_>]) -> Result<Reply, SessionError> {
        self.statement().await
    }

    async fn query(&mut self, _: Label, _: &str) -> Result<Reply, SessionError> {
        self.statement().await
    }

    async fn fetch(&mut self, _: &str, rows: &mut Rows) -> Result<Reply, SessionError> {
        rows.columns.push("c".to_owned());
        self.statement().await
    }

    async fn prepare(&mut self, _: &Arc<str>) -> Result<u32, SessionError> {
        self.statement().await.map(|_| 0)
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        self.server
            .ask(Asked::Rollback, self.number)
            .await
            .map(drop)
    }

    fn reply_arrived_ns(&self) -> Option<u64> {
        self.arrived_ns
    }

    async fn close(self) {
        let _ = self.server.ask(Asked::Close, self.number).await;
    }
}

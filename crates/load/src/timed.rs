//! The session that times each statement by the way.

use std::rc::Rc;

use workload::kind::Kind;
use workload::session::{Param, Reply, Session, SessionError};

use crate::shared::Shared;

/// A session whose statements are timed.
#[derive(Debug)]
pub(crate) struct Timed<S> {
    session: S,
    shared: Rc<Shared>,
    /// When the last reply came, unless something else was waited for since. It
    /// is also when the next statement starts, so the clock is read once for both.
    replied_ns: Option<u64>,
}

impl<S: Session> Timed<S> {
    pub(crate) fn new(session: S, shared: &Rc<Shared>) -> Self {
        Self {
            session,
            shared: Rc::clone(shared),
            replied_ns: None,
        }
    }

    /// The time; right behind a reply, the reply's.
    pub(crate) fn now_ns(&self) -> u64 {
        self.replied_ns
            .unwrap_or_else(|| self.shared.control.now_ns())
    }

    /// The same, for the start of something: the next question is asked later.
    pub(crate) fn start_ns(&mut self) -> u64 {
        let now_ns = self.now_ns();
        self.waited();
        now_ns
    }

    /// Time has passed since the last reply.
    pub(crate) fn waited(&mut self) {
        self.replied_ns = None;
    }

    fn replied(&mut self, kind: usize, started_ns: u64, reply: &Result<Reply, SessionError>) {
        let now_ns = self.shared.control.now_ns();
        self.replied_ns = Some(now_ns);
        if reply.is_ok() {
            self.shared.recorder.statement(kind, now_ns - started_ns);
        }
    }
}

impl<S: Session> Session for Timed<S> {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let kind = self.shared.kinds.of_statement(statement);
        let started_ns = self.start_ns();
        let reply = self.session.execute(statement, params).await;
        self.replied(kind, started_ns, &reply);
        reply
    }

    async fn query(&mut self, kind: Kind, sql: &str) -> Result<Reply, SessionError> {
        let place = self.shared.kinds.of(kind);
        let started_ns = self.start_ns();
        let reply = self.session.query(kind, sql).await;
        self.replied(place, started_ns, &reply);
        reply
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        self.waited();
        self.session.rollback().await
    }

    async fn close(self) {
        self.session.close().await;
    }
}

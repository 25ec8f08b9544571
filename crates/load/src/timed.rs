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
}

impl<S: Session> Timed<S> {
    pub(crate) fn new(session: S, shared: &Rc<Shared>) -> Self {
        Self {
            session,
            shared: Rc::clone(shared),
        }
    }

    async fn timed<F: Future<Output = Result<Reply, SessionError>>>(
        shared: &Shared,
        kind: usize,
        statement: F,
    ) -> Result<Reply, SessionError> {
        let started_ns = shared.control.now_ns();
        let reply = statement.await;
        if reply.is_ok() {
            let duration_ns = shared.control.now_ns() - started_ns;
            shared.recorder.statement(kind, duration_ns);
        }
        reply
    }
}

impl<S: Session> Session for Timed<S> {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let kind = self.shared.kinds.of_statement(statement);
        let running = self.session.execute(statement, params);
        Self::timed(&self.shared, kind, running).await
    }

    async fn query(&mut self, kind: Kind, sql: &str) -> Result<Reply, SessionError> {
        let place = self.shared.kinds.of(kind);
        let running = self.session.query(kind, sql);
        Self::timed(&self.shared, place, running).await
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        self.session.rollback().await
    }

    async fn close(self) {
        self.session.close().await;
    }
}

//! A session that records how long each statement takes.

use std::rc::Rc;

use workload::catalog::Label;
use workload::session::{Connect, Param, Reply, Session, SessionError};

use crate::clock::Clock;
use crate::worker::Worker;

#[derive(Debug)]
pub(crate) struct TimedSession<C: Connect, K> {
    session: C::Session,
    worker: Rc<Worker<C, K>>,
    /// When the last reply was read, unless the user has waited for something else since. It is
    /// also the start of the next statement, which saves a reading of the clock.
    read_ns: Option<u64>,
    /// When the last reply of the running transaction arrived.
    arrived_ns: Option<u64>,
}

/// Whether a kernel's timestamp lies between the sending of the statement and the reading of its
/// reply. Otherwise, a clock was set, and the reply counts from when it was read.
#[inline]
fn is_plausible(stamp_ns: u64, sent_ns: u64, read_ns: u64) -> bool {
    (sent_ns..=read_ns).contains(&stamp_ns)
}

impl<C: Connect, K: Clock> TimedSession<C, K> {
    pub(crate) fn new(session: C::Session, worker: &Rc<Worker<C, K>>) -> Self {
        Self {
            session,
            worker: Rc::clone(worker),
            read_ns: None,
            arrived_ns: None,
        }
    }

    /// The current time; directly after a reply, the time at which the reply was read.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.read_ns.unwrap_or_else(|| self.worker.clock.now_ns())
    }

    /// The end of a transaction: the arrival of its last reply, or the current time without one.
    #[inline]
    pub(crate) fn end_ns(&mut self) -> u64 {
        self.arrived_ns.take().unwrap_or_else(|| {
            self.waited();
            self.now_ns()
        })
    }

    /// Must be called when the user has waited for something other than a reply.
    #[inline]
    pub(crate) fn waited(&mut self) {
        self.read_ns = None;
    }

    /// The start of a statement that is sent now.
    #[inline]
    fn sent_ns(&mut self) -> u64 {
        let now_ns = self.now_ns();
        self.waited();
        now_ns
    }

    #[inline]
    fn replied(&mut self, label: Label, sent_ns: u64, is_done: bool) {
        let clock = &self.worker.clock;
        let read_ns = clock.now_ns();
        let monotonic_ns = self.session.reply_arrived_ns();
        let stamp_ns = monotonic_ns.map(|at_ns| clock.convert_ns(at_ns));
        let accepted_ns = stamp_ns.filter(|stamp_ns| is_plausible(*stamp_ns, sent_ns, read_ns));
        let arrived_ns = accepted_ns.unwrap_or(read_ns);
        self.read_ns = Some(read_ns);
        self.arrived_ns = Some(arrived_ns);
        let recorder = &self.worker.recorder;
        if is_done {
            let delay_ns = accepted_ns.map(|stamp_ns| read_ns - stamp_ns);
            recorder.statement(label, arrived_ns - sent_ns, delay_ns);
        }
        if stamp_ns != accepted_ns {
            recorder.refused_stamp();
        }
    }
}

impl<C: Connect, K: Clock> Session for TimedSession<C, K> {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let label = self.worker.catalog.statements[statement as usize].label;
        let sent_ns = self.sent_ns();
        let reply = self.session.execute(statement, params).await;
        self.replied(label, sent_ns, reply.is_ok());
        reply
    }

    async fn query(&mut self, label: Label, sql: &str) -> Result<Reply, SessionError> {
        let sent_ns = self.sent_ns();
        let reply = self.session.query(label, sql).await;
        self.replied(label, sent_ns, reply.is_ok());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_counts_only_between_sending_and_reading() {
        let (sent_ns, read_ns) = (1_000, 2_000);
        for stamp_ns in [1_000, 1_500, 2_000] {
            assert!(is_plausible(stamp_ns, sent_ns, read_ns), "{stamp_ns}");
        }
        for stamp_ns in [0, 999, 2_001, u64::MAX] {
            assert!(!is_plausible(stamp_ns, sent_ns, read_ns), "{stamp_ns}");
        }
    }
}

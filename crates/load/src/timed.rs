//! The session that times each statement by the way.

use std::rc::Rc;

use workload::label::Label;
use workload::session::{Param, Reply, Session, SessionError};

use crate::shared::Shared;

/// A session whose statements are timed.
#[derive(Debug)]
pub(crate) struct Timed<S> {
    session: S,
    shared: Rc<Shared>,
    /// When the last reply was read, unless something else was waited for since. It
    /// is also when the next statement starts, so the clock is read once for both.
    read_ns: Option<u64>,
    /// When the last reply of the running transaction arrived.
    arrived_ns: Option<u64>,
}

/// When a reply was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// As the kernel stamped it.
    Stamped(u64),
    /// The kernel's stamp cannot be true, because a clock was set: when it was read.
    Refused,
    /// There is no stamp: when it was read.
    Unstamped,
}

impl Arrival {
    /// Of a reply that cannot have come before its statement was sent, nor after it
    /// was read.
    #[inline]
    fn of(stamp_ns: Option<u64>, sent_ns: u64, read_ns: u64) -> Self {
        match stamp_ns {
            Some(stamp_ns) if (sent_ns..=read_ns).contains(&stamp_ns) => Self::Stamped(stamp_ns),
            Some(_) => Self::Refused,
            None => Self::Unstamped,
        }
    }
}

impl<S: Session> Timed<S> {
    pub(crate) fn new(session: S, shared: &Rc<Shared>) -> Self {
        Self {
            session,
            shared: Rc::clone(shared),
            read_ns: None,
            arrived_ns: None,
        }
    }

    /// The time; right behind a reply, when that was read.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.read_ns.unwrap_or_else(|| self.shared.control.now_ns())
    }

    /// The end of a transaction: the arrival of its last reply, or now if it had none.
    #[inline]
    pub(crate) fn end_ns(&mut self) -> u64 {
        self.arrived_ns.take().unwrap_or_else(|| {
            self.waited();
            self.now_ns()
        })
    }

    /// Time has passed since the last reply.
    #[inline]
    pub(crate) fn waited(&mut self) {
        self.read_ns = None;
    }

    /// When a statement is sent that is sent now.
    #[inline]
    fn sent_ns(&mut self) -> u64 {
        let now_ns = self.now_ns();
        self.waited();
        now_ns
    }

    #[inline]
    fn replied(&mut self, label: Label, sent_ns: u64, is_done: bool) {
        let control = &self.shared.control;
        let read_ns = control.now_ns();
        let monotonic_ns = self.session.reply_arrived_ns();
        let stamp_ns = monotonic_ns.map(|at_ns| control.since_origin_ns(at_ns));
        let arrival = Arrival::of(stamp_ns, sent_ns, read_ns);
        let (arrived_ns, delay_ns) = match arrival {
            Arrival::Stamped(stamp_ns) => (stamp_ns, Some(read_ns - stamp_ns)),
            Arrival::Refused | Arrival::Unstamped => (read_ns, None),
        };
        self.read_ns = Some(read_ns);
        self.arrived_ns = Some(arrived_ns);
        let recorder = &self.shared.recorder;
        if is_done {
            recorder.statement(label, arrived_ns - sent_ns, delay_ns);
        }
        if arrival == Arrival::Refused {
            recorder.refused_stamp();
        }
    }
}

impl<S: Session> Session for Timed<S> {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let label = self.shared.catalog.statements[statement as usize].label;
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
        let of = |stamp_ns| Arrival::of(stamp_ns, sent_ns, read_ns);
        assert_eq!(of(None), Arrival::Unstamped);
        for stamp_ns in [1_000, 1_500, 2_000] {
            assert_eq!(of(Some(stamp_ns)), Arrival::Stamped(stamp_ns));
        }
        for stamp_ns in [0, 999, 2_001, u64::MAX] {
            assert_eq!(of(Some(stamp_ns)), Arrival::Refused, "{stamp_ns}");
        }
    }
}

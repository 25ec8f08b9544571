//! What a worker records, and the session that does it by the way.

use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use measure::slice::{ErrorCount, Slice};
use workload::catalog::{Catalog, Kind};
use workload::session::{Param, Reply, Session, SessionError};
use workload::user::Done;

use crate::arrivals::Schedule;
use crate::control::lock;
use crate::worker::Shared;

/// One worker's measurements. The lock is taken by its own thread, and once a
/// second, for an exchange, by the main thread: so all slices are cut at the same
/// instant, even if a worker hangs in a call.
#[derive(Debug)]
pub(crate) struct Recorder {
    slice: Mutex<Slice>,
    pub(crate) schedule: Mutex<Option<Schedule>>,
    /// For each user the intended start of its running transaction, plus one.
    running: Box<[AtomicU64]>,
    /// The worker's thread, as the kernel numbers it; 0 before it runs.
    pub(crate) thread: AtomicU32,
}

impl Recorder {
    pub(crate) fn new(kinds: usize, users: usize) -> Self {
        Self {
            slice: Mutex::new(Slice::new(kinds)),
            schedule: Mutex::default(),
            running: (0..users).map(|_| AtomicU64::new(0)).collect(),
            thread: AtomicU32::new(0),
        }
    }

    /// Puts an empty slice in place of the one that was recorded.
    pub(crate) fn exchange(&self, spare: &mut Slice) {
        std::mem::swap(&mut *lock(&self.slice), spare);
    }

    /// User `user` of this worker has begun what was to start at `intended_ns`.
    pub(crate) fn begin(&self, user: usize, intended_ns: u64) {
        self.running[user].store(intended_ns + 1, Ordering::Relaxed);
    }

    pub(crate) fn idle(&self, user: usize) {
        self.running[user].store(0, Ordering::Relaxed);
    }

    /// The intended starts of all running transactions.
    pub(crate) fn running(&self) -> impl Iterator<Item = u64> {
        self.running
            .iter()
            .filter_map(|start| start.load(Ordering::Relaxed).checked_sub(1))
    }

    pub(crate) fn transaction(&self, response_ns: u64, service_ns: Option<u64>, done: Done) {
        let mut slice = lock(&self.slice);
        slice.response.record(response_ns);
        if let Some(service_ns) = service_ns {
            slice.service.record(service_ns);
        }
        slice.lookups += u64::from(done.lookups);
        slice.misses += u64::from(done.misses);
    }

    pub(crate) fn lateness(&self, late_ns: u64) {
        lock(&self.slice).lateness.record(late_ns);
    }

    pub(crate) fn reconnected(&self) {
        lock(&self.slice).reconnects += 1;
    }

    pub(crate) fn error(&self, error: &SessionError, action: &str) {
        let mut slice = lock(&self.slice);
        let entry = slice
            .errors
            .entry(error.code)
            .or_insert_with(|| ErrorCount {
                count: 0,
                example: error.message.clone(),
                action: action.to_owned(),
            });
        entry.count += 1;
    }

    fn statement(&self, kind: usize, duration_ns: u64) {
        lock(&self.slice).statements[kind].record(duration_ns);
    }
}

/// Where each statement's time is recorded.
#[derive(Debug)]
pub(crate) struct KindIndex {
    kinds: Vec<Kind>,
    by_statement: Vec<u8>,
}

impl KindIndex {
    pub(crate) fn new(catalog: &Catalog, kinds: &[Kind]) -> Self {
        let mut index = Self {
            kinds: kinds.to_vec(),
            by_statement: Vec::new(),
        };
        let statements = catalog.statements.iter();
        index.by_statement = statements
            .map(|statement| index.of(statement.kind) as u8)
            .collect();
        index
    }

    /// The place of a kind; every kind that a workload sends is in its list.
    fn of(&self, kind: Kind) -> usize {
        self.kinds
            .iter()
            .position(|known| *known == kind)
            .unwrap_or(0)
    }
}

/// A session whose statements are timed.
#[derive(Debug)]
pub(crate) struct Timed<S> {
    pub(crate) session: S,
    pub(crate) shared: Rc<Shared>,
}

impl<S: Session> Timed<S> {
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
        let kind = self.shared.kinds.by_statement[statement as usize];
        let running = self.session.execute(statement, params);
        Self::timed(&self.shared, usize::from(kind), running).await
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

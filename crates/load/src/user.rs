//! A virtual user: one connection that runs one transaction after another.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use client::reactor::before;
use rand::RngExt;
use workload::session::{Connect, FailureKind, Session, SessionError};
use workload::virtual_user::{Done, VirtualUser};

use crate::arrivals::NextAction;
use crate::clock::{Clock, ns};
use crate::control::Stage;
use crate::outage::Outage;
use crate::timed_session::TimedSession;
use crate::worker::{EndedGuard, Worker};

struct LoadOver;

struct ConnectedUser<'a, C: Connect, K, U> {
    worker: &'a Rc<Worker<C, K>>,
    index: usize,
    /// The user is active while the phase of the load has more users than this.
    rank: u32,
    /// Boxed, because moving it from one future into another would reserve space in each.
    user: Box<U>,
    session: TimedSession<C, K>,
    outage: Outage,
    /// The intended starts of transactions that `user` has not sent yet.
    unsent: Vec<u64>,
    /// Start of the running transaction's latest attempt.
    attempt_ns: u64,
}

/// Runs a user until the load ends. `index` is its index on its worker.
pub(crate) async fn run<C, K, U>(worker: Rc<Worker<C, K>>, index: usize, user: Box<U>)
where
    C: Connect,
    K: Clock,
    U: VirtualUser,
{
    // Counts the user as ended even if the task is dropped.
    let _ended = EndedGuard(Arc::clone(&worker.control));
    let mut user = ConnectedUser {
        worker: &worker,
        index,
        rank: worker.spec.rank(worker.number, index as u32),
        user,
        session: TimedSession::new(&worker),
        outage: Outage::default(),
        unsent: Vec::new(),
        attempt_ns: 0,
    };
    // A failure ends the load before it starts.
    if let Err(error) = Box::pin(user.user.start(&mut user.session)).await {
        worker.control.fail(error);
        return;
    }
    worker.control.user_connected();
    worker.reached(Stage::Run).await;
    // The user ends in either case.
    let _ = user.run().await;
    // Otherwise, the server would count the connection as aborted.
    Box::pin(user.session.close()).await;
}

impl<C: Connect, K: Clock, U: VirtualUser> ConnectedUser<'_, C, K, U> {
    async fn run(&mut self) -> Result<(), LoadOver> {
        while let Some(intended_ns) = self.next_start().await {
            let worker = self.worker;
            let recorder = &worker.recorder;
            recorder.begin(self.index, intended_ns);
            if worker.control.is_gate_closed() {
                recorder.idle(self.index);
                worker.gate_opened().await;
                self.session.waited();
                continue;
            }
            let served = self.serve(intended_ns).await;
            recorder.idle(self.index);
            if served?.is_last {
                break;
            }
            self.think().await;
        }
        Box::pin(self.finish()).await
    }

    /// Waits for the next transaction; returns its intended start, `None` if no further one may
    /// start.
    async fn next_start(&mut self) -> Option<u64> {
        self.become_active().await;
        let worker = self.worker;
        let intended_ns = match worker.is_open_loop {
            true => self.next_arrival().await?,
            false => self.session.now_ns(),
        };
        let control = &worker.control;
        (!control.reached(Stage::Stop) && control.take_ticket()).then_some(intended_ns)
    }

    /// Waits while the phase of the load has too few active users.
    async fn become_active(&mut self) {
        let worker = self.worker;
        let control = &worker.control;
        while !control.reached(Stage::Stop)
            && let Some(until_ns) = control.inactive_until(self.rank, || self.session.now_ns())
        {
            worker.sleep_until(until_ns).await;
            self.session.waited();
        }
    }

    /// Waits for an arrival; returns when it was due, or `None` if the load stops.
    async fn next_arrival(&mut self) -> Option<u64> {
        let worker = self.worker;
        while !worker.control.reached(Stage::Stop) {
            let now_ns = self.session.now_ns();
            match worker.control.take_arrival(now_ns)? {
                NextAction::Start {
                    due_ns,
                    was_awaited,
                } => {
                    if was_awaited {
                        worker.recorder.lateness(now_ns - due_ns);
                    }
                    return Some(due_ns);
                }
                NextAction::Sleep { until_ns } => {
                    worker.sleep_until(until_ns).await;
                    self.session.waited();
                }
            }
        }
        None
    }

    async fn think(&mut self) {
        let (worker, think) = (self.worker, self.worker.spec.think);
        if !think.mean.is_zero() {
            let pause = think.sample(|| worker.rng.borrow_mut().random());
            worker.sleep(ns(pause)).await;
            self.session.waited();
        } else if worker.is_kept_by(self.index, self.attempt_ns) {
            worker.clock.yield_now().await;
            self.session.waited();
        }
    }

    /// Runs a transaction and repeats it until it succeeds.
    async fn serve(&mut self, intended_ns: u64) -> Result<Done, LoadOver> {
        let started_ns = self.session.now_ns();
        self.attempt_ns = started_ns;
        loop {
            match self.user.transaction(&mut self.session).await {
                Ok(done) => {
                    self.outage.end(&self.worker.control);
                    let end_ns = self.session.end_ns();
                    if !done.is_last {
                        self.record(intended_ns, started_ns, end_ns, done);
                    }
                    return Ok(done);
                }
                Err(error) => Box::pin(self.recover(error)).await?,
            }
            if self.worker.control.reached(Stage::Stop) {
                return Err(LoadOver);
            }
            self.attempt_ns = self.worker.clock.now_ns();
        }
    }

    /// Lets the user clean up, and send what it has buffered: the rows of a bulk insert.
    async fn finish(&mut self) -> Result<(), LoadOver> {
        let Some(oldest_ns) = self.unsent.first() else {
            let finished = self.user.finish(&mut self.session).await;
            return finished.map_err(|error| {
                self.worker.control.fail(error);
                LoadOver
            });
        };
        let recorder = &self.worker.recorder;
        recorder.begin(self.index, *oldest_ns);
        let started_ns = self.session.now_ns();
        self.attempt_ns = started_ns;
        while let Err(error) = self.user.finish(&mut self.session).await {
            Box::pin(self.recover(error)).await?;
            self.attempt_ns = self.worker.clock.now_ns();
        }
        let end_ns = self.session.end_ns();
        self.record_sent(started_ns, end_ns);
        recorder.idle(self.index);
        Ok(())
    }

    /// Records a transaction, unless the user buffers it to send it with others.
    fn record(&mut self, intended_ns: u64, started_ns: u64, end_ns: u64, done: Done) {
        if self.unsent.is_empty() && self.user.unsent() == 0 {
            self.record_one(intended_ns, started_ns, end_ns, done);
        } else {
            self.unsent.push(intended_ns);
            self.record_sent(started_ns, end_ns);
        }
    }

    /// Records the transactions that were sent between `started_ns` and `end_ns`.
    fn record_sent(&mut self, started_ns: u64, end_ns: u64) {
        let sent = self.unsent.len().saturating_sub(self.user.unsent());
        for intended_ns in &self.unsent[..sent] {
            self.record_one(*intended_ns, started_ns, end_ns, Done::default());
        }
        self.unsent.drain(..sent);
    }

    fn record_one(&self, intended_ns: u64, started_ns: u64, end_ns: u64, done: Done) {
        let worker = self.worker;
        let service_ns = worker
            .is_open_loop
            .then(|| end_ns.saturating_sub(started_ns));
        let response_ns = end_ns.saturating_sub(intended_ns);
        worker.recorder.transaction(
            self.index,
            self.attempt_ns,
            end_ns,
            response_ns,
            service_ns,
            done,
        );
    }

    /// Prepares the session for another attempt: rolls back or reconnects after an error.
    async fn recover(&mut self, error: SessionError) -> Result<(), LoadOver> {
        // Transactions that the user no longer buffers were sent, and are lost.
        let lost = self.unsent.len().saturating_sub(self.user.unsent());
        self.unsent.drain(..lost);
        let worker = self.worker;
        let mut error = error;
        loop {
            match error.kind {
                FailureKind::Lost | FailureKind::Away => {
                    worker.error(&error, "reconnected");
                    return self.reconnect(error).await;
                }
                FailureKind::Restart => worker.error(&error, "restarted"),
                // After a violation of the protocol, the connection is out of step.
                FailureKind::Refused if worker.ignores(&error) && !error.is_from_server() => {
                    error.kind = FailureKind::Lost;
                    continue;
                }
                FailureKind::Refused if worker.ignores(&error) => {
                    worker.error(&error, "ignored");
                }
                FailureKind::Refused | FailureKind::Script => {
                    worker.error(&error, "stopped the load");
                    worker.control.fail(error);
                    return Err(LoadOver);
                }
            }
            match self.session.rollback().await {
                Ok(()) => return Ok(()),
                Err(failed) => error = failed,
            }
        }
    }

    /// Opens a new connection, however long that takes.
    async fn reconnect(&mut self, error: SessionError) -> Result<(), LoadOver> {
        let worker = self.worker;
        let control = &worker.control;
        let (mut error, mut route) = (error, worker.connector.route());
        loop {
            if worker.connector.route() != route {
                // These servers have not refused a connection yet.
                self.outage.restart();
            }
            let outage = &mut self.outage;
            let wait = outage.wait_after(control, &error, &mut worker.rng.borrow_mut());
            if !wait.is_zero() {
                let waited = worker.sleep(ns(wait));
                before(worker.connector.rerouted(route), waited).await;
            }
            if worker.connector.route().is_none() {
                self.outage.count_away(control, &error);
            }
            worker.wait_for_route().await;
            if control.reached(Stage::Stop) {
                return Err(LoadOver);
            }
            let attempt = worker.unless_stopped(async {
                let _permit = worker.connecting.acquire().await;
                route = worker.connector.route();
                self.session.reopen().await
            });
            match attempt.await.ok_or(LoadOver)? {
                Ok(()) => {
                    worker.recorder.reconnected();
                    return Ok(());
                }
                Err(failed) => {
                    worker.error(&failed, "reconnected");
                    error = failed;
                }
            }
        }
    }
}

impl<C: Connect, K: Clock> Worker<C, K> {
    /// Opens a connection. Boxed, like everything that a user does rarely: otherwise, each waiting
    /// user would hold the memory of a login.
    pub(crate) async fn connect(&self) -> Result<C::Session, SessionError> {
        Box::pin(self.connector.connect(&self.catalog)).await
    }

    /// Waits until there is a server to connect to, or until the load stops.
    pub(crate) async fn wait_for_route(&self) {
        while self.connector.route().is_none() && !self.control.reached(Stage::Stop) {
            let stopped = self.reached(Stage::Stop);
            before(stopped, self.connector.rerouted(None)).await;
        }
    }

    /// Records an error that a user has just received, and what the user does about it.
    pub(crate) fn error(&self, error: &SessionError, action: &'static str) {
        self.recorder.error(self.clock.now_ns(), error, action);
    }

    /// Waits until the load reaches `stage`.
    async fn reached(&self, stage: Stage) {
        // A change of the stage wakes every task.
        poll_fn(|_| match self.control.reached(stage) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// Waits until the load's turn comes, or until the load stops.
    async fn gate_opened(&self) {
        // The opening of the gate wakes every task.
        poll_fn(|_| {
            let is_closed = self.control.is_gate_closed();
            match is_closed && !self.control.reached(Stage::Stop) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
    }

    /// Waits for `length_ns`, or until the load stops.
    pub(crate) async fn sleep(&self, length_ns: u64) {
        self.sleep_until(self.clock.now_ns().saturating_add(length_ns))
            .await;
    }

    /// Waits until `until_ns`, or until the load stops.
    async fn sleep_until(&self, until_ns: u64) {
        self.unless_stopped(self.clock.sleep_until(until_ns)).await;
    }

    /// The output of `future`; `None` if the load stops first.
    async fn unless_stopped<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        poll_fn(|cx| match self.control.reached(Stage::Stop) {
            true => Poll::Ready(None),
            false => future.as_mut().poll(cx).map(Some),
        })
        .await
    }
}

//! A virtual user: one connection, one transaction after the other.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use client::reactor::sleep_until;
use workload::session::{Connect, FailureKind, Session, SessionError};
use workload::virtual_user::{Done, VirtualUser};

use crate::arrivals::Take;
use crate::control::Stage;
use crate::outage::Outage;
use crate::shared::{Shared, Worker};
use crate::timed::Timed;

/// The load is over; there is nothing to return.
struct Over;

/// A virtual user with its connection.
struct Life<'a, C: Connect, U> {
    worker: &'a Worker<C>,
    /// The user's number on its worker.
    place: usize,
    user: U,
    session: Timed<C::Session>,
    outage: Outage,
    /// The intended starts of transactions that wait in the user to be sent.
    unsent: Vec<u64>,
}

/// Lives until the load ends. `place` is the user's number on its worker.
pub(crate) async fn live<C, U>(worker: Rc<Worker<C>>, place: usize, user: U)
where
    C: Connect,
    U: VirtualUser,
{
    // Counted however the task ends, also when it is dropped.
    let _ended = worker.shared.ended_guard();
    let Some(session) = open_first(&worker).await else {
        return;
    };
    worker.shared.control.user_connected();
    worker.shared.reached(Stage::Run).await;
    let mut life = Life {
        worker: &worker,
        place,
        user,
        session,
        outage: Outage::new(&worker.shared.control),
        unsent: Vec::new(),
    };
    // Over or not: it is the end.
    let _ = life.run().await;
    // A server counts who leaves without a word.
    life.session.close().await;
}

/// Opens the connection; a failure ends the load before it begins.
async fn open_first<C: Connect>(worker: &Worker<C>) -> Option<Timed<C::Session>> {
    let _permit = worker.connecting.acquire().await;
    if worker.shared.control.reached(Stage::Stop) {
        return None;
    }
    match worker.connector.connect(&worker.shared.catalog).await {
        Ok(session) => Some(Timed::new(session, &worker.shared)),
        Err(error) => {
            worker.shared.control.fail(error);
            None
        }
    }
}

impl<C: Connect, U: VirtualUser> Life<'_, C, U> {
    /// One transaction after the other, until the load ends.
    async fn run(&mut self) -> Result<(), Over> {
        while let Some(intended_ns) = self.next_start().await {
            let recorder = &self.worker.shared.recorder;
            recorder.begin(self.place, intended_ns);
            let served = self.serve(intended_ns).await;
            recorder.idle(self.place);
            served?;
            self.think().await;
        }
        self.finish().await
    }

    /// When the next transaction was to start; `None` when no more are to.
    async fn next_start(&mut self) -> Option<u64> {
        let shared = &self.worker.shared;
        let intended_ns = match shared.is_open_loop {
            true => self.next_arrival().await?,
            false => self.session.now_ns(),
        };
        let control = &shared.control;
        (!control.reached(Stage::Stop) && control.take_ticket()).then_some(intended_ns)
    }

    /// Waits for an arrival to start; gives when it was due, or `None` when the load stops.
    async fn next_arrival(&mut self) -> Option<u64> {
        let shared = &self.worker.shared;
        while !shared.control.reached(Stage::Stop) {
            let now_ns = self.session.now_ns();
            match shared.control.take_arrival(now_ns)? {
                Take::Start {
                    due_ns,
                    was_awaited,
                } => {
                    if was_awaited {
                        shared.recorder.lateness(now_ns - due_ns);
                    }
                    return Some(due_ns);
                }
                Take::Sleep { until_ns } => {
                    shared.sleep(shared.control.instant(until_ns)).await;
                    self.session.waited();
                }
            }
        }
        None
    }

    async fn think(&mut self) {
        let think = self.worker.think;
        if !think.is_zero() {
            self.worker.shared.sleep(Instant::now() + think).await;
            self.session.waited();
        }
    }

    /// Runs one transaction, again and again until it is through.
    async fn serve(&mut self, intended_ns: u64) -> Result<(), Over> {
        let started_ns = self.session.now_ns();
        loop {
            match self.user.transaction(&mut self.session).await {
                Ok(done) => {
                    self.outage.over();
                    let end_ns = self.session.end_ns();
                    self.record(intended_ns, started_ns, end_ns, done);
                    return Ok(());
                }
                Err(error) => self.recover(error).await?,
            }
            if self.worker.shared.control.reached(Stage::Stop) {
                return Err(Over);
            }
        }
    }

    /// Sends what still waits in the user: the rows of a bulk insert.
    async fn finish(&mut self) -> Result<(), Over> {
        let Some(oldest_ns) = self.unsent.first() else {
            return Ok(());
        };
        let recorder = &self.worker.shared.recorder;
        recorder.begin(self.place, *oldest_ns);
        let started_ns = self.session.now_ns();
        while let Err(error) = self.user.finish(&mut self.session).await {
            self.recover(error).await?;
        }
        let end_ns = self.session.end_ns();
        self.record_sent(started_ns, end_ns);
        recorder.idle(self.place);
        Ok(())
    }

    /// Records a transaction, unless it waits in the user to be sent with others.
    fn record(&mut self, intended_ns: u64, started_ns: u64, end_ns: u64, done: Done) {
        if self.unsent.is_empty() && self.user.unsent() == 0 {
            self.record_one(intended_ns, started_ns, end_ns, done);
        } else {
            self.unsent.push(intended_ns);
            self.record_sent(started_ns, end_ns);
        }
    }

    /// Records the transactions that were sent by what began at `started_ns`.
    fn record_sent(&mut self, started_ns: u64, end_ns: u64) {
        let sent = self.unsent.len().saturating_sub(self.user.unsent());
        for place in 0..sent {
            self.record_one(self.unsent[place], started_ns, end_ns, Done::default());
        }
        self.unsent.drain(..sent);
    }

    fn record_one(&self, intended_ns: u64, started_ns: u64, end_ns: u64, done: Done) {
        let shared = &self.worker.shared;
        let service_ns = shared
            .is_open_loop
            .then(|| end_ns.saturating_sub(started_ns));
        let response_ns = end_ns.saturating_sub(intended_ns);
        shared
            .recorder
            .transaction(end_ns, response_ns, service_ns, done);
    }

    /// Makes the session fit for another attempt.
    async fn recover(&mut self, error: SessionError) -> Result<(), Over> {
        // What the user does not keep to send it again is lost.
        let lost = self.unsent.len().saturating_sub(self.user.unsent());
        self.unsent.drain(..lost);
        let recorder = &self.worker.shared.recorder;
        let mut error = error;
        loop {
            match error.kind {
                FailureKind::Lost | FailureKind::Away => {
                    recorder.error(&error, "reconnected");
                    return self.reconnect(error).await;
                }
                FailureKind::Restart => recorder.error(&error, "restarted"),
                FailureKind::Refused if self.worker.ignored_errors.contains(&error.code) => {
                    recorder.error(&error, "ignored");
                }
                FailureKind::Refused => {
                    recorder.error(&error, "stopped the load");
                    self.worker.shared.control.fail(error);
                    return Err(Over);
                }
            }
            match self.session.rollback().await {
                Ok(()) => return Ok(()),
                Err(failed) => error = failed,
            }
        }
    }

    /// Opens a new connection, however long the server is away.
    async fn reconnect(&mut self, error: SessionError) -> Result<(), Over> {
        let (worker, shared) = (self.worker, &self.worker.shared);
        let mut error = error;
        loop {
            let wait = self.outage.lost(&error, &mut worker.rng.borrow_mut());
            if !wait.is_zero() {
                shared.sleep(Instant::now() + wait).await;
            }
            if shared.control.reached(Stage::Stop) {
                return Err(Over);
            }
            let attempt = {
                let _permit = worker.connecting.acquire().await;
                worker.connector.connect(&worker.shared.catalog).await
            };
            match attempt {
                Ok(fresh) => {
                    shared.recorder.reconnected();
                    self.session = Timed::new(fresh, shared);
                    return Ok(());
                }
                Err(failed) => {
                    shared.recorder.error(&failed, "reconnected");
                    error = failed;
                }
            }
        }
    }
}

impl Shared {
    /// Waits until the load is at `stage`.
    async fn reached(&self, stage: Stage) {
        // Every change of the stage has all tasks polled.
        poll_fn(|_| {
            if self.control.reached(stage) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Waits until `until`, or until the load stops.
    async fn sleep(&self, until: Instant) {
        let mut sleep = std::pin::pin!(sleep_until(until));
        poll_fn(|context| {
            if self.control.reached(Stage::Stop) {
                return Poll::Ready(());
            }
            sleep.as_mut().poll(context)
        })
        .await;
    }
}

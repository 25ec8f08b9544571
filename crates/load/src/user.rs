//! A virtual user: one connection, one transaction after the other.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use client::reactor::sleep_until;
use workload::session::{Connect, FailureKind, Session, SessionError};
use workload::user::{Done, User};

use crate::arrivals::Take;
use crate::control::Stage;
use crate::shared::{Shared, Worker};
use crate::timed::Timed;

/// Waits between attempts to reconnect grow from this…
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// …to this.
const LONGEST_BACKOFF: Duration = Duration::from_secs(5);

/// The load is over; there is nothing to return.
struct Over;

/// Lives until the load ends. `place` is the user's number on its worker.
pub(crate) async fn live<C: Connect>(worker: Rc<Worker<C>>, place: usize, mut user: User) {
    // Counted however the task ends, also when it is dropped.
    let _ended = worker.shared.ended_guard();
    let Some(mut session) = open_first(&worker).await else {
        return;
    };
    worker.shared.connected();
    worker.shared.reached(Stage::Run).await;
    while let Some(intended_ns) = next_start(&worker.shared, &mut session).await {
        worker.shared.recorder.begin(place, intended_ns);
        let served = serve(&worker, &mut user, &mut session, intended_ns).await;
        worker.shared.recorder.idle(place);
        if served.is_err() {
            // A server counts who leaves without a word.
            session.close().await;
            return;
        }
        if !worker.think.is_zero() {
            let until = Instant::now() + worker.think;
            worker.shared.sleep(until).await;
            session.waited();
        }
    }
    if let Err(error) = user.finish(&mut session).await {
        worker.shared.control.fail(error);
    }
    session.close().await;
}

/// Opens the connection; a failure ends the load before it begins.
async fn open_first<C: Connect>(worker: &Worker<C>) -> Option<Timed<C::Session>> {
    let _permit = worker.connecting.acquire().await;
    if worker.shared.control.reached(Stage::Stop) {
        return None;
    }
    match worker.connector.connect(&worker.catalog).await {
        Ok(session) => Some(Timed::new(session, &worker.shared)),
        Err(error) => {
            worker.shared.control.fail(error);
            None
        }
    }
}

/// When the next transaction was to start; `None` when no more are to.
async fn next_start<S: Session>(shared: &Shared, session: &mut Timed<S>) -> Option<u64> {
    let intended_ns = match shared.is_open_loop {
        true => next_arrival(shared, session).await?,
        false => session.now_ns(),
    };
    let control = &shared.control;
    (!control.reached(Stage::Stop) && control.take_ticket()).then_some(intended_ns)
}

/// Waits for an arrival to start; gives when it was due, or `None` when the load stops.
async fn next_arrival<S: Session>(shared: &Shared, session: &mut Timed<S>) -> Option<u64> {
    let control = &shared.control;
    while !control.reached(Stage::Stop) {
        let now_ns = session.now_ns();
        match control.take_arrival(now_ns)? {
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
                shared.sleep(control.instant(until_ns)).await;
                session.waited();
            }
        }
    }
    None
}

/// Runs one transaction, again and again until it is through.
async fn serve<C: Connect>(
    worker: &Worker<C>,
    user: &mut User,
    session: &mut Timed<C::Session>,
    intended_ns: u64,
) -> Result<(), Over> {
    let control = &worker.shared.control;
    let started_ns = session.now_ns();
    loop {
        match user.transaction(session).await {
            Ok(done) => {
                let end_ns = session.end_ns();
                record(&worker.shared, end_ns, intended_ns, started_ns, done);
                return Ok(());
            }
            Err(error) => recover(worker, session, error).await?,
        }
        if control.reached(Stage::Stop) {
            return Err(Over);
        }
    }
}

fn record(shared: &Shared, end_ns: u64, intended_ns: u64, started_ns: u64, done: Done) {
    let service_ns = shared
        .is_open_loop
        .then(|| end_ns.saturating_sub(started_ns));
    let response_ns = end_ns.saturating_sub(intended_ns);
    shared.recorder.transaction(response_ns, service_ns, done);
}

/// Makes the session fit for another attempt.
async fn recover<C: Connect>(
    worker: &Worker<C>,
    session: &mut Timed<C::Session>,
    error: SessionError,
) -> Result<(), Over> {
    let recorder = &worker.shared.recorder;
    let mut error = error;
    loop {
        match error.kind {
            FailureKind::Lost => {
                recorder.error(&error, "reconnected");
                return reconnect(worker, session).await;
            }
            FailureKind::Restart => recorder.error(&error, "restarted"),
            FailureKind::Refused if worker.ignored_errors.contains(&error.code) => {
                recorder.error(&error, "ignored");
            }
            FailureKind::Refused => {
                recorder.error(&error, "stopped the load");
                worker.shared.control.fail(error);
                return Err(Over);
            }
        }
        match session.rollback().await {
            Ok(()) => return Ok(()),
            Err(failed) => error = failed,
        }
    }
}

/// Opens a new connection, however long the server is away.
async fn reconnect<C: Connect>(
    worker: &Worker<C>,
    session: &mut Timed<C::Session>,
) -> Result<(), Over> {
    let shared = &worker.shared;
    let mut backoff = FIRST_BACKOFF;
    loop {
        if shared.control.reached(Stage::Stop) {
            return Err(Over);
        }
        let attempt = {
            let _permit = worker.connecting.acquire().await;
            worker.connector.connect(&worker.catalog).await
        };
        match attempt {
            Ok(fresh) => {
                shared.recorder.reconnected();
                *session = Timed::new(fresh, &worker.shared);
                return Ok(());
            }
            Err(error) => shared.recorder.error(&error, "reconnected"),
        }
        shared.sleep(Instant::now() + backoff).await;
        backoff = (backoff * 2).min(LONGEST_BACKOFF);
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

//! The side of the other host: answers requests until the connection ends.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::BEGIN;
use super::clock::Reading;
use super::frame::{self, Reply, Request};
use crate::failure::Failure;
use crate::locked;

/// Maximum number of requests that are answered at once.
const MAX_AT_ONCE: u64 = 256;
/// After so long without a request, the connection is lost: dyno reads the clock more often.
const SILENCE: Duration = Duration::from_secs(60);

/// Answers requests that arrive on `from`, each on a thread of its own. The flag that `answer` gets
/// becomes true when the answer is no longer wanted. `origin` is when the steady clock began.
pub fn serve<A: DeserializeOwned>(
    mut from: impl Read + AsFd,
    mut to: impl Write + Send,
    origin: Instant,
    answer: impl Fn(A, &AtomicBool) -> Result<Value, Failure> + Sync,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::server(format!("the connection is lost: {error}"));
    writeln!(to, "{BEGIN}")
        .and_then(|()| to.flush())
        .map_err(failed)?;
    let (to, answer) = (&Mutex::new(to), &answer);
    let wanted: &Mutex<BTreeMap<u64, Arc<AtomicBool>>> = &Mutex::default();
    let running = &AtomicU64::new(0);
    let reply = move |id, answer| {
        // If the connection is lost, reading notices it.
        let _ = frame::write(&mut *locked(to), &Reply { id, answer });
    };
    thread::scope(|scope| {
        let served = loop {
            match heard(&from, SILENCE).and_then(|()| frame::read(&mut from)) {
                Ok(None) => break Ok(()),
                Err(error) => break Err(failed(error)),
                Ok(Some(Request::Clock { id })) => {
                    reply(id, sent(Reading::now(origin)));
                }
                Ok(Some(Request::Cancel { id })) => {
                    if let Some(over) = locked(wanted).get(&id) {
                        over.store(true, Ordering::Relaxed);
                    }
                }
                Ok(Some(Request::Ask { id, .. }))
                    if running.load(Ordering::Relaxed) >= MAX_AT_ONCE =>
                {
                    reply(id, Err(Failure::internal("too many requests at once")));
                }
                Ok(Some(Request::Ask { id, ask })) => {
                    let over = Arc::new(AtomicBool::new(false));
                    locked(wanted).insert(id, Arc::clone(&over));
                    running.fetch_add(1, Ordering::Relaxed);
                    scope.spawn(move || {
                        let answered = match serde_json::from_value(ask) {
                            Ok(ask) => answer(ask, &over),
                            Err(error) => Err(Failure::internal(format!("bad request: {error}"))),
                        };
                        locked(wanted).remove(&id);
                        running.fetch_sub(1, Ordering::Relaxed);
                        reply(id, answered);
                    });
                }
            }
        };
        for over in locked(wanted).values() {
            over.store(true, Ordering::Relaxed);
        }
        served
    })
}

/// Waits until there is something to read.
fn heard(from: &impl AsFd, limit: Duration) -> io::Result<()> {
    let limit = Timespec::try_from(limit).ok();
    let mut pipe = [PollFd::new(from, PollFlags::IN)];
    match retry_on_intr(|| poll(&mut pipe, limit.as_ref()))? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

fn sent(value: impl serde::Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| Failure::internal(format!("bad answer: {error}")))
}

#[cfg(test)]
mod tests {
    use std::thread::{sleep, spawn};

    use super::*;
    use crate::failure::canceled;

    /// Adds 1, and to 0 only once that is no longer wanted.
    fn add(ask: u32, over: &AtomicBool) -> Result<Value, Failure> {
        while ask == 0 && !over.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(1));
        }
        match ask {
            0 => Err(canceled()),
            _ => sent(ask + 1),
        }
    }

    #[test]
    fn requests_are_answered_until_they_are_canceled_or_the_connection_ends() {
        let (from, mut requests) = io::pipe().unwrap();
        let (mut answers, to) = io::pipe().unwrap();
        let served = spawn(|| serve(from, to, Instant::now(), add));
        let mut begin = vec![0; BEGIN.len() + 1];
        answers.read_exact(&mut begin).unwrap();
        let mut ask = |id, ask: u32| {
            let ask = Value::from(ask);
            frame::write(&mut requests, &Request::Ask { id, ask }).unwrap();
        };
        let mut answer = || {
            let reply: Reply = frame::read(&mut answers).unwrap().unwrap();
            (reply.id, reply.answer)
        };
        // The first one does not keep the second one waiting.
        ask(1, 0);
        ask(2, 41);
        assert_eq!(answer(), (2, Ok(Value::from(42))));
        ask(3, 0);
        frame::write(&mut requests, &Request::Cancel { id: 3 }).unwrap();
        assert_eq!(answer(), (3, Err(canceled())));
        drop(requests);
        assert_eq!(answer(), (1, Err(canceled())));
        served.join().unwrap().unwrap();
    }

    #[test]
    fn a_connection_on_which_nothing_comes_is_lost() {
        let (from, _requests) = io::pipe().unwrap();
        let silent = heard(&from, Duration::from_millis(10)).unwrap_err();
        assert_eq!(silent.kind(), io::ErrorKind::TimedOut);
    }
}

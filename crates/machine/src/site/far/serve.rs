//! The side of the other host: answers requests until the connection ends.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::BEGIN;
use super::clock;
use super::frame::{self, Reply, Request};
use crate::failure::Failure;
use crate::locked;

/// Maximum number of requests that are answered at once.
const MAX_AT_ONCE: usize = 256;
/// If no request arrives, or no part of an answer can be sent, for so long, the connection is lost:
/// dyno reads the clock more often.
const SILENCE: Duration = Duration::from_secs(60);
/// What can be written without waiting if anything can.
const PIECE_BYTES: usize = 4096;

/// Answers requests that arrive on `from`, each on a thread of its own. The flag that `answer` gets
/// becomes true when the answer is no longer wanted. `origin` is when the steady clock began.
pub fn serve<A: DeserializeOwned>(
    from: impl Read + AsFd,
    to: impl Write + AsFd + Send,
    origin: Instant,
    answer: impl Fn(A, &AtomicBool) -> Result<Value, Failure> + Sync,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::server(format!("the connection is lost: {error}"));
    let (mut from, mut to) = (BufReader::new(Timed::new(from)), Timed::new(to));
    writeln!(to, "{BEGIN}")
        .and_then(|()| to.flush())
        .map_err(failed)?;
    let (to, answer) = (&Mutex::new(to), &answer);
    let wanted: &Mutex<BTreeMap<u64, Arc<AtomicBool>>> = &Mutex::default();
    let reply = move |id, answer| {
        let mut to = locked(to);
        if let Err(error) = frame::write(&mut *to, &Reply { id, answer }) {
            // It is too long, and dyno waits for another one. If the connection is lost, reading
            // notices it.
            let answer = Err(Failure::internal(format!("bad answer: {error}")));
            let _ = frame::write(&mut *to, &Reply { id, answer });
        }
    };
    thread::scope(|scope| {
        let served = loop {
            match frame::read(&mut from) {
                Ok(None) => break Ok(()),
                Err(error) => break Err(failed(error)),
                Ok(Some(Request::Clock { id })) => {
                    let read = serde_json::to_value(clock::now(origin));
                    reply(id, read.map_err(Failure::internal));
                }
                Ok(Some(Request::Cancel { id })) => {
                    if let Some(over) = locked(wanted).get(&id) {
                        over.store(true, Ordering::Relaxed);
                    }
                }
                Ok(Some(Request::Ask { id, .. })) if locked(wanted).len() >= MAX_AT_ONCE => {
                    reply(id, Err(Failure::internal("too many requests at once")));
                }
                Ok(Some(Request::Ask { id, ask })) => {
                    let over = Arc::new(AtomicBool::new(false));
                    locked(wanted).insert(id, Arc::clone(&over));
                    scope.spawn(move || {
                        let answered = match serde_json::from_value(ask) {
                            Ok(ask) => catch_unwind(AssertUnwindSafe(|| answer(ask, &over)))
                                .unwrap_or_else(|_| Err(Failure::internal("it panicked"))),
                            Err(error) => Err(Failure::internal(format!("bad request: {error}"))),
                        };
                        locked(wanted).remove(&id);
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

/// Fails if nothing comes, or nothing can be sent, within a limit, also in the middle of a message.
struct Timed<P> {
    pipe: P,
    limit: Duration,
    /// Whether a message was cut short, so that what followed it would be read as its rest.
    is_cut: bool,
}

impl<P> Timed<P> {
    fn new(pipe: P) -> Self {
        Self {
            pipe,
            limit: SILENCE,
            is_cut: false,
        }
    }
}

impl<P: AsFd> Timed<P> {
    fn wait_for(&self, what: PollFlags) -> io::Result<()> {
        let limit = Timespec::try_from(self.limit).ok();
        let mut pipe = [PollFd::new(&self.pipe, what)];
        match retry_on_intr(|| poll(&mut pipe, limit.as_ref()))? {
            0 => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }
}

impl<R: Read + AsFd> Read for Timed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait_for(PollFlags::IN)?;
        self.pipe.read(buffer)
    }
}

impl<W: Write + AsFd> Write for Timed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_cut {
            let waited = self.wait_for(PollFlags::OUT);
            self.is_cut = waited.is_err();
            waited?;
            return self.pipe.write(&bytes[..bytes.len().min(PIECE_BYTES)]);
        }
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pipe.flush()
    }
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
            _ => Ok(Value::from(ask + 1)),
        }
    }

    #[test]
    fn requests_are_answered_until_they_are_canceled_or_the_connection_ends() {
        let (from, mut requests) = io::pipe().unwrap();
        let (answers, to) = io::pipe().unwrap();
        let mut answers = BufReader::new(answers);
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

    fn fail(ask: u32, _: &AtomicBool) -> Result<Value, Failure> {
        match ask {
            0 => panic!("as the test wants"),
            _ => Ok(Value::from("x".repeat(33 << 20))),
        }
    }

    #[test]
    fn who_waits_for_an_answer_that_cannot_be_given_learns_that() {
        let (from, mut requests) = io::pipe().unwrap();
        let (answers, to) = io::pipe().unwrap();
        let mut answers = BufReader::new(answers);
        let served = spawn(|| serve(from, to, Instant::now(), fail));
        let mut begin = vec![0; BEGIN.len() + 1];
        answers.read_exact(&mut begin).unwrap();
        for (id, why) in [(0, "panicked"), (1, "too long")] {
            let ask = Value::from(id);
            frame::write(&mut requests, &Request::Ask { id, ask }).unwrap();
            let reply: Reply = frame::read(&mut answers).unwrap().unwrap();
            let failure = reply.answer.unwrap_err();
            assert!(failure.message.contains(why), "{failure:?}");
        }
        drop(requests);
        served.join().unwrap().unwrap();
    }

    #[test]
    fn a_connection_on_which_nothing_more_comes_is_lost() {
        for begun in [&b""[..], b"{"] {
            let (from, mut requests) = io::pipe().unwrap();
            requests.write_all(begun).unwrap();
            let silent = frame::read::<Value>(&mut BufReader::new(short(from))).unwrap_err();
            assert_eq!(silent.kind(), io::ErrorKind::TimedOut);
        }
    }

    fn short<P>(pipe: P) -> Timed<P> {
        Timed {
            limit: Duration::from_millis(10),
            ..Timed::new(pipe)
        }
    }

    #[test]
    fn a_connection_that_takes_nothing_more_is_lost() {
        let (mut answers, to) = io::pipe().unwrap();
        let mut to = short(to);
        let stuck = frame::write(&mut to, &"x".repeat(1 << 20)).unwrap_err();
        assert_eq!(stuck.kind(), io::ErrorKind::TimedOut);
        // Another message would be read as its rest.
        let mut sent = vec![0; 32 << 10];
        answers.read_exact(&mut sent).unwrap();
        frame::write(&mut to, &"y").unwrap_err();
    }
}

//! The side of this host: asks, and waits for answers.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::BEGIN;
use super::clock::{self, Clock};
use super::frame::{self, Reply, Request};
use crate::failure::{Failure, canceled};
use crate::locked;
use crate::process;
use crate::ssh::{self, COMMAND_LIMIT, Destination, shown};

/// How often to look whether an answer is still wanted.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long the program may take to take everything down.
const END_LIMIT: Duration = Duration::from_secs(120);
/// Number of exchanges that tell what a host's clocks say.
const EXCHANGES: u32 = 12;
/// How often that is measured, because clocks run at speeds that differ by some 10 millionths. It also
/// tells the host that the connection is not lost.
const CLOCK_INTERVAL: Duration = Duration::from_secs(10);
/// See [`Link::open`].
pub(in crate::site) const SILENCE: Duration = Duration::from_secs(30);
/// Maximum number of bytes before the program begins.
const MAX_NOISE_BYTES: u64 = 64 << 10;

type Answer = Result<Value, Failure>;

/// The connection to dyno's program on another host. Dropping it ends the program.
#[derive(Debug)]
pub struct Link {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    to: Destination,
    child: Mutex<Child>,
    /// `None` once the program has been told to end.
    requests: Mutex<Option<ChildStdin>>,
    /// Those who wait for answers; `None` once the connection is lost.
    waiting: Mutex<Option<BTreeMap<u64, Sender<Answer>>>>,
    next: AtomicU64,
    /// When this host's clock began.
    origin: Instant,
    /// As they were measured first and last.
    clocks: Mutex<Option<[Clock; 2]>>,
    silence: Duration,
}

impl Link {
    /// Starts the program by a command of ssh, whose messages go to the file `log`. If the program, which
    /// answers at once what its clocks say, has not answered for the time of `silence`, the connection is lost,
    /// although ssh keeps it: the host hangs, or the program is stopped.
    pub(in crate::site) fn open(
        to: &Destination,
        ssh: Command,
        log: &Path,
        silence: Duration,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        let (child, requests, answers) = ssh::start(ssh, log)?;
        let shared = Arc::new(Shared {
            to: to.clone(),
            child: Mutex::new(child),
            requests: Mutex::new(Some(requests)),
            waiting: Mutex::new(Some(BTreeMap::new())),
            next: AtomicU64::new(0),
            origin: Instant::now(),
            clocks: Mutex::default(),
            silence,
        });
        let link = Self {
            shared: Arc::clone(&shared),
        };
        let receiver = Arc::clone(&shared);
        let (begun, has_begun) = channel();
        spawn("dyno-host", move || receiver.receive(answers, &begun))?;
        // Before it begins, the program may have to remove what earlier runs have left.
        let begun = process::poll(COMMAND_LIMIT, || match has_begun.try_recv() {
            Err(TryRecvError::Empty) if !interrupted.load(Ordering::Relaxed) => None,
            received => Some(received.is_ok()),
        });
        if begun != Some(true) {
            let failure = shared.give_up(log);
            return Err(match interrupted.load(Ordering::Relaxed) {
                true => canceled(),
                false => failure,
            });
        }
        spawn("dyno-host-clock", move || shared.measure_clock())?;
        Ok(link)
    }

    /// Asks the program, and waits for its answer until the user interrupts: then until the program
    /// has stopped what it does.
    pub fn ask<T: DeserializeOwned>(
        &self,
        ask: &impl Serialize,
        interrupted: &AtomicBool,
    ) -> Result<T, Failure> {
        let ask = serde_json::to_value(ask).map_err(Failure::internal)?;
        let (id, answer) = self.shared.request(|id| Request::Ask { id, ask })?;
        let answer = self.shared.wait(id, &answer, interrupted)?;
        serde_json::from_value(answer).map_err(|error| self.shared.garbled(&error))
    }

    /// Whether the connection has ended.
    pub fn is_lost(&self) -> bool {
        locked(&self.shared.waiting).is_none()
    }

    /// What the host's clocks say.
    pub fn clock(&self) -> Result<Clock, Failure> {
        let known = *locked(&self.shared.clocks);
        known.map_or_else(|| self.shared.read_clock(), |[_, last]| Ok(last))
    }
}

impl Shared {
    /// Measures the clock again and again, until the link ends.
    fn measure_clock(&self) {
        while self.read_clock().is_ok() {
            thread::sleep(CLOCK_INTERVAL);
        }
    }

    fn read_clock(&self) -> Result<Clock, Failure> {
        let mut readings = Vec::new();
        for _ in 0..EXCHANGES {
            let asked = clock::now(self.origin);
            let (_, answer) = self.request(|id| Request::Clock { id })?;
            let answer = answer.recv_timeout(self.silence).map_err(|_| self.end())?;
            let (answer, answered) = (answer?, clock::now(self.origin));
            let read = serde_json::from_value(answer);
            readings.push([asked, read.map_err(|error| self.garbled(&error))?, answered]);
        }
        let mut clocks = locked(&self.clocks);
        let first = clocks.map(|[first, _]| first);
        let clock = Clock::of(self.origin, &readings, first.as_ref());
        let clock = clock.ok_or_else(|| self.lost())?;
        *clocks = Some([first.unwrap_or(clock), clock]);
        Ok(clock)
    }

    fn request(
        &self,
        request: impl FnOnce(u64) -> Request,
    ) -> Result<(u64, Receiver<Answer>), Failure> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = channel();
        match &mut *locked(&self.waiting) {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(self.lost()),
        };
        self.send(&request(id))?;
        Ok((id, answer))
    }

    fn wait(&self, id: u64, answer: &Receiver<Answer>, interrupted: &AtomicBool) -> Answer {
        let mut is_canceled = false;
        loop {
            match answer.recv_timeout(POLL_INTERVAL) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Disconnected) => return Err(self.lost()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !is_canceled && interrupted.load(Ordering::Relaxed) {
                is_canceled = true;
                self.send(&Request::Cancel { id })?;
            }
        }
    }

    fn send(&self, request: &Request) -> Result<(), Failure> {
        let mut requests = locked(&self.requests);
        let pipe = requests.as_mut().ok_or_else(|| self.lost())?;
        frame::write(pipe, request).map_err(|_| self.lost())
    }

    fn lost(&self) -> Failure {
        self.to.error("")
    }

    /// Ends the connection to a program that says nothing, and tells everyone who waits for an answer.
    fn end(&self) -> Failure {
        process::kill(&mut locked(&self.child));
        locked(&self.waiting).take();
        self.lost()
    }

    fn garbled(&self, error: &serde_json::Error) -> Failure {
        Failure::internal(format!("host {} gave a bad answer: {error}", self.to.host))
    }

    /// Ends a program that has not begun; returns why it has not.
    fn give_up(&self, log: &Path) -> Failure {
        let said = ssh::give_up(&mut locked(&self.child), log);
        match said.trim().is_empty() {
            true => self.lost(),
            false => self.to.unusable(
                format!("dyno's program does not run there: {}", shown(&said)),
                "name another directory there, from which programs may be run: site.directory",
            ),
        }
    }

    /// Hands over answers until the connection ends. Says when the program begins.
    fn receive(&self, mut answers: BufReader<ChildStdout>, begun: &Sender<()>) {
        if skip_to_begin(&mut answers).is_ok() {
            // Nobody waits for a program that took too long.
            let _ = begun.send(());
            while let Ok(Some(Reply { id, answer })) = frame::read(&mut answers) {
                let mut waiting = locked(&self.waiting);
                let waits = waiting.as_mut().and_then(|waiting| waiting.remove(&id));
                if let Some(sender) = waits {
                    // Nobody may wait any longer.
                    let _ = sender.send(answer);
                }
            }
        }
        locked(&self.waiting).take();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // It takes down what it has set up, and ends.
        locked(&self.shared.requests).take();
        let mut child = locked(&self.shared.child);
        let _ = process::wait(&mut child, END_LIMIT);
        process::kill(&mut child);
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    let failed = |error| Failure::internal(format!("cannot start a thread: {error}"));
    spawned.map(drop).map_err(failed)
}

/// Reads up to the line with which the program begins.
fn skip_to_begin(answers: &mut impl BufRead) -> io::Result<()> {
    let mut noise = answers.take(MAX_NOISE_BYTES);
    let mut line = Vec::new();
    while noise.read_until(b'\n', &mut line)? > 0 {
        if line.trim_ascii_end() == BEGIN.as_bytes() {
            return Ok(());
        }
        line.clear();
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::NEVER;

    fn to() -> Destination {
        Destination {
            host: "db1".to_owned(),
            ssh_config: None,
        }
    }

    #[test]
    fn a_program_that_answers_nothing_is_lost() {
        let directory = tempfile::tempdir().unwrap();
        let mut silent = process::own_command(Path::new("sh"));
        silent.args(["-c", &format!("echo {BEGIN}; exec sleep 1000")]);
        let (limit, log) = (Duration::from_millis(50), directory.path().join("log"));
        let link = Link::open(&to(), silent, &log, limit, &NEVER).unwrap();
        let lost = link.ask::<()>(&"anything", &NEVER).unwrap_err();
        assert!(lost.message.contains("db1"), "{lost:?}");
        assert!(link.is_lost());
    }

    #[test]
    fn a_program_is_waited_for_until_the_user_interrupts() {
        let mut said = &*format!("welcome\n{BEGIN}!\n{BEGIN}\nmore\n").into_bytes();
        skip_to_begin(&mut said).unwrap();
        assert_eq!(said, b"more\n");
        skip_to_begin(&mut said).unwrap_err();
        let open = |script: &str, is_interrupted| {
            let directory = tempfile::tempdir().unwrap();
            let mut program = process::own_command(Path::new("sh"));
            program.args(["-c", script]);
            let (log, interrupted) = (directory.path().join("log"), is_interrupted);
            Link::open(&to(), program, &log, SILENCE, &AtomicBool::new(interrupted)).unwrap_err()
        };
        assert!(open("exec sleep 1000", true).is_interrupted());
        let ended = open("echo no such file >&2", false).message;
        assert!(
            ended.contains("does not run there: no such file"),
            "{ended}"
        );
    }
}

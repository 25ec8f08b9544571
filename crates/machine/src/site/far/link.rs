//! The side of this host: asks, and waits for answers.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::BEGIN;
use super::clock::{Clock, Reading};
use super::frame::{self, Reply, Request};
use crate::failure::Failure;
use crate::locked;
use crate::process::{self, NEVER};
use crate::ssh::{Destination, shown};

/// How often to look whether an answer is still wanted.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long the program may take to take everything down.
const END_LIMIT: Duration = Duration::from_secs(120);
/// Number of exchanges of which the best tells what a host's clocks say, and how long that counts:
/// clocks run at speeds that differ by some 10 millionths.
const EXCHANGES: u32 = 12;
const CLOCK_AGE: Duration = Duration::from_secs(20);
/// Maximum number of bytes before the program begins.
const MAX_NOISE_BYTES: usize = 64 << 10;

type Answer = Result<Value, Failure>;

/// The connection to dyno's program on another host. Dropping it ends the program.
#[derive(Debug)]
pub struct Link {
    to: Destination,
    child: Mutex<Child>,
    /// `None` once the program has been told to end.
    requests: Mutex<Option<ChildStdin>>,
    waiting: Arc<Waiting>,
    next: AtomicU64,
    clock: Mutex<Option<Clock>>,
}

/// Those who wait for answers; `None` once the connection is lost.
#[derive(Debug)]
struct Waiting(Mutex<Option<BTreeMap<u64, Sender<Answer>>>>);

impl Link {
    /// Starts the program by a command of ssh, whose messages go to the file `log`.
    pub(in crate::site) fn open(
        to: &Destination,
        mut ssh: Command,
        log: &Path,
    ) -> Result<Self, Failure> {
        let errors = File::create(log).map_err(Failure::at("write", log))?;
        ssh.stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors);
        let mut child = process::spawn(ssh)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let begun = pipes.and_then(|(requests, answers)| {
            let mut answers = BufReader::new(answers);
            wait_for_begin(&mut answers).ok()?;
            Some((requests, answers))
        });
        let Some((requests, answers)) = begun else {
            process::kill(&mut child);
            let said = fs::read(log).unwrap_or_default();
            let said = shown(&String::from_utf8_lossy(&said));
            return Err(to.unusable(
                format!("dyno's program does not run there: {said}"),
                "name a directory there from which programs may be run: site.directory",
            ));
        };
        let waiting = Arc::new(Waiting(Mutex::new(Some(BTreeMap::new()))));
        let receiver = Arc::clone(&waiting);
        thread::Builder::new()
            .name("dyno-host".to_owned())
            .spawn(move || receiver.receive(answers))
            .map_err(|error| Failure::internal(format!("cannot start a thread: {error}")))?;
        Ok(Self {
            to: to.clone(),
            child: Mutex::new(child),
            requests: Mutex::new(Some(requests)),
            waiting,
            next: AtomicU64::new(0),
            clock: Mutex::default(),
        })
    }

    /// Asks the program, and waits for its answer until the user interrupts: then until the program
    /// has stopped what it does.
    pub fn ask<T: DeserializeOwned>(
        &self,
        ask: &impl Serialize,
        interrupted: &AtomicBool,
    ) -> Result<T, Failure> {
        let ask = serde_json::to_value(ask).map_err(Failure::internal)?;
        let answer = self.exchange(|id| Request::Ask { id, ask }, interrupted)?;
        serde_json::from_value(answer).map_err(|error| self.garbled(&error))
    }

    /// Whether the connection has ended.
    pub fn is_lost(&self) -> bool {
        locked(&self.waiting.0).is_none()
    }

    /// What the host's clocks say, measured anew if that was some time ago.
    pub fn clock(&self) -> Result<Clock, Failure> {
        let known = locked(&self.clock).filter(|clock| clock.at.elapsed() < CLOCK_AGE);
        if let Some(clock) = known {
            return Ok(clock);
        }
        let mut best: Option<Clock> = None;
        for _ in 0..EXCHANGES {
            let asked = Instant::now();
            let answer = self.exchange(|id| Request::Clock { id }, &NEVER)?;
            let reading: Reading =
                serde_json::from_value(answer).map_err(|error| self.garbled(&error))?;
            let clock = Clock::of(asked, reading);
            best = best
                .into_iter()
                .chain(clock)
                .min_by_key(|clock| clock.bound);
        }
        let best = best.ok_or_else(|| self.lost())?;
        *locked(&self.clock) = Some(best);
        Ok(best)
    }

    fn exchange(&self, request: impl FnOnce(u64) -> Request, interrupted: &AtomicBool) -> Answer {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = channel();
        match &mut *locked(&self.waiting.0) {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(self.lost()),
        };
        self.send(&request(id))?;
        self.wait(id, &answer, interrupted)
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

    /// The failure of a host whose connection has ended.
    pub fn lost(&self) -> Failure {
        let why = "the connection was lost".to_owned();
        self.to.unusable(why, "check the network and the host")
    }

    fn garbled(&self, error: &serde_json::Error) -> Failure {
        Failure::internal(format!("host {} gave a bad answer: {error}", self.to.host))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // It takes down what it has set up, and ends.
        locked(&self.requests).take();
        let mut child = locked(&self.child);
        let _ = process::wait(&mut child, END_LIMIT);
        process::kill(&mut child);
    }
}

impl Waiting {
    /// Hands over answers until the connection ends.
    fn receive(&self, mut answers: BufReader<ChildStdout>) {
        while let Ok(Some(Reply { id, answer })) = frame::read(&mut answers) {
            let mut waiting = locked(&self.0);
            let waits = waiting.as_mut().and_then(|waiting| waiting.remove(&id));
            if let Some(sender) = waits {
                // Nobody may wait any longer.
                let _ = sender.send(answer);
            }
        }
        locked(&self.0).take();
    }
}

fn wait_for_begin(answers: &mut impl BufRead) -> io::Result<()> {
    let mut noise = 0;
    loop {
        let mut line = Vec::new();
        let length = io::Read::take(&mut *answers, 4096).read_until(b'\n', &mut line)?;
        noise += length;
        if line.strip_suffix(b"\n") == Some(BEGIN.as_bytes()) {
            return Ok(());
        }
        if length == 0 || noise > MAX_NOISE_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

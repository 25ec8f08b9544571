//! The tests that need no database: cpu, memory, threads, mutex, and fileio.
//!
//! Each is a workload of the load engine whose transactions are events. An event does the work of
//! sysbench's, so that rates can be compared. It blocks, so each user needs a worker of its own.

mod cpu;
mod fileio;
mod locks;
mod memory;
mod region;

use std::fmt::Display;
use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand_xoshiro::Xoroshiro128Plus;
use rand_xoshiro::rand_core::SeedableRng;
use workload::catalog::Catalog;
use workload::random::unit;
use workload::session::{Connect, Connections, SessionError};
use workload::virtual_user::{Done, NewUsers, VirtualUser, Workload};

use crate::options::{OptionError, Values};
use fileio::FileIo;
pub use fileio::{FileSession, FileSet};

/// The generator of sysbench, because the cost of its numbers is part of an event's.
type Random = Xoroshiro128Plus;

/// The names of the tests.
pub const NAMES: [&str; 5] = ["cpu", "memory", "threads", "mutex", "fileio"];

/// What an event does in the thread with this number.
type Event = Arc<dyn Fn(u32, &mut Random) + Send + Sync>;

/// A test that is ready to run: the workload of a load, and what opens its connections.
#[derive(Clone)]
pub struct Native {
    /// How many events each thread executes, if the test ends by itself; `--events` does not apply
    /// then.
    pub events_per_thread: Option<u64>,
    catalog: Arc<Catalog>,
    work: Work,
    seed: u64,
}

#[derive(Clone)]
enum Work {
    Busy(Event),
    /// Reads, writes, and fsyncs are the statements of a session.
    Files(Arc<FileIo>),
}

/// A thread of a test.
pub struct Thread {
    work: Work,
    index: u32,
    random: Random,
    events_left: u64,
}

impl Native {
    /// The test of one of the [`NAMES`]. Fails if an option is out of range, memory cannot be
    /// allocated, or the files are not as [`FileSet::prepare`] leaves them.
    pub fn new(test: &str, values: &Values, threads: u32, seed: u64) -> Result<Self, OptionError> {
        let (work, events_per_thread) = match test {
            "cpu" => (Work::Busy(cpu::cpu(values)?), None),
            "memory" => {
                let events = memory::events(values, threads);
                (Work::Busy(memory::memory(values, threads)?), Some(events))
            }
            "threads" => (Work::Busy(locks::threads(values)?), None),
            "mutex" => (Work::Busy(locks::mutex(values)?), Some(1)),
            _ => {
                let files = FileIo::open(&FileSet::new(values)?, values)?;
                (Work::Files(Arc::new(files)), None)
            }
        };
        Ok(Self {
            events_per_thread,
            catalog: Arc::new(fileio::catalog()),
            work,
            seed,
        })
    }

    /// Bytes that a read or write transfers; only the last one in a file may transfer fewer.
    pub fn request_bytes(&self) -> u64 {
        match &self.work {
            Work::Busy(_) => 0,
            Work::Files(files) => files.request_bytes(),
        }
    }
}

impl Workload for Native {
    type User = Thread;

    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    fn users(&self, indexes: Range<u32>) -> NewUsers<Thread> {
        let native = self.clone();
        let thread = move |index| Thread {
            work: native.work.clone(),
            index,
            random: Random::seed_from_u64(native.seed.wrapping_add(u64::from(index) << 32)),
            events_left: native.events_per_thread.unwrap_or(u64::MAX),
        };
        Box::new(move || Ok(indexes.map(thread).collect()))
    }
}

impl Connect for Native {
    type Session = FileSession;

    async fn connect(&self, _: &Arc<Catalog>) -> Result<FileSession, SessionError> {
        let opened = match &self.work {
            Work::Busy(_) => Err(ErrorKind::Unsupported.into()),
            Work::Files(files) => FileSession::new(files),
        };
        opened.map_err(|error| SessionError::of_script(failed("Cannot prepare a thread", &error)))
    }
}

impl VirtualUser for Thread {
    async fn start<S: Connections>(&mut self, session: &mut S) -> Result<(), SessionError> {
        match self.work {
            Work::Busy(_) => Ok(()),
            Work::Files(_) => session.open().await.map(drop),
        }
    }

    async fn transaction<S: Connections>(&mut self, session: &mut S) -> Result<Done, SessionError> {
        if self.events_left == 0 {
            return Ok(Done {
                is_last: true,
                ..Done::default()
            });
        }
        self.events_left -= 1;
        match &self.work {
            Work::Busy(event) => event(self.index, &mut self.random),
            Work::Files(files) => files.event(&mut self.random, session).await?,
        }
        Ok(Done::default())
    }

    async fn finish<S: Connections>(&mut self, session: &mut S) -> Result<(), SessionError> {
        match &self.work {
            Work::Busy(_) => Ok(()),
            Work::Files(files) => files.finish(session).await,
        }
    }
}

/// A whole number below `limit`, which is at most 2^53, drawn as sysbench draws it.
fn below(random: &mut Random, limit: u64) -> u64 {
    // A conversion to `u64` clamps, which takes a dozen instructions; C needs one or two.
    (unit(random) * limit as f64) as i64 as u64
}

/// A failed system call, in sysbench's words.
fn failed(what: impl Display, error: &Error) -> String {
    let code = error.raw_os_error().unwrap_or_default();
    let text = error.to_string();
    // Without the number that the standard library adds.
    let text = text.split(" (os error").next().unwrap_or_default();
    format!("{what} errno = {code} ({text})")
}

/// A thread that panicked leaves nothing half done behind the mutexes here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

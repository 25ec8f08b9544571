//! The test `fileio`: reads, writes, and fsyncs of test files, as the statements of a session.

mod block;
mod files;
mod queue;
mod schedule;

use std::fs::File;
use std::io::{ErrorKind, Result as IoResult};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};

use workload::catalog::{Catalog, Label, StatementClass};
use workload::random::unit;
use workload::session::{Param, Reply, Session, SessionError};

pub use files::FileSet;
use queue::Queue;
use schedule::{Layout, Place, Schedule};

use super::region::{self, FileMap};
use super::{Random, failed, lock};
use crate::options::{OptionError, Values};

/// The numbers of the statements. Their parameter is a position in all files.
const READ: u32 = 0;
const WRITE: u32 = 1;
const FSYNC: u32 = 2;
const STATEMENTS: [(&str, StatementClass); 3] = [
    ("read", StatementClass::Read),
    ("write", StatementClass::Write),
    ("fsync", StatementClass::Other),
];
const ASYNC_IS_NOT_VALIDATED: &str =
    "--validate needs --file-io-mode=sync or mmap: async does not look at what it reads";

pub(super) fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    for (name, class) in STATEMENTS {
        let label = catalog.labels.intern(name, class);
        catalog.add(label, String::new());
    }
    catalog
}

/// A run's open files, and what it does with them.
pub(super) struct FileIo {
    layout: Layout,
    files: Vec<(File, Option<FileMap>)>,
    schedule: Mutex<Schedule>,
    /// Bytes of a block, if each has a checksum.
    checked_bytes: Option<usize>,
    /// How many requests of a thread are in flight, if they are asynchronous.
    backlog: Option<u32>,
    flushes_each_write: bool,
    /// How many files each thread flushes when it ends.
    flushed_at_end: u32,
    /// Whether fdatasync(2) flushes files.
    flushes_data_only: bool,
}

impl FileIo {
    /// Opens the files. Fails if they are not as [`FileSet::prepare`] leaves them.
    pub(super) fn open(set: &FileSet, values: &Values) -> Result<Self, OptionError> {
        let accesses = [
            ("sync", (false, false)),
            ("async", (true, false)),
            ("mmap", (false, true)),
        ];
        let (is_async, is_mapped) = values.choose("file-io-mode", &accesses)?;
        let backlog = is_async.then(|| values.within("file-async-backlog", 1..=u32::MAX));
        let backlog = backlog.transpose()?;
        if set.validate && is_async {
            return Err(OptionError::fatal(ASYNC_IS_NOT_VALIDATED));
        }
        let schedule = Schedule::new(set.layout, values)?;
        let open = |file| set.open(file, schedule.creates_files, is_mapped);
        let files = (0..set.layout.files).map(open);
        let flushes = [("fsync", false), ("fdatasync", true)];
        let flushes_each_write = values.bool("file-fsync-all");
        let needs_no_end = flushes_each_write || schedule.is_read_only();
        let flushes_at_end = values.bool("file-fsync-end") && !needs_no_end;
        Ok(Self {
            layout: schedule.layout,
            files: files.collect::<Result<_, _>>()?,
            checked_bytes: set.validate.then_some(set.layout.request_bytes as usize),
            backlog,
            flushes_each_write,
            flushed_at_end: if flushes_at_end { set.layout.files } else { 0 },
            flushes_data_only: values.choose("file-fsync-mode", &flushes)?,
            schedule: Mutex::new(schedule),
        })
    }

    pub(super) fn request_bytes(&self) -> u64 {
        self.layout.request_bytes
    }

    /// Executes the next request.
    pub(super) async fn event(
        &self,
        random: &mut Random,
        session: &mut impl Session,
    ) -> Result<(), SessionError> {
        let (statement, position) = lock(&self.schedule).next(unit(random));
        execute(session, statement, position).await?;
        match statement == WRITE && self.flushes_each_write {
            true => execute(session, FSYNC, position).await,
            false => Ok(()),
        }
    }

    /// Completes what the events of a thread began.
    pub(super) async fn finish(&self, session: &mut impl Session) -> Result<(), SessionError> {
        session.rollback().await?;
        for file in 0..self.flushed_at_end {
            execute(session, FSYNC, self.layout.start(file)).await?;
        }
        Ok(())
    }
}

async fn execute(
    session: &mut impl Session,
    statement: u32,
    position: u64,
) -> Result<(), SessionError> {
    let position = Param::Int(position.cast_signed());
    session.execute(statement, &[position]).await.map(drop)
}

/// What a thread reads and writes with.
pub struct FileSession {
    io: Arc<FileIo>,
    buffer: &'static mut [u8],
    queue: Option<Queue>,
}

impl FileSession {
    pub(super) fn new(io: &Arc<FileIo>) -> IoResult<Self> {
        let bytes = io.layout.request_bytes as usize;
        let queue = io.backlog.map(|backlog| Queue::new(backlog, bytes));
        Ok(Self {
            io: Arc::clone(io),
            buffer: region::buffer(bytes)?,
            queue: queue.transpose()?,
        })
    }

    fn perform(&mut self, statement: u32, place: Place) -> IoResult<()> {
        let io = &*self.io;
        let (file, map) = io.files.get(place.file).ok_or(ErrorKind::NotFound)?;
        let (offset, writes) = (place.offset, statement == WRITE);
        let bytes = self.buffer.get_mut(..place.bytes).unwrap_or_default();
        if let Some(block_bytes) = io.checked_bytes.filter(|_| writes) {
            block::fill(bytes, offset, block_bytes);
        }
        match (statement, map, &mut self.queue) {
            (FSYNC, Some(map), _) => map.sync(),
            (FSYNC, None, _) if io.flushes_data_only => file.sync_data(),
            (FSYNC, None, _) => file.sync_all(),
            (_, Some(map), _) => map.transfer(offset, bytes, writes),
            (_, None, Some(queue)) => queue.submit(file, place, writes),
            (WRITE, None, None) => file.write_all_at(bytes, offset),
            (_, None, None) => file.read_exact_at(bytes, offset),
        }
    }

    /// The offset of the first block in the buffer that is not as it was written.
    fn first_wrong(&self, place: Place) -> Option<u64> {
        let bytes = self.buffer.get(..place.bytes)?;
        block::first_wrong(bytes, place.offset, self.io.checked_bytes?)
    }
}

impl Session for FileSession {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let position = match params {
            [Param::Int(position)] => position.cast_unsigned(),
            _ => 0,
        };
        let place = self.io.layout.at(position);
        let (file, at) = (place.file, place.offset);
        self.perform(statement, place).map_err(|error| {
            let known = STATEMENTS.get(statement as usize);
            let verb = known.map_or("", |(verb, _)| *verb);
            let what = format!("Failed to {verb} file! file: {file} pos: {at}");
            SessionError::of_script(failed(what, &error))
        })?;
        let read = (statement == READ).then_some(place);
        match read.and_then(|place| self.first_wrong(place)) {
            None => Ok(Reply::default()),
            Some(wrong) => Err(SessionError::of_script(format!(
                "Validation failed on file {file}, block offset {wrong}, exiting..."
            ))),
        }
    }

    async fn query(&mut self, _: Label, _: &str) -> Result<Reply, SessionError> {
        Err(SessionError::of_script("files take no SQL".to_owned()))
    }

    /// Nothing can be undone: waits for the requests in flight.
    async fn rollback(&mut self) -> Result<(), SessionError> {
        let waited = self.queue.as_mut().map_or(Ok(()), |queue| queue.wait(0));
        let what = "Failed to complete the requests!";
        waited.map_err(|error| SessionError::of_script(failed(what, &error)))
    }
}

#[cfg(test)]
mod tests;

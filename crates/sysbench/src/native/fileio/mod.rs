//! The test `fileio`: reads, writes, and fsyncs of test files.

mod block;
mod files;
mod queue;
mod schedule;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

use rustix::mm::MapFlags;

pub use files::{ExtraFlags, FileSet};
use queue::Queue;
use schedule::{Action, Place, Schedule};
pub use schedule::{Fsync, Mode};

use super::period::Counts;
use super::random::Random;
use super::region::{FileMap, Pages};
use super::{NativeError, Test, lock};

const ASYNC_IS_NOT_VALIDATED: &str =
    "--validate needs --file-io-mode=sync or mmap: async does not look at what it reads";

/// What `--file-io-mode` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Sync,
    /// With this many requests of each thread in flight.
    Async(u32),
    Mmap,
}

/// What a run does with its files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    pub mode: Mode,
    pub access: Access,
    pub fsync: Fsync,
    /// How many blocks a sequential request covers; one if 0.
    pub merged_requests: u32,
    /// Reads for each write, in [`Mode::RandomReadWrite`].
    pub rw_ratio: f64,
    pub seed: u64,
}

/// A run's open files, and what it does with them.
#[derive(Debug)]
pub struct FileIo {
    set: FileSet,
    options: Options,
    targets: Vec<(File, Option<FileMap>)>,
    request_bytes: u64,
    schedule: Mutex<Schedule>,
}

/// What a thread reads and writes with.
#[derive(Debug)]
pub struct Thread {
    random: Random,
    buffer: Pages,
    queue: Option<Queue>,
}

impl FileIo {
    /// Opens the files. Fails if they are not those of [`FileSet::prepare`].
    pub fn open(set: FileSet, options: Options) -> Result<Self, NativeError> {
        if set.validate && matches!(options.access, Access::Async(_)) {
            return Err(NativeError::new(ASYNC_IS_NOT_VALIDATED));
        }
        let mut layout = set.layout()?;
        if !options.mode.is_random() {
            let merged = u64::from(options.merged_requests.max(1));
            layout.request_bytes = layout.request_bytes.saturating_mul(merged);
        }
        let mut targets = Vec::new();
        for index in 0..set.files {
            let file = set.open(index, options.mode, layout.file_bytes)?;
            let map = map(&file, options.access, layout.file_bytes);
            let map = map.map_err(|error| NativeError::system("Cannot map a file", error))?;
            targets.push((file, map));
        }
        Ok(Self {
            set,
            options,
            targets,
            request_bytes: layout.request_bytes.min(layout.file_bytes),
            schedule: Mutex::new(Schedule::new(layout, options)),
        })
    }

    fn prepare_thread(&self, index: u32) -> io::Result<Thread> {
        let queue = match self.options.access {
            Access::Async(capacity) => Some(Queue::new(capacity, buffer(self.request_bytes)?)?),
            Access::Sync | Access::Mmap => None,
        };
        Ok(Thread {
            random: Random::new(self.options.seed, index),
            buffer: buffer(self.request_bytes)?,
            queue,
        })
    }

    fn target(&self, file: usize) -> io::Result<&(File, Option<FileMap>)> {
        Ok(self.targets.get(file).ok_or(ErrorKind::NotFound)?)
    }

    fn transfer(
        &self,
        thread: &mut Thread,
        place: Place,
        writes: bool,
        counts: &mut Counts,
    ) -> io::Result<()> {
        let (file, map) = self.target(place.file)?;
        if let Some(queue) = &mut thread.queue {
            return queue.submit(file, place, writes, counts);
        }
        let bytes = thread.buffer.bytes(place.bytes);
        if writes && self.set.validate {
            block::fill(bytes, place.offset, self.set.block_bytes, &mut thread.random);
        }
        counts.add(writes, place.bytes as u64);
        match (map, writes) {
            (Some(map), true) => map.write(place.offset, bytes),
            (Some(map), false) => map.read(place.offset, bytes),
            (None, true) => file.write_all_at(bytes, place.offset),
            (None, false) => file.read_exact_at(bytes, place.offset),
        }
    }

    fn write(&self, thread: &mut Thread, place: Place, counts: &mut Counts) -> io::Result<()> {
        self.transfer(thread, place, true, counts)?;
        match self.options.fsync.after_write {
            true => self.fsync(place.file, counts),
            false => Ok(()),
        }
    }

    fn fsync(&self, file: usize, counts: &mut Counts) -> io::Result<()> {
        counts.fsyncs += 1;
        match self.target(file)? {
            (_, Some(map)) => map.sync(),
            (file, None) if self.options.fsync.data_only => file.sync_data(),
            (file, None) => file.sync_all(),
        }
    }

    /// Checks what was just read.
    fn validate(&self, thread: &mut Thread, place: Place) -> Result<(), NativeError> {
        let bytes = thread.buffer.bytes(place.bytes);
        match block::first_wrong(bytes, place.offset, self.set.block_bytes) {
            None => Ok(()),
            Some(offset) => Err(NativeError::new(format!(
                "Validation failed on file {}, block offset {offset}, exiting...",
                place.file
            ))),
        }
    }
}

impl Test for FileIo {
    type Thread = Thread;

    fn thread(&self, index: u32) -> Result<Thread, NativeError> {
        let thread = self.prepare_thread(index);
        thread.map_err(|error| NativeError::system("Cannot prepare a thread", error))
    }

    fn event(&self, thread: &mut Thread, counts: &mut Counts) -> Result<bool, NativeError> {
        let unit = thread.random.unit();
        let (action, place) = lock(&self.schedule).next(unit);
        let (verb, done) = match action {
            Action::Read => ("read", self.transfer(thread, place, false, counts)),
            Action::Write => ("write", self.write(thread, place, counts)),
            Action::Fsync => ("fsync", self.fsync(place.file, counts)),
        };
        done.map_err(|error| {
            let (file, offset) = (place.file, place.offset);
            let what = format!("Failed to {verb} file! file: {file} pos: {offset}");
            NativeError::system(what, error)
        })?;
        if self.set.validate && action == Action::Read {
            self.validate(thread, place)?;
        }
        Ok(true)
    }

    fn finish(&self, thread: &mut Thread, counts: &mut Counts) -> Result<(), NativeError> {
        let queue = thread.queue.as_mut();
        let waited = queue.map_or(Ok(()), |queue| queue.wait(0, counts));
        let flushed = match self.options.fsync.is_due_at_end(self.options.mode) {
            true => (0..self.targets.len()).try_for_each(|file| self.fsync(file, counts)),
            false => Ok(()),
        };
        let done = waited.and(flushed);
        done.map_err(|error| NativeError::system("Failed to complete the requests!", error))
    }
}

/// Maps a file if it is to be accessed so, after extending it.
fn map(file: &File, access: Access, bytes: u64) -> io::Result<Option<FileMap>> {
    if access != Access::Mmap {
        return Ok(None);
    }
    if file.metadata()?.len() < bytes {
        file.set_len(bytes)?;
    }
    FileMap::new(file, bytes as usize).map(Some)
}

/// Aligned to a page, as direct I/O demands.
fn buffer(bytes: u64) -> io::Result<Pages> {
    Pages::new(bytes as usize, MapFlags::empty())
}

#[cfg(test)]
mod tests;

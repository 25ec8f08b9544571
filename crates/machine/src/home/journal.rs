//! The undo journal: what a run creates or changes outside its directory, recorded before it
//! happens.
//!
//! ```text
//! CACHE/run/5e1c…/undo
//!     {"step":7,"undo":{"remove":{"kind":"directory","path":"/mnt/nvme/dyno-5e1c…-7","mount_depth":2}}}
//!     {"step":8,"undo":{"remove":{"kind":"group","path":"/sys/fs/cgroup/cpu/dyno-5e1c…-8"}}}
//!     {"step":8}
//! ```
//!
//! A step without `undo` has been undone. A step is on disk before it is taken: whenever
//! dyno is killed, the next run finds the steps that remain, and undoes them, the last one first.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::ssh::Destination;

pub(super) const FILE: &str = "undo";

/// How to undo a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Undo {
    /// Remove something of this host.
    Remove(Target),
    RemoveRemote {
        to: Destination,
        dir: PathBuf,
    },
    RestoreSchedulers(Vec<Scheduled>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) path: PathBuf,
    /// The depth of the mount point of its disk: of `/mnt/nvme/a`, `/mnt/nvme` has depth 2. While
    /// nothing is mounted there, it is unknown whether the target still exists. `None` in memory,
    /// where it disappears with the mount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mount_depth: Option<usize>,
}

/// The kind of a target, which decides how it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// A control group, empty when it is removed.
    Group,
    /// A named network namespace.
    Namespace,
    /// A container that podman or docker creates.
    Container,
    /// A table of the packet filter, named like the last part of its path.
    Table,
    /// A directory with its contents.
    Directory,
}

/// A device whose scheduler a run changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Scheduled {
    pub(crate) device: String,
    /// Identifies the device, even if another one gets its name.
    pub(crate) identity: String,
    pub(crate) before: String,
    pub(crate) set: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    step: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo: Option<Undo>,
}

#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

#[derive(Debug)]
pub(crate) struct Step {
    journal: Arc<Journal>,
    number: u32,
    is_done: AtomicBool,
}

impl Journal {
    /// Opens the journal of a run, which may be a dead one: half a line at its end is removed, so
    /// that the next one stands alone. The caller holds the run's lock.
    pub(super) fn open(run: &Path) -> Result<Self, Failure> {
        let path = run.join(FILE);
        let mut options = OpenOptions::new();
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        options.append(true).create(true).mode(0o600);
        let file = options.custom_flags(flags).open(&path);
        let file = file.map_err(Failure::at("open", &path))?;
        let text = fs::read(&path).map_err(Failure::at("read", &path))?;
        let length = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        if length < text.len() {
            file.set_len(length as u64)
                .map_err(Failure::at("write", &path))?;
        }
        let file = Mutex::new(file);
        Ok(Self { path, file })
    }

    /// Records how to undo a step that is about to be taken.
    pub(super) fn record(self: &Arc<Self>, number: u32, undo: Undo) -> Result<Step, Failure> {
        let line = Line {
            step: number,
            undo: Some(undo),
        };
        self.append(&line, File::sync_data)?;
        Ok(Step::of(self, number))
    }

    /// Notes that a step has been undone. Without the note, after a power failure or on a full disk,
    /// it is undone again, which changes nothing.
    pub(super) fn done(&self, number: u32) {
        let line = Line {
            step: number,
            undo: None,
        };
        let _ = self.append(&line, |_| Ok(()));
    }

    fn append(&self, line: &Line, sync: fn(&File) -> io::Result<()>) -> Result<(), Failure> {
        let failed = || Failure::at("write", &self.path);
        let mut bytes = serde_json::to_vec(line).map_err(Failure::at("write", &self.path))?;
        bytes.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let length = file.metadata().map_err(failed())?.len();
        let written = file.write_all(&bytes).and_then(|()| sync(&file));
        written.map_err(|error| {
            // Half a line would spoil the next one.
            let _ = file.set_len(length);
            failed()(error)
        })
    }
}

impl Step {
    /// A step that is in the journal.
    pub(super) fn of(journal: &Arc<Journal>, number: u32) -> Self {
        Self {
            journal: Arc::clone(journal),
            number,
            is_done: AtomicBool::new(false),
        }
    }

    /// Undoes the step, unless that is done, by `undo`, which returns whether nothing remains.
    pub(crate) fn undo(&self, undo: impl FnOnce() -> Result<bool, Failure>) -> Result<(), Failure> {
        if !self.is_done.load(Ordering::Relaxed) && undo()? {
            self.done();
        }
        Ok(())
    }

    /// See [`Journal::done`].
    pub(crate) fn done(&self) {
        self.is_done.store(true, Ordering::Relaxed);
        self.journal.done(self.number);
    }
}

/// The steps of a run that remain to be undone, by their numbers.
pub(super) fn remaining(run: &Path) -> Result<BTreeMap<u32, Undo>, Failure> {
    let path = run.join(FILE);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        text => text.map_err(Failure::at("read", &path))?,
    };
    let mut steps = BTreeMap::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        // dyno was killed while it wrote the line, so it did not take the step.
        if !line.ends_with(b"\n") {
            break;
        }
        let line = serde_json::from_slice::<Line>(line);
        let line = line.map_err(Failure::at("read", &path))?;
        match line.undo {
            Some(undo) => steps.insert(line.step, undo),
            None => steps.remove(&line.step),
        };
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(number: u32) -> Undo {
        Undo::Remove(Target {
            kind: Kind::Group,
            path: format!("/groups/{number}").into(),
            mount_depth: None,
        })
    }

    #[test]
    fn what_was_not_undone_remains() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(remaining(run.path()).unwrap(), BTreeMap::new());
        let journal = Arc::new(Journal::open(run.path()).unwrap());
        let steps = [1, 2, 3].map(|number| journal.record(number, group(number)).unwrap());
        steps[1].undo(|| Ok(true)).unwrap();
        steps[1].undo(|| panic!("it is undone")).unwrap();
        steps[2].undo(|| Ok(false)).unwrap();
        steps[2].undo(|| Err(Failure::server("busy"))).unwrap_err();
        let expected = BTreeMap::from([(1, group(1)), (3, group(3))]);
        assert_eq!(remaining(run.path()).unwrap(), expected);
    }

    /// dyno was killed while it wrote, at any byte: the lines before remain.
    #[test]
    fn half_a_line_is_no_step() {
        let run = tempfile::tempdir().unwrap();
        let journal = Arc::new(Journal::open(run.path()).unwrap());
        journal.record(1, group(1)).unwrap();
        let file = run.path().join(FILE);
        let before = fs::metadata(&file).unwrap().len();
        journal.record(2, group(2)).unwrap();
        let whole = fs::read(&file).unwrap();
        for length in usize::try_from(before).unwrap()..whole.len() {
            fs::write(&file, &whole[..length]).unwrap();
            let expected = BTreeMap::from([(1, group(1))]);
            assert_eq!(remaining(run.path()).unwrap(), expected, "{length} bytes");
            // The next run goes on in the same file.
            Journal::open(run.path()).unwrap().done(1);
            let remaining = remaining(run.path()).unwrap();
            assert_eq!(remaining, BTreeMap::new(), "{length} bytes");
        }
    }

    /// What cannot be read might be a step, so that the run directory must stay.
    #[test]
    fn a_line_that_is_none_is_an_error() {
        let run = tempfile::tempdir().unwrap();
        for line in ["oops\n", "{\"step\":1,\"undo\":{\"burn\":1}}\n"] {
            fs::write(run.path().join(FILE), line).unwrap();
            let error = remaining(run.path()).unwrap_err().to_string();
            assert!(error.contains("undo"), "{error}");
        }
    }
}

//! Appends the client's history to a file.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

use measure::ledger::{History, HistoryError, Opening, Record};

use crate::locked;

/// Writes a history as it happens. The kernel has each record before the next statement is sent, so
/// that it survives a crash of dyno.
#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) path: PathBuf,
    /// `None` after a failure: nothing that follows a torn line can be read.
    file: Mutex<Option<File>>,
}

/// Nothing more can be recorded.
#[derive(Debug)]
pub(super) struct Full;

impl Recorder {
    pub(super) fn create(path: PathBuf, opening: Opening) -> std::io::Result<Self> {
        let recorder = Self {
            file: Mutex::new(Some(File::create(&path)?)),
            path,
        };
        let opened = recorder.record(Record::Opened(opening));
        opened.map_err(|Full| std::io::Error::from(std::io::ErrorKind::StorageFull))?;
        Ok(recorder)
    }

    /// Appends a record, with one system call.
    pub(super) fn record(&self, record: Record) -> Result<(), Full> {
        let line = record.line();
        let mut file = locked(&self.file);
        let written = file.as_mut().map(|file| file.write_all(&line));
        match written {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => {
                *file = None;
                Err(Full)
            }
        }
    }

    /// Whether everything was recorded.
    pub(super) fn is_complete(&self) -> bool {
        locked(&self.file).is_some()
    }

    pub(super) fn history(&self) -> Result<History, HistoryError> {
        History::read(std::io::BufReader::new(File::open(&self.path)?))
    }
}

#[cfg(test)]
mod tests {
    use measure::ledger::Transfer;

    use super::*;

    #[test]
    fn what_is_recorded_is_in_the_file_and_a_full_disk_ends_it() {
        let dir = tempfile::tempdir().unwrap();
        let opening = Opening {
            accounts: 2,
            balance: 5,
        };
        let transfer = Transfer {
            user: 1,
            sequence: 1,
            from: 1,
            to: 2,
            amount: 5,
        };
        let begun = Record::Begun {
            at_s: 0.5,
            transfer,
        };
        let recorder = Recorder::create(dir.path().join("ledger"), opening).unwrap();
        recorder.record(begun.clone()).unwrap();
        // The file is still open, as in a process that is killed at this moment.
        let history = recorder.history().unwrap();
        assert_eq!(history.entries()[0].what, transfer);
        assert!(recorder.is_complete());
        *recorder.file.lock().unwrap() = Some(File::create("/dev/full").unwrap());
        recorder.record(begun.clone()).unwrap_err();
        recorder.record(begun).unwrap_err();
        assert!(!recorder.is_complete());
        assert_eq!(recorder.history().unwrap().entries().len(), 1);
        Recorder::create("/dev/full".into(), opening).unwrap_err();
    }
}

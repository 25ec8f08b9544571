//! The files of one trial, written as it runs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use measure::metric::MonitorPoint;
use measure::recovery::FaultSeries;
use measure::series::SeriesPoint;
use measure::setup::StatementKind;
use measure::slice::Second;
use measure::summary::TrialSummary;
use serde::Serialize;

use crate::atomic;
use crate::error::StoreError;
use crate::interval::IntervalRecord;
use crate::names;

/// Writes one trial. Each second is passed to the kernel at once, so that it survives a crash
/// of dyno.
#[derive(Debug)]
pub struct TrialWriter {
    path: PathBuf,
    load: InstanceWriter,
    monitors: Option<Lines>,
}

/// Writes the seconds of a load: that of a trial, or of one of several servers.
#[derive(Debug)]
pub struct InstanceWriter {
    series: Lines,
    intervals: Lines,
}

impl TrialWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, StoreError> {
        match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let path = path.to_owned();
                return Err(StoreError::Exists { path });
            }
            made => made.map_err(StoreError::at("create", path))?,
        }
        Self::open(path)
    }

    fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            load: InstanceWriter::open(path)?,
            monitors: None,
            path: path.to_owned(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one second; `kinds` are the load's, in its order.
    pub fn second(&mut self, second: &Second, kinds: &[StatementKind]) -> Result<(), StoreError> {
        self.load.second(second, kinds)
    }

    pub fn monitored(&mut self, point: &MonitorPoint) -> Result<(), StoreError> {
        if self.monitors.is_none() {
            self.monitors = Some(Lines::open(&self.path.join(names::MONITORS))?);
        }
        match &mut self.monitors {
            Some(lines) => lines.append(point),
            None => Ok(()),
        }
    }

    pub fn fault_series(&self, series: &FaultSeries) -> Result<(), StoreError> {
        let mut lines = Lines::open(&self.path.join(names::FAULTS))?;
        lines.append(series)?;
        lines.sync()
    }

    /// Creates the directory of a server; `number` counts from 1.
    pub fn server_dir(&self, number: u32) -> Result<PathBuf, StoreError> {
        let path = self.path.join(names::SERVERS).join(number.to_string());
        fs::create_dir_all(&path).map_err(StoreError::at("create", &path))?;
        Ok(path)
    }

    /// The file for the history of an instance's ledger.
    pub fn ledger_file(&self, instance: u32) -> PathBuf {
        self.path.join(names::ledger(instance))
    }

    pub fn instance(&self, number: u32) -> Result<InstanceWriter, StoreError> {
        InstanceWriter::open(&self.server_dir(number)?)
    }

    /// Writes the summary and ends the trial.
    pub fn finish(self, summary: &TrialSummary) -> Result<(), StoreError> {
        self.load.finish()?;
        self.monitors.as_ref().map_or(Ok(()), Lines::sync)?;
        atomic::write_json(&self.path.join(names::TRIAL), summary)
    }
}

impl InstanceWriter {
    fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            series: Lines::open(&path.join(names::SERIES))?,
            intervals: Lines::open(&path.join(names::INTERVALS))?,
        })
    }

    /// Appends one second; `kinds` are the load's, in its order.
    pub fn second(&mut self, second: &Second, kinds: &[StatementKind]) -> Result<(), StoreError> {
        self.series.append(&SeriesPoint::from(second))?;
        self.intervals.append(&IntervalRecord::of(second, kinds))
    }

    pub fn finish(self) -> Result<(), StoreError> {
        self.series.sync()?;
        self.intervals.sync()
    }
}

/// A file of JSON lines that only grows.
#[derive(Debug)]
struct Lines {
    path: PathBuf,
    file: File,
    line: Vec<u8>,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, StoreError> {
        let mut options = OpenOptions::new();
        let file = options
            .append(true)
            .create(true)
            .open(path)
            .map_err(StoreError::at("create", path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            line: Vec::new(),
        })
    }

    /// One system call per line: readers see complete lines.
    fn append<T: Serialize>(&mut self, value: &T) -> Result<(), StoreError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)
            .map_err(|error| StoreError::at("write", &self.path)(error.into()))?;
        self.line.push(b'\n');
        self.file
            .write_all(&self.line)
            .map_err(StoreError::at("write", &self.path))
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.file
            .sync_all()
            .map_err(StoreError::at("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use measure::slice::{Phase, Slice};

    use super::*;

    #[test]
    fn a_full_disk_is_named_with_its_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let series = folder.path().join(names::SERIES);
        std::os::unix::fs::symlink("/dev/full", &series).unwrap();
        let mut trial = TrialWriter::open(folder.path()).unwrap();
        let second = Second {
            start_ns: 0,
            end_ns: 1_000_000_000,
            phase: Phase::Measure,
            slice: Slice::new(0),
            backlog: None,
            workers: Vec::new(),
        };
        let error = trial.second(&second, &[]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(names::SERIES) && text.contains("Free some space"),
            "{text}"
        );
    }
}

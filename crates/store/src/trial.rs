//! The files of one trial, written as it runs.

use std::collections::btree_map::{BTreeMap, Entry};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use measure::latency::Latency;
use measure::metric::MonitorPoint;
use measure::recovery::FaultSeries;
use measure::series::SeriesPoint;
use measure::setup::StatementKind;
use measure::slice::{ErrorCount, Phase, Second};
use measure::summary::TrialSummary;
use serde::Serialize;

use crate::error::StoreError;
use crate::{atomic, names};

/// Writes one trial. Each second is passed to the kernel at once, so that it survives a crash
/// of dyno.
#[derive(Debug)]
pub struct TrialWriter {
    path: PathBuf,
    load: LoadWriter,
    /// The loads of several servers, by their numbers.
    instances: BTreeMap<u32, LoadWriter>,
    monitors: Option<Lines>,
}

/// Writes the seconds of a load: that of a trial, or of one of several servers.
#[derive(Debug)]
struct LoadWriter {
    series: Lines,
    intervals: Lines,
}

impl TrialWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, StoreError> {
        fs::create_dir(path).map_err(StoreError::cannot_create(path))?;
        Ok(Self {
            load: LoadWriter::open(path)?,
            instances: BTreeMap::new(),
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

    /// The same for one of several servers; `number` counts from 1.
    pub fn instance_second(
        &mut self,
        number: u32,
        second: &Second,
        kinds: &[StatementKind],
    ) -> Result<(), StoreError> {
        let load = match self.instances.entry(number) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(free) => free.insert(LoadWriter::open(&server_dir(&self.path, number)?)?),
        };
        load.second(second, kinds)
    }

    pub fn monitored(&mut self, point: &MonitorPoint) -> Result<(), StoreError> {
        let lines = match &mut self.monitors {
            Some(lines) => lines,
            none => none.insert(Lines::open(&self.path.join(names::MONITORS))?),
        };
        lines.append(point)
    }

    pub fn fault_series(&self, series: &FaultSeries) -> Result<(), StoreError> {
        let mut lines = Lines::open(&self.path.join(names::FAULTS))?;
        lines.append(series)?;
        lines.sync()
    }

    /// Creates the directory of a server; `number` counts from 1.
    pub fn server_dir(&self, number: u32) -> Result<PathBuf, StoreError> {
        server_dir(&self.path, number)
    }

    /// Ends the trial. The summary comes last: if it exists, the trial is complete.
    pub fn finish(self, summary: &TrialSummary) -> Result<(), StoreError> {
        for load in self.instances.values().chain([&self.load]) {
            load.sync()?;
        }
        self.monitors.as_ref().map_or(Ok(()), Lines::sync)?;
        atomic::write_json(&self.path.join(names::TRIAL), summary)
    }
}

fn server_dir(trial: &Path, number: u32) -> Result<PathBuf, StoreError> {
    let path = trial.join(names::SERVERS).join(number.to_string());
    fs::create_dir_all(&path).map_err(StoreError::at("create", &path))?;
    Ok(path)
}

impl LoadWriter {
    fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            series: Lines::open(&path.join(names::SERIES))?,
            intervals: Lines::open(&path.join(names::INTERVALS))?,
        })
    }

    fn second(&mut self, second: &Second, kinds: &[StatementKind]) -> Result<(), StoreError> {
        self.series.append(&SeriesPoint::from(second))?;
        self.intervals.append(&IntervalRecord::of(second, kinds))
    }

    fn sync(&self) -> Result<(), StoreError> {
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
        let file = File::options().append(true).create(true).open(path);
        Ok(Self {
            path: path.to_owned(),
            file: file.map_err(StoreError::at("create", path))?,
            line: Vec::new(),
        })
    }

    /// One system call per line: readers see complete lines.
    fn append<T: Serialize>(&mut self, value: &T) -> Result<(), StoreError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)
            .map_err(|error| StoreError::at("write", &self.path)(error.into()))?;
        self.line.push(b'\n');
        let written = self.file.write_all(&self.line);
        written.map_err(StoreError::at("write", &self.path))
    }

    fn sync(&self) -> Result<(), StoreError> {
        let synced = self.file.sync_all();
        synced.map_err(StoreError::at("write", &self.path))
    }
}

/// One second's histograms, as a line of `intervals.jsonl`.
#[derive(Serialize)]
struct IntervalRecord<'a> {
    phase: Phase,
    /// From the load's origin, in nanoseconds.
    start_ns: u64,
    /// From the load's origin, in nanoseconds.
    end_ns: u64,
    /// Transactions by the time from their intended start.
    response: Histogram,
    /// By the time from their actual start; open loop only.
    service: Option<Histogram>,
    /// The response times of each workload of a mix, in its order; absent for a single one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    workloads: Vec<Histogram>,
    /// How late the generator noticed an arrival; open loop only.
    lateness: Option<Histogram>,
    /// How late the generator read replies; absent without time stamps.
    delay: Option<Histogram>,
    /// Each kind of statement that was sent, by name.
    statements: BTreeMap<&'a str, Histogram>,
    errors: &'a BTreeMap<String, ErrorCount>,
}

#[derive(Serialize)]
struct Histogram {
    count: u64,
    /// Their exact sum, in nanoseconds.
    sum_ns: u64,
    /// HdrHistogram's V2 encoding in base64, which other tools read, too.
    hdr: String,
}

impl Histogram {
    fn of(latency: &Latency) -> Self {
        Self {
            count: latency.count(),
            // One second cannot have 584 years of waiting.
            sum_ns: u64::try_from(latency.sum_ns()).unwrap_or(u64::MAX),
            hdr: STANDARD.encode(latency.encode()),
        }
    }

    fn of_any(latency: &Latency) -> Option<Self> {
        (latency.count() > 0).then(|| Self::of(latency))
    }
}

impl<'a> IntervalRecord<'a> {
    /// The record of a second of a load with these kinds of statement.
    fn of(second: &'a Second, kinds: &'a [StatementKind]) -> Self {
        let slice = &second.slice;
        let sent = kinds.iter().zip(&slice.statements);
        let named = |(kind, latency): (&'a StatementKind, &Latency)| {
            Some((kind.name.as_str(), Histogram::of_any(latency)?))
        };
        Self {
            phase: second.phase,
            start_ns: second.start_ns,
            end_ns: second.end_ns,
            response: Histogram::of(&slice.response),
            service: Histogram::of_any(&slice.service),
            workloads: slice.kinds.iter().map(Histogram::of).collect(),
            lateness: Histogram::of_any(&slice.lateness),
            delay: Histogram::of_any(&slice.delay),
            statements: sent.filter_map(named).collect(),
            errors: &slice.errors,
        }
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
        let mut trial = LoadWriter::open(folder.path()).unwrap();
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

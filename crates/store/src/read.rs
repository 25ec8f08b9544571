//! Reads results, with limits, or the intact part of one: a damaged file hides no other.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use measure::metric::MonitorPoint;
use measure::recovery::FaultSeries;
use measure::result::{Environment, RunResult};
use measure::series::SeriesPoint;
use measure::summary::{SCHEMA_VERSION, TrialSummary};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::names;
use crate::thin::Thinner;

const MAX_RESULT_BYTES: u64 = 256 << 20;
const MAX_TRIAL_BYTES: u64 = 32 << 20;
/// Largest total of a result's `trial.json`, in bytes.
const MAX_TRIALS_BYTES: u64 = 512 << 20;
/// Largest of any other file that is read at once, in bytes.
const MAX_SMALL_BYTES: u64 = 4 << 20;
/// Most values in one JSON file: a short value takes more space in memory than in the file.
const MAX_VALUES: usize = 8_000_000;
/// Longest line, in bytes; a full histogram is below 1 MiB.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Most numbers of one series that are kept in memory.
const MAX_NUMBERS: usize = 1_000_000;
/// Most trials of a result: ten times what a study may have.
const MAX_TRIALS: u32 = 100_000;

pub fn read_result(dir: &Path) -> Result<RunResult, StoreError> {
    let path = dir.join(names::RESULT);
    let result: RunResult = versioned(&path, MAX_RESULT_BYTES)?;
    let planned = result.design.trials;
    if planned > MAX_TRIALS {
        let why = format!("a plan of {planned} trials; a result has at most {MAX_TRIALS}");
        return Err(StoreError::corrupt(&path, None, why));
    }
    Ok(result)
}

/// The summary of one trial (`trial`: one of [`trial_dirs`]); `None` if it was interrupted.
pub fn read_trial(trial: &Path) -> Result<Option<TrialSummary>, StoreError> {
    let path = trial.join(names::TRIAL);
    match path.exists() {
        true => versioned(&path, MAX_TRIAL_BYTES).map(Some),
        false => Ok(None),
    }
}

/// The study of a result directory, as it ran.
pub fn read_study(dir: &Path) -> Result<String, StoreError> {
    let path = dir.join(names::STUDY);
    let bytes = limited(&path, MAX_SMALL_BYTES)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn versioned<T: DeserializeOwned>(path: &Path, most_bytes: u64) -> Result<T, StoreError> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let bytes = limited(path, most_bytes)?;
    let Version { schema_version } = parse(path, &bytes)?;
    if schema_version != SCHEMA_VERSION {
        return Err(StoreError::Version {
            path: path.to_owned(),
            version: schema_version,
            known: SCHEMA_VERSION,
        });
    }
    parse(path, &bytes)
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, StoreError> {
    // Commas in texts count, too, but no file comes near the limit through them.
    let values = bytes.iter().filter(|byte| **byte == b',').count();
    if values > MAX_VALUES {
        return Err(StoreError::too_large(path, MAX_VALUES as u64, "values"));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| StoreError::corrupt(path, Some(error.line() as u64), error.to_string()))
}

/// Reads a whole file. Checks its length first, and reads at most `most_bytes` even if it grows.
fn limited(path: &Path, most_bytes: u64) -> Result<Vec<u8>, StoreError> {
    if file_bytes(path)? > most_bytes {
        return Err(StoreError::too_large(path, most_bytes, "bytes"));
    }
    let file = File::open(path).map_err(StoreError::at("read", path))?;
    let mut bytes = Vec::new();
    let read = file.take(most_bytes).read_to_end(&mut bytes);
    read.map_err(StoreError::at("read", path))?;
    Ok(bytes)
}

/// The length of a regular file; opening a pipe would block until it has a writer.
fn file_bytes(path: &Path) -> Result<u64, StoreError> {
    let found = fs::metadata(path).map_err(StoreError::at("read", path))?;
    match found.is_file() {
        true => Ok(found.len()),
        false => Err(StoreError::corrupt(path, None, "it is not a regular file")),
    }
}

/// The length of a trial's summary; 0 if there is none.
fn trial_bytes(trial: &Path) -> u64 {
    let bytes = fs::metadata(trial.join(names::TRIAL)).map_or(0, |found| found.len());
    if bytes > MAX_TRIAL_BYTES { 0 } else { bytes }
}

/// The directories of the trials, in order.
pub fn trial_dirs(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let trials = dir.join(names::TRIALS);
    let entries = fs::read_dir(&trials).map_err(StoreError::at("read", &trials))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(StoreError::at("read", &trials))?.path();
        if trial_number(&path).is_some() {
            paths.push(path);
        }
        if paths.len() > MAX_TRIALS as usize {
            return Err(StoreError::too_large(&trials, MAX_TRIALS.into(), "trials"));
        }
    }
    paths.sort_by_key(|path| trial_number(path));
    Ok(paths)
}

/// The number of a trial by its directory (one of [`trial_dirs`]).
pub fn trial_number(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.split_once('-')?.0.parse().ok()
}

/// The series of one trial (`trial`: one of [`trial_dirs`]), without an incomplete last line.
/// If it has more than about this many numbers, each point covers several seconds: the mean of
/// their rates, the largest of their times.
pub fn read_series(trial: &Path, most_numbers: usize) -> Result<Vec<SeriesPoint>, StoreError> {
    const BESIDES_WORKERS: usize = 16;
    let numbers = |point: &SeriesPoint| BESIDES_WORKERS + 2 * point.workers.len();
    let thinner = Thinner::new(most_numbers, numbers, SeriesPoint::absorb);
    thinned(&trial.join(names::SERIES), thinner)
}

/// The metrics of one trial; empty without monitors. If the series has more than about this many
/// numbers, each point is the mean of several seconds.
pub fn read_monitors(trial: &Path, most_numbers: usize) -> Result<Vec<MonitorPoint>, StoreError> {
    let path = trial.join(names::MONITORS);
    let numbers = |point: &MonitorPoint| 2 + point.values.len();
    let absorb = |last: &mut MonitorPoint, next: &MonitorPoint| {
        last.absorb(next);
        true
    };
    match path.exists() {
        true => thinned(&path, Thinner::new(most_numbers, numbers, absorb)),
        false => Ok(Vec::new()),
    }
}

fn thinned<T: DeserializeOwned>(
    path: &Path,
    mut thinner: Thinner<T>,
) -> Result<Vec<T>, StoreError> {
    each_line(path, |point| thinner.push(point))?;
    Ok(thinner.points)
}

/// The transactions around each fault of one trial; those of the first ones, if there are too many
/// for memory.
pub fn read_fault_series(trial: &Path) -> Result<Vec<FaultSeries>, StoreError> {
    let path = trial.join(names::FAULTS);
    let (mut all, mut numbers) = (Vec::new(), 0);
    if path.exists() {
        each_line(&path, |series: FaultSeries| {
            numbers += 1 + series.t_s.len() + series.completed.len();
            all.extend((numbers <= MAX_NUMBERS).then_some(series));
        })?;
    }
    Ok(all)
}

fn each_line<T: DeserializeOwned>(path: &Path, mut each: impl FnMut(T)) -> Result<(), StoreError> {
    file_bytes(path)?;
    let file = File::open(path).map_err(StoreError::at("read", path))?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut limited = (&mut reader).take(MAX_LINE_BYTES + 1);
        limited
            .read_until(b'\n', &mut line)
            .map_err(StoreError::at("read", path))?;
        if line.len() as u64 > MAX_LINE_BYTES {
            return Err(StoreError::too_large(
                path,
                MAX_LINE_BYTES,
                "bytes in one line",
            ));
        }
        // Only the last line can lack its end, after a crash.
        if line.last() != Some(&b'\n') {
            break;
        }
        let value = serde_json::from_slice(&line)
            .map_err(|error| StoreError::corrupt(path, Some(number), error.to_string()))?;
        each(value);
    }
    Ok(())
}

#[derive(Debug)]
pub struct IntactResult {
    /// The result with its intact trials, in order.
    pub result: RunResult,
    pub damaged: Vec<StoreError>,
}

/// Reads the intact part of a result directory. A trial with a damaged `trial.json` is left
/// out; without an intact `result.json` the result consists of its trials, with the
/// directory's name as its title.
pub fn read_intact(dir: &Path) -> Result<IntactResult, StoreError> {
    let mut damaged = Vec::new();
    let mut result = match read_result(dir) {
        Err(error @ StoreError::Corrupt { .. }) => {
            damaged.push(error);
            untitled(dir, &mut damaged)
        }
        read => read?,
    };
    result.trials.clear();
    let mut bytes = 0_u64;
    for path in trial_dirs(dir)? {
        bytes += trial_bytes(&path);
        if bytes > MAX_TRIALS_BYTES {
            let trials = dir.join(names::TRIALS);
            return Err(StoreError::too_large(
                &trials,
                MAX_TRIALS_BYTES,
                "bytes of trial.json",
            ));
        }
        match read_trial(&path) {
            Ok(Some(summary)) => result.trials.push(summary),
            Ok(None) => {}
            Err(error) => damaged.push(error),
        }
    }
    Ok(IntactResult { result, damaged })
}

/// A result of which only the name is known, and where it ran.
fn untitled(dir: &Path, damaged: &mut Vec<StoreError>) -> RunResult {
    let path = dir.join(names::ENVIRONMENT);
    let environment = limited(&path, MAX_SMALL_BYTES).and_then(|bytes| parse(&path, &bytes));
    let name = dir.file_name().unwrap_or(dir.as_os_str());
    RunResult {
        schema_version: SCHEMA_VERSION,
        title: name.to_string_lossy().into_owned(),
        environment: environment.unwrap_or_else(|error| {
            damaged.push(error);
            Environment::default()
        }),
        ..RunResult::default()
    }
}

//! Results that were written before, read with limits.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use measure::metric::MonitorPoint;
use measure::result::{Environment, RunResult};
use measure::series::SeriesPoint;
use measure::summary::{SCHEMA_VERSION, TrialSummary};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::interval::IntervalRecord;
use crate::names;

/// Most of a `result.json` that is read, in bytes.
const MAX_RESULT_BYTES: u64 = 256 << 20;
/// Longest line that is read, in bytes; a full histogram is below 1 MiB.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Most lines of one file that are read: eleven days of seconds.
const MAX_LINES: u64 = 1_000_000;

/// The `result.json` of a result directory.
///
/// # Errors
/// When there is none, it is damaged, or a newer dyno wrote it.
pub fn read_result(dir: &Path) -> Result<RunResult, StoreError> {
    versioned(&dir.join(names::RESULT))
}

/// Where a result directory's study ran.
pub(crate) fn read_environment(dir: &Path) -> Result<Environment, StoreError> {
    json(&dir.join(names::ENVIRONMENT))
}

/// The summary of one trial (`trial`: one of [`trial_dirs`]); `None` when it was cut
/// off before its end.
///
/// # Errors
/// When it cannot be read, is damaged, or a newer dyno wrote it.
pub fn read_trial(trial: &Path) -> Result<Option<TrialSummary>, StoreError> {
    let path = trial.join(names::TRIAL);
    match path.exists() {
        true => versioned(&path).map(Some),
        false => Ok(None),
    }
}

/// The study of a result directory, as it was run.
///
/// # Errors
/// When there is none.
pub fn read_study(dir: &Path) -> Result<String, StoreError> {
    let path = dir.join(names::STUDY);
    let bytes = limited(&path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    parse(path, &limited(path)?)
}

/// What an older dyno wrote is read with the defaults of what it did not know.
fn versioned<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let bytes = limited(path)?;
    let Version { schema_version } = parse(path, &bytes)?;
    if schema_version > SCHEMA_VERSION {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            version: schema_version,
            known: SCHEMA_VERSION,
        });
    }
    parse(path, &bytes)
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::Corrupt {
        line: Some(error.line() as u64),
        why: error.to_string(),
        path: path.to_owned(),
    })
}

fn limited(path: &Path) -> Result<Vec<u8>, StoreError> {
    let file = File::open(path).map_err(StoreError::at("read", path))?;
    let mut bytes = Vec::new();
    file.take(MAX_RESULT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(StoreError::at("read", path))?;
    if bytes.len() as u64 > MAX_RESULT_BYTES {
        return Err(too_large(path, MAX_RESULT_BYTES, "bytes"));
    }
    Ok(bytes)
}

/// The directories of the trials, in order.
///
/// # Errors
/// When they cannot be listed.
pub fn trial_dirs(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let trials = dir.join(names::TRIALS);
    let entries = fs::read_dir(&trials).map_err(StoreError::at("read", &trials))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(StoreError::at("read", &trials))?.path();
        if trial_number(&path).is_some() {
            paths.push(path);
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

/// The series of one trial (`trial`: one of [`trial_dirs`]). A last line that was
/// not written to its end is left out.
///
/// # Errors
/// When it cannot be read, or is damaged.
pub fn read_series(trial: &Path) -> Result<Vec<SeriesPoint>, StoreError> {
    let mut points = Vec::new();
    each_line(&trial.join(names::SERIES), |point| points.push(point))?;
    Ok(points)
}

/// What the monitors of one trial saw; nothing where there were none.
///
/// # Errors
/// When it cannot be read, or is damaged.
pub fn read_monitors(trial: &Path) -> Result<Vec<MonitorPoint>, StoreError> {
    let path = trial.join(names::MONITORS);
    let mut points = Vec::new();
    if path.exists() {
        each_line(&path, |point| points.push(point))?;
    }
    Ok(points)
}

/// Hands each second's histograms of one trial to `each`, one at a time: all at
/// once can be more than fits in memory.
///
/// # Errors
/// When they cannot be read, or are damaged.
pub fn read_intervals(trial: &Path, each: impl FnMut(IntervalRecord)) -> Result<(), StoreError> {
    each_line(&trial.join(names::INTERVALS), each)
}

fn each_line<T: DeserializeOwned>(path: &Path, mut each: impl FnMut(T)) -> Result<(), StoreError> {
    let file = File::open(path).map_err(StoreError::at("read", path))?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    // One more than the limit, to see the end of a file that is just as long.
    for number in 1..=MAX_LINES + 1 {
        line.clear();
        let mut limited = (&mut reader).take(MAX_LINE_BYTES + 1);
        limited
            .read_until(b'\n', &mut line)
            .map_err(StoreError::at("read", path))?;
        if line.len() as u64 > MAX_LINE_BYTES {
            return Err(too_large(path, MAX_LINE_BYTES, "bytes in one line"));
        }
        // A line without its end is the last one, cut short by a crash.
        if line.last() != Some(&b'\n') {
            return Ok(());
        }
        each(
            serde_json::from_slice(&line).map_err(|error| StoreError::Corrupt {
                path: path.to_owned(),
                line: Some(number),
                why: error.to_string(),
            })?,
        );
    }
    Err(too_large(path, MAX_LINES, "lines"))
}

fn too_large(path: &Path, limit: u64, unit: &'static str) -> StoreError {
    StoreError::TooLarge {
        path: path.to_owned(),
        limit,
        unit,
    }
}

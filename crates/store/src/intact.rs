//! Reads the intact part of a result: one damaged file hides no other.

use std::path::{Path, PathBuf};

use measure::result::{Environment, RunResult};
use measure::summary::SCHEMA_VERSION;

use crate::error::StoreError;
use crate::names;
use crate::read::{
    MAX_TRIALS_BYTES, read_environment, read_result, read_trial, too_large, trial_bytes, trial_dirs,
};

#[derive(Debug)]
pub struct IntactResult {
    /// The result with its intact trials, in order.
    pub result: RunResult,
    /// The directory of each of its trials.
    pub dirs: Vec<PathBuf>,
    pub damaged: Vec<StoreError>,
}

/// Reads the intact part of a result directory. A trial with a damaged `trial.json` is left
/// out; without an intact `result.json` the result consists of its trials, with the
/// directory's name as its title.
pub fn read_intact(dir: &Path) -> Result<IntactResult, StoreError> {
    let mut damaged = Vec::new();
    let mut result = match read_result(dir) {
        Ok(result) => result,
        Err(error @ StoreError::Corrupt { .. }) => {
            damaged.push(error);
            let environment = read_environment(dir);
            RunResult {
                environment: environment.unwrap_or_else(|error| {
                    damaged.push(error);
                    Environment::default()
                }),
                ..untitled(dir)
            }
        }
        Err(error) => return Err(error),
    };
    result.trials.clear();
    let mut dirs = Vec::new();
    let mut bytes = 0_u64;
    for path in trial_dirs(dir)? {
        bytes += trial_bytes(&path);
        if bytes > MAX_TRIALS_BYTES {
            let trials = dir.join(names::TRIALS);
            return Err(too_large(&trials, MAX_TRIALS_BYTES, "bytes of trial.json"));
        }
        match read_trial(&path) {
            Ok(Some(summary)) => {
                result.trials.push(summary);
                dirs.push(path);
            }
            Ok(None) => {}
            Err(error) => damaged.push(error),
        }
    }
    Ok(IntactResult {
        result,
        dirs,
        damaged,
    })
}

/// A result of which only the name is known.
fn untitled(dir: &Path) -> RunResult {
    let name = dir.file_name().unwrap_or(dir.as_os_str());
    RunResult {
        schema_version: SCHEMA_VERSION,
        title: name.to_string_lossy().into_owned(),
        ..RunResult::default()
    }
}

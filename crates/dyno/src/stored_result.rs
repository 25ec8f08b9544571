//! Stored results, without their damaged parts.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use measure::result::RunResult;
use study::Study;

use crate::cli::ResultsArgs;
use crate::console::eprint;
use crate::failure::{Failure, stored};

/// A stored result with at least one complete trial.
pub(crate) struct StoredResult {
    pub(crate) result: RunResult,
    pub(crate) path: PathBuf,
}

impl StoredResult {
    /// Reads the complete trials of a result and warns about damaged files.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let stored = store::read_intact(path).map_err(stored)?;
        for error in &stored.damaged {
            eprint(&skipped(error));
        }
        if stored.result.trials.is_empty() {
            let message = format!("{} has no complete trial", path.display());
            return Err(Failure::usage(message)
                .remedy("run the rest of its study: dyno run STUDY --resume"));
        }
        if !stored.result.searches.is_empty() {
            let message = format!(
                "{} is the result of a search for the highest rate: its trials are steps of the \
                 search, not points of a study",
                path.display()
            );
            return Err(Failure::usage(message)
                .remedy("use dyno report RESULT, which shows what the search found"));
        }
        Ok(Self {
            result: stored.result,
            path: std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
        })
    }

    /// The study as it was run.
    pub(crate) fn study(&self) -> Result<Study, Failure> {
        let text = store::read_study(&self.path).map_err(stored)?;
        let label = self.path.join(store::names::STUDY).display().to_string();
        Study::parse_as_run(&label, &text, engine::catalog()).map_err(Failure::usage)
    }

    pub(crate) fn name(&self) -> String {
        self.last(1)
    }

    pub(crate) fn parent(&self) -> String {
        let name = self.path.parent().and_then(Path::file_name);
        name.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The last `count` names of its path.
    fn last(&self, count: usize) -> String {
        let names: Vec<_> = self.path.iter().collect();
        let last = &names[names.len().saturating_sub(count)..];
        PathBuf::from_iter(last).display().to_string()
    }

    /// A unique name for each: the name of its directory, with as many parent directories as
    /// necessary.
    pub(crate) fn names(all: &[Self]) -> Vec<String> {
        let name = |stored: &Self| {
            let is_unique = |count: &usize| {
                let mut others = all.iter().filter(|other| other.path != stored.path);
                others.all(|other| other.last(*count) != stored.last(*count))
            };
            let count = (1..=stored.path.iter().count()).find(is_unique);
            stored.last(count.unwrap_or(1))
        };
        all.iter().map(name).collect()
    }

    /// Reads results of the same workload. Unreadable ones are reported and skipped.
    pub(crate) fn read_all(args: &ResultsArgs) -> Result<Vec<Self>, Failure> {
        let mut all: Vec<Self> = Vec::new();
        let mut unread = None;
        for path in &args.results {
            let stored = match Self::read(path) {
                Ok(stored) => stored,
                Err(failure) => {
                    if args.results.len() > 1 {
                        eprint(&skipped(&failure));
                    }
                    unread = Some(failure);
                    continue;
                }
            };
            if all.iter().any(|known| known.path == stored.path) {
                let message = format!("{} is given twice", path.display());
                return Err(Failure::usage(message).remedy("name each result directory once"));
            }
            for known in &all {
                check_same_workload(known, &stored, args.force)?;
            }
            all.push(stored);
        }
        match (all.is_empty(), unread) {
            (true, Some(failure)) => Err(failure),
            _ => Ok(all),
        }
    }
}

pub(crate) fn skipped(error: &impl Display) -> String {
    format!("warning: skipped: {error}")
}

/// Fails if two results are of different workloads; with `force`, only warns.
pub(crate) fn check_same_workload(
    one: &StoredResult,
    other: &StoredResult,
    force: bool,
) -> Result<(), Failure> {
    let differences = ::report::workload_differences(&one.result, &other.result);
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{} and {} ran different workloads: {}",
        one.path.display(),
        other.path.display(),
        differences.join("; ")
    );
    if force {
        eprint(&format!("warning: {message}"));
        return Ok(());
    }
    Err(Failure::usage(message)
        .remedy("their numbers cannot be compared; --force shows them anyway"))
}

//! Stored results, as far as they are readable.

use std::path::{Path, PathBuf};

use measure::result::RunResult;
use store::StoreError;

use crate::cli::ResultsArgs;
use crate::failure::{Exit, Failure};
use crate::progress::Screen;

/// A result with at least one trial.
pub(crate) struct StoredResult {
    pub(crate) result: RunResult,
    /// Its directory.
    pub(crate) path: PathBuf,
    /// The study as it was run; `None` if it is missing.
    pub(crate) study: Option<String>,
}

impl StoredResult {
    /// Reads the complete trials of a result, and warns of damaged files.
    pub(crate) fn read(path: &Path, screen: &Screen) -> Result<Self, Failure> {
        let kept = store::read_intact(path)?;
        warn_of_damaged(&kept.damaged, screen);
        if kept.result.trials.is_empty() {
            let message = format!("{} has no complete trial", path.display());
            return Err(Failure::new(Exit::Usage, message)
                .remedy(Some("complete its study: dyno run STUDY --resume")));
        }
        if !kept.result.searches.is_empty() {
            let message = format!(
                "{} is the result of a search for the highest rate: its trials are steps of the \
                 search, not points of a study",
                path.display()
            );
            return Err(Failure::new(Exit::Usage, message)
                .remedy(Some("dyno report RESULT shows what it found")));
        }
        Ok(Self {
            result: kept.result,
            path: std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            study: store::read_study(path).ok(),
        })
    }

    /// The name of its directory.
    pub(crate) fn name(&self) -> String {
        self.last(1)
    }

    /// The name of the parent directory.
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
        let name = |kept: &Self| {
            let is_unique = |count: &usize| {
                let mut others = all.iter().filter(|other| other.path != kept.path);
                others.all(|other| other.last(*count) != kept.last(*count))
            };
            let count = (1..=kept.path.iter().count()).find(is_unique);
            kept.last(count.unwrap_or(1))
        };
        all.iter().map(name).collect()
    }

    /// Reads several results of the same workload. Unreadable ones are reported and skipped; it
    /// fails if none is readable, or one is given twice.
    pub(crate) fn read_all(args: &ResultsArgs, screen: &Screen) -> Result<Vec<Self>, Failure> {
        let mut all: Vec<Self> = Vec::new();
        let mut unread = None;
        for path in &args.results {
            let kept = match Self::read(path, screen) {
                Ok(kept) => kept,
                Err(failure) => {
                    if args.results.len() > 1 {
                        screen.line(&format!("warning: skipped: {}", failure.message()));
                    }
                    unread = Some(failure);
                    continue;
                }
            };
            if all.iter().any(|known| known.path == kept.path) {
                let message = format!("{} is given twice", path.display());
                return Err(Failure::new(Exit::Usage, message)
                    .remedy(Some("name each result directory once")));
            }
            for known in &all {
                check_same_workload(known, &kept, args.force, screen)?;
            }
            all.push(kept);
        }
        match (all.is_empty(), unread) {
            (true, Some(failure)) => Err(failure),
            _ => Ok(all),
        }
    }
}

/// Warns of each file that could not be read.
pub(crate) fn warn_of_damaged(errors: &[StoreError], screen: &Screen) {
    for error in errors {
        screen.line(&format!("warning: skipped: {error}"));
    }
}

/// Fails for two results of different workloads, or only warns with `force`.
pub(crate) fn check_same_workload(
    one: &StoredResult,
    other: &StoredResult,
    force: bool,
    screen: &Screen,
) -> Result<(), Failure> {
    let unlike = ::report::unlike(&one.result, &other.result);
    if unlike.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{} and {} ran different workloads: {}",
        one.path.display(),
        other.path.display(),
        unlike.join("; ")
    );
    if force {
        screen.line(&format!("warning: {message}"));
        return Ok(());
    }
    Err(Failure::new(Exit::Usage, message).remedy(Some(
        "their numbers cannot be compared; --force shows them anyway",
    )))
}

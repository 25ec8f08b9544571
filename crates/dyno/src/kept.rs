//! Results that were written before, as far as they can be read.

use std::path::{Path, PathBuf};

use measure::result::RunResult;
use store::StoreError;

use crate::failure::{Exit, Failure};
use crate::progress::Screen;

/// A result with at least one trial.
pub(crate) struct Kept {
    pub(crate) result: RunResult,
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// The study as it was run; `None` where it is not there.
    pub(crate) study: Option<String>,
}

impl Kept {
    /// Reads what is whole of a result; says what is not.
    pub(crate) fn read(path: &Path, screen: &Screen) -> Result<Self, Failure> {
        let kept = store::read_kept(path)?;
        damaged(&kept.damaged, screen);
        if kept.result.trials.is_empty() {
            let message = format!("{} holds no whole trial", path.display());
            return Err(Failure::new(Exit::Usage, message)
                .remedy(Some("run its study to the end: dyno run STUDY --resume")));
        }
        Ok(Self {
            result: kept.result,
            path: std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            study: store::read_study(path).ok(),
        })
    }

    /// The name of its directory.
    pub(crate) fn name(&self) -> String {
        name(Some(&self.path))
    }

    /// The name of the directory that it lies in.
    pub(crate) fn parent(&self) -> String {
        name(self.path.parent())
    }

    /// Reads several of the same work (which `force` does not insist on), none of them twice.
    pub(crate) fn read_all(
        paths: &[PathBuf],
        force: bool,
        screen: &Screen,
    ) -> Result<Vec<Self>, Failure> {
        let mut all: Vec<Self> = Vec::new();
        for path in paths {
            let kept = Self::read(path, screen)?;
            if all.iter().any(|known| known.path == kept.path) {
                let message = format!("{} is given twice", path.display());
                return Err(Failure::new(Exit::Usage, message)
                    .remedy(Some("name each result directory once")));
            }
            if let Some(first) = all.first() {
                same_work(first, &kept, force, screen)?;
            }
            all.push(kept);
        }
        Ok(all)
    }
}

fn name(path: Option<&Path>) -> String {
    let name = path.and_then(Path::file_name).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Names each file that could not be read; what goes on is without it.
pub(crate) fn damaged(errors: &[StoreError], screen: &Screen) {
    for error in errors {
        screen.line(&format!("warning: left out: {error}"));
    }
}

/// Refuses two results of different work, or warns when that is meant.
pub(crate) fn same_work(
    one: &Kept,
    other: &Kept,
    force: bool,
    screen: &Screen,
) -> Result<(), Failure> {
    let unlike = ::report::unlike(&one.result, &other.result);
    if unlike.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{} and {} are not of the same work: {}",
        one.path.display(),
        other.path.display(),
        unlike.join("; ")
    );
    if force {
        screen.line(&format!("warning: {message}"));
        return Ok(());
    }
    Err(Failure::new(Exit::Usage, message).remedy(Some(
        "their numbers say nothing of each other; --force shows them all the same",
    )))
}

//! `dyno report RESULT`: regenerates the report of a stored result.

use std::path::{Path, PathBuf};

use ::report::{Answer, Report, parts};
use measure::result::RunResult;
use store::{ResultDir, StoreError, names};

use crate::answer;
use crate::cli::{AnswerArgs, ReportArgs};
use crate::console::{eprint, print_json};
use crate::failure::{Failure, stored};
use crate::progress::{Detail, Screen};
use crate::stored_result::skipped;

/// Maximum number of values that a report reads from the series of all loads, and from those of all
/// monitors: more than a page shows, and few enough to fit in memory.
const MAX_VALUES: usize = 2_000_000;
/// Minimum number of values read from each trial.
const MIN_VALUES: usize = 2_000;

/// Writes the report of the undamaged parts of a result into the result directory, unless --out or
/// --json is given.
pub(crate) fn report(args: &ReportArgs) -> Result<(), Failure> {
    let screen = Screen::new(Detail::Bar);
    let intact = store::read_intact(&args.result).map_err(stored)?;
    let store::IntactResult { result, damaged } = intact;
    for error in &damaged {
        eprint(&skipped(error));
    }
    let dir = ResultDir::open(&args.result).map_err(stored)?;
    let AnswerArgs { out, json } = &args.answer;
    if !json && out.is_none() {
        let path = write(&dir, &result, &screen)?;
        screen.line(&format!("report:  {}", path.display()));
        return Ok(());
    }
    let report = read(&dir, &result, &screen)?;
    if *json {
        print_json(report.json())?;
    }
    match out {
        Some(out) => answer::write(&report, "report", out),
        None => Ok(()),
    }
}

/// Reads the data that a report shows in addition to the summaries.
fn read<'a>(
    dir: &ResultDir,
    result: &'a RunResult,
    screen: &Screen,
) -> Result<Report<'a>, Failure> {
    let (mut series, mut monitors, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    let trials = trial_dirs(dir.path(), result)?;
    let max_values = (MAX_VALUES / trials.len().max(1)).clamp(MIN_VALUES, MAX_VALUES);
    for trial in trials {
        let read = store::read_series(&trial, max_values);
        series.push(or_default(read, screen));
        let read = store::read_monitors(&trial, max_values);
        monitors.push(or_default(read, screen));
        faults.push(or_default(store::read_fault_series(&trial), screen));
    }
    Ok(Report {
        result,
        series,
        monitors,
        faults,
        study: Some(or_default(store::read_study(dir.path()), screen)),
    })
}

/// Writes the report into the result directory in every format; returns the path of the page.
pub(crate) fn write(
    dir: &ResultDir,
    result: &RunResult,
    screen: &Screen,
) -> Result<PathBuf, Failure> {
    let report = read(dir, result, screen)?;
    let has_tables = !result.design.tables.is_empty();
    let texts = [
        (names::JUNIT, ::report::junit::xml(result)),
        (names::CSV, Some(report.csv())),
        (
            names::TABLES,
            has_tables.then(|| ::report::csv::tables(result)),
        ),
        (names::SEARCHES, ::report::search::csv(result)),
        (names::FAULTS_CSV, ::report::recovery::csv(result)),
        (names::SCALING, ::report::scale::csv(result)),
        (
            names::WORKLOADS,
            parts::csv(result, |trial| &trial.by_workload),
        ),
        (names::PHASES, parts::csv(result, |trial| &trial.by_phase)),
        (names::MARKDOWN, Some(report.markdown())),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            let written = dir.write_report(name, |out| out.write_all(text.as_bytes()));
            written.map_err(stored)?;
        }
    }
    let page = dir.write_report(names::REPORT, |out| report.write_html(out));
    page.map_err(stored)
}

/// The default for a file that cannot be read: an incomplete report is better than none.
fn or_default<T: Default>(read: Result<T, StoreError>, screen: &Screen) -> T {
    read.unwrap_or_else(|error| {
        screen.line(&skipped(&error));
        T::default()
    })
}

fn trial_dirs(dir: &Path, result: &RunResult) -> Result<Vec<PathBuf>, Failure> {
    let dirs = store::trial_dirs(dir).map_err(stored)?;
    let numbers = result.trials.iter().map(|trial| trial.setup.planned.number);
    let found = numbers.map(|number| {
        let is_wanted = |path: &&PathBuf| store::trial_number(path) == Some(number);
        dirs.iter().find(is_wanted).cloned().ok_or_else(|| {
            let message = format!("{}: the files of trial {number} are missing", dir.display());
            Failure::usage(message)
        })
    });
    found.collect()
}

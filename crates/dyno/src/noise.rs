//! The noise of this host in comparisons whose variants take turns: a file in the cache, to which
//! each such run adds a record.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::{Trial, against_turns, counted};
use measure::compare::{Boundary, ERROR_RATE, FIRST_LOOK, LEAST, Noise, NoiseRun, looks};
use measure::result::Environment;
use measure::summary::TrialSummary;
use plan::{Alternate, Compare, format_duration};

use crate::failure::Failure;
use crate::own_file;
use crate::results::environment;
use crate::resume::IDENTITY;
use crate::study_file::PlannedStudy;

const FILE: &str = "noise.json";
/// Older runs are dropped.
const MOST_RUNS: usize = 50;
const READ_LIMIT_BYTES: u64 = 1 << 20;
const NONE_KEPT: &str = "the noise of this host has not been measured: run dyno doctor --noise 60s";

fn place() -> Result<PathBuf, Failure> {
    Ok(machine::home::place()?.join(FILE))
}

/// Identifies a host.
fn host_of(environment: &Environment) -> String {
    let facts = IDENTITY.map(|(_, of)| of(environment).unwrap_or_default());
    facts.join(", ")
}

fn read(path: &Path) -> Result<Vec<NoiseRun>, Failure> {
    let Some(text) = own_file::read(path, READ_LIMIT_BYTES)? else {
        return Ok(Vec::new());
    };
    serde_json::from_slice(&text).map_err(|error| {
        let message = format!("{} is damaged: {error}", path.display());
        Failure::usage(message).remedy("remove it; only the noise records are lost")
    })
}

/// Fails if the recorded noise cannot be read.
pub(crate) fn check() -> Result<(), Failure> {
    read(&place()?).map(drop)
}

/// Records the noise of trials that took `spent` in total; returns whether they had enough turns.
pub(crate) fn keep(
    environment: &Environment,
    trials: &[TrialSummary],
    spent: Duration,
) -> Result<bool, Failure> {
    let host = host_of(environment);
    let run = NoiseRun::of(host, trials, spent.as_secs_f64());
    let is_useful = run.is_some();
    run.map_or(Ok(()), |run| append(&place()?, run))?;
    Ok(is_useful)
}

/// The lock keeps concurrent runs from losing records.
fn append(path: &Path, run: NoiseRun) -> Result<(), Failure> {
    let _lock = own_file::lock(path)?;
    let mut runs = read(path)?;
    runs.push(run);
    runs.drain(..runs.len().saturating_sub(MOST_RUNS));
    own_file::replace(path, &serde_json::to_vec(&runs).map_err(Failure::internal)?)
}

/// The recorded noise of this host, or why there is none.
pub(crate) fn known() -> Result<Noise, String> {
    let path = place().map_err(|failure| failure.message)?;
    let runs = read(&path).map_err(|failure| failure.message)?;
    let found = Noise::of(&runs, &host_of(&environment(&[])));
    found.ok_or_else(|| match runs.is_empty() {
        true => NONE_KEPT.to_owned(),
        false => format!("{NONE_KEPT} ({} is from another host)", path.display()),
    })
}

/// Unless the study sets `load.time`, gives trials that take turns the best length for the noise of
/// this host.
pub(crate) fn set_time(study: &PlannedStudy, trials: &mut [Trial]) {
    // A single start has no noise between starts to balance against that of its pairs.
    let has_starts = |compare: Compare| compare.starts > 1;
    let mut in_turns = trials.iter().filter_map(|trial| trial.planned.turns());
    let is_open = in_turns.any(has_starts) && study.source.place("load.time").is_none();
    let Some(noise) = is_open.then(known).and_then(Result::ok) else {
        return;
    };
    for planned in trials.iter_mut().map(|trial| &mut trial.planned) {
        if let Some(compare) = planned.compare {
            planned.load.time = counted(compare.block) * noise.pairs(pair_s(&compare));
        }
    }
}

fn pair_s(compare: &Compare) -> f64 {
    2.0 * compare.block.as_secs_f64()
}

/// The design of a comparison, its expected precision, and the remedy if that is too low; `None`
/// without `[compare]`.
pub(crate) fn plan_line(study: &PlannedStudy, trials: &[Trial]) -> Option<String> {
    let first = trials.first()?;
    let (compare, wanted) = (first.planned.compare?, study.plan.trials.first()?.compare?);
    let starts = compare.starts;
    let is_limited = starts < wanted.starts;
    let limit = is_limited.then(|| {
        let budget = format_duration(compare.budget);
        format!("at most {starts} starts in the budget of {budget} (compare.budget)")
    });
    let has_forecast = compare.alternates() && starts > 1;
    let half = has_forecast.then(|| half_width_pct(first, trials, starts));
    let problem = problem(
        half.as_ref().and_then(|half| half.as_ref().ok()),
        starts,
        is_limited,
    );
    let precision = half.map(|half| match half {
        Ok(half) => format!("expected half width after {starts} starts: {half:.1} %"),
        Err(why) => why,
    });
    let parts = [
        Some(design(first, trials, wanted.alternate)),
        limit,
        precision,
        problem,
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// Whether variants take turns and, if the study leaves that to dyno, why they do not.
fn design(first: &Trial, trials: &[Trial], wanted: Alternate) -> String {
    if first.planned.turns().is_some() {
        let time = format_duration(first.planned.load.time);
        return format!(
            "compare: in turns, {} pairs per start (load.time {time})",
            first.pairs()
        );
    }
    match wanted {
        Alternate::Auto => {
            let why = against_turns(trials);
            let why = why.unwrap_or("this host cannot run all servers at once");
            format!("compare: whole trials: {why}")
        }
        _ => "compare: whole trials".to_owned(),
    }
}

/// Why a comparison will probably decide little, with the remedy; `half` is the expected half width in
/// percent, if known.
fn problem(half: Option<&f64>, starts: u32, is_limited: bool) -> Option<String> {
    let remedy = match is_limited {
        true => "increase compare.budget or reduce load.time",
        false => "increase compare.starts",
    };
    let problem = match half {
        Some(half) if *half <= 100.0 * LEAST => return None,
        Some(_) => "smaller changes will probably remain undecided",
        None if is_limited && starts < FIRST_LOOK => "so few starts detect only large changes",
        None => return None,
    };
    Some(format!("{problem}: {remedy}"))
}

/// The expected half width of the interval after the last start, in percent, or why it is unknown.
fn half_width_pct(first: &Trial, trials: &[Trial], starts: u32) -> Result<f64, String> {
    let noise = known()?;
    let is_compared = |trial: &&Trial| {
        trial.planned.repeat == 1 && trial.planned.variant() != first.planned.variant()
    };
    let comparisons = trials.iter().filter(is_compared).count();
    let boundary = Boundary::new(&looks(starts));
    let error_rate = ERROR_RATE / comparisons.max(1) as f64;
    Ok(noise.half_width_pct(first.pairs(), starts, (&boundary, error_rate)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn run(host: &str) -> NoiseRun {
        let squares = "{\"sum\": 1, \"degrees\": 2}";
        let text = format!(
            "{{\"host\": {host:?}, \"start_s\": 1, \"pairs\": {squares}, \"starts\": {squares}, \"shares\": 1}}"
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_latest_runs_are_kept_for_their_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        assert_eq!(read(&path), Ok(Vec::new()));
        for number in 0..=MOST_RUNS {
            append(&path, run(&number.to_string())).unwrap();
        }
        let runs = read(&path).unwrap();
        assert_eq!((runs.len(), runs[0].host.as_str()), (MOST_RUNS, "1"));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(Noise::of(&runs, "1").is_some());
        assert_eq!(Noise::of(&runs, "elsewhere"), None);
    }

    #[test]
    fn runs_at_once_lose_no_record() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        // What killed processes left.
        for name in ["new".to_owned(), std::process::id().to_string()] {
            fs::write(path.with_extension(name), "half").unwrap();
        }
        std::thread::scope(|scope| {
            for number in 0..20 {
                let path = &path;
                scope.spawn(move || append(path, run(&number.to_string())).unwrap());
            }
        });
        assert_eq!(read(&path).unwrap().len(), 20);
    }

    #[test]
    fn links_and_damaged_files_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let [path, theirs] = [FILE, "theirs"].map(|name| dir.path().join(name));
        fs::write(&theirs, "[]").unwrap();
        symlink(&theirs, &path).unwrap();
        assert!(read(&path).is_err());
        assert!(append(&path, run("here")).is_err());
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "[]");
        fs::remove_file(&path).unwrap();
        fs::write(&path, "[{}]").unwrap();
        let damaged = append(&path, run("here")).unwrap_err();
        assert!(damaged.message.contains("is damaged"), "{damaged:?}");
    }
}

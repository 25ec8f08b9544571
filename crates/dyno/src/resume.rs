//! Checks whether an interrupted study can continue here: all trials of a result must be measured
//! under the same conditions.

use std::collections::BTreeSet;

use lab::Trial;
use measure::find_max::{FoundMax, SearchEnd};
use measure::finding::{Finding, Level};
use measure::result::{Disk, Environment, Place, RunResult};
use measure::summary::TrialSummary;
use plan::{EngineSpec, Reset};

use crate::failure::Failure;

/// A fact about a host or a directory.
pub(crate) type Fact<T> = (&'static str, fn(&T) -> Option<String>);

/// A host that differs in one of these facts is another host…
pub(crate) const IDENTITY: [Fact<Environment>; 3] = [
    ("host name", |of| of.hostname.clone()),
    ("CPU", |of| of.cpu_model.clone()),
    ("available CPUs", |of| {
        of.cores.map(|cores| cores.to_string())
    }),
];
/// …and one that differs in one of these is the same host in another state.
const CONDITION: [Fact<Environment>; 4] = [
    ("dyno", |of| Some(of.dyno_version.clone())),
    ("kernel", |of| of.kernel.clone()),
    ("operating system", |of| of.os.clone()),
    ("CPU governor", |of| of.governor.clone()),
];
/// A directory that differs in one of these facts is on another disk. The names of disks are not
/// among them, because they may change when a host restarts.
const DISKS: [Fact<Place>; 4] = [
    ("file system", |of| of.file_system.clone()),
    ("source", source),
    ("disks", |of| disk_facts(of, |disk| disk.model.clone())),
    ("disk bytes", |of| disk_facts(of, |disk| disk.bytes)),
];
/// A directory that differs in one of these facts is mounted differently.
const MOUNT: [Fact<Place>; 1] = [("mount options", |of| of.options.clone())];

/// Compares the environment and the servers of the stored trials with those `here`; returns the
/// differences that matter for comparing trials from before and after the interruption.
pub(crate) fn check(
    stored: &RunResult,
    here: &Environment,
    trials: &[Trial],
) -> Result<Vec<Finding>, Failure> {
    let (there, complete) = (&stored.environment, &stored.trials);
    if complete.is_empty() {
        return Ok(Vec::new());
    }
    refuse_other_order(complete, trials)?;
    refuse_lost_data(stored, trials)?;
    let mut other = differences(&IDENTITY, there, here);
    other.extend(other_places(&DISKS, there, here));
    other.extend(other_engines(complete, trials)?);
    if !other.is_empty() {
        let message = format!(
            "cannot resume the run here, because conditions have changed:\n  {}",
            other.join("\n  ")
        );
        let remedy = "resume it on the host and disks where it was started, or start over: give --out a new \
                      directory, without --resume";
        return Err(Failure::usage(message).remedy(remedy));
    }
    let mut changed = differences(&CONDITION, there, here);
    changed.extend(other_places(&MOUNT, there, here));
    Ok(changed.into_iter().map(warning).collect())
}

/// Restores the choices that dyno made for the completed trials: whether variants take turns, the number
/// of starts and, unless the study `sets_time`, `load.time`. Returns whether there was such a trial.
pub(crate) fn as_recorded(
    trials: &mut Vec<Trial>,
    complete: &[TrialSummary],
    sets_time: bool,
) -> bool {
    let mut recorded = complete.iter().map(|trial| &trial.setup.planned);
    let Some((recorded, compare)) = recorded.find_map(|one| Some((one, one.compare?))) else {
        return false;
    };
    for planned in trials.iter_mut().map(|trial| &mut trial.planned) {
        planned.compare = Some(compare);
        if !sets_time {
            planned.load.time = recorded.load.time;
        }
    }
    trials.retain(|trial| trial.planned.repeat <= compare.starts);
    true
}

/// The completed trials, without those that took turns with an incomplete one, because their start
/// runs again as a whole; and the numbers of the latter.
pub(crate) fn without_partial_starts(
    complete: Vec<TrialSummary>,
    trials: &[Trial],
) -> (Vec<TrialSummary>, Vec<u32>) {
    let numbers: BTreeSet<u32> = complete.iter().map(number).collect();
    let planned = trials.iter().map(|trial| &trial.planned);
    let remaining = planned.filter(|trial| !numbers.contains(&trial.number));
    let remaining: Vec<_> = remaining.collect();
    let (whole, partial): (Vec<_>, Vec<_>) = complete.into_iter().partition(|trial| {
        let planned = &trial.setup.planned;
        let mut remaining = remaining.iter();
        !remaining.any(|other| other.takes_turns_with(planned))
    });
    (whole, partial.iter().map(number).collect())
}

fn number(trial: &TrialSummary) -> u32 {
    trial.setup.planned.number
}

/// A trial is identified by its number, so the order must not change.
fn refuse_other_order(complete: &[TrialSummary], trials: &[Trial]) -> Result<(), Failure> {
    let planned = |trial: &TrialSummary| {
        let mut planned = trials.iter().map(|trial| &trial.planned);
        planned.find(|other| other.number == trial.setup.planned.number)
    };
    let other = complete.iter().find_map(|trial| {
        let planned = planned(trial).filter(|planned| planned.load.find_max.is_none())?;
        let is_same = planned.point == trial.setup.planned.point
            && planned.repeat == trial.setup.planned.repeat;
        (!is_same).then_some((trial, planned))
    });
    let Some((trial, planned)) = other else {
        return Ok(());
    };
    let message = format!(
        "trial {} of this result is `{}`, but this version of dyno plans `{}` in its place: the \
         order of trials has changed",
        trial.setup.planned.number, trial.setup.planned.label, planned.label
    );
    let remedy = "resume with the version that started it, or start over: give --out a new directory, \
                  without --resume";
    Err(Failure::usage(message).remedy(remedy))
}

fn refuse_lost_data(stored: &RunResult, trials: &[Trial]) -> Result<(), Failure> {
    if !is_data_lost(stored, trials) {
        return Ok(());
    }
    let message = "with server.reset = \"none\", each trial continues with the data of the previous \
                   one, which was lost when the run was interrupted";
    let remedy = "start over: give --out a new directory, without --resume";
    Err(Failure::usage(message).remedy(remedy))
}

/// Whether one of the remaining `trials` continues with the data of a complete one.
fn is_data_lost(stored: &RunResult, trials: &[Trial]) -> bool {
    let befores = std::iter::once(None).chain(trials.iter().map(Some));
    let mut remaining = befores
        .zip(trials)
        .filter(|(_, trial)| !is_complete(trial, stored));
    remaining.any(|(before, trial)| {
        let data = inherited_data(trial);
        let continues = before
            .is_some_and(|before| is_complete(before, stored) && inherited_data(before) == data);
        data.is_some() && (continues || is_begun(trial, stored))
    })
}

/// Whether a trial, or the search in its place, is complete.
fn is_complete(trial: &Trial, stored: &RunResult) -> bool {
    let planned = &trial.planned;
    if planned.load.find_max.is_none() {
        let mut complete = stored.trials.iter();
        return complete.any(|complete| complete.setup.planned.number == planned.number);
    }
    let is_stopped = |found: &FoundMax| matches!(found.end, SearchEnd::Stopped { .. });
    let is_its = |found: &FoundMax| found.point == planned.point && found.repeat == planned.repeat;
    let mut searches = stored.searches.iter();
    searches.any(|found| is_its(found) && !is_stopped(found))
}

/// Whether a search has complete steps: each continues with the data of the previous one.
fn is_begun(trial: &Trial, stored: &RunResult) -> bool {
    let is_step = |step: &TrialSummary| step.setup.planned.point.contains(&trial.planned.point);
    trial.planned.load.find_max.is_some() && stored.trials.iter().any(is_step)
}

/// Identifies the data that a trial leaves to the next one; `None` if each trial has its own. The
/// laboratory distinguishes more cases, so this may refuse too much, but not too little.
fn inherited_data(trial: &Trial) -> Option<impl PartialEq> {
    let lab::Target::Private(spec) = &trial.target else {
        return None;
    };
    let planned = &trial.planned;
    // Tables that are initially empty do not depend on the number of rows.
    let has_rows = !trial.workload.begins_empty();
    let rows = has_rows.then_some((planned.data.tables, planned.data.rows, planned.data.seed));
    (spec.reset == Reset::None).then_some((
        &spec.engine.value,
        (
            &planned.topology.node.volume,
            &planned.topology.node.log_volume,
        ),
        planned.topology.instances,
        rows,
    ))
}

/// `kernel: Linux 6.1 at the start, Linux 6.12 now`, for each fact that is known in both and
/// differs.
fn differences<T>(facts: &[Fact<T>], there: &T, here: &T) -> Vec<String> {
    let differing = |(name, of): &Fact<T>| difference(name, &of(there)?, &of(here)?);
    facts.iter().filter_map(differing).collect()
}

fn difference(what: &str, there: &str, here: &str) -> Option<String> {
    (there != here).then(|| format!("{what}: {there} at the start, {here} now"))
}

/// The differences of each directory, with its path.
fn other_places(facts: &[Fact<Place>], there: &Environment, here: &Environment) -> Vec<String> {
    let both = there.places.iter().zip(&here.places);
    both.flat_map(|(then, now)| {
        let other = differences(facts, then, now).into_iter();
        other.map(|difference| format!("{}: {difference}", now.path))
    })
    .collect()
}

/// The source of a file system without a disk, such as an NFS server.
fn source(of: &Place) -> Option<String> {
    let source = of.source.as_ref().filter(|_| of.disks.is_empty())?;
    (!source.starts_with("/dev/")).then(|| source.clone())
}

/// A fact about each disk of a directory, in an order that does not depend on their names; `None`
/// if it is unknown for one of them.
fn disk_facts<T: Ord + ToString>(of: &Place, fact: fn(&Disk) -> Option<T>) -> Option<String> {
    let mut facts = of.disks.iter().map(fact).collect::<Option<Vec<T>>>()?;
    facts.sort();
    let facts: Vec<String> = facts.iter().map(ToString::to_string).collect();
    (!facts.is_empty()).then(|| facts.join(" and "))
}

/// The servers whose version here differs from that in a stored trial.
fn other_engines(complete: &[TrialSummary], trials: &[Trial]) -> Result<Vec<String>, Failure> {
    let mut known: Vec<(&EngineSpec, String)> = Vec::new();
    let mut other = BTreeSet::new();
    for then in complete {
        // A step of a search has the point of its search and a rate.
        let planned = trials
            .iter()
            .find(|trial| then.setup.planned.point.contains(&trial.planned.point));
        if let Some(trial) = planned {
            let now = engine(&trial.target, &mut known)?;
            other.extend(difference("server", &then.setup.engine, &now));
        }
    }
    Ok(other.into_iter().collect())
}

/// The engine and version that a trial would use.
pub(crate) fn engine<'a>(
    target: &'a lab::Target,
    known: &mut Vec<(&'a EngineSpec, String)>,
) -> Result<String, Failure> {
    match target {
        lab::Target::Given(database) => Ok(database.product()),
        lab::Target::Temporary(built_in) => {
            Ok(format!("{} {}", built_in.engine.title(), built_in.version))
        }
        lab::Target::Private(spec) => {
            let program = |spec: &EngineSpec| {
                let basedir = spec.basedir.as_ref().map(|basedir| basedir.value.clone());
                let version = spec.version.as_ref().map(|version| version.value.clone());
                (spec.engine.value.clone(), basedir, version)
            };
            let same = known.iter().find(|(one, _)| program(one) == program(spec));
            if let Some((_, engine)) = same {
                return Ok(engine.clone());
            }
            let engine = lab::installed(spec)?.shown();
            known.push((spec, engine.clone()));
            Ok(engine)
        }
    }
}

fn warning(observed: String) -> Finding {
    Finding {
        id: "resumed".to_owned(),
        of: "host".to_owned(),
        level: Level::Warning,
        observed,
        why: "The trials before and after the interruption ran under different conditions, which \
              may explain a difference between them."
            .to_owned(),
        source: "environment.json of this result, and the host at --resume".to_owned(),
        remedy: Some("run the whole study again".to_owned()),
    }
}

#[cfg(test)]
mod tests;

//! Whether a study that was cut off can be gone on with here: what stands in one result
//! must have been measured under the same conditions.

use std::collections::BTreeSet;

use lab::Trial;
use measure::find_max::{FoundMax, SearchEnd};
use measure::finding::{Finding, Level};
use measure::result::{Disk, Environment, Place, RunResult};
use measure::summary::TrialSummary;
use plan::{EngineSpec, Reset};

use crate::failure::{Exit, Failure};

/// What a host or a place on it says of itself.
type Fact<T> = (&'static str, fn(&T) -> Option<String>);

/// A host that differs in one of these is another one…
const IDENTITY: [Fact<Environment>; 3] = [
    ("host name", |of| of.hostname.clone()),
    ("CPU", |of| of.cpu_model.clone()),
    ("CPUs to use", |of| of.cores.map(|cores| cores.to_string())),
];
/// …and in one of these it is the same, otherwise than it was.
const CONDITION: [Fact<Environment>; 4] = [
    ("dyno", |of| Some(of.dyno_version.clone())),
    ("kernel", |of| of.kernel.clone()),
    ("operating system", |of| of.os.clone()),
    ("CPU governor", |of| of.governor.clone()),
];
/// A place that differs in one of these lies on another disk. The kernel's names of disks
/// are not among them: they change when a host is started again.
const DISKS: [Fact<Place>; 4] = [
    ("file system", |of| of.file_system.clone()),
    ("source", source),
    ("disks", |of| of_disks(of, |disk| disk.model.clone())),
    ("bytes of the disks", |of| of_disks(of, |disk| disk.bytes)),
];
/// It is mounted otherwise on the same one.
const MOUNT: [Fact<Place>; 1] = [("mount options", |of| of.options.clone())];

/// Compares where and with what the trials that were kept ran with what is `here`; gives
/// what somebody should know who compares the trials of before and after.
///
/// # Errors
/// On another host or other disks, with another version of a server, where the trials were
/// planned in another order, and where a trial goes on with the data of the one before, which is gone.
pub(crate) fn check(
    kept: &RunResult,
    here: &Environment,
    trials: &[Trial],
) -> Result<Vec<Finding>, Failure> {
    let (there, whole) = (&kept.environment, &kept.trials);
    if whole.is_empty() {
        return Ok(Vec::new());
    }
    refuse_other_order(whole, trials)?;
    refuse_lost_data(kept, trials)?;
    let mut other = differences(&IDENTITY, there, here);
    other.extend(other_places(&DISKS, there, here));
    other.extend(other_engines(whole, trials)?);
    if !other.is_empty() {
        let message = format!(
            "what was measured so far does not go with what is here:\n  {}",
            other.join("\n  ")
        );
        let remedy = "go on where it was begun, or run the whole study here: give --out a new \
                      directory, without --resume";
        return Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)));
    }
    let mut changed = differences(&CONDITION, there, here);
    changed.extend(other_places(&MOUNT, there, here));
    Ok(changed.into_iter().map(caution).collect())
}

/// A trial is known by its number, so the order must be the one that was begun.
fn refuse_other_order(whole: &[TrialSummary], trials: &[Trial]) -> Result<(), Failure> {
    let planned = |trial: &TrialSummary| trials.iter().find(|other| other.number == trial.number);
    let other = whole.iter().find_map(|trial| {
        let planned = planned(trial).filter(|planned| planned.find_max.is_none())?;
        let is_same = planned.point == trial.point && planned.repeat == trial.repeat;
        (!is_same).then_some((trial, planned))
    });
    let Some((trial, planned)) = other else {
        return Ok(());
    };
    let message = format!(
        "trial {} of this result is `{}`, but this version of dyno plans `{}` there: it runs the \
         trials in another order",
        trial.number, trial.label, planned.label
    );
    let remedy = "resume with the version that began it, or run the whole study: give --out a new \
                  directory, without --resume";
    Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)))
}

fn refuse_lost_data(kept: &RunResult, trials: &[Trial]) -> Result<(), Failure> {
    if !is_data_lost(kept, trials) {
        return Ok(());
    }
    let message = "with server.reset = \"none\" each trial goes on with the data of the one before, \
                   which ended with the run that was cut off";
    let remedy = "run the whole study: give --out a new directory, without --resume";
    Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)))
}

/// Whether what is left of one of the `trials` goes on with data that only a whole one left.
fn is_data_lost(kept: &RunResult, trials: &[Trial]) -> bool {
    let befores = std::iter::once(None).chain(trials.iter().map(Some));
    let mut left = befores
        .zip(trials)
        .filter(|(_, trial)| !is_over(trial, kept));
    left.any(|(before, trial)| {
        let data = handed_on(trial);
        let goes_on =
            before.is_some_and(|before| is_over(before, kept) && handed_on(before) == data);
        data.is_some() && (goes_on || is_begun(trial, kept))
    })
}

/// Whether nothing is left to run of a trial, or of the search that takes its place.
fn is_over(trial: &Trial, kept: &RunResult) -> bool {
    if trial.find_max.is_none() {
        return kept.trials.iter().any(|whole| whole.number == trial.number);
    }
    let is_stopped = |found: &FoundMax| matches!(found.end, SearchEnd::Stopped { .. });
    let is_its = |found: &FoundMax| found.point == trial.point && found.repeat == trial.repeat;
    let mut searches = kept.searches.iter();
    searches.any(|found| is_its(found) && !is_stopped(found))
}

/// Whether a search has steps that are whole: each goes on with the data of the one before.
fn is_begun(trial: &Trial, kept: &RunResult) -> bool {
    let is_step = |whole: &TrialSummary| whole.point.starts_with(&trial.point);
    trial.find_max.is_some() && kept.trials.iter().any(is_step)
}

/// What tells the data of a trial apart that the next one goes on with; `None` where each
/// has its own. The laboratory tells more apart, so this is rather too strict.
fn handed_on(trial: &Trial) -> Option<impl PartialEq> {
    let lab::Place::Private(spec) = &trial.place else {
        return None;
    };
    let directory = trial.topology.node.volume.directory();
    // Tables that begin empty do so whatever rows are wanted.
    let has_rows = !trial.workload.begins_empty();
    let rows = has_rows.then_some((trial.options.tables, trial.options.rows, trial.seed));
    (spec.reset == Reset::None).then_some((
        &spec.engine.value,
        directory,
        trial.topology.instances,
        rows,
    ))
}

/// `kernel: Linux 6.1 when it was begun, Linux 6.12 here`, for each fact that both tell
/// and that differs.
fn differences<T>(facts: &[Fact<T>], there: &T, here: &T) -> Vec<String> {
    let differs = |(name, of): &Fact<T>| told(name, &of(there)?, &of(here)?);
    facts.iter().filter_map(differs).collect()
}

fn told(what: &str, there: &str, here: &str) -> Option<String> {
    (there != here).then(|| format!("{what}: {there} when it was begun, {here} here"))
}

/// The same of each place, with its path.
fn other_places(facts: &[Fact<Place>], there: &Environment, here: &Environment) -> Vec<String> {
    let both = there.places.iter().zip(&here.places);
    both.flat_map(|(then, now)| {
        let other = differences(facts, then, now).into_iter();
        other.map(|difference| format!("{}: {difference}", now.path))
    })
    .collect()
}

/// Where a file system without a disk comes from, such as a server of NFS.
fn source(of: &Place) -> Option<String> {
    let source = of.source.as_ref().filter(|_| of.disks.is_empty())?;
    (!source.starts_with("/dev/")).then(|| source.clone())
}

/// What each of a place's disks tells, in an order that does not hang on their names; `None`
/// where one does not tell.
fn of_disks<T: Ord + ToString>(of: &Place, fact: fn(&Disk) -> Option<T>) -> Option<String> {
    let mut facts = of.disks.iter().map(fact).collect::<Option<Vec<T>>>()?;
    facts.sort();
    let facts: Vec<String> = facts.iter().map(ToString::to_string).collect();
    (!facts.is_empty()).then(|| facts.join(" and "))
}

/// The servers that a kept trial had in another version than it would have here.
fn other_engines(whole: &[TrialSummary], trials: &[Trial]) -> Result<Vec<String>, Failure> {
    let mut known: Vec<(&EngineSpec, String)> = Vec::new();
    let mut other = BTreeSet::new();
    for then in whole {
        // A step of a search has the point of its search, and a rate.
        let planned = trials
            .iter()
            .find(|trial| then.point.starts_with(&trial.point));
        if let Some(trial) = planned {
            let now = engine(&trial.place, &mut known)?;
            other.extend(told("server", &then.setup.engine, &now));
        }
    }
    Ok(other.into_iter().collect())
}

/// The engine and its version, as a trial would find it.
fn engine<'a>(
    place: &'a lab::Place,
    known: &mut Vec<(&'a EngineSpec, String)>,
) -> Result<String, Failure> {
    match place {
        lab::Place::Given(database) => Ok(database.product()),
        lab::Place::Temporary(built_in) => {
            Ok(format!("{} {}", built_in.engine.title(), built_in.version))
        }
        lab::Place::Private(spec) => {
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

fn caution(seen: String) -> Finding {
    Finding {
        id: "resumed".to_owned(),
        of: "host".to_owned(),
        level: Level::Careful,
        seen,
        why: "The trials from before the study was gone on with ran under other conditions than \
              those after: a difference between them may come from that."
            .to_owned(),
        source: "environment.json of this result, and the host at --resume".to_owned(),
        remedy: Some("run the whole study anew".to_owned()),
    }
}

#[cfg(test)]
mod tests;

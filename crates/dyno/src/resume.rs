//! Whether a study that was cut off can be gone on with here: what stands in one result
//! must have been measured under the same conditions.

use std::collections::BTreeSet;

use lab::{Place, Trial};
use measure::finding::{Finding, Level};
use measure::result::{self, Disk, Environment};
use measure::summary::TrialSummary;
use study::{EngineSpec, Reset};

use crate::failure::{Exit, Failure};

/// What a host says of itself.
type Fact = (&'static str, fn(&Environment) -> Option<String>);

/// A host that differs in one of these is another one…
const IDENTITY: [Fact; 3] = [
    ("host name", |of| of.hostname.clone()),
    ("CPU", |of| of.cpu_model.clone()),
    ("CPUs to use", |of| of.cores.map(|cores| cores.to_string())),
];
/// …and in one of these it is the same, otherwise than it was.
const CONDITION: [Fact; 4] = [
    ("dyno", |of| Some(of.dyno_version.clone())),
    ("kernel", |of| of.kernel.clone()),
    ("operating system", |of| of.os.clone()),
    ("CPU governor", |of| of.governor.clone()),
];

/// Compares where and with what the trials that were kept ran with what is `here`; gives
/// what somebody should know who compares the trials of before and after.
///
/// # Errors
/// On another host or other disks, with another version of a server, and where a trial
/// goes on with the data of the one before, which is gone.
pub(crate) fn check(
    there: &Environment,
    here: &Environment,
    whole: &[TrialSummary],
    trials: &[Trial],
) -> Result<Vec<Finding>, Failure> {
    if whole.is_empty() {
        return Ok(Vec::new());
    }
    refuse_lost_data(whole, trials)?;
    let mut other = differences(&IDENTITY, there, here);
    other.extend(other_disks(&there.places, &here.places));
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
    changed.extend(other_mounts(&there.places, &here.places));
    Ok(changed.into_iter().map(caution).collect())
}

fn refuse_lost_data(whole: &[TrialSummary], trials: &[Trial]) -> Result<(), Failure> {
    // The steps of a search have numbers of their own.
    let is_left = |trial: &&Trial| {
        trial.find_max.is_some() || whole.iter().all(|known| known.number != trial.number)
    };
    let goes_on =
        |trial: &Trial| matches!(&trial.place, Place::Private(spec) if spec.reset == Reset::None);
    if !trials.iter().filter(is_left).any(goes_on) {
        return Ok(());
    }
    let message = "with server.reset = \"none\" each trial goes on with the data of the one before, \
                   which ended with the run that was cut off";
    let remedy = "run the whole study: give --out a new directory, without --resume";
    Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)))
}

/// `kernel: Linux 6.1 when it was begun, Linux 6.12 here`, for each fact that both tell
/// and that differs.
fn differences(facts: &[Fact], there: &Environment, here: &Environment) -> Vec<String> {
    let differs = |(name, of): &Fact| told(name, &of(there)?, &of(here)?);
    facts.iter().filter_map(differs).collect()
}

fn told(what: &str, there: &str, here: &str) -> Option<String> {
    (there != here).then(|| format!("{what}: {there} when it was begun, {here} here"))
}

fn other_disks(there: &[result::Place], here: &[result::Place]) -> Vec<String> {
    let both = there.iter().zip(here);
    both.filter_map(|(then, now)| {
        told(
            &format!("disk of {}", now.path),
            &shown_disk(then),
            &shown_disk(now),
        )
    })
    .collect()
}

/// What a place lies on, by what stays the same when a host is started again.
fn shown_disk(place: &result::Place) -> String {
    let disk = |disk: &Disk| {
        let name = disk.model.as_ref().unwrap_or(&disk.name);
        let bytes = disk.bytes.map_or(String::new(), |bytes| {
            format!(" of {}", lab::shown_bytes(bytes))
        });
        format!("{name}{bytes}")
    };
    let mut on: Vec<String> = place.disks.iter().map(disk).collect();
    if on.is_empty() {
        on.extend(place.source.clone());
    }
    let file_system = place.file_system.as_deref().unwrap_or("unknown");
    format!("{file_system} on {}", on.join(" and "))
}

fn other_mounts(there: &[result::Place], here: &[result::Place]) -> Vec<String> {
    let both = there.iter().zip(here);
    both.filter_map(|(then, now)| {
        let what = format!("mount options of {}", now.path);
        told(&what, then.options.as_ref()?, now.options.as_ref()?)
    })
    .collect()
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
    place: &'a Place,
    known: &mut Vec<(&'a EngineSpec, String)>,
) -> Result<String, Failure> {
    match place {
        Place::Given(database) => Ok(database.engine()),
        Place::Sqlite => Ok(format!("SQLite {}", client::sqlite::version())),
        Place::Private(spec) => {
            let program = |spec: &EngineSpec| {
                let basedir = spec.basedir.as_ref().map(|basedir| basedir.value.clone());
                let version = spec.version.as_ref().map(|version| version.value.clone());
                (spec.engine, basedir, version)
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
        mend: Some("run the whole study anew".to_owned()),
    }
}

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
    let planned = |trial: &TrialSummary| {
        let mut planned = trials.iter().map(|trial| &trial.planned);
        planned.find(|other| other.number == trial.number)
    };
    let other = whole.iter().find_map(|trial| {
        let planned = planned(trial).filter(|planned| planned.load.find_max.is_none())?;
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
    let planned = &trial.planned;
    if planned.load.find_max.is_none() {
        let mut whole = kept.trials.iter();
        return whole.any(|whole| whole.number == planned.number);
    }
    let is_stopped = |found: &FoundMax| matches!(found.end, SearchEnd::Stopped { .. });
    let is_its = |found: &FoundMax| found.point == planned.point && found.repeat == planned.repeat;
    let mut searches = kept.searches.iter();
    searches.any(|found| is_its(found) && !is_stopped(found))
}

/// Whether a search has steps that are whole: each goes on with the data of the one before.
fn is_begun(trial: &Trial, kept: &RunResult) -> bool {
    let is_step = |whole: &TrialSummary| whole.point.starts_with(&trial.planned.point);
    trial.planned.load.find_max.is_some() && kept.trials.iter().any(is_step)
}

/// What tells the data of a trial apart that the next one goes on with; `None` where each
/// has its own. The laboratory tells more apart, so this is rather too strict.
fn handed_on(trial: &Trial) -> Option<impl PartialEq> {
    let lab::Place::Private(spec) = &trial.place else {
        return None;
    };
    let planned = &trial.planned;
    let directory = planned.topology.node.volume.directory();
    // Tables that begin empty do so whatever rows are wanted.
    let has_rows = !trial.workload.begins_empty();
    let rows = has_rows.then_some((planned.data.tables, planned.data.rows, planned.data.seed));
    (spec.reset == Reset::None).then_some((
        &spec.engine.value,
        directory,
        planned.topology.instances,
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
            .find(|trial| then.point.starts_with(&trial.planned.point));
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
        mend: Some("run the whole study anew".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lab::Lab;
    use measure::gather::Gather;
    use measure::setup::{Input, Outcome, Unfinished};

    use super::*;
    use crate::cli::StudyArgs;
    use crate::study_file::Meant;

    fn trials(load: &str, sweep: &str) -> Vec<Trial> {
        let text = format!(
            "title = \"t\"\n[server]\nengine = \"mariadb\"\nreset = \"none\"\n\
             [data]\nrows = 10\n[load]\nworkload = \"oltp_point_select\"\n{load}\n\
             [sweep]\n{sweep}\n"
        );
        let dir = tempfile::tempdir().unwrap();
        let study = dir.path().join("study.toml");
        std::fs::write(&study, text).unwrap();
        let args = StudyArgs {
            study,
            overrides: Vec::new(),
        };
        Meant::read(&args).unwrap().trials(&Lab::default()).unwrap()
    }

    fn whole(trial: &Trial) -> TrialSummary {
        Gather::new(&[]).finish(Input {
            number: trial.planned.number,
            repeat: trial.planned.repeat,
            started_at: None,
            label: trial.planned.label.clone(),
            point: trial.planned.point.clone(),
            setup: trial.planned_setup(),
            unfinished: Unfinished::default(),
            instances: Vec::new(),
            metrics: BTreeMap::new(),
            reset: None,
            ended: None,
            outcome: Outcome::Completed,
        })
    }

    fn kept(trials: &[Trial]) -> RunResult {
        RunResult {
            trials: trials.iter().map(whole).collect(),
            ..RunResult::default()
        }
    }

    fn found(trial: &Trial, end: SearchEnd) -> FoundMax {
        FoundMax {
            point: trial.planned.point.clone(),
            repeat: trial.planned.repeat,
            column: "response_ms.p99".to_owned(),
            limit_ms: 20.0,
            capacity_per_s: None,
            steps: Vec::new(),
            end,
        }
    }

    #[test]
    fn data_is_lost_where_a_trial_goes_on_with_that_of_a_whole_one() {
        let threads = trials("", "\"load.threads\" = [1, 2, 4]");
        assert!(is_data_lost(&kept(&threads[..1]), &threads));
        // The third one goes on with what the second one leaves.
        assert!(is_data_lost(
            &kept(&[threads[0].clone(), threads[2].clone()]),
            &threads
        ));
        // The first one begins with a copy, and the second one is run again, too.
        assert!(!is_data_lost(&kept(&threads[2..]), &threads));
        assert!(!is_data_lost(&kept(&threads), &threads));
        for copies in ["data.rows", "data.tables", "topology.instances"] {
            let trials = trials("", &format!("\"{copies}\" = [1, 2]"));
            assert!(!is_data_lost(&kept(&trials[..1]), &trials), "{copies}");
        }
    }

    #[test]
    fn a_search_that_ended_needs_no_data_any_more() {
        let load = "threads = 2\nfind_max = { p99 = \"20ms\" }\ntime = \"1s\"";
        let searches = trials(load, "\"data.rows\" = [10, 20]");
        let mut kept = kept(&searches[..1]);
        kept.trials[0]
            .point
            .push(("load.rate".to_owned(), "closed loop".to_owned()));
        assert!(is_data_lost(&kept, &searches));
        let stopped = SearchEnd::Stopped {
            reason: "interrupted".to_owned(),
            held_per_s: None,
            failed_per_s: None,
        };
        kept.searches = vec![found(&searches[0], stopped)];
        assert!(is_data_lost(&kept, &searches));
        kept.searches = vec![found(&searches[0], SearchEnd::NoRate { failed_per_s: 1.0 })];
        assert!(!is_data_lost(&kept, &searches));
        // The next one would go on with its data.
        let mut same = searches.clone();
        same[1].planned.data.rows = 10;
        assert!(is_data_lost(&kept, &same));
    }

    fn place(disks: &[(&str, Option<&str>, Option<u64>)]) -> Environment {
        let disk = |(name, model, bytes): &(&str, Option<&str>, Option<u64>)| Disk {
            name: (*name).to_owned(),
            model: model.map(str::to_owned),
            bytes: *bytes,
            ..Disk::default()
        };
        let place = Place {
            path: "/data".to_owned(),
            file_system: Some("ext4".to_owned()),
            disks: disks.iter().map(disk).collect(),
            ..Place::default()
        };
        Environment {
            places: vec![place],
            ..Environment::default()
        }
    }

    #[test]
    fn a_disk_is_known_by_its_model_and_bytes_where_both_tell_them() {
        let then = place(&[("sda", Some("A"), Some(100)), ("sdb", Some("B"), Some(200))]);
        let other = |here: &Environment| other_places(&DISKS, &then, here);
        for same in [
            // Their names were given out otherwise.
            place(&[("sda", Some("B"), Some(200)), ("sdb", Some("A"), Some(100))]),
            place(&[("vda", None, Some(100)), ("vdb", None, Some(200))]),
            place(&[("sda", Some("A"), None), ("sdb", Some("B"), None)]),
            place(&[]),
        ] {
            assert_eq!(other(&same), [""; 0]);
        }
        let model = place(&[("sda", Some("A"), Some(100)), ("sdb", Some("C"), Some(200))]);
        let disks = "/data: disks: A and B when it was begun, A and C here";
        assert_eq!(other(&model), [disks]);
        let bytes = place(&[("sda", None, Some(100)), ("sdb", None, Some(300))]);
        let disks = "/data: bytes of the disks: 100 and 200 when it was begun, 100 and 300 here";
        assert_eq!(other(&bytes), [disks]);
        let mut moved = place(&[]);
        moved.places[0].file_system = Some("xfs".to_owned());
        let disks = "/data: file system: ext4 when it was begun, xfs here";
        assert_eq!(other(&moved), [disks]);
        moved.places[0].file_system = None;
        assert_eq!(other(&moved), [""; 0]);
    }
}

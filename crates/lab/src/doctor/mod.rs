//! What on this host and in its servers will spoil a measurement.
//!
//! ```text
//! host::Facts, settings of servers -> checks, one family per module -> findings, worst first
//! ```
//!
//! A check is a pure function of facts: a row with what it reads, its thresholds and its
//! remedy, or a function where that is not enough. Every check gives a finding, including
//! those that passed or could not be done.

mod activity;
mod asked;
mod clock;
mod container;
mod cpu;
mod disk;
mod limits;
mod machine;
mod memory;
mod place;
mod read;
mod reference;
mod rule;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use engine::checks::{self, Facts as ServerFacts};
use engine::{Installed, Server};
use host::{Activity, Facts, Files};
use measure::finding::{Finding, check};
use plan::EngineSpec;

pub use asked::Asked;
pub use reference::doctor_markdown;

use crate::Database;
use crate::trial::{Target, Trial};
use machine::{DataPlace, FAMILIES, Machine};

/// How long to watch the host's activity when a user asks for it.
pub const LONG_SAMPLE: Duration = Duration::from_secs(1);
/// How long to watch it before a load.
pub const SHORT_SAMPLE: Duration = Duration::from_millis(200);
/// Maximum number of places and servers that a finding names.
const MAX_NAMED: usize = 3;
/// The host, as a finding calls it.
const HOST: &str = "host";

/// What to examine, besides the host.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The trials that are about to run.
    pub trials: &'a [Trial],
    /// Running servers, besides those of the trials.
    pub servers: &'a [Database],
    /// Directories that hold data, besides those of servers and trials.
    pub places: &'a [PathBuf],
    /// The files of the host.
    pub files: &'a dyn Files,
    /// How long to watch the host's activity.
    pub look: Duration,
}

impl<'a> Subject<'a> {
    /// Nothing but a host, watched for no time.
    #[must_use]
    pub fn host(files: &'a dyn Files) -> Self {
        Self {
            trials: &[],
            servers: &[],
            places: &[],
            files,
            look: Duration::ZERO,
        }
    }
}

/// Examines host and servers while dyno puts no load on them. The worst findings come first;
/// there is one for each check and subject, and equal ones are merged.
#[must_use]
pub fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    let asked = subject.trials.iter().map(Asked::of).reduce(Asked::most);
    let servers = servers(subject);
    let mut findings = on_host(subject, asked, &servers);
    findings.extend(servers.iter().flat_map(checks::judge));
    let mut findings = merged(findings);
    findings.sort_by_key(|finding| finding.level);
    findings
}

fn on_host(subject: &Subject<'_>, asked: Option<Asked>, servers: &[ServerFacts]) -> Vec<Finding> {
    let places = places(subject, servers);
    let devices = places.iter().flat_map(|(_, data)| &data.place.devices);
    let devices: Vec<String> = devices.cloned().collect();
    let machine = Machine {
        // First: reading facts is activity, too.
        activity: Activity::watch(subject.files, subject.look, &devices),
        facts: Facts::read(subject.files),
        asked,
    };
    let checks = FAMILIES.iter().flat_map(|(_, checks)| *checks);
    let mut findings = check::run(checks, &machine, HOST, check::on_host);
    if places.is_empty() {
        let why = "no data on this host is known";
        findings.extend(check::unknown(of_places(), HOST, why));
    }
    for (path, mut data) in places {
        data.system_disks.clone_from(&machine.facts.system_disks);
        let of = path.display().to_string();
        findings.extend(check::run(of_places(), &data, &of, check::on_host));
    }
    findings
}

/// Named places, and where servers of this host have their data or will have it.
fn places(subject: &Subject<'_>, servers: &[ServerFacts]) -> Vec<(PathBuf, DataPlace)> {
    let named = subject.places.iter().cloned();
    let running = servers.iter().filter_map(|server| server.data_dir.clone());
    let mut needed: BTreeMap<PathBuf, u64> = named.chain(running).map(|dir| (dir, 0)).collect();
    for trial in subject.trials {
        if let Some(dir) = data_dir(trial) {
            let bytes = needed.entry(dir).or_default();
            *bytes = Asked::of(trial).disk_bytes.max(*bytes);
        }
    }
    let places = needed.into_iter().map(|(path, needed_bytes)| {
        let data = DataPlace {
            place: host::Place::read(subject.files, &path),
            needed_bytes,
            ..DataPlace::default()
        };
        (path, data)
    });
    places.collect()
}

/// Where a trial stores the data that it loads.
fn data_dir(trial: &Trial) -> Option<PathBuf> {
    let cache = || crate::home::place().ok();
    match &trial.target {
        Target::Given(database) => database.file().map(ToOwned::to_owned),
        Target::Temporary(_) => cache(),
        Target::Private(_) => match trial.planned.topology.node.volume.directory() {
            Some(directory) => Some(directory.value.clone()),
            None => cache(),
        },
    }
}

/// Named servers and those of the trials, without duplicates.
fn servers(subject: &Subject<'_>) -> Vec<ServerFacts> {
    let mut given: BTreeMap<String, (&Database, Option<Asked>)> = BTreeMap::new();
    for database in subject.servers {
        given.insert(database.shown(), (database, None));
    }
    let mut planned: Vec<(&EngineSpec, &Trial, Asked)> = Vec::new();
    for trial in subject.trials {
        let asked = Asked::of(trial);
        match &trial.target {
            // Without monitors nothing is asked of the server but the load.
            Target::Given(_) if !trial.planned.monitors => {}
            Target::Given(database) => {
                let (_, known) = given.entry(database.shown()).or_insert((database, None));
                *known = Some(known.map_or(asked, |known| known.most(asked)));
            }
            Target::Private(spec) => {
                let spec: &EngineSpec = spec;
                let node = &trial.planned.topology.node;
                let is_same = |known: &&mut (&EngineSpec, &Trial, Asked)| {
                    known.0 == spec && known.1.planned.topology.node == *node
                };
                match planned.iter_mut().find(is_same) {
                    Some((_, _, known)) => *known = known.most(asked),
                    None => planned.push((spec, trial, asked)),
                }
            }
            Target::Temporary(_) => {}
        }
    }
    let running = given
        .into_values()
        .filter_map(|(database, asked)| read::server::running(subject.files, database, asked));
    running
        .chain(planned_servers(subject.files, &planned))
        .collect()
}

/// The servers that trials are going to start, named by the first trial of each.
fn planned_servers(
    files: &dyn Files,
    planned: &[(&EngineSpec, &Trial, Asked)],
) -> Vec<ServerFacts> {
    let mut programs: Vec<(&EngineSpec, Result<Installed, String>)> = Vec::new();
    let specs = planned.iter().map(|(spec, ..)| *spec);
    let varied = varied(&specs.collect::<Vec<_>>());
    let mut servers = Vec::new();
    for (spec, trial, asked) in planned {
        let same = |known: &EngineSpec| {
            (&known.engine.value, &known.basedir, &known.version)
                == (&spec.engine.value, &spec.basedir, &spec.version)
        };
        let found = match programs.iter().find(|(known, _)| same(known)) {
            Some((_, found)) => found.clone(),
            None => {
                let found = crate::spec::installed(spec).map_err(|failure| failure.message);
                programs.push((*spec, found.clone()));
                found
            }
        };
        let name = match planned.len() {
            1 => spec.engine.value.clone(),
            _ => format!("{} of {}", spec.engine.value, trial.planned.label),
        };
        let Ok(engine) = crate::spec::engine_of(spec) else {
            continue;
        };
        let config = crate::spec::config(spec);
        let disk = data_dir(trial);
        let mut server = read::server::planned(files, name, engine, &config, &found, *asked, disk);
        server.varied.clone_from(&varied);
        servers.push(server);
    }
    servers
}

/// Settings whose values differ among servers, in a sweep or in variants.
fn varied(specs: &[&EngineSpec]) -> BTreeSet<String> {
    let of = |spec: &&EngineSpec| -> BTreeMap<String, String> {
        let engine = crate::spec::engine_of(spec).ok();
        let chosen = engine.map(|engine| engine.chosen_settings(&crate::spec::config(spec)));
        chosen.into_iter().flatten().collect()
    };
    let all: Vec<BTreeMap<String, String>> = specs.iter().map(of).collect();
    let names = all.iter().flat_map(|settings| settings.keys());
    let differs = |name: &&String| {
        let mut values = all.iter().map(|settings| settings.get(*name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    names.filter(differs).cloned().collect()
}

/// Merges findings that say the same of several subjects.
fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<(Finding, Vec<String>)> = Vec::new();
    for finding in findings {
        let same = |known: &Finding| {
            (&known.id, known.level, &known.observed, &known.remedy)
                == (
                    &finding.id,
                    finding.level,
                    &finding.observed,
                    &finding.remedy,
                )
        };
        match merged.iter_mut().find(|(known, _)| same(known)) {
            Some((_, of)) => of.push(finding.of),
            None => {
                let of = vec![finding.of.clone()];
                merged.push((finding, of));
            }
        }
    }
    let named = merged.into_iter().map(|(finding, mut of)| {
        let more = of.len().saturating_sub(MAX_NAMED);
        of.truncate(MAX_NAMED);
        let rest = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Finding {
            of: format!("{}{rest}", of.join(", ")),
            ..finding
        }
    });
    named.collect()
}

/// The checks of a directory that holds data.
fn of_places() -> impl Iterator<Item = &'static check::Check<DataPlace>> {
    place::CHECKS.iter().chain(disk::CHECKS)
}

/// Every check with its family, in the order of the reference page.
fn families() -> Vec<(&'static str, Vec<check::About>)> {
    fn abouts<F: 'static>(
        checks: impl IntoIterator<Item = &'static check::Check<F>>,
    ) -> Vec<check::About> {
        checks.into_iter().map(|check| check.about).collect()
    }
    let of_host = FAMILIES.iter();
    let of_host = of_host.map(|(title, checks)| (*title, abouts(*checks)));
    let others = [
        ("File systems and disks", abouts(of_places())),
        ("Servers", of_servers()),
    ];
    of_host.chain(others).collect()
}

/// The checks of all engines, each once.
fn of_servers() -> Vec<check::About> {
    let mut abouts: Vec<check::About> = Vec::new();
    for check in engine::servers().flat_map(Server::checks) {
        if abouts.iter().all(|known| known.id != check.about.id) {
            abouts.push(check.about);
        }
    }
    abouts
}

#[cfg(test)]
mod tests {
    use measure::finding::Level;

    use super::*;
    use crate::site::{Site, ThisHost};

    fn finding(id: &str, of: &str) -> Finding {
        Finding {
            id: id.into(),
            of: of.into(),
            level: Level::Note,
            observed: "seen".into(),
            why: String::new(),
            source: String::new(),
            remedy: None,
        }
    }

    #[test]
    fn equal_findings_are_merged() {
        let all = ["/a", "/b", "/c", "/d"].map(|of| finding("x", of));
        let mut all = all.to_vec();
        all.push(finding("y", "/a"));
        let merged = merged(all);
        let of: Vec<&str> = merged.iter().map(|finding| finding.of.as_str()).collect();
        assert_eq!(of, ["/a, /b, /c and 1 more", "/a"]);
    }

    #[test]
    fn every_check_of_this_host_has_a_finding_worst_first() {
        let places = [PathBuf::from("/")];
        let host = ThisHost::default();
        let findings = examine(&Subject {
            places: &places,
            ..Subject::host(host.files())
        });
        let of_servers = of_servers().len();
        let all: usize = families().iter().map(|(_, checks)| checks.len()).sum();
        assert_eq!(findings.len(), all - of_servers);
        assert!(findings.is_sorted_by_key(|finding| finding.level));
        assert!(findings.iter().all(|finding| !finding.observed.is_empty()));
    }

    #[test]
    fn names_of_checks_are_unique_and_each_is_explained() {
        let mut names: Vec<&str> = Vec::new();
        for about in families().iter().flat_map(|(_, checks)| checks) {
            assert!(!names.contains(&about.id), "{}", about.id);
            assert!(
                about.why.ends_with('.') && !about.source.is_empty(),
                "{}",
                about.id
            );
            assert!(about.worst <= Level::Note, "{}", about.id);
            names.push(about.id);
        }
    }
}

//! What on this host and in its servers will spoil a measurement.
//!
//! ```text
//! files of the kernel, settings of servers -> facts (read) -> checks, a family to a
//! module -> findings, the worst first
//! ```
//!
//! A check judges facts and reads nothing, so each is tested with made-up ones. Every
//! check has a finding, also one that passed or could not look.

mod activity;
mod asked;
mod clock;
mod container;
mod cpu;
mod limits;
mod memory;
mod place;
mod read;
mod reference;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use engine::checks::{self, Facts};
use measure::finding::{Finding, check};
use plan::EngineSpec;

pub use asked::Asked;
pub use reference::doctor_markdown;

use crate::Database;
use crate::trial::{Place, Trial};
use engine::{ENGINES, Engine, Installed, Server};

/// How long the host is watched for what else it does, when somebody waits for the answer.
pub const LONG_LOOK: Duration = Duration::from_secs(1);
/// And when a load is to begin.
pub const SHORT_LOOK: Duration = Duration::from_millis(200);
/// Places and servers that a finding names; of more only the number is told.
const MOST_NAMED: usize = 3;
/// The host, as a finding calls it.
const HOST: &str = "host";

/// What is to be looked at, besides the host.
#[derive(Debug, Default)]
pub struct Subject<'a> {
    /// What is going to be run.
    pub trials: &'a [Trial],
    /// Servers that run, besides those of the trials.
    pub servers: &'a [Database],
    /// Directories that hold data, besides those of servers and trials.
    pub places: &'a [PathBuf],
    /// How long the host is watched.
    pub look: Duration,
}

/// Looks at host and servers while nothing of dyno's is under load. Findings come with the
/// worst first, one for each check and thing that was looked at; equal ones are one.
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

fn on_host(subject: &Subject<'_>, asked: Option<Asked>, servers: &[Facts]) -> Vec<Finding> {
    let places = places(subject, servers);
    let devices = places.iter().flat_map(|(_, place)| place.devices.clone());
    let devices: Vec<String> = devices.collect();
    // First of all: what is read below is work, too.
    let activity = read::activity::read(subject.look, &devices);
    let mut findings = check::run(activity::CHECKS, &activity, HOST, check::on_host);
    let cpu = read::cpu::read();
    for checks in cpu::CHECKS {
        findings.extend(check::run(checks, &cpu, HOST, check::on_host));
    }
    let memory = read::memory::read(asked);
    findings.extend(check::run(memory::CHECKS, &memory, HOST, check::on_host));
    let clock = read::clock::read();
    findings.extend(check::run(clock::CHECKS, &clock, HOST, check::on_host));
    let limits = read::limits::read(asked);
    findings.extend(check::run(limits::CHECKS, &limits, HOST, check::on_host));
    let container = read::container::read(asked);
    findings.extend(check::run(
        container::CHECKS,
        &container,
        HOST,
        check::on_host,
    ));
    if places.is_empty() {
        let why = "no data lies on this host, as far as is known";
        for checks in place::CHECKS {
            findings.extend(check::unseen(checks, HOST, why));
        }
    }
    for (path, place) in &places {
        let of = path.display().to_string();
        for checks in place::CHECKS {
            findings.extend(check::run(checks, place, &of, check::on_host));
        }
    }
    findings
}

/// The places that were named, and where servers of this host have their data or will.
fn places(subject: &Subject<'_>, servers: &[Facts]) -> Vec<(PathBuf, place::Place)> {
    let named = subject.places.iter().cloned();
    let running = servers.iter().filter_map(read::server::data_dir_here);
    let mut needed: BTreeMap<PathBuf, u64> = named.chain(running).map(|dir| (dir, 0)).collect();
    for trial in subject.trials {
        if let Some(dir) = data_dir(trial) {
            let bytes = needed.entry(dir).or_default();
            *bytes = Asked::of(trial).disk_bytes.max(*bytes);
        }
    }
    let places = needed.into_iter().map(|(path, bytes)| {
        let place = read::place::read(&path, bytes);
        (path, place)
    });
    places.collect()
}

/// Where a trial has the data that it makes.
fn data_dir(trial: &Trial) -> Option<PathBuf> {
    let cache = || crate::home::place().ok();
    match &trial.place {
        Place::Given(database) => database.file().map(ToOwned::to_owned),
        Place::Temporary(_) => cache(),
        Place::Private(spec) => match &spec.directory {
            Some(directory) => Some(directory.value.clone()),
            None => cache(),
        },
    }
}

/// The servers that were named and those of the trials, each once.
fn servers(subject: &Subject<'_>) -> Vec<Facts> {
    let mut given: BTreeMap<String, (&Database, Option<Asked>)> = BTreeMap::new();
    for database in subject.servers {
        given.insert(database.shown(), (database, None));
    }
    let mut planned: Vec<(&EngineSpec, &Trial, Asked)> = Vec::new();
    for trial in subject.trials {
        let asked = Asked::of(trial);
        match &trial.place {
            // Without monitors the server is asked for nothing but its work.
            Place::Given(_) if !trial.monitors => {}
            Place::Given(database) => {
                let (_, known) = given.entry(database.shown()).or_insert((database, None));
                *known = Some(known.map_or(asked, |known| known.most(asked)));
            }
            Place::Private(spec) => {
                let spec: &EngineSpec = spec;
                match planned.iter_mut().find(|known| known.0 == spec) {
                    Some((_, _, known)) => *known = known.most(asked),
                    None => planned.push((spec, trial, asked)),
                }
            }
            Place::Temporary(_) => {}
        }
    }
    let running = given
        .into_values()
        .filter_map(|(database, asked)| read::server::running(database, asked));
    running.chain(planned_servers(&planned)).collect()
}

/// The servers that trials are going to start, told apart by the first trial of each.
fn planned_servers(planned: &[(&EngineSpec, &Trial, Asked)]) -> Vec<Facts> {
    let mut programs: Vec<(&EngineSpec, Result<Installed, String>)> = Vec::new();
    let specs = planned.iter().map(|(spec, ..)| *spec);
    let varied = varied(&specs.collect::<Vec<_>>());
    let mut servers = Vec::new();
    for (spec, trial, asked) in planned {
        let same = |known: &EngineSpec| {
            (known.engine, &known.basedir, &known.version)
                == (spec.engine, &spec.basedir, &spec.version)
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
            1 => spec.engine.name().to_owned(),
            _ => format!("{} of {}", spec.engine.name(), trial.label),
        };
        let Ok(engine) = crate::spec::engine_of(spec) else {
            continue;
        };
        let config = crate::spec::config(spec);
        let disk = data_dir(trial);
        let mut server = read::server::planned(name, engine, &config, &found, *asked, disk);
        server.varied.clone_from(&varied);
        servers.push(server);
    }
    servers
}

/// Settings of which servers of one engine have different values, be it in a sweep or in
/// variants.
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

/// Findings that say the same of several things as one.
fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<(Finding, Vec<String>)> = Vec::new();
    for finding in findings {
        let same = |known: &Finding| {
            (&known.id, known.level, &known.seen, &known.mend)
                == (&finding.id, finding.level, &finding.seen, &finding.mend)
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
        let more = of.len().saturating_sub(MOST_NAMED);
        of.truncate(MOST_NAMED);
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

/// What is said of every check, in the order of the reference page.
fn families() -> Vec<(&'static str, Vec<check::About>)> {
    fn abouts<F>(checks: &[check::Check<F>]) -> Vec<check::About> {
        checks.iter().map(|check| check.about).collect()
    }
    fn all<F>(parts: &[&[check::Check<F>]]) -> Vec<check::About> {
        parts.iter().flat_map(|checks| abouts(checks)).collect()
    }
    vec![
        ("What else the host does", abouts(activity::CHECKS)),
        ("CPUs", all(&cpu::CHECKS)),
        ("Memory", abouts(memory::CHECKS)),
        ("Clocks", abouts(clock::CHECKS)),
        ("Limits of this process", abouts(limits::CHECKS)),
        ("Machine and control groups", abouts(container::CHECKS)),
        ("File systems and disks", all(&place::CHECKS)),
        ("Servers", of_servers()),
    ]
}

/// The checks of all engines, each once.
fn of_servers() -> Vec<check::About> {
    let mut abouts: Vec<check::About> = Vec::new();
    let servers = ENGINES.into_iter().filter_map(Engine::server);
    for check in servers.flat_map(Server::checks) {
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

    fn finding(id: &str, of: &str) -> Finding {
        Finding {
            id: id.into(),
            of: of.into(),
            level: Level::Note,
            seen: "seen".into(),
            why: String::new(),
            source: String::new(),
            mend: None,
        }
    }

    #[test]
    fn the_same_of_several_things_is_said_once() {
        let all = ["/a", "/b", "/c", "/d"].map(|of| finding("x", of));
        let mut all = all.to_vec();
        all.push(finding("y", "/a"));
        let merged = merged(all);
        let of: Vec<&str> = merged.iter().map(|finding| finding.of.as_str()).collect();
        assert_eq!(of, ["/a, /b, /c and 1 more", "/a"]);
    }

    #[test]
    fn every_check_of_this_host_says_something_the_worst_first() {
        let places = [PathBuf::from("/")];
        let findings = examine(&Subject {
            places: &places,
            ..Subject::default()
        });
        let of_servers = of_servers().len();
        let all: usize = families().iter().map(|(_, checks)| checks.len()).sum();
        assert_eq!(findings.len(), all - of_servers);
        assert!(findings.is_sorted_by_key(|finding| finding.level));
        assert!(findings.iter().all(|finding| !finding.seen.is_empty()));
    }

    #[test]
    fn no_two_checks_have_one_name_and_each_is_explained() {
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

//! Checks this host and its servers for conditions that distort a measurement.
//!
//! ```text
//! host::HostFacts, settings of servers -> tables of checks -> findings, worst first
//! ```
//!
//! A check is a pure function of facts: a row with a description, a remedy, and the function that
//! grades the facts. Every check yields a finding, even if it passed or could not be performed.

mod judges;
mod machine;
mod requirements;
mod server;
mod storage;

use std::path::PathBuf;
use std::time::Duration;

use engine::checks::{self, Facts as ServerFacts};
use host::{Activity, Files, HostFacts};
use measure::finding::Finding;
use measure::finding::check::{Remedy, unknown};

use crate::Database;
use crate::trial::Trial;
use machine::{FAMILIES, Machine};
use requirements::Requirements;

/// Sampling time of the host's activity when a user asks for it.
pub const LONG_SAMPLE: Duration = Duration::from_secs(1);
/// Sampling time of the host's activity before a load.
pub const SHORT_SAMPLE: Duration = Duration::from_millis(200);
/// Maximum number of subjects that a merged finding names.
const MAX_SUBJECTS: usize = 3;
const HOST: &str = "host";

/// What to examine in addition to the host.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The name of the host, if it is not this one: then only what its servers need counts.
    pub elsewhere: Option<&'a str>,
    /// Trials that are about to run.
    pub trials: &'a [Trial],
    /// Running servers besides those of the trials.
    pub servers: &'a [Database],
    /// Directories that hold data, besides those of servers and trials.
    pub directories: &'a [PathBuf],
    pub files: &'a dyn Files,
    /// Sampling time of the host's activity.
    pub sample_time: Duration,
}

impl<'a> Subject<'a> {
    /// Only a host, without sampling its activity.
    pub fn host(files: &'a dyn Files) -> Self {
        Self {
            elsewhere: None,
            trials: &[],
            servers: &[],
            directories: &[],
            files,
            sample_time: Duration::ZERO,
        }
    }

    /// The trials whose servers run on the host.
    fn trials_there(&self) -> impl Iterator<Item = &'a Trial> + use<'a> {
        let is_elsewhere = self.elsewhere.is_some();
        let trials = self.trials.iter();
        trials.filter(move |trial| trial.is_elsewhere() == is_elsewhere)
    }
}

/// Examines host and servers, which must have no load from dyno. Returns a finding for each check
/// and subject, the worst first; equal findings are merged.
pub fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    examine_all(&[*subject])
}

/// The same of several hosts.
pub(crate) fn examine_all(subjects: &[Subject<'_>]) -> Vec<Finding> {
    let each = subjects.iter().flat_map(|subject| {
        let servers = server::all(subject);
        let mut findings = on_host(subject, &servers);
        findings.extend(servers.iter().flat_map(checks::judge));
        findings
    });
    let mut findings = merged(each.collect());
    findings.sort_by_key(|finding| finding.level);
    findings
}

fn on_host(subject: &Subject<'_>, servers: &[ServerFacts]) -> Vec<Finding> {
    let directories = storage::data_directories(subject, servers);
    let devices = directories
        .iter()
        .flat_map(|(_, data)| &data.storage.devices);
    let devices: Vec<String> = devices.cloned().collect();
    let trials = subject.trials.iter();
    let is_elsewhere = subject.elsewhere.is_some();
    let required = trials.map(|trial| Requirements::at_once(trial, subject.trials, is_elsewhere));
    let named = |what: &str| match subject.elsewhere {
        Some(name) => format!("{what} {name}"),
        None => what.to_owned(),
    };
    let machine = Machine {
        // First, because reading the facts is activity itself.
        activity: Activity::watch(subject.files, subject.sample_time, &devices),
        facts: HostFacts::read(subject.files),
        required: required.reduce(Requirements::max),
    };
    let checks = FAMILIES.iter().flat_map(|(_, checks)| *checks);
    let checks = checks.map(|check| check.finding(&machine, &named(HOST), Remedy::on_host));
    let mut findings: Vec<Finding> = checks.collect();
    if directories.is_empty() {
        findings.extend(storage::CHECKS.iter().map(|check| {
            let unknown = unknown("no data on the host is known");
            check.about.finding(unknown, &named(HOST), Remedy::on_host)
        }));
    }
    for (path, mut data) in directories {
        data.system_disks.clone_from(&machine.facts.system_disks);
        data.disks = host::device::disks(subject.files);
        let of = match subject.elsewhere {
            Some(_) => named(&format!("{} on", path.display())),
            None => path.display().to_string(),
        };
        let checks = storage::CHECKS.iter();
        findings.extend(checks.map(|check| check.finding(&data, &of, Remedy::on_host)));
    }
    findings
}

/// Merges findings that differ only in their subject.
fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<(Finding, Vec<String>)> = Vec::new();
    for finding in findings {
        let mut known = merged.iter_mut();
        match known.find(|(known, _)| is_equal(known, &finding)) {
            Some((_, subjects)) => subjects.push(finding.of),
            None => merged.push((finding.clone(), vec![finding.of])),
        }
    }
    let named = merged.into_iter().map(|(finding, mut subjects)| {
        let more = subjects.len().saturating_sub(MAX_SUBJECTS);
        subjects.truncate(MAX_SUBJECTS);
        let rest = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Finding {
            of: format!("{}{rest}", subjects.join(", ")),
            ..finding
        }
    });
    named.collect()
}

fn is_equal(one: &Finding, other: &Finding) -> bool {
    (&one.id, one.level, &one.observed, &one.remedy)
        == (&other.id, other.level, &other.observed, &other.remedy)
}

#[cfg(test)]
mod tests;

//! `dyno doctor [URL]`: conditions on this host and in a server that distort measurements.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use lab::doctor::{LONG_SAMPLE, SHORT_SAMPLE, Subject};
use lab::{Lab, Trial};
use measure::finding::{self, Finding, Level};

use crate::cli::{DoctorArgs, FailOnArg, StudyArgs};
use crate::console::{layout, print, print_json};
use crate::failure::Failure;
use crate::secrets::quoted;
use crate::study_file::PlannedStudy;
use crate::{as_study, doctor_noise, server};

/// Prints the findings. They are a failure of the command only if the user says so.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<(), Failure> {
    let lab = Lab::default();
    let trials = match &args.study {
        Some(study) => PlannedStudy::read(&StudyArgs {
            study: study.clone(),
            overrides: args.overrides.clone(),
        })?
        .trials(&lab)?,
        None => Vec::new(),
    };
    if let Some(time) = args.noise {
        return doctor_noise::measure(time, &trials);
    }
    let servers = match &args.url {
        Some(url) => vec![server::open(url, &as_study::access(&args.login)?, &lab)?],
        None => Vec::new(),
    };
    lab.check_hosts(&trials, &AtomicBool::new(false))?;
    let findings = lab.examine(&Subject {
        trials: &trials,
        servers: &servers,
        directories: &places(&servers, &trials),
        sample_time: LONG_SAMPLE,
        ..Subject::host(&host::LOCAL)
    });
    match args.json {
        true => print_json(serde_json::to_string_pretty(&findings)),
        false => {
            let sheet = report::doctor::sheet(&findings, args.verbose);
            print(sheet.text(layout()).trim_end())
        }
    }?;
    outcome(&findings, args.fail_on)
}

/// A failure if a finding is at least as bad as the user allows.
fn outcome(findings: &[Finding], fail_on: Option<FailOnArg>) -> Result<(), Failure> {
    let worst = match fail_on {
        None => return Ok(()),
        Some(FailOnArg::Severe) => Level::Severe,
        Some(FailOnArg::Warning) => Level::Warning,
    };
    let is_failure = |finding: &&Finding| finding.level <= worst;
    match findings.iter().filter(is_failure).count() {
        0 => Ok(()),
        count => Err(Failure::threshold(format!(
            "conditions that may distort results: {count}"
        ))),
    }
}

/// Directories with data that belong to no server process; the default one if neither a server
/// nor a study is given.
fn places(servers: &[lab::Database], trials: &[Trial]) -> Vec<PathBuf> {
    let files = servers.iter().filter_map(|server| server.file());
    let is_default = servers.is_empty() && trials.is_empty();
    let cache = machine::home::place().ok().filter(|_| is_default);
    files.map(ToOwned::to_owned).chain(cache).collect()
}

/// A short check before the load starts, without the checks that passed.
pub(crate) fn quick_check(lab: &Lab, trials: &[Trial]) -> Vec<Finding> {
    let mut findings = lab.examine(&Subject {
        trials,
        sample_time: SHORT_SAMPLE,
        ..Subject::host(&host::LOCAL)
    });
    findings.retain(|finding| finding.level < Level::Passed);
    findings
}

/// The number of severe findings and warnings in one line; `None` without any. With the arguments
/// `of`, `dyno doctor` shows the same findings.
pub(crate) fn summary_line(findings: &[Finding], of: &[&str]) -> Option<String> {
    let severe = finding::count(findings, Level::Severe);
    let warning = finding::count(findings, Level::Warning);
    let counts = [(severe, "severe"), (warning, "to consider")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(n, what)| format!("{n} {what}")).collect();
    if counts.is_empty() {
        return None;
    }
    let command = ["dyno", "doctor"].iter().chain(of);
    let command: Vec<String> = command.map(|word| quoted(word)).collect();
    Some(format!(
        "conditions that may distort the results: {}; for details: {}",
        counts.join(", "),
        command.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(levels: &[Level]) -> Vec<Finding> {
        let finding = |level: &Level| Finding {
            id: "x".into(),
            of: "host".into(),
            level: *level,
            observed: String::new(),
            why: String::new(),
            source: String::new(),
            remedy: None,
        };
        levels.iter().map(finding).collect()
    }

    #[test]
    fn findings_fail_only_from_the_level_that_is_asked_for() {
        let found = findings(&[Level::Warning, Level::Note]);
        assert!(outcome(&found, None).is_ok());
        assert!(outcome(&found, Some(FailOnArg::Severe)).is_ok());
        assert!(outcome(&found, Some(FailOnArg::Warning)).is_err());
    }

    #[test]
    fn a_line_says_how_many() {
        let line = |levels: &[Level]| summary_line(&findings(levels), &["--study", "a b.toml"]);
        assert_eq!(line(&[Level::Note, Level::Unknown]), None);
        assert_eq!(
            line(&[Level::Warning]).unwrap(),
            "conditions that may distort the results: 1 to consider; \
             for details: dyno doctor --study 'a b.toml'"
        );
        assert_eq!(
            line(&[Level::Severe, Level::Severe, Level::Warning]).unwrap(),
            "conditions that may distort the results: 2 severe, 1 to consider; \
             for details: dyno doctor --study 'a b.toml'"
        );
    }
}

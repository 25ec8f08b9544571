//! `dyno doctor [URL]`: what on this host and in a server will spoil a measurement.

use std::path::PathBuf;

use lab::doctor::{LONG_LOOK, SHORT_LOOK, Subject, examine};
use lab::{Lab, Trial};
use measure::finding::{self, Finding, Level};

use crate::cli::{DoctorArgs, StudyArgs};
use crate::console::{layout, print, print_json};
use crate::failure::{Exit, Failure};
use crate::secrets::quoted;
use crate::server;
use crate::study_file::Meant;

/// Looks, and prints what it saw. Whatever that is, the look went well.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<(), Failure> {
    let lab = Lab::default();
    let trials = match &args.study {
        Some(study) => Meant::read(&StudyArgs {
            study: study.clone(),
            overrides: args.overrides.clone(),
        })?
        .trials(&lab)?,
        None => Vec::new(),
    };
    let servers = match &args.url {
        Some(url) => vec![server::open(url, &server::access(&args.login)?, &lab)?],
        None => Vec::new(),
    };
    let findings = examine(&Subject {
        trials: &trials,
        servers: &servers,
        places: &places(&servers, &trials),
        look: LONG_LOOK,
    });
    match args.json {
        true => print_json(&json(&findings)?),
        false => print(report::doctor::sheet(&findings).text(layout()).trim_end()),
    }
}

/// Where data lies that is in no server, or where it would when nothing is named.
fn places(servers: &[lab::Database], trials: &[Trial]) -> Vec<PathBuf> {
    let files = servers.iter().filter_map(|server| server.file());
    let nothing_named = servers.is_empty() && trials.is_empty();
    let cache = lab::home::place().ok().filter(|_| nothing_named);
    files.map(ToOwned::to_owned).chain(cache).collect()
}

fn json(findings: &[Finding]) -> Result<String, Failure> {
    serde_json::to_string_pretty(findings).map_err(|error| Failure::new(Exit::Internal, error))
}

/// A short look before anything is under load; what passed is left out.
pub(crate) fn before(trials: &[Trial]) -> Vec<Finding> {
    let mut findings = examine(&Subject {
        trials,
        look: SHORT_LOOK,
        ..Subject::default()
    });
    findings.retain(|finding| finding.level < Level::Passed);
    findings
}

/// How many things may spoil what is measured, in a line; `None` of nothing. `of` are the
/// words that have `dyno doctor` look at the same.
pub(crate) fn in_a_line(findings: &[Finding], of: &[&str]) -> Option<String> {
    let spoils = finding::count(findings, Level::Spoils);
    let careful = finding::count(findings, Level::Careful);
    let words = match (spoils, careful) {
        (0, 0) => return None,
        (0, _) => counted(careful, "thing calls for care", "things call for care"),
        (_, 0) => spoil(spoils),
        (_, 1) => format!("{}, 1 more calls for care", spoil(spoils)),
        _ => format!("{}, {careful} more call for care", spoil(spoils)),
    };
    let them = if spoils + careful == 1 { "it" } else { "them" };
    let command = ["dyno", "doctor"].iter().chain(of);
    let command: Vec<String> = command.map(|word| quoted(word)).collect();
    Some(format!("{words}; to see {them}: {}", command.join(" ")))
}

fn spoil(count: usize) -> String {
    counted(
        count,
        "thing may spoil this measurement",
        "things may spoil this measurement",
    )
}

fn counted(count: usize, one: &str, several: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {several}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(levels: &[Level]) -> Vec<Finding> {
        let finding = |level: &Level| Finding {
            id: "x".into(),
            of: "host".into(),
            level: *level,
            seen: String::new(),
            why: String::new(),
            source: String::new(),
            remedy: None,
        };
        levels.iter().map(finding).collect()
    }

    #[test]
    fn a_line_says_how_many() {
        let line = |levels: &[Level]| in_a_line(&findings(levels), &["--study", "a b.toml"]);
        assert_eq!(line(&[Level::Note, Level::Unseen]), None);
        assert_eq!(
            line(&[Level::Careful]).unwrap(),
            "1 thing calls for care; to see it: dyno doctor --study 'a b.toml'"
        );
        assert_eq!(
            line(&[Level::Spoils, Level::Spoils, Level::Careful]).unwrap(),
            "2 things may spoil this measurement, 1 more calls for care; to see them: dyno doctor --study 'a b.toml'"
        );
    }
}

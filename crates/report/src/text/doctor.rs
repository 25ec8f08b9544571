//! What host and servers are like, on a terminal.

use std::fmt::Write;

use measure::finding::{self, Finding, Level};

use super::wrap::{plain, wrap};
use crate::doctor::{name, why};

/// All findings, the worst first, with what mends them; a line that counts them at the end.
#[must_use]
pub fn findings(findings: &[Finding]) -> String {
    let mut text = String::new();
    for level in Level::ALL {
        let of_level = findings.iter().filter(|finding| finding.level == level);
        for (place, finding) in of_level.enumerate() {
            if place == 0 {
                let _ = writeln!(text, "{}", title(level));
            }
            text.push_str(&shown(finding));
        }
        if finding::count(findings, level) > 0 {
            text.push('\n');
        }
    }
    let of = |level| finding::count(findings, level);
    let _ = writeln!(
        text,
        "{} may spoil, {} for care, {} to be known, {} not looked at, {} passed",
        of(Level::Spoils),
        of(Level::Careful),
        of(Level::Note),
        of(Level::Unseen),
        of(Level::Passed)
    );
    text
}

/// What may spoil the numbers of a result, shortly; empty when nothing may.
#[must_use]
pub fn spoilers(findings: &[Finding]) -> String {
    let mut text = String::new();
    let worst = findings
        .iter()
        .filter(|finding| finding.level < Level::Note);
    for (place, finding) in worst.enumerate() {
        if place == 0 {
            text.push_str("\nWhat may spoil these numbers\n");
        }
        let words = format!("{}: {}", name(finding), finding.seen);
        let start = format!("  {:<8} ", finding.level.to_string());
        let _ = writeln!(text, "{}", wrap(&start, &words));
    }
    text
}

fn title(level: Level) -> &'static str {
    match level {
        Level::Spoils => "May spoil a measurement",
        Level::Careful => "Calls for care",
        Level::Note => "To be known",
        Level::Unseen => "Could not be looked at",
        Level::Passed => "Is as it should be",
    }
}

fn shown(finding: &Finding) -> String {
    let words = format!("{}: {}", name(finding), finding.seen);
    let mut text = indented(2, &wrap("", &words));
    if finding.level < Level::Note {
        text.push_str(&indented(6, &wrap("why:  ", &why(finding))));
    }
    // A command stays in one piece, to be copied.
    if let Some(mend) = &finding.mend {
        text.push_str(&indented(6, &format!("mend: {}", plain(mend))));
    }
    text
}

/// Lines that begin after so many blanks.
fn indented(blanks: usize, lines: &str) -> String {
    let lines = lines.lines();
    lines
        .map(|line| format!("{:blanks$}{line}\n", ""))
        .collect()
}

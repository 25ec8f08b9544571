//! Findings about hosts and servers.

use measure::finding::{self, Finding, Level};
use measure::result::RunResult;

use crate::grid::{Columns, Grid};
use crate::list::clause;
use crate::sheet::{Block, Item, Section, Sheet};

/// The findings, the worst first, and with `is_verbose` what passed; the last line counts them.
pub fn sheet(findings: &[Finding], is_verbose: bool) -> Sheet {
    let of_level = |level: Level| {
        let such = findings.iter().filter(|finding| finding.level == level);
        let list = Block::list(such.map(item))?;
        Some(Section::new(title(level), vec![list]))
    };
    let levels = Level::ALL.into_iter();
    let levels = levels.filter(|level| is_verbose || *level != Level::Passed);
    let mut sections: Vec<Section> = levels.filter_map(of_level).collect();
    let counts = Level::ALL.map(|level| {
        let count = finding::count(findings, level);
        format!("{count} {}", title(level).to_lowercase())
    });
    let counts = Block::Words(counts.join(", "));
    sections.push(Section::new("", vec![counts]));
    Sheet {
        title: "Host and servers".to_owned(),
        sections,
        ..Sheet::default()
    }
}

/// What may distort results, or should be considered.
pub(crate) fn distorting(findings: &[Finding]) -> Vec<Item> {
    let worst = findings
        .iter()
        .filter(|finding| finding.level < Level::Note);
    let items = worst.map(|finding| Item {
        words: format!(
            "{}: {}.",
            finding.level,
            finding.observed.trim_end_matches('.')
        ),
        ..item(finding)
    });
    items.collect()
}

fn title(level: Level) -> &'static str {
    match level {
        Level::Severe => "May distort results",
        Level::Warning => "To consider",
        Level::Note => "For information",
        Level::Unknown => "Not checked",
        Level::Passed => "Passed",
    }
}

fn item(finding: &Finding) -> Item {
    Item {
        name: name(finding),
        words: finding.observed.clone(),
        // Its source is in the reference of the checks.
        why: clause(finding.level < Level::Note, &finding.why).to_owned(),
        fix: finding.remedy.clone(),
        ..Item::default()
    }
}

/// The check, and its subject unless that is the host.
fn name(finding: &Finding) -> String {
    match finding.of.as_str() {
        "host" => finding.id.clone(),
        of => format!("{} of {of}", finding.id),
    }
}

/// The findings for information, and what could not be checked.
pub(crate) fn others(result: &RunResult) -> Grid {
    let findings = result.findings.iter();
    let others = findings.filter(|finding| finding.level >= Level::Note);
    let columns = Columns::<&Finding>::new()
        .key("check", name)
        .words("level", |finding| finding.level.to_string())
        .words("observed", |finding| &finding.observed);
    columns.grid(
        "Other findings about host and servers before the first load, and what could not \
         be checked.",
        others,
    )
}

//! A whole study on a terminal.

use std::fmt::Write;

use measure::result::RunResult;

use super::doctor::spoilers;
use super::sheet::section;
use super::table::grid;
use super::wrap::{plain, wrap};
use crate::document::{all_trials, answers};
use crate::findings;
use crate::table;

/// The result in a sentence, the study's tables, a line for each trial with its
/// verdict, and what is not there.
#[must_use]
pub fn study(result: &RunResult) -> String {
    let mut text = wrap("", &findings::lead(result));
    text.push('\n');
    for table in table::tables(result) {
        let table = table.grid();
        let _ = write!(text, "\n{}\n{}", wrap("", &table.caption), grid(&table, 0));
    }
    for answer in answers(result) {
        text.push_str(&section(&answer));
    }
    let _ = write!(text, "\n{}", grid(&all_trials(result), 0));

    let verdicts = findings::verdicts(result);
    let verdicts = verdicts.iter().map(|remark| {
        let words = format!("{}: {}", remark.what, remark.words);
        wrap(&format!("{}: ", plain(&remark.name)), &words)
    });
    paragraph(&mut text, verdicts.collect());
    text.push_str(&thresholds(result));
    let early = findings::ended_early(result);
    let early = early.iter().map(|remark| {
        let words = format!(
            "trial {} ({}): {}",
            remark.number, remark.name, remark.words
        );
        wrap(&format!("{} ", remark.what), &words)
    });
    let missing = findings::missing(result).map(|missing| wrap("", &missing));
    paragraph(&mut text, early.chain(missing).collect());
    let warnings = findings::warnings(result);
    let warnings = warnings.iter().map(|warning| {
        wrap(
            "Warning: ",
            &format!("{} ({})", warning.text, warning.trials),
        )
    });
    paragraph(&mut text, warnings.collect());
    text.push_str(&spoilers(&result.findings));
    text
}

/// Whether the thresholds were kept; empty without thresholds.
#[must_use]
pub fn thresholds(result: &RunResult) -> String {
    let Some(lead) = crate::thresholds::lead(result) else {
        return String::new();
    };
    let grid = grid(&crate::thresholds::grid(result), 0);
    format!("\n{}\n{grid}", wrap("", &lead))
}

/// Lines with an empty one before them.
fn paragraph(text: &mut String, lines: Vec<String>) {
    for (place, line) in lines.iter().enumerate() {
        let gap = if place == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{gap}{line}");
    }
}

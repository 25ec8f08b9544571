//! The report as Markdown, for where a page cannot be shown.

mod sheet;

use std::fmt::Write;

use crate::Report;
use crate::document::Document;
use crate::grid::Grid;
use crate::text::{steers, visible};

use sheet::section;
pub(crate) use sheet::sheet;

/// The whole report but its figures.
#[must_use]
pub fn page(report: &Report<'_>) -> String {
    let document = Document::of(report);
    let result = document.result;
    let mut text = format!("# {}\n", plain(&result.title));
    paragraph(
        &mut text,
        result
            .question
            .as_deref()
            .map(|question| format!("*{}*", plain(question))),
    );
    paragraph(&mut text, Some(plain(&document.lead)));
    for words in &document.description {
        paragraph(&mut text, Some(plain(words)));
    }
    not_there(&mut text, &document);
    warnings(&mut text, &document);
    spoilers(&mut text, &document);

    heading(&mut text, "Results");
    for grid in &document.tables {
        table(&mut text, grid);
    }
    for answer in &document.answers {
        section(&mut text, answer);
    }
    if !document.answers.is_empty() {
        heading(&mut text, "All trials");
    }
    table(&mut text, &document.all_trials);
    if !document.verdicts.rows.is_empty() {
        heading(&mut text, "What held them back");
        table(&mut text, &document.verdicts);
    }
    if document.kept.is_some() {
        heading(&mut text, "Thresholds");
        paragraph(&mut text, document.kept.as_deref().map(plain));
        table(&mut text, &document.thresholds);
    }
    heading(&mut text, "Set-up");
    facts(&mut text, &document.setup);
    if !document.data.is_empty() {
        heading(&mut text, "How the servers got their data");
        facts(&mut text, &document.data);
    }
    heading(&mut text, "Environment");
    facts(&mut text, &document.environment);
    if !document.found.rows.is_empty() {
        table(&mut text, &document.found);
    }
    if !document.settings.is_empty() {
        heading(
            &mut text,
            "The servers' settings that are not their defaults",
        );
        let settings = document.settings.iter();
        let settings: Vec<_> = settings.map(|one| (&one.name, &one.value)).collect();
        facts(&mut text, &settings);
    }
    heading(&mut text, "How to run it again");
    fenced(&mut text, &result.environment.command);
    if let Some(study) = document.study {
        paragraph(&mut text, Some("The study file:".to_owned()));
        fenced(&mut text, study);
    }
    text
}

fn not_there(text: &mut String, document: &Document<'_>) {
    if document.missing.is_none() && document.ended_early.is_empty() {
        return;
    }
    heading(text, "What is not there");
    paragraph(text, document.missing.as_deref().map(plain));
    let early = document.ended_early.iter().map(|remark| {
        let (name, words) = (plain(&remark.name), plain(&remark.words));
        format!("**{name}** {}: {words}", remark.what)
    });
    list(text, early);
}

fn warnings(text: &mut String, document: &Document<'_>) {
    if document.warnings.is_empty() {
        return;
    }
    heading(text, "Before you believe these numbers");
    let warnings = document.warnings.iter();
    let warnings =
        warnings.map(|warning| format!("{} ({})", plain(&warning.text), plain(&warning.trials)));
    list(text, warnings);
}

fn spoilers(text: &mut String, document: &Document<'_>) {
    if !document.spoilers.is_empty() {
        heading(text, "What may spoil these numbers");
        let spoilers = document.spoilers.iter().map(|spoiler| {
            let (name, seen, why) = (&spoiler.name, &spoiler.seen, &spoiler.why);
            let mend = spoiler
                .mend
                .iter()
                .map(|mend| format!(" Mend: {}", plain(mend)));
            format!(
                "**{}** {}: {}. {}{}",
                plain(name),
                spoiler.level,
                plain(seen),
                plain(why),
                mend.collect::<String>()
            )
        });
        list(text, spoilers);
    }
}

fn heading(text: &mut String, title: &str) {
    let _ = write!(text, "\n## {title}\n");
}

fn paragraph(text: &mut String, words: Option<String>) {
    if let Some(words) = words {
        let _ = write!(text, "\n{words}\n");
    }
}

fn list(text: &mut String, items: impl Iterator<Item = String>) {
    for (place, item) in items.enumerate() {
        let gap = if place == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{gap}- {item}");
    }
}

fn facts<N: AsRef<str>, V: AsRef<str>>(text: &mut String, facts: &[(N, V)]) {
    let items = facts.iter();
    let items =
        items.map(|(name, value)| format!("{}: {}", plain(name.as_ref()), plain(value.as_ref())));
    list(text, items);
}

/// A column under a group has the group in its head: Markdown spans no columns.
fn table(text: &mut String, grid: &Grid) {
    paragraph(text, Some(plain(&grid.caption)));
    let heads = grid.flat_heads();
    text.push('\n');
    row(text, &heads);
    let rules = (0..heads.len()).map(|place| match place < grid.keys || grid.is_words(&place) {
        true => "---",
        false => "---:",
    });
    let _ = writeln!(text, "| {} |", rules.collect::<Vec<_>>().join(" | "));
    for cells in &grid.rows {
        row(text, cells);
    }
}

fn row(text: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// Text as it is: nothing in it is markup, and it stays on its line.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Between letters, as in the name of a setting, it means nothing.
            '_' if plain.ends_with(char::is_alphanumeric) => plain.push(c),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' => {
                plain.push('\\');
                plain.push(c);
            }
            c if c.is_whitespace() || steers(c) => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain.trim().to_owned()
}

/// A block of code with a fence that the code does not hold.
fn fenced(text: &mut String, code: &str) {
    let code = visible(code);
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = write!(text, "\n{fence}\n{}\n{fence}\n", code.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_not_markup() {
        assert_eq!(plain("a|b\n<b>*x*"), "a\\|b \\<b\\>\\*x\\*");
        assert_eq!(plain("a\u{1b}[2J\u{202e}b"), "a \\[2J b");
        let mut text = String::new();
        fenced(&mut text, "one ```` two");
        assert_eq!(text, "\n`````\none ```` two\n`````\n");
        text.clear();
        fenced(&mut text, "a\u{1b}[2J");
        assert_eq!(text, "\n```\na\\u{1b}[2J\n```\n");
    }
}

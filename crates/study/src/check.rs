//! Expands a study into points, and checks the trial of each.

use crate::content::Content;
use crate::effect::Effects;
use crate::error::{Diagnostics, Report};
use crate::point::{Point, URL};
use crate::{rules, trial};
use plan::key::{CHAOS, COMPARE, KEYS, SWEEP};
use plan::{
    Alternate, EngineTraits, FromValue, Limited, Reset, Span, Trial, grouped, nearest, shown,
};

pub const MAX_TRIALS: usize = 10_000;
/// Keys whose values a search for the highest rate chooses itself, and those that would disturb it.
const NOT_IN_A_SEARCH: [&str; 6] = [
    "load.rate",
    "load.phase",
    "load.arrivals",
    "load.events",
    "load.until.ci",
    CHAOS,
];

/// The trials of all points, in the order of the study. Of a study with too many, only the first
/// of each variant.
pub(crate) fn trials(
    content: &Content,
    engines: &[EngineTraits],
    diagnostics: &Diagnostics,
) -> Vec<Trial> {
    required(content, diagnostics);
    swept_or_in_a_variant(content, diagnostics);
    search(content, diagnostics);
    comparison(content, diagnostics);
    listed_or_random_faults(content, diagnostics);
    rows_of_tables(content, diagnostics);
    baseline_is_a_variant(content, diagnostics);
    let combinations = match number_of_trials(content, diagnostics) {
        true => content.combinations(),
        false => 1,
    };
    let mut variants: Vec<_> = content.variants.iter().map(Some).collect();
    if variants.is_empty() {
        variants.push(None);
    }
    let mut effects = Effects::new(content);
    let mut trials = Vec::new();
    for variant in variants {
        for index in 0..combinations {
            let at = Point::at(index, content, variant, engines, diagnostics);
            let trial = trial::trial(&at);
            effects.record(&at);
            if let Some(trial) = &trial {
                rules::check(&at, trial, content);
            }
            trials.extend(trial);
        }
    }
    effects.check(diagnostics);
    trials
}

fn required(content: &Content, diagnostics: &Diagnostics) {
    let given = &content.common.entries;
    for key in KEYS.iter().filter(|key| key.required) {
        if !given.contains_key(key.name) {
            let message = format!("missing key `{}`", key.name);
            let help = format!("write {} = \"…\" at the top of the file", key.name);
            diagnostics.refuse(Span::NOWHERE, message, help);
        }
    }
}

fn swept_or_in_a_variant(content: &Content, diagnostics: &Diagnostics) {
    for variant in &content.variants {
        for (name, entry) in &variant.entries {
            if let Some(axis) = content.common.axis(name) {
                let message = format!("`{name}` is both swept and set by a variant");
                let help = "remove one of the two: each trial has a single value";
                diagnostics.refuse_also(entry.at, axis.at, message, help);
            }
        }
    }
}

fn rows_of_tables(content: &Content, diagnostics: &Diagnostics) {
    let axes = content.axes();
    let rows = content.tables.iter().map(|table| &table.rows);
    for rows in rows.filter(|rows| !axes.contains(&rows.as_str())) {
        let message = format!("`{}` is not an axis of this study", shown(rows));
        let is_key = KEYS.iter().any(|k| k.axis && k.name == rows.value);
        let help = match nearest(rows, axes.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None if is_key => format!("list its values under [{SWEEP}], or choose other rows"),
            None if axes.is_empty() => {
                "rows are the values of an axis, and this study has none: add a [sweep]".into()
            }
            None => {
                let all: Vec<_> = axes.iter().map(|name| format!("\"{name}\"")).collect();
                format!("rows can be {}", all.join(" or "))
            }
        };
        diagnostics.refuse(rows.span, message, help);
    }
}

fn baseline_is_a_variant(content: &Content, diagnostics: &Diagnostics) {
    let names = || content.variants.iter().map(|v| v.name.as_str());
    let Some(typed) = &content.baseline else {
        return;
    };
    if names().any(|name| name == typed.value) {
        return;
    }
    let help = match nearest(typed, names()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None if content.variants.is_empty() => {
            "this study has no variants; to compare with another result, use dyno run --baseline RESULT".into()
        }
        None => {
            let all: Vec<_> = names().map(|name| format!("\"{name}\"")).collect();
            format!("the variants are {}", all.join(", "))
        }
    };
    let message = format!("there is no variant `{}`", shown(typed));
    diagnostics.refuse(typed.span, message, help);
}

/// A search has one limit, chooses the rate itself, and has nothing that disturbs it.
fn search(content: &Content, diagnostics: &Diagnostics) {
    let mut limits = Limited::KEYS
        .iter()
        .filter_map(|(name, _)| content.place(name));
    let Some(first) = limits.next() else { return };
    if let Some(second) = limits.next() {
        let help = "keep one of the two";
        diagnostics.refuse_two(first, second, "a search has one limit", help);
    }
    let refuse = |place: Option<Span>, what: &str, help: &str| {
        if let Some(place) = place {
            let message = format!("a search for the highest rate cannot have {what}");
            diagnostics.refuse_also(place, first, message, help);
        }
    };
    for name in NOT_IN_A_SEARCH {
        let help =
            "a search chooses the rate and the end of each step itself: remove one of the two";
        refuse(content.place(name), &format!("`{name}`"), help);
    }
    let threshold = content.thresholds.first().map(|one| one.column.span);
    let help = "the search has its own limit: remove the thresholds";
    refuse(threshold, "thresholds", help);
    let fault = content.faults.first().map(|fault| fault.kind);
    refuse(fault, "faults", "remove the faults or the search");
}

/// A comparison until it is decided has variants to compare, and decides about the repeats itself.
fn comparison(content: &Content, diagnostics: &Diagnostics) {
    let Some(starts) = content.place(COMPARE) else {
        return;
    };
    if content.variants.len() < 2 {
        let message = "a comparison needs two variants at least";
        let help = "add a [[variant]] for each side, or remove [compare]";
        diagnostics.refuse(starts, message, help);
    }
    let refuse = |place: Option<Span>, what: &str, help: &str| {
        if let Some(place) = place {
            let message = format!("`[compare]` cannot be combined with {what}");
            diagnostics.refuse_also(place, starts, message, help);
        }
    };
    let repeats = content.place("load.repeats");
    let help = "each start is a repeat: remove `repeats`, or [compare]";
    refuse(repeats, "`load.repeats`", help);
    let is_once = content
        .values(COMPARE)
        .any(|most| u64::from_value(&most.value) == Some(1));
    let mut alternate = content.values("compare.alternate");
    let in_turns = alternate.any(|word| word.as_text() == Some(Alternate::Always.name()));
    match content.place(URL) {
        Some(_) if is_once && in_turns => {}
        None if is_once => {
            let message = "one start does not show how much starts differ";
            let help = "set `starts` to 2 or more; 1 is only for servers that are already running (`server.url`)";
            diagnostics.refuse(starts, message, help);
        }
        url => {
            let help = "dyno does not restart a running server: let dyno start the servers with \
                        `server.engine`, or compare them as they run with starts = 1 and \
                        alternate = \"always\"";
            refuse(url, "`server.url`", help);
        }
    }
    let mut pauses = content.values("compare.pause");
    let pauses = pauses.any(|pause| bool::from_value(&pause.value) == Some(true));
    let pause = content.place("compare.pause").filter(|_| pauses);
    let refuse_paused = |key: &str, help: &str| {
        if let (Some(pause), Some(other)) = (pause, content.place(key)) {
            let message = format!("`compare.pause` cannot be combined with `{key}`");
            diagnostics.refuse_two(pause, other, message, help);
        }
    };
    let help = "dyno freezes only servers that it has started: remove `compare.pause`";
    refuse_paused(URL, help);
    let help = "the cluster would suspect that frozen members are dead: remove `compare.pause`";
    refuse_paused("topology.cluster", help);
    let mut resets = content.values("server.reset");
    let reset = resets.find(|reset| reset.as_text() == Some(Reset::None.name()));
    let help = "each start needs data of its own: write reset = \"copy\", or remove it";
    let reset = reset.map(|reset| reset.span);
    refuse(reset, "`server.reset` = `none`", help);
    let mut limits = Limited::KEYS.iter();
    let search = limits.find_map(|(name, _)| content.place(name));
    let help = "compare searches with `load.repeats`, or remove the search";
    refuse(search, "a search for the highest rate", help);
}

fn listed_or_random_faults(content: &Content, diagnostics: &Diagnostics) {
    if let (Some(chaos), Some(fault)) = (content.place(CHAOS), content.faults.first()) {
        let message = "a study has either random faults or listed ones";
        let help = "remove [chaos], or every [[fault]]; `dyno plan` prints what [chaos] draws as [[fault]]";
        diagnostics.refuse_two(chaos, fault.kind, message, help);
    }
}

/// Whether a study has no more trials than it may have.
fn number_of_trials(content: &Content, diagnostics: &Diagnostics) -> bool {
    let entries = &content.common.entries;
    let starts = entries.get(COMPARE);
    let repeats = starts.or_else(|| entries.get("load.repeats"));
    let typed = repeats.and_then(|entry| u64::from_value(&entry.value.as_ref()?.value));
    let mut factors: Vec<(u64, &str)> = Vec::new();
    let variants = Some((content.variants.len() as u64, " variants"));
    factors.extend(variants.filter(|(count, _)| *count > 0));
    let lengths = content.common.axes.iter().map(|axis| axis.values.len());
    factors.extend(lengths.map(|count| (count as u64, "")));
    factors.extend(typed.filter(|n| *n > 1).map(|n| (n, " repeats")));
    let counts = factors.iter().map(|(count, _)| *count);
    if counts.fold(1, u64::saturating_mul) <= MAX_TRIALS as u64 {
        return true;
    }
    let words: Vec<_> = factors
        .iter()
        .map(|(n, what)| format!("{n}{what}"))
        .collect();
    let first_axis = content.common.axes.first().map(|axis| axis.at);
    let first_variant = content.variants.first().map(|variant| variant.name.span);
    let place = first_axis.or(repeats.map(|r| r.at)).or(first_variant);
    let most = grouped(MAX_TRIALS as u64);
    let message = format!("the study has too many trials: {}", words.join(" × "));
    let help = format!("a study has at most {most} trials: use fewer values or fewer repeats");
    diagnostics.refuse(place.unwrap_or_default(), message, help);
    false
}

//! Two studies as one: what they have in common, and a variant for what is particular to each.

use std::collections::{BTreeMap, BTreeSet};

use crate::content::{Content, Entry, TypedFault};
use crate::point::URL;
use crate::written::{fault_toml, list, quoted, value_toml};
use plan::key::{FAULT, Key, SWEEP};
use plan::{Span, TextError, shown};

/// The names of the variants.
pub const SIDES: [&str; 2] = ["base", "new"];
/// The sections in which the variants may differ. The others define the load and the points.
const MAY_DIFFER: [&str; 5] = ["server", "site", "volume", "log_volume", "topology"];
/// Keys that are left out: the pair decides them.
const OF_ONE_STUDY: [&str; 3] = ["load.repeats", "load.order", "load.order_seed"];

/// Where and why a study cannot be part of a pair, and what to do instead.
pub(crate) type Refusal = (Span, TextError);

/// A key, the axes, or the faults of a study, as TOML.
struct Line {
    at: Span,
    value: String,
    may_differ: bool,
}

/// Why a study cannot be part of any pair.
pub(crate) fn obstacle(content: &Content) -> Option<Refusal> {
    let variant = content.variants.first().map(|variant| {
        let help = "compare its variants: dyno compare RESULT --base VARIANT --new VARIANT";
        let error = TextError::new("this study has variants", help);
        (variant.name.span, error)
    });
    let url = content.place(URL).map(|at| {
        let help = "compare running servers: dyno bench URL1 URL2";
        (at, TextError::new("dyno cannot restart this server", help))
    });
    variant.or(url)
}

/// The text of the study of both. A refusal is about the second study.
pub(crate) fn text(sides: [&Content; 2], title: &str, compare: &str) -> Result<String, Refusal> {
    let given = sides.map(lines);
    let names: BTreeSet<&String> = given.iter().flat_map(BTreeMap::keys).collect();
    let mut text = format!("title = {}\n", quoted(title));
    let mut own = [String::new(), String::new()];
    for name in names {
        let both = given.each_ref().map(|side| side.get(name));
        let [base, new] = both.map(|line| line.map_or("not set", |line| &line.value));
        if base == new {
            text += &format!("{name} = {base}\n");
        } else if both.into_iter().flatten().all(|line| line.may_differ) {
            for (own, line) in own.iter_mut().zip(both) {
                *own += &line.map_or(String::new(), |line| format!("{name} = {}\n", line.value));
            }
        } else {
            let message = format!(
                "`{name}` is {} here, but {} in base",
                shown(new),
                shown(base)
            );
            let help = "load and points must be the same: run both studies with the same value";
            let at = both[1].map_or(Span::NOWHERE, |line| line.at);
            return Err((at, TextError::new(message, help)));
        }
    }
    if own == [""; 2] {
        let message = "this study does not differ from that of base";
        let help = "to compare two versions of a server, set `server.basedir` in each study";
        return Err((Span::NOWHERE, TextError::new(message, help)));
    }
    text += &format!("\n[compare]\n{compare}");
    for (side, own) in SIDES.into_iter().zip(own) {
        text += &format!("\n[[variant]]\nname = \"{side}\"\n{own}");
    }
    Ok(text)
}

/// The part of a study that describes its trials.
fn lines(content: &Content) -> BTreeMap<String, Line> {
    let line = |at, value, may_differ| Line {
        at,
        value,
        may_differ,
    };
    let entries = content.common.entries.iter();
    let entries = entries.filter(|(_, entry)| is_of_trials(entry.name.key));
    let entries = entries.map(|(name, entry)| {
        let key = entry.name.key;
        let may_differ = key.axis && MAY_DIFFER.contains(&key.section());
        (name.clone(), line(entry.at, toml(entry), may_differ))
    });
    let axes = &content.common.axes;
    let sweep = axes.first().map(|first| {
        let axes = axes.iter().map(|axis| {
            let values = list(axis.values.iter().map(toml));
            format!("{} = {values}", quoted(axis.name.full()))
        });
        (SWEEP.to_owned(), line(first.at, table(axes), false))
    });
    let faults = content.faults.first().map(|first| {
        let all = list(content.faults.iter().map(fault));
        (FAULT.to_owned(), line(first.kind, all, false))
    });
    entries.chain(sweep).chain(faults).collect()
}

fn is_of_trials(key: &Key) -> bool {
    !["", "report"].contains(&key.section()) && !OF_ONE_STUDY.contains(&key.name)
}

fn toml(entry: &Entry) -> String {
    let value = entry.value.as_ref();
    value.map_or(String::new(), |value| {
        value_toml(&entry.name.key.kind, &value.value)
    })
}

/// Without a seed that the study does not set.
fn fault(typed: &TypedFault) -> String {
    let text = fault_toml(&typed.fault);
    let lines = text.lines().skip(1);
    let lines = lines.filter(|line| typed.has_seed || !line.starts_with("seed = "));
    table(lines.map(str::to_owned))
}

fn table(lines: impl Iterator<Item = String>) -> String {
    format!("{{ {} }}", lines.collect::<Vec<_>>().join(", "))
}

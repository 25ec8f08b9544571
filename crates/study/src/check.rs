//! Checks that concern several keys: missing keys, conflicting keys, and the number of trials.

use std::time::Duration;

use crate::content::{Base, Content, EITHER};
use crate::error::{Diagnostic, Diagnostics};
use crate::study::MAX_TRIALS;
use plan::key::{CHAOS, KEYS, SWEEP, VARIANT};
use plan::{
    EngineTraits, FromValue, Limited, Reset, SiteKind, Span, Spanned, Value, format_duration,
    grouped, nearest, shown,
};

/// Keys whose values a search for the highest rate chooses itself, and those that would disturb it.
const NOT_IN_A_SEARCH: [&str; 5] = [
    "load.rate",
    "load.arrivals",
    "load.events",
    "load.until.ci",
    CHAOS,
];
/// Keys that limit what a site may use.
pub(crate) const SITE_LIMITS: [&str; 3] = ["site.cpus", "site.cpuset", "site.memory"];
const MAX_PORT: u64 = u16::MAX as u64;

pub(crate) fn whole(content: &Content, engines: &[EngineTraits], diagnostics: &mut Diagnostics) {
    required(content, diagnostics);
    either_engine_or_url(content, engines, diagnostics);
    crate::engines::check(content, engines, diagnostics);
    swept_or_in_a_variant(content, diagnostics);
    crate::effect::check(content, engines, diagnostics);
    crate::faults::check(content, engines, diagnostics);
    crate::chaos::check(content, engines, diagnostics);
    until(content, diagnostics);
    find_max(content, diagnostics);
    for base in content.bases() {
        one_url_is_one_server(content, &base, diagnostics);
        clusters_are_copied(content, &base, diagnostics);
        ports_for_all(content, &base, diagnostics);
        processes_have_no_limits(content, &base, diagnostics);
        runtimes_set_up_containers(content, &base, diagnostics);
        crate::hosts::check(content, &base, diagnostics);
        crate::hosts::check_guests(content, &base, diagnostics);
        measurement_ends(content, &base, diagnostics);
    }
    rows_of_tables(content, diagnostics);
    baseline_is_a_variant(content, diagnostics);
    number_of_trials(content, diagnostics);
}

fn required(content: &Content, diagnostics: &mut Diagnostics) {
    for key in KEYS
        .iter()
        .filter(|k| k.required && !content.entries.contains_key(k.name))
    {
        let place = match key.section() {
            "" => "at the top of the file".to_owned(),
            section => format!("under [{section}]"),
        };
        let help = format!("write {} = \"…\" {place}", key.last());
        diagnostics.add(
            Span::NOWHERE,
            Diagnostic::new(format!("missing key `{}`", key.name), help),
        );
    }
}

fn either_engine_or_url(
    content: &Content,
    engines: &[EngineTraits],
    diagnostics: &mut Diagnostics,
) {
    match EITHER.map(|name| content.place(name)) {
        [Some(engine), Some(url)] => diagnostics.add_of_two(engine, url, both()),
        [None, None] => missing_server(content, engines, diagnostics),
        _ => {}
    }
    for variant in &content.variants {
        let [engine, url] = EITHER.map(|name| variant.entries.get(name).map(|e| e.at));
        let axes = || EITHER.iter().filter_map(|name| content.axis(name));
        match (engine, url) {
            (Some(engine), Some(url)) => diagnostics.add_of_two(engine, url, both()),
            // An axis applies to every trial, so a variant cannot replace it.
            (Some(at), None) | (None, Some(at)) => {
                let other = axes().find(|a| !variant.entries.contains_key(a.name.full()));
                if let Some(axis) = other {
                    diagnostics.add(at, both().also(axis.at));
                }
            }
            (None, None) => {}
        }
    }
}

fn both() -> Diagnostic {
    Diagnostic::new(
        "both `server.engine` and `server.url` are given",
        "keep `engine` to let dyno start a server, or `url` to use a running one",
    )
}

/// A study without a server, or with variants of which only some name one.
fn missing_server(content: &Content, engines: &[EngineTraits], diagnostics: &mut Diagnostics) {
    let has_one = |v: &&crate::content::Variant| EITHER.iter().any(|n| v.entries.contains_key(*n));
    if content.variants.iter().any(|v| has_one(&v)) {
        for variant in content.variants.iter().filter(|v| !has_one(v)) {
            let diagnostic = Diagnostic::new(
                format!("the variant `{}` has no server", shown(&variant.name)),
                "add server.engine or server.url to it, or to [server] for all variants",
            );
            diagnostics.add(variant.name.span, diagnostic);
        }
        return;
    }
    let diagnostic = Diagnostic::new(
        "missing key `server.engine` or `server.url`",
        format!(
            "under [server], write engine = {}, or the url of a running server",
            EngineTraits::quoted(engines, |_| true)
        ),
    );
    diagnostics.add(Span::NOWHERE, diagnostic);
}

fn swept_or_in_a_variant(content: &Content, diagnostics: &mut Diagnostics) {
    for variant in &content.variants {
        for (name, entry) in &variant.entries {
            if let Some(axis) = content.axis(name) {
                let diagnostic = Diagnostic::new(
                    format!("`{name}` is both swept and set by a variant"),
                    "remove one of the two: each trial has a single value",
                );
                diagnostics.add(entry.at, diagnostic.also(axis.at));
            }
        }
    }
}

/// The largest value of an integer key in the trials of a base.
fn largest<'a>(
    content: &'a Content,
    base: &Base<'a>,
    name: &str,
) -> Option<(u64, &'a Spanned<Value>)> {
    let values = content.values_in(base, name);
    let numbers = values
        .into_iter()
        .filter_map(|v| Some((u64::from_value(&v.value)?, v)));
    numbers.max_by_key(|(n, _)| *n)
}

fn one_url_is_one_server<'a>(content: &'a Content, base: &Base<'a>, diagnostics: &mut Diagnostics) {
    let url = content.axis("server.url").map(|axis| axis.at);
    let Some(url) = url.or_else(|| base.entries.get("server.url").map(|e| e.at)) else {
        return;
    };
    if let Some((count @ 2.., typed)) = largest(content, base, "topology.instances") {
        let diagnostic = Diagnostic::new(
            format!("{count} instances of a server that is already running"),
            "a URL names a single server: remove `instances`, or let dyno start the servers with `server.engine`",
        );
        diagnostics.add(typed.span, diagnostic.also(url));
    }
}

/// The members of a cluster start from copies of the same data.
fn clusters_are_copied(content: &Content, base: &Base<'_>, diagnostics: &mut Diagnostics) {
    let cluster = content.values_in(base, "topology.cluster");
    let reset = content.values_in(base, "server.reset");
    let other = reset
        .iter()
        .find(|typed| typed.to_string() != Reset::Copy.name());
    if let (Some(cluster), Some(reset)) = (cluster.first(), other) {
        let diagnostic = Diagnostic::new(
            format!("a cluster cannot be reset by `{}`", reset.value),
            "its members start from copies of the same data: remove `reset`, or write reset = \"copy\"",
        );
        diagnostics.add(reset.span, diagnostic.also(cluster.span));
    }
}

fn ports_for_all<'a>(content: &'a Content, base: &Base<'a>, diagnostics: &mut Diagnostics) {
    let Some((port, typed)) = largest(content, base, "server.port") else {
        return;
    };
    let several = ["topology.instances", "topology.members"];
    let several = several.map(|name| largest(content, base, name));
    let count: u64 = several.iter().flatten().map(|(count, _)| count).product();
    let last = port + count - 1;
    if last > MAX_PORT {
        let diagnostic = Diagnostic::new(
            format!("{count} servers with ports from {port} would need port {last}"),
            format!("the highest port is {MAX_PORT}: use a lower `port`"),
        );
        let also = several.into_iter().flatten().map(|(_, typed)| typed.span);
        diagnostics.add(typed.span, also.fold(diagnostic, Diagnostic::also));
    }
}

/// A site of the kind `process` has no limits.
fn processes_have_no_limits<'a>(
    content: &'a Content,
    base: &Base<'a>,
    diagnostics: &mut Diagnostics,
) {
    let kinds = content.values_in(base, "site.kind");
    let process = Value::from(SiteKind::Process.name());
    let Some(kind) = kinds.into_iter().find(|kind| kind.value == process) else {
        return;
    };
    for name in SITE_LIMITS {
        if let Some(limit) = content.values_in(base, name).first() {
            let message = format!("a site of the kind `process` has no limit `{name}`");
            let help = "use kind = \"limited\" or \"container\" for servers with limits, or remove the limit";
            diagnostics.add_of_two(limit.span, kind.span, Diagnostic::new(message, help));
        }
    }
}

/// Nothing but a container has a runtime.
fn runtimes_set_up_containers<'a>(
    content: &'a Content,
    base: &Base<'a>,
    diagnostics: &mut Diagnostics,
) {
    let container = Value::from(SiteKind::Container.name());
    let kinds = content.values_in(base, "site.kind");
    if kinds.iter().any(|kind| kind.value == container) {
        return;
    }
    if let Some(runtime) = content.values_in(base, "site.runtime").first() {
        let message = "only a site of the kind `container` has a runtime";
        let help = "remove `runtime`, or use kind = \"container\"";
        diagnostics.add(runtime.span, Diagnostic::new(message, help));
    }
}

fn rows_of_tables(content: &Content, diagnostics: &mut Diagnostics) {
    let variant = (!content.variants.is_empty()).then_some(VARIANT);
    let axes: Vec<_> = variant
        .into_iter()
        .chain(content.axes.iter().map(|axis| axis.name.full()))
        .collect();
    for rows in content.tables.iter().map(|table| &table.rows) {
        if axes.contains(&rows.as_str()) {
            continue;
        }
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
        diagnostics.add(rows.span, Diagnostic::new(message, help));
    }
}

fn baseline_is_a_variant(content: &Content, diagnostics: &mut Diagnostics) {
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
    diagnostics.add(typed.span, Diagnostic::new(message, help));
}

/// A measurement without a time limit ends after a number of transactions, or once it is precise.
fn measurement_ends<'a>(content: &'a Content, base: &Base<'a>, diagnostics: &mut Diagnostics) {
    let times = content.values_in(base, "load.time");
    let endless = times
        .into_iter()
        .find(|time| time.value == Value::Duration(Duration::ZERO));
    let ends = ["load.events", "load.until.ci"];
    let is_given = |name: &str| base.entries.contains_key(name) || content.axis(name).is_some();
    if let (Some(time), false) = (endless, ends.into_iter().any(is_given)) {
        let diagnostic = Diagnostic::new(
            "`load.time` 0 means no time limit, and nothing else ends the measurement",
            "set a time, or a number of transactions with `load.events`",
        );
        diagnostics.add(time.span, diagnostic);
    }
}

/// The maximum length of a measurement is not less than the minimum.
fn until(content: &Content, diagnostics: &mut Diagnostics) {
    let Some(at) = content.place("load.until.ci") else {
        return;
    };
    let of = |value: &Value| Duration::from_value(value);
    let default = |name| of(&crate::point::default(name)?.value);
    let max = content.values("load.until.max").next();
    let max_or_default = max.and_then(|max| of(&max.value));
    let Some(max_or_default) = max_or_default.or_else(|| default("load.until.max")) else {
        return;
    };
    let is_longer = |time: &Spanned<Value>| of(&time.value).is_some_and(|t| t > max_or_default);
    let typed: Vec<_> = content.values("load.time").collect();
    let longer = typed.iter().find(|time| is_longer(time)).map(|t| t.span);
    let is_default_longer =
        typed.is_empty() && default("load.time").is_some_and(|t| t > max_or_default);
    let place = max.map_or(at, |max| max.span);
    if let Some(span) = longer.or(is_default_longer.then_some(place)) {
        let message = format!(
            "the minimum length, `load.time`, is longer than the maximum, {}",
            format_duration(max_or_default)
        );
        let help = "with `load.until.ci`, a trial lasts from `load.time` to `load.until.max`: use a shorter `load.time`";
        diagnostics.add(span, Diagnostic::new(message, help));
    }
}

/// A search has one limit, and chooses the rate itself.
fn find_max(content: &Content, diagnostics: &mut Diagnostics) {
    let mut limits = Limited::KEYS
        .iter()
        .filter_map(|(name, _)| content.place(name));
    let Some(first) = limits.next() else {
        return;
    };
    if let Some(second) = limits.next() {
        let diagnostic = Diagnostic::new("a search has one limit", "keep one of the two");
        diagnostics.add_of_two(first, second, diagnostic);
    }
    for name in NOT_IN_A_SEARCH {
        let in_variant = content
            .variants
            .iter()
            .find_map(|variant| Some(variant.entries.get(name)?.at));
        if let Some(at) = content.place(name).or(in_variant) {
            let message = format!("a search for the highest rate cannot have `{name}`");
            let help =
                "a search chooses the rate and the end of each step itself: remove one of the two";
            diagnostics.add(at, Diagnostic::new(message, help).also(first));
        }
    }
    if let Some(threshold) = content.thresholds.first() {
        let message = "a search for the highest rate cannot have thresholds";
        let help = "the search has its own limit: remove the thresholds";
        diagnostics.add(
            threshold.column.span,
            Diagnostic::new(message, help).also(first),
        );
    }
}

fn number_of_trials(content: &Content, diagnostics: &mut Diagnostics) {
    let repeats = content.entries.get("load.repeats");
    let typed = repeats.and_then(|entry| u64::from_value(&entry.value.as_ref()?.value));
    let (count, factors) = content.size(typed.unwrap_or(1));
    if count <= MAX_TRIALS as u64 {
        return;
    }
    let first_axis = content.axes.first().map(|axis| axis.at);
    let first_variant = content.variants.first().map(|variant| variant.name.span);
    let place = first_axis.or(repeats.map(|r| r.at)).or(first_variant);
    let most = grouped(MAX_TRIALS as u64);
    let diagnostic = Diagnostic::new(
        format!("the study has too many trials: {factors}"),
        format!("a study has at most {most} trials: use fewer values or fewer repeats"),
    );
    diagnostics.add(place.unwrap_or(Span::NOWHERE), diagnostic);
}

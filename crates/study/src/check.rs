//! What one key alone cannot tell: what is missing, what excludes what, how
//! many trials there are; and which key somebody meant.

use crate::error::Fault;
use crate::key::{self, KEYS, SECTIONS};
use crate::span::Span;
use crate::study::MAX_TRIALS;
use crate::suggest::nearest;
use crate::walk::Typed;

/// Keys of which a study has exactly one.
pub(crate) const EITHER: [&str; 2] = ["server.engine", "server.url"];

pub(crate) fn whole(typed: &mut Typed) {
    required(typed);
    either_engine_or_url(typed);
    arrivals_need_rate(typed);
    number_of_trials(typed);
}

fn required(typed: &mut Typed) {
    for key in KEYS
        .iter()
        .filter(|k| k.required && !typed.seen.contains_key(k.name))
    {
        let place = match key.section() {
            "" => "at the top of the file".to_owned(),
            section => format!("under [{section}]"),
        };
        let help = format!("write {} = \"…\" {place}", key.last());
        typed.faults.add(
            Span::NOWHERE,
            Fault::new(format!("missing key `{}`", key.name), help),
        );
    }
}

fn either_engine_or_url(typed: &mut Typed) {
    let [engine, url] = EITHER.map(|name| typed.seen.get(name).copied());
    let help = "keep `engine` to have a server started, or `url` for one that runs already";
    match (engine, url) {
        (Some(engine), Some(url)) => {
            let message = "both `server.engine` and `server.url` are given";
            typed.faults.add(engine.max(url), Fault::new(message, help));
        }
        (None, None) => {
            let message = "missing key `server.engine` or `server.url`";
            let help = "write engine = \"sqlite\" under [server], or url = \"mysql://…\" for a server that runs already";
            typed.faults.add(Span::NOWHERE, Fault::new(message, help));
        }
        _ => {}
    }
}

/// Alone it would change nothing, and the study would not be what it says.
fn arrivals_need_rate(typed: &mut Typed) {
    if let (Some(span), None) = (typed.seen.get("load.arrivals"), typed.seen.get("load.rate")) {
        let fault = Fault::new(
            "`load.arrivals` has no effect without `load.rate`",
            "write rate = … (transactions per second) too, or take `arrivals` out",
        );
        typed.faults.add(*span, fault);
    }
}

fn number_of_trials(typed: &mut Typed) {
    let Some(first) = typed.axes.first() else {
        return;
    };
    let count = typed
        .axes
        .iter()
        .fold(1usize, |n, axis| n.saturating_mul(axis.values.len()));
    if count > MAX_TRIALS {
        let lengths: Vec<_> = typed
            .axes
            .iter()
            .map(|axis| axis.values.len().to_string())
            .collect();
        let fault = Fault::new(
            format!("the sweep has too many trials: {}", lengths.join(" × ")),
            format!(
                "a study has at most {} trials; shorten an axis",
                crate::read::grouped(MAX_TRIALS as u64)
            ),
        );
        typed.faults.add(first.span, fault);
    }
}

/// Help for a key that does not exist.
pub(crate) fn likely_key(section: &str, name: &str) -> String {
    let word = key::last(name);
    let here = KEYS
        .iter()
        .filter(|k| k.section() == section)
        .map(|k| k.last());
    if let Some(near) = nearest(word, here.clone()) {
        return format!("did you mean `{near}`?");
    }
    if section.is_empty() {
        let sections = SECTIONS.iter().map(|(name, _)| *name).chain([key::SWEEP]);
        if let Some(near) = nearest(word, sections) {
            return format!("did you mean [{near}]?");
        }
    }
    if let Some(key) = KEYS.iter().find(|k| k.last() == word || k.name == name) {
        return match key.section() {
            "" => format!("`{word}` belongs at the top of the file, before any [section]"),
            section => format!("`{word}` belongs under [{section}]"),
        };
    }
    if let Some(near) = nearest(name, KEYS.iter().map(|k| k.name)) {
        return format!("did you mean `{near}`?");
    }
    let known = here
        .map(|k| format!("`{k}`"))
        .collect::<Vec<_>>()
        .join(", ");
    match section {
        "" => format!(
            "the top of the file has {known} and the sections [server], [data], [load], [sweep]"
        ),
        _ => format!("[{section}] has {known}"),
    }
}

/// Help for an axis that does not exist.
pub(crate) fn likely_axis(name: &str) -> String {
    if key::find(name).is_some() {
        return format!("`{name}` is the same in every trial");
    }
    let axes = || KEYS.iter().filter(|k| k.axis);
    let by_last_part = || nearest(key::last(name), axes().map(|k| k.last()));
    let near = nearest(name, axes().map(|k| k.name)).or_else(|| {
        axes()
            .find(|k| Some(k.last()) == by_last_part())
            .map(|k| k.name)
    });
    match near {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "an axis is a key by its full name, such as \"load.threads\"".into(),
    }
}

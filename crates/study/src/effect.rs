//! Keys that would change nothing: the study would not be what it says.
//!
//! What a value of the file needs must be there in some trial. What tells trials
//! apart, an axis or a variant, needs it in all of its trials: those without it
//! would be the same trial under several names.

use std::collections::BTreeSet;

use crate::content::{Content, Entry, Ground};
use crate::error::{Fault, Faults};
use crate::name::Name;
use plan::EngineTraits;
use plan::key::Needs;

/// The trials on a ground in which a need is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trials {
    All,
    /// All but those of an engine that runs in process.
    Some(&'static str),
    None(Why),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Url,
    NoUrl,
    InProcess(&'static str),
    NoRate,
    NotUntil,
}

pub(crate) fn check(content: &Content, engines: &[EngineTraits], faults: &mut Faults) {
    let grounds = content.grounds();
    let on_each = |needs| grounds.iter().map(move |g| met(content, engines, g, needs));
    for axis in &content.axes {
        let gap = on_each(axis.name.key.needs).find(|met| *met != Trials::All);
        if let Some(gap) = gap {
            faults.add(axis.at, no_effect(&axis.name, gap));
        }
    }
    for ground in &grounds {
        let own = ground.variant.iter().flat_map(|v| v.entries.values());
        for entry in first_of_each_key(own) {
            let met = met(content, engines, ground, entry.name.key.needs);
            if met != Trials::All {
                faults.add(entry.at, no_effect(&entry.name, met));
            }
        }
    }
    for event in &content.events {
        let gap = on_each(event.name.key.needs).find(|met| *met != Trials::All);
        if let Some(gap) = gap {
            faults.add(event.node.span, no_effect(&event.name, gap));
        }
    }
    for entry in first_of_each_key(content.base.values()) {
        let is_missing = |met: &Trials| matches!(met, Trials::None(_));
        let mut met = on_each(entry.name.key.needs);
        if let Some(why) = met.next().filter(is_missing)
            && met.all(|met| is_missing(&met))
        {
            faults.add(entry.at, no_effect(&entry.name, why));
        }
    }
}

/// Of many settings of one server the first is enough to be told.
fn first_of_each_key<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<&'a Entry> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by_key(|entry| entry.at);
    let mut known = BTreeSet::new();
    entries.retain(|entry| known.insert(entry.name.key.name));
    entries
}

fn met(content: &Content, engines: &[EngineTraits], ground: &Ground<'_>, needs: Needs) -> Trials {
    let stands = |name: &str| ground.entries.contains_key(name) || content.axis(name).is_some();
    match needs {
        Needs::Nothing => Trials::All,
        Needs::Rate if stands("load.rate") => Trials::All,
        Needs::Rate => Trials::None(Why::NoRate),
        Needs::Until if stands("load.until.ci") => Trials::All,
        Needs::Until => Trials::None(Why::NotUntil),
        Needs::RunningServer if stands("server.url") => Trials::All,
        Needs::RunningServer => Trials::None(Why::NoUrl),
        Needs::StartedServer if stands("server.url") => Trials::None(Why::Url),
        Needs::StartedServer => {
            let typed = content.values_on(ground, "server.engine");
            let in_process = EngineTraits::names(engines, |engine| !engine.is_process);
            let names = typed.iter().map(|typed| typed.to_string());
            let without: Vec<&str> = names
                .filter_map(|name| in_process.iter().find(|known| **known == name).copied())
                .collect();
            match without.first() {
                None => Trials::All,
                Some(engine) if without.len() == typed.len() => {
                    Trials::None(Why::InProcess(engine))
                }
                Some(engine) => Trials::Some(engine),
            }
        }
    }
}

fn no_effect(name: &Name, met: Trials) -> Fault {
    let name = name.full();
    match met {
        Trials::None(Why::NoRate) => Fault::new(
            format!("`{name}` has no effect without `load.rate`"),
            "write rate = … (transactions per second) too, or remove `arrivals`",
        ),
        Trials::None(Why::NotUntil) => Fault::new(
            format!("`{name}` has no effect without `load.until.ci`"),
            "write how sure the trial has to be: until = { ci = \"2%\", max = \"30m\" }",
        ),
        Trials::None(Why::Url) => Fault::new(
            format!("`{name}` has no effect with `server.url`: dyno does not start that server"),
            "remove it, or have a server started with `server.engine`",
        ),
        Trials::None(Why::NoUrl) => Fault::new(
            format!(
                "`{name}` has no effect without `server.url`: it applies to servers that are already running"
            ),
            "remove it, or name a running server with `server.url`",
        ),
        Trials::None(Why::InProcess(engine)) => Fault::new(
            format!("`{name}` has no effect on `{engine}`, which runs inside dyno"),
            "remove it, or choose an engine that runs as a server",
        ),
        Trials::Some(engine) => Fault::new(
            format!(
                "`{name}` has no effect on `{engine}`, so some trials would differ in name only"
            ),
            "make each engine a [[variant]] with the keys that belong to it",
        ),
        Trials::All => Fault::new(format!("`{name}` has no effect"), "remove it"),
    }
}

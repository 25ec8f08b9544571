//! Keys that would change nothing: the study would not be what it says.
//!
//! A value of the file must have an effect in some trial. What tells trials
//! apart, an axis or a variant, must have one in all of its trials: those
//! without would be the same trial under several names.

use std::collections::BTreeSet;

use crate::content::{Content, Entry, Ground};
use crate::error::{Fault, Faults};
use crate::key::{Name, Needs};
use crate::spec::Engine;
use crate::value::FromValue;

/// In how many trials on a ground a need is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    InAll,
    InSome,
    InNone(Why),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Url,
    Sqlite,
    NoRate,
}

pub(crate) fn check(content: &Content, faults: &mut Faults) {
    let grounds = content.grounds();
    for axis in &content.axes {
        let met = grounds.iter().map(|g| met(content, g, axis.name.key.needs));
        if let Some(met) = met.into_iter().find(|met| *met != Met::InAll) {
            faults.add(axis.at, no_effect(&axis.name, met));
        }
    }
    for ground in &grounds {
        let own = ground.variant.iter().flat_map(|v| v.entries.values());
        for entry in first_of_each_key(own) {
            let met = met(content, ground, entry.name.key.needs);
            if met != Met::InAll {
                faults.add(entry.at, no_effect(&entry.name, met));
            }
        }
    }
    for entry in first_of_each_key(content.base.values()) {
        let is_swept = content.axis(entry.name.full()).is_some();
        let stands_on = |g: &&Ground<'_>| {
            let on_ground = g.entries.get(entry.name.full());
            on_ground.is_some_and(|other| std::ptr::eq(*other, entry))
        };
        let met: Vec<_> = grounds
            .iter()
            .filter(|g| !is_swept && stands_on(g))
            .map(|g| met(content, g, entry.name.key.needs))
            .collect();
        if let (Some(first), true) = (met.first(), met.iter().all(|m| matches!(m, Met::InNone(_))))
        {
            faults.add(entry.at, no_effect(&entry.name, *first));
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

fn met(content: &Content, ground: &Ground<'_>, needs: Needs) -> Met {
    let stands = |name: &str| ground.entries.contains_key(name) || content.axis(name).is_some();
    match needs {
        Needs::Nothing => Met::InAll,
        Needs::Rate if stands("load.rate") => Met::InAll,
        Needs::Rate => Met::InNone(Why::NoRate),
        Needs::StartedServer if stands("server.url") => Met::InNone(Why::Url),
        Needs::StartedServer => {
            let engines = content.values_on(ground, "server.engine");
            let started = engines
                .iter()
                .filter(|v| Engine::from_value(&v.value).is_some_and(Engine::is_process))
                .count();
            match started {
                n if n == engines.len() => Met::InAll,
                0 => Met::InNone(Why::Sqlite),
                _ => Met::InSome,
            }
        }
    }
}

fn no_effect(name: &Name, met: Met) -> Fault {
    let name = name.full();
    match met {
        Met::InNone(Why::NoRate) => Fault::new(
            format!("`{name}` has no effect without `load.rate`"),
            "write rate = … (transactions per second) too, or take `arrivals` out",
        ),
        Met::InNone(Why::Url) => Fault::new(
            format!("`{name}` has no effect with `server.url`: dyno does not start that server"),
            "take it out, or have a server started with `server.engine`",
        ),
        Met::InNone(Why::Sqlite) => Fault::new(
            format!("`{name}` has no effect on `sqlite`, which runs inside dyno"),
            "take it out, or write engine = \"mariadb\" or \"mysql\" under [server]",
        ),
        Met::InSome | Met::InAll => Fault::new(
            format!("`{name}` has no effect on `sqlite`, so some trials would differ in name only"),
            "make each engine a [[variant]] with the keys that belong to it",
        ),
    }
}

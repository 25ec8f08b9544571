//! The engines that a study names, and settings that only dyno may make.

use std::collections::BTreeSet;

use plan::{EngineTraits, shown};

use crate::content::{Content, Ground};
use crate::error::{Fault, Faults};
use crate::read::not_one_of;

const ENGINE: &str = "server.engine";

pub(crate) fn check(content: &Content, engines: &[EngineTraits], faults: &mut Faults) {
    let names = EngineTraits::names(engines, |_| true);
    for typed in content.values(ENGINE) {
        let name = typed.to_string();
        if !names.contains(&name.as_str()) {
            faults.add(typed.span, not_one_of(ENGINE, &name, &names));
        }
    }
    let mut refused = BTreeSet::new();
    for ground in content.grounds() {
        let started = started(content, &ground, engines);
        let entries = ground.entries.values().map(|entry| (&entry.name, entry.at));
        let axes = content.axes.iter().map(|axis| (&axis.name, axis.at));
        for (name, at) in entries.chain(axes) {
            let Some(setting) = name.setting() else {
                continue;
            };
            let mut reasons = started.iter().map(|e| (e.reserved_setting)(setting));
            if let Some(why) = reasons.find_map(|why| why)
                && refused.insert(at)
            {
                let message = format!("the setting `{}` is reserved", shown(setting));
                faults.add(at, Fault::new(message, why));
            }
        }
    }
}

/// The engines among those of the trials on a ground that run as processes of their own.
pub(crate) fn started<'e>(
    content: &Content,
    ground: &Ground<'_>,
    engines: &'e [EngineTraits],
) -> Vec<&'e EngineTraits> {
    let values = content.values_on(ground, ENGINE);
    let names: Vec<_> = values.iter().map(|typed| typed.to_string()).collect();
    let is_started =
        |engine: &&EngineTraits| engine.is_process && names.iter().any(|name| name == engine.name);
    engines.iter().filter(is_started).collect()
}

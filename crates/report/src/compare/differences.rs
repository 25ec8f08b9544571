//! What differs between two sides besides their numbers.

use measure::result::RunResult;
use measure::setup::{Outcome, Setup};
use measure::summary::TrialSummary;
use serde::Serialize;

use super::{IntendedSetting, Side};
use crate::describe;
use crate::environment;
use crate::keys::{self, VARIANT};
use crate::list::{distinct, listed};
use crate::number::ABSENT;
use crate::sheet::Facts;
use crate::study::settings;

/// Where something that differs was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Category {
    Environment,
    Setup,
    Setting,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    pub(crate) category: Category,
    pub(crate) name: String,
    pub(crate) base: String,
    pub(crate) new: String,
    /// Whether the two are of one study, which then says so itself.
    #[serde(skip)]
    together: bool,
}

impl Difference {
    /// Whether the studies wanted it: `settings` are those that they set differently.
    pub(super) fn is_intended(&self, settings: &[IntendedSetting]) -> bool {
        match self.category {
            Category::Environment => false,
            Category::Setup => self.together,
            Category::Setting => settings.iter().any(|setting| setting.name == self.name),
        }
    }
}

/// All of it: what was driven, the servers' settings, the host.
pub(super) fn all(
    base: &Side<'_>,
    new: &Side<'_>,
    merged: &RunResult,
    intended: &[IntendedSetting],
) -> Vec<Difference> {
    let together = std::ptr::eq(base.result, new.result);
    let trials = on_both(merged);
    let of_side = |side: &Side<'_>| -> Vec<&TrialSummary> {
        let trials = trials.iter().copied();
        that_ran(trials.filter(|trial| keys::variant(trial) == Some(side.name)))
    };
    let sides = [of_side(base), of_side(new)];
    let host = |side: &Side<'_>| -> Facts {
        let facts = environment::facts(&side.result.environment).into_iter();
        let facts = facts.filter(|(name, _)| name != "Started");
        let facts = facts.map(|(name, value)| (place(&name).to_owned(), value));
        facts.collect()
    };
    let settings = [
        of_servers(&sides[0], intended, |setting| setting.base.as_deref()),
        of_servers(&sides[1], intended, |setting| setting.new.as_deref()),
    ];
    let found = [
        (Category::Setup, sides.each_ref().map(|side| setup(side))),
        (Category::Setting, settings),
        (Category::Environment, [host(base), host(new)]),
    ];
    let found = found.into_iter();
    found
        .flat_map(|(category, [base, new])| differing(category, &base, &new, together))
        .collect()
}

/// The cache's directory for a place in that of one run, `CACHE/run/660cc5bb91cdd`.
fn place(name: &str) -> &str {
    let mut places = name.match_indices("/run/");
    let run = places.find(|(at, run)| {
        let id = name[at + run.len()..].split('/').next().unwrap_or_default();
        id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    run.map_or(name, |(at, _)| &name[..at])
}

fn differing(category: Category, base: &Facts, new: &Facts, together: bool) -> Vec<Difference> {
    // Servers report only settings that differ from their defaults.
    let absent = match category {
        Category::Setting => DEFAULT,
        Category::Environment | Category::Setup => ABSENT,
    };
    let value = |facts: &Facts, name: &str| {
        let mut facts = facts.iter();
        let found = facts.find(|(known, value)| known == name && !value.is_empty());
        found.map_or(absent.to_owned(), |(_, value)| value.clone())
    };
    let names = distinct(base.iter().chain(new).map(|(name, _)| name.as_str()));
    let pairs = names.into_iter().map(|name| Difference {
        category,
        name: name.to_owned(),
        base: value(base, name),
        new: value(new, name),
        together,
    });
    pairs.filter(|pair| pair.base != pair.new).collect()
}

/// All but those that failed, whose setups may not say with what they would have run; all if none ran.
pub(super) fn that_ran<'a>(
    trials: impl Iterator<Item = &'a TrialSummary>,
) -> Vec<&'a TrialSummary> {
    let has_failed = |trial: &&TrialSummary| matches!(trial.outcome, Outcome::Failed { .. });
    let (failed, ran): (Vec<_>, Vec<_>) = trials.partition(has_failed);
    if ran.is_empty() { failed } else { ran }
}

/// The trials of the points that both sides have; a point that is missing on one is no
/// difference of the set-up.
fn on_both(merged: &RunResult) -> Vec<&TrialSummary> {
    let trials: Vec<&TrialSummary> = merged.trials.iter().collect();
    let axes = keys::axes(merged);
    let others: Vec<&str> = axes.into_iter().filter(|key| *key != VARIANT).collect();
    let groups = keys::groups(&trials, &others).into_iter();
    let both = groups.filter(|group| keys::values(&group.trials, VARIANT).len() > 1);
    let both: Vec<&TrialSummary> = both.flat_map(|group| group.trials).collect();
    if both.is_empty() { trials } else { both }
}

/// What was driven; of several values all.
fn setup(trials: &[&TrialSummary]) -> Facts {
    let facts = describe::of_all(trials.iter().map(|trial| of_one(&trial.setup)));
    let facts = facts.into_iter().map(|(name, mut values)| {
        values.sort_unstable();
        (name.to_owned(), listed(&values))
    });
    facts.collect()
}

/// A private server gets another port each time.
fn of_one(setup: &Setup) -> describe::Facts {
    let mut facts = describe::setup(setup);
    for (name, value) in &mut facts {
        if *name == "Server"
            && let Some((host, _)) = value.split_once("@127.0.0.1:")
        {
            *value = format!("{host}@127.0.0.1");
        }
    }
    facts
}

/// A setting that neither a server nor a study says.
const DEFAULT: &str = "default";

/// The settings that are not their defaults; of several values all. Servers do not report a
/// setting that has its default value, so what a study sets is taken from the study there.
fn of_servers(
    trials: &[&TrialSummary],
    intended: &[IntendedSetting],
    of_side: fn(&IntendedSetting) -> Option<&str>,
) -> Facts {
    let instances = || trials.iter().flat_map(|trial| &trial.instances);
    let facts = settings(instances()).into_iter().map(|(name, mut values)| {
        let has = |settings: &[(String, String)]| settings.iter().any(|(known, _)| known == name);
        if !instances().all(|instance| has(&instance.settings)) {
            values.push(DEFAULT);
        }
        values.sort_unstable();
        (name.to_owned(), listed(&values))
    });
    let mut facts: Facts = facts.collect();
    for setting in intended {
        let Some(value) = of_side(setting) else {
            continue;
        };
        let known = facts.iter().position(|(name, _)| *name == setting.name);
        match known.and_then(|place| facts.get_mut(place)) {
            Some((_, reported)) if reported.contains(DEFAULT) => value.clone_into(reported),
            Some(_) => {}
            None => facts.push((setting.name.clone(), value.to_owned())),
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_place_of_one_run_is_that_of_all() {
        let own = "/var/cache/dyno/run/660cc5bb91cdd/dyno-sC4TCj/dyno.db";
        assert_eq!(place(own), "/var/cache/dyno");
        for other in ["/run/server", "/data/run/server/1", "Kernel"] {
            assert_eq!(place(other), other);
        }
    }
}

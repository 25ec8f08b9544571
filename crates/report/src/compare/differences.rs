//! What differs between two sides besides their numbers; of two platforms, also what is the same.

use measure::result::RunResult;
use measure::setup::{Outcome, Setup};
use measure::summary::TrialSummary;
use plan::SiteKind;
use serde::Serialize;

use super::{IntendedSetting, ResultComparison, Side};
use crate::describe::{self, settings};
use crate::host::host;
use crate::keys::{self, VARIANT, of_variant, others, trials_of};
use crate::list::{distinct, joined_known, listed};
use crate::number::ABSENT;
use crate::sheet::Facts;

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
}

impl Difference {
    /// Whether the studies wanted it: `settings` are those that they set differently; `together`:
    /// the two are of one study, which then says so itself.
    pub(super) fn is_intended(&self, settings: &[IntendedSetting], together: bool) -> bool {
        match self.category {
            Category::Environment => false,
            Category::Setup => together,
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
    let trials = on_both(merged);
    let sides = [base, new].map(|side| that_ran(of_variant(trials.iter().copied(), side.name)));
    let host = |side: &Side<'_>| -> Facts {
        let facts = host(&side.result.environment).into_iter();
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
    let found = found.map(|(category, [base, new])| differing(category, &base, &new));
    found.into_iter().flatten().collect()
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

fn differing(category: Category, base: &Facts, new: &Facts) -> Vec<Difference> {
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
    });
    pairs.filter(|pair| pair.base != pair.new).collect()
}

/// All but those that failed, whose setups may not say with what they would have run; all if none ran.
fn that_ran(trials: Vec<&TrialSummary>) -> Vec<&TrialSummary> {
    let has_failed = |trial: &&TrialSummary| matches!(trial.outcome, Outcome::Failed { .. });
    let (failed, ran): (Vec<_>, Vec<_>) = trials.into_iter().partition(has_failed);
    if ran.is_empty() { failed } else { ran }
}

/// The trials of the points that both sides have; a point that is missing on one is no
/// difference of the set-up.
fn on_both(merged: &RunResult) -> Vec<&TrialSummary> {
    let (trials, axes) = (trials_of(merged), keys::axes(merged));
    let groups = keys::groups(&trials, &others(&axes, VARIANT), &axes).into_iter();
    let both = groups.filter(|group| keys::values(&group.trials, VARIANT).len() > 1);
    let both: Vec<&TrialSummary> = both.flat_map(|group| group.trials).collect();
    if both.is_empty() { trials } else { both }
}

fn setup(trials: &[&TrialSummary]) -> Facts {
    let facts = describe::of_all(trials.iter().map(|trial| of_one(&trial.setup)));
    let facts = facts.into_iter().map(|(name, mut values)| {
        values.sort_unstable();
        (name, listed(&values))
    });
    facts.collect()
}

/// A private server gets another port each time.
fn of_one(setup: &Setup) -> Facts {
    let mut facts = describe::setup(setup);
    for (name, value) in &mut facts {
        if name == "Server"
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
            let mut set = intended.iter().filter(|one| one.name == name);
            match set.find_map(of_side) {
                Some(value) => values = vec![value],
                None => values.push(DEFAULT),
            }
        }
        values.sort_unstable();
        (name.to_owned(), listed(&values))
    });
    let mut facts: Facts = facts.collect();
    let set = intended
        .iter()
        .filter_map(|one| Some((&one.name, of_side(one)?)));
    for (name, value) in set {
        if !facts.iter().any(|(known, _)| known == name) {
            facts.push((name.clone(), value.to_owned()));
        }
    }
    facts
}

const SITE: &str = "Site";
/// The facts of a setup that say how much alike two platforms are.
const COMPARED: [&str; 5] = [
    "Engine",
    "CPUs per server",
    "Memory per server",
    "Tables",
    "Rows per table",
];
const MOST: usize = 8;

/// What is the same, and what is not; `None` unless the two sides ran on different sites.
pub(super) fn of_platforms(both: &ResultComparison) -> Option<String> {
    let differences = || both.intended.iter().chain(&both.others);
    let is_setup = |difference: &&Difference| difference.category == Category::Setup;
    let is_site = |difference: &&Difference| is_setup(difference) && difference.name == SITE;
    let site = differences().find(is_site)?;
    let sides = [&both.base, &both.new].map(|name| that_ran(of_variant(&both.merged.trials, name)));
    let rest = || differences().filter(|difference| !is_site(difference));
    let of_study = rest().filter(is_setup).map(shown).collect();
    let mut otherwise = of_sites(both, &sides);
    otherwise.extend(rest().filter(|one| !is_setup(one)).map(shown));
    let sites = format!(
        "Site of {}: {}; of {}: {}.",
        both.base, site.base, both.new, site.new
    );
    let sentences = [
        sentence("The same on both", same(&sides, rest())),
        sentence("Different as the study says", of_study),
        sentence("Otherwise different", otherwise),
    ];
    Some(format!("{sites} {}", joined_known(sentences, " ")))
}

fn shown(difference: &Difference) -> String {
    let (base, new) = (&difference.base, &difference.new);
    format!("{} ({base} / {new})", difference.name)
}

fn sentence(about: &str, mut facts: Vec<String>) -> Option<String> {
    let more = facts.len().saturating_sub(MOST);
    facts.truncate(MOST);
    facts.extend((more > 0).then(|| format!("and {more} more")));
    (!facts.is_empty()).then(|| format!("{about}: {}.", facts.join("; ")))
}

/// The facts that both sides share, with the size of their data and whether their settings agree.
fn same<'a>(
    sides: &[Vec<&TrialSummary>; 2],
    mut differences: impl Iterator<Item = &'a Difference>,
) -> Vec<String> {
    let [base, new] = sides
        .each_ref()
        .map(|trials| describe::of_all(trials.iter().map(|trial| describe::setup(&trial.setup))));
    let shared = |name: &&str| {
        let base = base.iter().find(|(known, _)| known == *name)?;
        match base.1.as_slice() {
            [value] if new.contains(base) => Some(format!("{name} {value}")),
            _ => None,
        }
    };
    let mut facts: Vec<String> = COMPARED.iter().filter_map(shared).collect();
    let bytes = sides.each_ref().map(|trials| {
        let resets = trials.iter().filter_map(|trial| trial.reset.as_ref());
        distinct(resets.map(|reset| reset.bytes))
    });
    if let [[base], [new]] = bytes.each_ref().map(Vec::as_slice)
        && base == new
    {
        facts.push(format!("{} of data", plan::shown_bytes(*base)));
    }
    let are_read = sides.iter().all(|trials| {
        let mut instances = trials.iter().flat_map(|trial| &trial.instances);
        instances.any(|instance| !instance.settings.is_empty())
    });
    if are_read && !differences.any(|one| one.category == Category::Setting) {
        facts.push("all settings of the servers".to_owned());
    }
    facts
}

/// What only one of the sites is like besides its name and limits.
fn of_sites(both: &ResultComparison, sides: &[Vec<&TrialSummary>; 2]) -> Vec<String> {
    let [base, new] = sides.each_ref().map(|trials| implied(trials));
    let facts = [(&both.base, base), (&both.new, new)].into_iter();
    let facts = facts.filter(|_| base != new);
    let facts = facts.filter_map(|(name, fact)| Some(format!("{name} {}", fact?)));
    facts.collect()
}

/// What a site is like besides its name and limits, as the end of a sentence about it.
fn implied(trials: &[&TrialSummary]) -> Option<&'static str> {
    let site = &trials.first()?.setup.planned.topology.node.site;
    match site.kind.value {
        SiteKind::Process => Some("uses the host's page cache without a limit"),
        SiteKind::Limited | SiteKind::Container if site.limits.memory.is_some() => {
            Some("counts the page cache of its files toward its memory limit")
        }
        SiteKind::Vm => Some("has a kernel and a page cache of its own within its memory"),
        SiteKind::Ssh => Some("is another machine, reached over a network"),
        SiteKind::Url => Some("is a server that dyno did not start"),
        _ => None,
    }
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

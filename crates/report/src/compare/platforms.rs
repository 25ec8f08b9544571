//! Two platforms: what is the same on both, what differs as intended, and what differs otherwise.

use measure::summary::TrialSummary;
use plan::SiteKind;

use super::ResultComparison;
use super::differences::{Category, Difference, that_ran};
use crate::describe;
use crate::keys;
use crate::list::distinct;

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
pub(super) fn statement(both: &ResultComparison) -> Option<String> {
    let differences = || both.intended.iter().chain(&both.others);
    let is_setup = |difference: &&Difference| difference.category == Category::Setup;
    let is_site = |difference: &&Difference| is_setup(difference) && difference.name == SITE;
    let site = differences().find(is_site)?;
    let sides = [&both.base, &both.new].map(|name| trials(both, name));
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
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    Some(format!("{sites} {}", sentences.join(" ")))
}

fn trials<'a>(both: &'a ResultComparison, name: &str) -> Vec<&'a TrialSummary> {
    let trials = both.merged.trials.iter();
    that_ran(trials.filter(|trial| keys::variant(trial) == Some(name)))
}

fn shown(difference: &Difference) -> String {
    let Difference {
        name, base, new, ..
    } = difference;
    format!("{name} ({base} / {new})")
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
        let base = base.iter().find(|(known, _)| known == name)?;
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
    let one_sided = |name: &str, fact: Option<&str>| Some(format!("{name} {}", fact?));
    let facts = [one_sided(&both.base, base), one_sided(&both.new, new)];
    match base == new {
        true => Vec::new(),
        false => facts.into_iter().flatten().collect(),
    }
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

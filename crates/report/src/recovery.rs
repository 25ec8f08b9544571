//! How instances recovered from faults.

use measure::fault::{FaultRecord, Recovery};
use measure::quantile::Range;
use measure::recovery::{Distribution, Number, PHASES, numbers};
use measure::result::RunResult;
use measure::summary::TrialSummary;

use crate::csv_writer::Csv;
use crate::grid::{Grid, Head, heads};
use crate::keys;
use crate::number;

/// Most faults whose recovery the lead tells one by one.
const MOST_TOLD: usize = 4;
/// The phases that the lead tells.
const TOLD: [&str; 2] = ["recovery.first_write_s", "recovery.back_s"];

const EXPLAINED: &str = "Seconds from the fault's effect: the load's first error; another member's \
                         view changed (detected); the first write that any member accepted, and \
                         the load's; throughput back to 95 % of what it was before, and steady; \
                         the failed member replicates again.";

/// A row for each fault of a trial: when it struck, and when each phase of the recovery was over.
pub(crate) fn phases(trial: &TrialSummary) -> Grid {
    let rows = recovered(trial).map(|(fault, found)| {
        let healed = fault.healed_s.zip(fault.effect_s);
        let mut row = vec![name(fault, trial)];
        row.push(number::maybe(fault.effect_s));
        row.extend(
            PHASES
                .iter()
                .map(|phase| number::maybe(value(phase, found))),
        );
        row.push(number::maybe(
            healed.map(|(healed_s, effect_s)| healed_s - effect_s),
        ));
        row
    });
    let mut titles = vec!["fault", "effect at"];
    titles.extend(PHASES.iter().map(|phase| phase.heading));
    titles.push("healed");
    Grid {
        caption: format!("Recovery. {EXPLAINED}"),
        heads: heads(titles),
        keys: 1,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// A row for each fault of a trial: what it cost.
pub(crate) fn costs(trial: &TrialSummary) -> Grid {
    let has_ledger = !trial.ledgers.is_empty();
    let rows = recovered(trial).map(|(fault, found)| {
        let errors = found.errors.iter();
        let errors: Vec<String> = errors
            .map(|error| format!("{} × {}", number::count(error.count), error.code))
            .collect();
        let mut row = vec![name(fault, trial)];
        row.extend([found.before, found.during, found.after].map(number::estimate));
        row.push(number::maybe(found.outage_s));
        row.push(
            found
                .lowest_share
                .map_or(number::ABSENT.to_owned(), number::percent),
        );
        row.push(number::maybe(found.lost_transactions));
        row.extend(has_ledger.then(|| in_flight(found)));
        row.push(errors.join(", "));
        row
    });
    let mut titles = vec![
        "fault",
        "tps before",
        "during",
        "after",
        "outage, s",
        "lowest",
        "not done",
    ];
    titles.extend(has_ledger.then_some("in flight"));
    titles.push("errors");
    Grid {
        caption: format!(
            "Cost of each fault. Throughput before it, until it was back, and after that; the \
             longest time without a completed transaction; the lowest second as a share of the \
             throughput before; transactions that would have been done at that rate. Errors by \
             code{}.",
            if has_ledger {
                "; transfers of the ledger that were in flight: committed, not committed, unknown"
            } else {
                ""
            }
        ),
        heads: heads(titles),
        keys: 1,
        words: 1,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// A number of a recovery; one that rounds to zero has no sign.
fn value(number: &Number, found: &Recovery) -> Option<f64> {
    let value = (number.of)(found)?;
    Some(if value.abs() < 5e-4 { 0.0 } else { value })
}

fn in_flight(found: &Recovery) -> String {
    found.in_flight.map_or(number::ABSENT.to_owned(), |fates| {
        let fates = [fates.committed, fates.not_committed, fates.unknown];
        fates.map(number::count).join(", ")
    })
}

/// The faults of a trial that had an effect.
fn recovered(trial: &TrialSummary) -> impl Iterator<Item = (&FaultRecord, &Recovery)> {
    let faults = trial.faults.iter();
    faults.filter_map(|fault| Some((fault, fault.recovery.as_ref()?)))
}

/// What was done, and in which of several instances.
pub(crate) fn name(fault: &FaultRecord, trial: &TrialSummary) -> String {
    match trial.setup.planned.topology.instances {
        1 => fault.words(),
        _ => format!("{}, instance {}", fault.words(), fault.instance),
    }
}

/// The faults of one kind at one point of a study, over its repeats.
struct Repeated<'a> {
    /// The point; `None` if there is only one.
    point: Option<String>,
    words: String,
    /// Each with how its instance recovered.
    faults: Vec<(&'a FaultRecord, &'a Recovery)>,
}

impl Repeated<'_> {
    /// What its rows are called.
    fn keys(&self) -> impl Iterator<Item = &String> {
        self.point.iter().chain([&self.words])
    }

    fn distribution(&self, number: &Number) -> Option<Distribution> {
        Distribution::of(self.faults.iter().map(|(_, found)| value(number, found)))
    }

    /// In how many repeats something happened, the median, the minimum, the maximum, and all values.
    fn row(&self, number: &Number) -> Vec<String> {
        let all = self.distribution(number);
        let values = all.as_ref().map_or(&[][..], Distribution::values);
        let statistic = |of: fn(&Distribution) -> f64| number::maybe(all.as_ref().map(of));
        let shown: Vec<String> = values.iter().copied().map(number::value).collect();
        vec![
            format!("{} of {}", values.len(), self.faults.len()),
            statistic(Distribution::median),
            statistic(Distribution::min),
            statistic(Distribution::max),
            shown.join(", "),
        ]
    }

    /// `After kill of primary: first write after 1.588 (1.203–1.973) s, …`.
    fn sentence(&self) -> String {
        let keys: Vec<&str> = self.keys().map(String::as_str).collect();
        let phases = PHASES.iter().filter(|phase| TOLD.contains(&phase.name));
        let phases: Vec<String> = phases.map(|phase| self.told(phase)).collect();
        let recovery = format!("Recovery ({}): {}.", keys.join(", "), phases.join(", "));
        [Some(recovery), self.found_out()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// What it showed of a volume, with its name.
    fn finding(&self) -> Option<String> {
        let keys: Vec<&str> = self.keys().map(String::as_str).collect();
        Some(format!("After {}: {}", keys.join(", "), self.found_out()?))
    }

    /// What it showed of a volume.
    fn found_out(&self) -> Option<String> {
        let found: Vec<String> = [self.ended(), self.scrubbed()]
            .into_iter()
            .flatten()
            .collect();
        (!found.is_empty()).then(|| found.join(" "))
    }

    /// `The server ended after 0.213 s, restarted after 3.281 s.`
    fn ended(&self) -> Option<String> {
        let after = |at_s: fn(&FaultRecord) -> Option<f64>| {
            let faults = self.faults.iter().map(|(fault, _)| fault);
            let faults = faults.filter(|fault| fault.crash.is_some());
            Distribution::of(faults.map(|fault| Some(at_s(fault)? - fault.effect_s?)))
        };
        let ended = self.shown(&after(|fault| Some(fault.crash.as_ref()?.at_s))?);
        let restarted = after(|fault| fault.healed_s);
        let restarted = restarted.map_or_else(
            || "not restarted".to_owned(),
            |all| format!("restarted after {}", self.shown(&all)),
        );
        Some(format!("The server ended after {ended}, {restarted}."))
    }

    /// `Scrub: 12 errors found, 12 corrected, 0 uncorrectable.` Of each repeat.
    fn scrubbed(&self) -> Option<String> {
        let faults = self.faults.iter();
        let scrubs = faults.filter_map(|(fault, _)| Some(fault.scrub?.to_string()));
        let scrubs: Vec<String> = scrubs.collect();
        (!scrubs.is_empty()).then(|| format!("Scrub: {}.", scrubs.join("; ")))
    }

    /// `first write after 1.588 (1.203–1.973) s in 2 of 3 repeats`.
    fn told(&self, phase: &Number) -> String {
        let Some(all) = self.distribution(phase) else {
            return format!("{} never", phase.heading);
        };
        format!("{} after {}", phase.heading, self.shown(&all))
    }

    /// `1.588 (1.203–1.973) s in 2 of 3 repeats`.
    fn shown(&self, all: &Distribution) -> String {
        let range = Range {
            low: all.min(),
            high: all.max(),
        };
        let count = all.values().len();
        let range = (count > 1).then_some(range);
        let happened = match self.faults.len() {
            repeats if repeats == count => String::new(),
            repeats => format!(" in {count} of {repeats} repeats"),
        };
        let shown = number::within(all.median(), range);
        format!("{shown} s{happened}")
    }
}

/// The same faults of all repeats, in order.
fn repeated(result: &RunResult) -> Vec<Repeated<'_>> {
    let axes = keys::axes(result);
    let trials: Vec<&TrialSummary> = result.trials.iter().collect();
    let mut all = Vec::new();
    for group in keys::groups(&trials, &axes) {
        let point = (!axes.is_empty()).then(|| keys::name(&axes, &group.values, &axes));
        let mut faults: Vec<((u32, u32), Repeated<'_>)> = Vec::new();
        for trial in &group.trials {
            for (fault, found) in recovered(trial) {
                let place = (fault.number, fault.instance);
                match faults.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, repeated)) => repeated.faults.push((fault, found)),
                    None => faults.push((
                        place,
                        Repeated {
                            point: point.clone(),
                            words: words_of_all(fault, trial),
                            faults: vec![(fault, found)],
                        },
                    )),
                }
            }
        }
        faults.sort_by_key(|(place, _)| *place);
        all.extend(faults.into_iter().map(|(_, repeated)| repeated));
    }
    all
}

/// What was done in all repeats: a random target is another server in each.
fn words_of_all(fault: &FaultRecord, trial: &TrialSummary) -> String {
    let any = FaultRecord {
        node: None,
        ..fault.clone()
    };
    name(&any, trial)
}

/// How the instances recovered, in a few sentences; `None` without faults.
pub(crate) fn sentences(result: &RunResult) -> Option<String> {
    let all = repeated(result);
    let told = all.iter().take(MOST_TOLD).map(Repeated::sentence);
    let findings = all.iter().skip(MOST_TOLD).filter_map(Repeated::finding);
    let told: Vec<String> = told.chain(findings.take(MOST_TOLD)).collect();
    let more = match all.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        more => format!(" {more} more faults are listed under Recovery."),
    };
    (!all.is_empty()).then(|| told.join(" ") + &more)
}

/// Recovery over the repeats of each point: a row for each phase and cost.
pub(crate) fn distributions(result: &RunResult) -> Grid {
    let all = repeated(result);
    let rows = all.iter().flat_map(|repeated| {
        numbers().map(|number| {
            let head = Head {
                title: number.heading.to_owned(),
                unit: number.unit,
            };
            let keys = repeated.keys().cloned().chain([head.text()]);
            keys.chain(repeated.row(number)).collect()
        })
    });
    let mut titles = match keys::axes(result).is_empty() {
        true => vec!["fault"],
        false => vec!["point", "fault"],
    };
    titles.extend(["", "repeats", "median", "min", "max", "values"]);
    Grid {
        caption: format!(
            "Recovery over repeats, failed trials included: in how many it happened, and its \
             distribution. {EXPLAINED} Lowest share: the lowest second as a share of the \
             throughput before."
        ),
        keys: titles.len() - 5,
        heads: heads(titles),
        words: 1,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// A line for each fault of each trial. `None` of a study without faults.
#[must_use]
pub fn csv(result: &RunResult) -> Option<String> {
    result
        .trials
        .iter()
        .find(|trial| !trial.faults.is_empty())?;
    let axes = keys::axes(result);
    let mut csv = Csv::default();
    csv.names("number label");
    axes.iter().for_each(|name| csv.text(name));
    csv.names("repeat fault instance server fault.kind fault.target fault.volume fault.device");
    csv.names("fault.at_s fault.effect_s");
    csv.names("fault.heal_at_s fault.healed_s fault.promote_at_s fault.promoted_s");
    numbers().for_each(|number| csv.text(number.name));
    for name in [
        "recovery.before_tps",
        "recovery.during_tps",
        "recovery.after_tps",
    ] {
        csv.text(name);
        csv.text(&format!("{name}.half_width"));
    }
    csv.names("in_flight.committed in_flight.not_committed in_flight.unknown");
    csv.names("fault.server_ended_s scrub.found scrub.corrected scrub.uncorrectable error");
    csv.end_line();
    for trial in &result.trials {
        for fault in &trial.faults {
            line(&mut csv, trial, fault, &axes);
        }
    }
    Some(csv.text)
}

fn line(csv: &mut Csv, trial: &TrialSummary, fault: &FaultRecord, axes: &[&str]) {
    let planned = &trial.setup.planned;
    csv.count(planned.number);
    csv.text(&planned.label);
    for key in axes {
        csv.value(keys::value(trial, key));
    }
    csv.count(planned.repeat);
    csv.count(fault.number);
    csv.count(fault.instance);
    csv.number(fault.node.map(f64::from));
    csv.text(&fault.kind.to_string());
    csv.text(&fault.target);
    csv.text(match fault.kind.is_of_volume() {
        true => fault.volume.name(),
        false => "",
    });
    csv.number(fault.device.map(f64::from));
    csv.number(Some(fault.asked_s));
    let promotion = fault.promotion.as_ref();
    for at_s in [
        fault.effect_s,
        fault.heal_asked_s,
        fault.healed_s,
        promotion.map(|one| one.asked_s),
        promotion.and_then(|one| one.done_s),
    ] {
        csv.number(at_s);
    }
    let found = fault.recovery.as_ref();
    numbers().for_each(|number| csv.number(found.and_then(number.of)));
    let rates = found.map(|found| [found.before, found.during, found.after]);
    for rate in rates.unwrap_or_default() {
        csv.estimate(rate);
    }
    let fates = found.and_then(|found| found.in_flight);
    let fates = fates.map(|fates| [fates.committed, fates.not_committed, fates.unknown]);
    match fates {
        Some(fates) => fates.into_iter().for_each(|fate| csv.count(fate)),
        None => (0..3).for_each(|_| csv.number(None)),
    }
    csv.number(fault.crash.as_ref().map(|crash| crash.at_s));
    let scrub = fault.scrub;
    let scrub = scrub.map(|scrub| [scrub.found, scrub.corrected, scrub.uncorrectable]);
    match scrub {
        Some(counts) => counts.into_iter().for_each(|count| csv.count(count)),
        None => (0..3).for_each(|_| csv.number(None)),
    }
    let refused = promotion.and_then(|one| one.error.as_ref());
    let errors: Vec<&str> = refused
        .into_iter()
        .chain(&fault.error)
        .map(String::as_str)
        .collect();
    csv.text(&errors.join("; "));
    csv.end_line();
}

//! How instances recovered from faults.

use measure::fault::{FaultRecord, Recovery, TimedErrors};
use measure::recovery::{Distribution, Number, Observation, PHASES, numbers};
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

const EXPLAINED: &str = "Seconds from the fault's effect, of planned faults (stop, restart, \
                         switchover) from the request: the load's first error; another member \
                         noticed (detected); the first write that any member accepted, and the \
                         load's; throughput back to 95 % of what it was before, for 10 s; steady; \
                         the failed member replicates again; all members do. With >: it had not happened when the \
                         next fault came or the load ended. Times are lower bounds of what clients \
                         see: dyno's know at once which member is the primary, unless they follow a list of hosts.";

/// A row for each fault of a trial: when it struck, and when each phase of the recovery was over.
pub(crate) fn phases(trial: &TrialSummary) -> Grid {
    let rows = recovered(trial).map(|(fault, found)| {
        let healed = fault.healed_s.zip(fault.origin_s());
        let mut row = vec![name(fault, trial)];
        row.push(number::maybe(fault.effect_s));
        row.extend(PHASES.iter().map(|phase| observed(phase, found)));
        row.push(number::maybe(
            healed.map(|(healed_s, origin_s)| healed_s - origin_s),
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

/// A row for each fault of a trial: for how long writes were refused, what was lost, and how slow the
/// rest was.
pub(crate) fn service(trial: &TrialSummary) -> Grid {
    const SHOWN: [&str; 10] = [
        "recovery.back_after_heal_s",
        "recovery.unavailable_s",
        "recovery.unavailable_longest_s",
        "recovery.available_pct",
        "recovery.two_primaries_s",
        "recovery.rpo_transactions",
        "recovery.rpo_s",
        "recovery.p99_before_ms",
        "recovery.p99_during_ms",
        "recovery.p99_after_ms",
    ];
    let shown: Vec<&Number> = numbers().filter(|one| SHOWN.contains(&one.name)).collect();
    let rows = recovered(trial).map(|(fault, found)| {
        let mut row = vec![name(fault, trial)];
        row.extend(shown.iter().map(|number| observed(number, found)));
        row.push(found.loss.map_or(number::ABSENT.to_owned(), |loss| {
            let exposed = [loss.exposed_1_ms, loss.exposed_10_ms, loss.exposed_100_ms];
            exposed.map(number::count).join(", ")
        }));
        row
    });
    let mut heads = heads(["fault"]);
    heads.extend(shown.iter().map(|number| Head {
        title: number.heading.to_owned(),
        unit: number.unit,
    }));
    heads.extend(self::heads(["acknowledged in the last 1, 10, 100 ms"]));
    Grid {
        caption:
            "Service around each fault: when throughput was back after healing, from the request; \
                  how long no member accepted a write, in all and at \
                  most, and the share of the time until the next fault in which one did; how long \
                  two members accepted writes of which one should; acknowledged transfers of the \
                  ledger that were lost, and the age of the oldest one (RPO); the 99th percentile \
                  of response times before the fault, until throughput was back, and after that; \
                  transfers that were acknowledged just before the effect."
                .to_owned(),
        heads,
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
        let errors: Vec<String> = errors.map(of_code).collect();
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
             code, with the times of the first and the last{}.",
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
fn observation(number: &Number, found: &Recovery) -> Option<Observation> {
    Some(match number.observed(found)? {
        Observation::Exactly(value) if value.abs() < 5e-4 => Observation::Exactly(0.0),
        other => other,
    })
}

/// The same for people.
fn observed(number: &Number, found: &Recovery) -> String {
    let observed = observation(number, found);
    observed.map_or_else(|| number::ABSENT.to_owned(), number::observation)
}

/// `12 × 2013 (0.1–4.2 s, at most 7 in a second)`.
fn of_code(found: &TimedErrors) -> String {
    let (count, code) = (number::count(found.errors.count), &found.errors.code);
    let (first, last) = (found.first_s, found.last_s);
    match found.errors.count {
        1 => format!("{count} × {code} ({first:.1} s)"),
        _ => {
            let most = number::count(found.most_per_s);
            format!("{count} × {code} ({first:.1} to {last:.1} s, at most {most} in a second)")
        }
    }
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
        let faults = self.faults.iter();
        Distribution::of(faults.filter_map(|(_, found)| observation(number, found)))
    }

    /// In how many repeats something happened, the median, the minimum, the maximum, and all values.
    fn row(&self, number: &Number) -> Vec<String> {
        let all = self.distribution(number);
        let values = all.as_ref().map_or(&[][..], Distribution::values);
        let statistic = |of: fn(&Distribution) -> Observation| {
            let of_all = all.as_ref().map(of);
            of_all.map_or_else(|| number::ABSENT.to_owned(), number::observation)
        };
        let shown: Vec<String> = values.iter().copied().map(number::observation).collect();
        let happened = all.as_ref().map_or(0, Distribution::happened);
        vec![
            format!("{happened} of {}", self.faults.len()),
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
        let mut told: Vec<String> = phases.map(|phase| self.told(phase)).collect();
        told.extend(self.unavailable());
        let recovery = format!("Recovery ({}): {}.", keys.join(", "), told.join(", "));
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
            let times = faults.filter_map(|fault| Some(at_s(fault)? - fault.effect_s?));
            Distribution::of(times.map(Observation::Exactly))
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

    /// `no writes for 1.6 (1.2–2.0) s`.
    fn unavailable(&self) -> Option<String> {
        let number = numbers().find(|one| one.name == "recovery.unavailable_s")?;
        let all = self.distribution(number)?;
        Some(format!("no writes for {} in all", self.shown(&all)))
    }

    /// `first write after 1.588 (1.203–1.973) s in 2 of 3 repeats`.
    fn told(&self, phase: &Number) -> String {
        let Some(all) = self.distribution(phase) else {
            return format!("{} never", phase.heading);
        };
        format!("{} after {}", phase.heading, self.shown(&all))
    }

    /// `1.588 (1.203–1.973) s in 2 of 3 repeats`, or `> 40.00 s`.
    fn shown(&self, all: &Distribution) -> String {
        let (median, low, high) = (all.median(), all.min(), all.max());
        let shown = match all.values().len() {
            1 => number::observation(median),
            _ => number::observed_within(median, low, high),
        };
        let happened = match (self.faults.len(), all.happened()) {
            (repeats, happened) if repeats == happened => String::new(),
            (repeats, happened) => format!(" in {happened} of {repeats} repeats"),
        };
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
        let mut faults: Vec<((u32, u32, u32), Repeated<'_>)> = Vec::new();
        for trial in &group.trials {
            for (fault, found) in recovered(trial) {
                let place = fault.place();
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
    let split = two_primaries(result);
    (!all.is_empty()).then(|| split.unwrap_or_default() + &told.join(" ") + &more)
}

/// That members accepted writes at the same time of which only one should, and how long at most.
fn two_primaries(result: &RunResult) -> Option<String> {
    let faults = result.trials.iter().flat_map(recovered);
    let times = faults.filter_map(|(fault, found)| Some((found.two_primaries_s?, fault)));
    let splits: Vec<_> = times.filter(|(time_s, _)| *time_s > 0.0).collect();
    let (longest_s, fault) = splits
        .iter()
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    let (time, words) = (number::value(*longest_s), fault.words());
    let others = match splits.len() - 1 {
        0 => String::new(),
        1 => ", and after 1 other fault".to_owned(),
        more => format!(", and after {more} other faults"),
    };
    Some(format!(
        "TWO PRIMARIES accepted writes at once for {time} s after {words}{others}. "
    ))
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
             distribution; the worst case is the maximum. {EXPLAINED} Lowest share: the lowest \
             second as a share of the throughput before."
        ),
        keys: titles.len() - 5,
        heads: heads(titles),
        words: 1,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// A line for each fault of each trial. `None` of a study without faults.
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
    csv.names("acknowledged_last_1_ms acknowledged_last_10_ms acknowledged_last_100_ms");
    csv.names("recovery.window_s recovery.censored");
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
    let loss = found.and_then(|found| found.loss);
    let exposed = loss.map(|loss| [loss.exposed_1_ms, loss.exposed_10_ms, loss.exposed_100_ms]);
    match exposed {
        Some(counts) => counts.into_iter().for_each(|count| csv.count(count)),
        None => (0..3).for_each(|_| csv.number(None)),
    }
    csv.number(found.map(|found| found.window_s));
    csv.text(&found.map_or_else(String::new, |found| found.censored.join(" ")));
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

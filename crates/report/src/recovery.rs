//! How instances recovered from faults.

use measure::fault::{FaultRecord, Promotion, Recovery, TimedErrors};
use measure::recovery::{Distribution, Number, Observation, PHASES, numbers};
use measure::result::RunResult;
use measure::summary::TrialSummary;

use crate::grid::{Columns, Grid, Head};
use crate::list::{clause, grouped, joined, joined_any, joined_known};
use crate::{keys, number, point};

const EXPLAINED: &str = "Seconds from the fault's effect, of planned faults (stop, restart, \
                         switchover) from the request: the load's first error; another member \
                         noticed (detected); the first write that any member accepted, and the \
                         load's; throughput back to 95 % of what it was before, for 10 s; steady; \
                         the failed member replicates again; all members do. With >: it had not happened when the \
                         next fault came or the load ended. Times are lower bounds of what clients \
                         see: dyno's know at once which member is the primary, unless they follow a list of hosts.";

/// A row for each fault of a trial: when it struck, and when each phase of the recovery was over.
pub(crate) fn phases(trial: &TrialSummary) -> Grid {
    let columns = Columns::<Recovered<'_>>::new()
        .key("fault", |(fault, _)| name(fault, trial))
        .with("effect at", |(fault, _)| fault.effect_s)
        .each(&PHASES, |columns, phase| {
            columns.with(phase.heading, |(_, found)| observation(phase, found))
        })
        .with("healed", |(fault, _)| {
            Some(fault.healed_s? - fault.origin_s()?)
        });
    columns.grid(format!("Recovery. {EXPLAINED}"), recovered(trial))
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
    let shown = numbers().filter(|one| SHOWN.contains(&one.name));
    let columns = Columns::<Recovered<'_>>::new()
        .key("fault", |(fault, _)| name(fault, trial))
        .each(shown, |columns, number| {
            columns.with(head(number), |(_, found)| observation(number, found))
        })
        .with("acknowledged in the last 1, 10, 100 ms", |(_, found)| {
            Some(exposed(found)?.map(number::count).join(", "))
        });
    columns.grid(
        "Service around each fault: when throughput was back after healing, from the request; \
         how long no member accepted a write, in all and at \
         most, and the share of the time until the next fault in which one did; how long \
         two members accepted writes of which one should; acknowledged transfers of the \
         ledger that were lost, and the age of the oldest one (RPO); the 99th percentile \
         of response times before the fault, until throughput was back, and after that; \
         transfers that were acknowledged just before the effect.",
        recovered(trial),
    )
}

pub(crate) fn costs(trial: &TrialSummary) -> Grid {
    let has_ledger = !trial.ledgers.is_empty();
    let columns = Columns::<Recovered<'_>>::new()
        .key("fault", |(fault, _)| name(fault, trial))
        .with("tps before", |(_, found)| found.before)
        .with("during", |(_, found)| found.during)
        .with("after", |(_, found)| found.after)
        .with("outage, s", |(_, found)| found.outage_s)
        .with("lowest", |(_, found)| {
            found.lowest_share.map(number::percent)
        })
        .with("not done", |(_, found)| found.lost_transactions)
        .when(has_ledger, |columns| {
            columns.with("in flight", |(_, found)| {
                Some(in_flight(found)?.map(number::count).join(", "))
            })
        })
        .words("errors", |(_, found)| {
            let errors: Vec<String> = found.errors.iter().map(of_code).collect();
            errors.join(", ")
        });
    let transfers =
        "; transfers of the ledger that were in flight: committed, not committed, unknown";
    let transfers = clause(has_ledger, transfers);
    let caption = format!(
        "Cost of each fault. Throughput before it, until it was back, and after that; the \
         longest time without a completed transaction; the lowest second as a share of the \
         throughput before; transactions that would have been done at that rate. Errors by \
         code, with the times of the first and the last{transfers}."
    );
    columns.grid(caption, recovered(trial))
}

fn head(number: &Number) -> Head {
    Head {
        title: number.heading.to_owned(),
        unit: number.unit,
    }
}

/// A number of a recovery; one that rounds to zero has no sign.
fn observation(number: &Number, found: &Recovery) -> Option<Observation> {
    Some(match number.observed(found)? {
        Observation::Exactly(value) if value.abs() < 5e-4 => Observation::Exactly(0.0),
        other => other,
    })
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

/// Transfers that were in flight: committed, not committed, unknown.
fn in_flight(found: &Recovery) -> Option<[u64; 3]> {
    let fates = found.in_flight?;
    Some([fates.committed, fates.not_committed, fates.unknown])
}

/// Transfers that were acknowledged in the last 1, 10, and 100 ms.
fn exposed(found: &Recovery) -> Option<[u64; 3]> {
    let loss = found.loss?;
    Some([loss.exposed_1_ms, loss.exposed_10_ms, loss.exposed_100_ms])
}

/// A fault that had an effect, and how its instance recovered.
type Recovered<'a> = (&'a FaultRecord, &'a Recovery);

fn recovered(trial: &TrialSummary) -> impl Iterator<Item = Recovered<'_>> {
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

/// A line for each fault of each trial. `None` of a study without faults.
pub fn csv(result: &RunResult) -> Option<String> {
    type Row<'a> = (&'a TrialSummary, &'a FaultRecord);
    let rows = result.trials.iter().flat_map(|trial| {
        let faults = trial.faults.iter();
        faults.map(move |fault| (trial, fault))
    });
    let rows: Vec<Row<'_>> = rows.collect();
    fn found<'a>((_, fault): Row<'a>) -> Option<&'a Recovery> {
        fault.recovery.as_ref()
    }
    fn promotion<'a>((_, fault): Row<'a>) -> Option<&'a Promotion> {
        fault.promotion.as_ref()
    }
    let volume = |fault: &FaultRecord| fault.kind.is_of_volume().then(|| fault.volume.name());
    let columns = Columns::<Row<'_>>::new()
        .with("number", |(trial, _)| trial.setup.planned.number)
        .with("label", |(trial, _)| &trial.setup.planned.label)
        .each(keys::axes(result), |columns, key| {
            columns.with(key, move |(trial, _)| keys::value(trial, key))
        })
        .with("repeat", |(trial, _)| trial.setup.planned.repeat)
        .with("fault", |(_, fault)| fault.number)
        .with("instance", |(_, fault)| fault.instance)
        .with("server", |(_, fault)| fault.node)
        .with("fault.kind", |(_, fault)| fault.kind.to_string())
        .with("fault.target", |(_, fault)| &fault.target)
        .with("fault.volume", move |(_, fault)| volume(fault))
        .with("fault.device", |(_, fault)| fault.device)
        .with("fault.at_s", |(_, fault)| fault.asked_s)
        .with("fault.effect_s", |(_, fault)| fault.effect_s)
        .with("fault.heal_at_s", |(_, fault)| fault.heal_asked_s)
        .with("fault.healed_s", |(_, fault)| fault.healed_s)
        .with("fault.promote_at_s", |row| Some(promotion(row)?.asked_s))
        .with("fault.promoted_s", |row| promotion(row)?.done_s)
        .each(numbers(), |columns, number| {
            columns.with(number.name, |row| (number.of)(found(row)?))
        })
        .estimate("recovery.before_tps", |row| found(row)?.before)
        .estimate("recovery.during_tps", |row| found(row)?.during)
        .estimate("recovery.after_tps", |row| found(row)?.after)
        .counts(
            [
                "in_flight.committed",
                "in_flight.not_committed",
                "in_flight.unknown",
            ],
            |row| in_flight(found(row)?),
        )
        .counts(
            [
                "acknowledged_last_1_ms",
                "acknowledged_last_10_ms",
                "acknowledged_last_100_ms",
            ],
            |row| exposed(found(row)?),
        )
        .with("recovery.window_s", |row| Some(found(row)?.window_s))
        .with("recovery.censored", |row| {
            Some(found(row)?.censored.join(" "))
        })
        .with("fault.server_ended_s", |(_, fault)| {
            Some(fault.crash.as_ref()?.at_s)
        })
        .counts(
            ["scrub.found", "scrub.corrected", "scrub.uncorrectable"],
            |(_, fault)| {
                let scrub = fault.scrub?;
                Some([scrub.found, scrub.corrected, scrub.uncorrectable])
            },
        )
        .with("error", |row| {
            let errors = [
                promotion(row).and_then(|one| one.error.as_ref()),
                row.1.error.as_ref(),
            ];
            joined_known(errors, "; ")
        });
    (!rows.is_empty()).then(|| columns.csv(rows))
}

/// Most faults whose recovery the lead tells one by one.
const MOST_TOLD: usize = 4;
const TOLD: [&str; 2] = ["recovery.first_write_s", "recovery.back_s"];

/// The faults of one kind at one point of a study, over its repeats.
struct Repeated<'a> {
    /// The point; `None` if there is only one.
    point: Option<String>,
    words: String,
    /// Each with how its instance recovered.
    faults: Vec<Recovered<'a>>,
}

impl Repeated<'_> {
    fn keys(&self) -> String {
        joined(self.point.iter().chain([&self.words]), ", ")
    }

    fn distribution(&self, number: &Number) -> Option<Distribution> {
        let faults = self.faults.iter();
        Distribution::of(faults.filter_map(|(_, found)| observation(number, found)))
    }

    /// `After kill of primary: first write after 1.588 (1.203–1.973) s, …`.
    fn sentence(&self) -> String {
        let phases = PHASES.iter().filter(|phase| TOLD.contains(&phase.name));
        let told = phases
            .map(|phase| self.told(phase))
            .chain(self.unavailable());
        let recovery = format!("Recovery ({}): {}.", self.keys(), joined(told, ", "));
        joined_known([Some(recovery), self.found_out()], " ")
    }

    /// What it showed of a volume, with its name.
    fn finding(&self) -> Option<String> {
        Some(format!("After {}: {}", self.keys(), self.found_out()?))
    }

    fn found_out(&self) -> Option<String> {
        joined_any([self.ended(), self.scrubbed()].into_iter().flatten(), " ")
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
        Some(format!("Scrub: {}.", joined_any(scrubs, "; ")?))
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

fn repeated(result: &RunResult) -> Vec<Repeated<'_>> {
    let is_swept = !keys::axes(result).is_empty();
    let points = point::of_result(result).into_iter();
    let all = points.flat_map(|point| {
        let trials = point.trials.iter().copied();
        let faults = trials.flat_map(|trial| recovered(trial).map(move |one| (trial, one)));
        let mut faults = grouped(faults.map(|(trial, one)| (one.0.place(), (trial, one))));
        faults.sort_by_key(|(place, _)| *place);
        faults.into_iter().map(move |(_, repeats)| Repeated {
            point: is_swept.then(|| point.name.clone()),
            words: repeats.first().map_or_else(String::new, words_of_all),
            faults: repeats.into_iter().map(|(_, one)| one).collect(),
        })
    });
    all.collect()
}

/// What was done in all repeats: a random target is another server in each.
fn words_of_all((trial, (fault, _)): &(&TrialSummary, Recovered<'_>)) -> String {
    let any = FaultRecord {
        node: None,
        ..(*fault).clone()
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
    let numbers = all.iter().flat_map(|repeated| {
        numbers().map(move |number| (repeated, number, repeated.distribution(number)))
    });
    let rows: Vec<_> = numbers.collect();
    type Row<'a> = &'a (&'a Repeated<'a>, &'a Number, Option<Distribution>);
    let statistic =
        |of: fn(&Distribution) -> Observation| move |(.., all): Row<'_>| Some(of(all.as_ref()?));
    let columns = Columns::<Row<'_>>::new()
        .when(!keys::axes(result).is_empty(), |columns| {
            columns.key("point", |(repeated, ..)| repeated.point.as_ref())
        })
        .key("fault", |(repeated, ..)| &repeated.words)
        .key("", |(_, number, _)| head(number).text())
        .with("repeats", |(repeated, _, all)| {
            let happened = all.as_ref().map_or(0, Distribution::happened);
            format!("{happened} of {}", repeated.faults.len())
        })
        .with("median", statistic(Distribution::median))
        .with("min", statistic(Distribution::min))
        .with("max", statistic(Distribution::max))
        .words("values", |(.., all)| {
            let values = all.as_ref().map_or(&[][..], Distribution::values);
            joined(values.iter().copied().map(number::observation), ", ")
        });
    let caption = format!(
        "Recovery over repeats, failed trials included: in how many it happened, and its \
         distribution; the worst case is the maximum. {EXPLAINED} Lowest share: the lowest \
         second as a share of the throughput before."
    );
    columns.grid(caption, &rows)
}

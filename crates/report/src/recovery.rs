//! How instances recovered from faults.

mod repeats;

pub(crate) use repeats::{distributions, sentences, words_of_all};

use measure::fault::{FaultRecord, Promotion, Recovery, TimedErrors};
use measure::recovery::{Number, Observation, PHASES, numbers};
use measure::result::RunResult;
use measure::summary::TrialSummary;

use crate::grid::{Columns, Grid, Head};
use crate::list::{clause, joined_known, with_parts};
use crate::{keys, number};

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
    /// What [`costs`] shows.
    const COSTS: [&str; 3] = [
        "recovery.outage_s",
        "recovery.lowest_share",
        "recovery.lost_transactions",
    ];
    let others = numbers().skip(PHASES.len());
    let shown = others.filter(|one| !COSTS.contains(&one.name));
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

pub(crate) fn head(number: &Number) -> Head {
    Head {
        title: number.heading.to_owned(),
        unit: number.unit,
    }
}

/// A number of a recovery; one that rounds to zero has no sign.
pub(crate) fn observation(number: &Number, found: &Recovery) -> Option<Observation> {
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

/// What became of transfers that were in flight.
const FATES: [&str; 3] = ["committed", "not_committed", "unknown"];

/// Transfers that were in flight, in the order of [`FATES`].
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

pub(crate) fn recovered(trial: &TrialSummary) -> impl Iterator<Item = Recovered<'_>> {
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
    let rows: Vec<Row<'_>> = with_parts(&result.trials, |trial| &trial.faults).collect();
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
        .each(FATES.into_iter().enumerate(), |columns, (place, fate)| {
            columns.with(format!("in_flight.{fate}"), move |row| {
                Some(in_flight(found(row)?)?[place])
            })
        })
        .each(
            [1, 10, 100].into_iter().enumerate(),
            |columns, (place, ms)| {
                columns.with(format!("acknowledged_last_{ms}_ms"), move |row| {
                    Some(exposed(found(row)?)?[place])
                })
            },
        )
        .with("recovery.window_s", |row| Some(found(row)?.window_s))
        .with("recovery.censored", |row| {
            Some(found(row)?.censored.join(" "))
        })
        .with("fault.server_ended_s", |(_, fault)| {
            Some(fault.crash.as_ref()?.at_s)
        })
        .with("scrub.found", |(_, fault)| Some(fault.scrub?.found))
        .with("scrub.corrected", |(_, fault)| Some(fault.scrub?.corrected))
        .with("scrub.uncorrectable", |(_, fault)| {
            Some(fault.scrub?.uncorrectable)
        })
        .with("error", |row| {
            let errors = [
                promotion(row).and_then(|one| one.error.as_ref()),
                row.1.error.as_ref(),
            ];
            joined_known(errors, "; ")
        });
    (!rows.is_empty()).then(|| columns.csv(rows))
}

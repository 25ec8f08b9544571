//! Finds the warnings about a trial.

use crate::agent::AgentSummary;
use crate::change_point::in_measurement;
use crate::interval::{Estimate, MIN_POINTS, Part, estimate, ratio, residuals};
use crate::latency::TotalLatency;
use crate::little::Little;
use crate::long_run::{long_run, trend};
use crate::others;
use crate::setup::Outcome;
use crate::slice::{Busy, SecondTotals};
use crate::steady::{CHANCE, MIN_SECONDS, Steady};
use crate::student;
use crate::summary::{LatencySummary, TrialSummary};
use crate::verdict::SATURATED;
use crate::warning::Warning;
use plan::{FaultProcess, FaultTarget, Isolation};

/// Where response times end when the program reads a reply: a worker that waits for a CPU for a
/// larger share of the time distorts them.
const STARVED: f64 = 0.2;
/// Where replies are time-stamped, reading them late delays only the next statement. Up to this
/// share of the transactions' time, the delay is smaller than other differences between runs.
pub(crate) const DELAYED: f64 = 0.1;
/// Comparisons decide about differences of this size.
const STOLEN: f64 = 0.05;
/// Up to this share of the transactions, a growing backlog is noise…
const BACKLOG_NOISE: f64 = 0.01;
/// …and up to this one if there are too few seconds for a trend.
const SHORT_BACKLOG_NOISE: f64 = 0.05;
/// Throughput that changes by a larger share is not steady.
const UNSTEADY: f64 = 0.1;
/// Share of a turn that transactions may take without a warning.
const LONG_FOR_TURNS: f64 = 0.1;
/// Share of transactions that may be restarted without a warning.
const RESTARTS: f64 = 0.01;
/// Share of lookups that may find nothing without a warning.
const MISSES: f64 = 0.01;

pub(crate) fn find(summary: &TrialSummary, seconds: &[SecondTotals]) -> Vec<Warning> {
    let mut found = Vec::new();
    // A trial that failed before its load began has no numbers to warn about.
    if seconds.is_empty() && matches!(summary.outcome, Outcome::Failed { .. }) {
        return found;
    }
    let throughput: Vec<Part> = seconds.iter().map(|second| second.transactions).collect();
    found.extend(summary.setup.emulated.then_some(Warning::Emulated));
    // Summaries show only the first warnings, so those that explain the most come first.
    found.extend(overloaded(summary, seconds));
    found.extend(other_programs(summary));
    found.extend(stolen(summary));
    found.extend(generator(summary));
    // Blocks with gaps between them are no series, and phases are no steady state.
    let planned = &summary.setup.planned;
    let has_series = planned.turns().is_none() && planned.load.phase.is_none();
    if has_series && seconds.len() < MIN_POINTS {
        let measured_s = summary.measured_s;
        found.push(Warning::Short { measured_s });
    }
    found.extend(long_for_turns(summary));
    found.extend((summary.setup.planned.load.warmup.is_zero()).then_some(Warning::NoWarmup));
    found.extend(unsure(summary));
    // The effects of the study's faults on throughput and connections are results.
    if summary.setup.planned.topology.faults.is_empty() {
        if has_series {
            found.extend(steady(summary).or_else(|| unsteady(&throughput)));
            found.extend(level_changed(summary, &throughput));
        }
        found.extend(stalled(&throughput));
        let count = summary.reconnects;
        found.extend((count > 0).then_some(Warning::Reconnects { count }));
    } else if has_series {
        found.extend(baseline_unsteady(summary, &throughput));
    }
    found.extend(healed_early(summary));
    found.extend(misses(summary));
    found.extend(restarts(summary));
    found.extend(forced_checkpoints(summary));
    found.extend(ends(summary));
    // With a growing backlog, more transactions arrived than completed.
    let overloaded = |warning: &Warning| matches!(warning, Warning::Overloaded { .. });
    if !found.iter().any(overloaded) {
        found.extend(summary.little.and_then(off));
    }
    found
}

/// Reports the busiest worker and the one that waited most. Workers that run an engine inside them
/// are busy with the engine.
fn generator(summary: &TrialSummary) -> Vec<Warning> {
    if summary.setup.in_process {
        return Vec::new();
    }
    if !summary.agents.is_empty() {
        return agents(&summary.agents);
    }
    let most = |of: fn(&Busy) -> f64, limit: f64| {
        let shares = summary.generator.workers.iter().map(of).enumerate();
        let most = shares.max_by(|a, b| a.1.total_cmp(&b.1));
        most.filter(|(_, share)| *share > limit)
    };
    let saturated = most(|busy| busy.running, SATURATED);
    let saturated =
        saturated.map(|(worker, running)| Warning::GeneratorSaturated { worker, running });
    let late = match summary.generator.delay_ms {
        Some(delay_ms) => delayed(summary, delay_ms),
        None => most(|busy| busy.waiting, STARVED)
            .map(|(worker, waiting)| Warning::GeneratorWaited { worker, waiting }),
    };
    saturated.into_iter().chain(late).collect()
}

pub(crate) fn is_saturated(running: f64) -> bool {
    running > SATURATED
}

fn agents(agents: &[AgentSummary]) -> Vec<Warning> {
    let missing = agents.iter().filter_map(|agent| {
        let (label, since_s) = (agent.label.clone(), agent.missing_since_s?);
        Some(Warning::AgentMissing { label, since_s })
    });
    let bound = agents.iter().filter(|agent| agent.is_bound());
    let bound = bound.map(|agent| Warning::AgentBound {
        label: agent.label.clone(),
        busiest: agent.busiest,
        delayed: agent.delayed_share(),
    });
    missing.chain(bound).collect()
}

/// Replies had arrived but were unread in a share of the time from the start of a transaction until
/// its user was free again.
fn delayed(summary: &TrialSummary, delay_ms: LatencySummary) -> Option<Warning> {
    let transactions = summary.transactions.count as f64;
    let replies = summary.statements.count as f64;
    let delay = delay_ms.mean.value;
    // The delay of the last reply is not part of the response time.
    let share = replies * delay / (transactions * (summary.response_ms?.mean.value + delay));
    (share > DELAYED).then_some(Warning::GeneratorDelayed {
        share,
        mean_ms: delay,
        p99_ms: delay_ms.p99,
    })
}

/// Turns the rate of rare events back into a count.
fn forced_checkpoints(summary: &TrialSummary) -> Option<Warning> {
    let name = "server.log.checkpoints_requested_per_min";
    let per_minute = summary.metrics.get(name)?.mean;
    let count = (per_minute * summary.measured_s / 60.0).round() as u64;
    (count > 0).then_some(Warning::ForcedCheckpoints { count })
}

fn other_programs(summary: &TrialSummary) -> Option<Warning> {
    let metrics = summary.metrics.iter();
    let means = metrics.map(|(name, metric)| (name.as_str(), metric.mean));
    let (share, busiest) = others::distorting(means)?;
    Some(Warning::OtherPrograms { share, busiest })
}

fn stolen(summary: &TrialSummary) -> Option<Warning> {
    let share = summary.metrics.get("cpu.steal")?.mean / 100.0;
    (share > STOLEN).then_some(Warning::Stolen { share })
}

/// A backlog that grew by more than the virtual users can hold and by more than a small share of
/// the completed transactions is not noise.
fn overloaded(summary: &TrialSummary, seconds: &[SecondTotals]) -> Option<Warning> {
    let (growth, noise_share) = match thirds(seconds) {
        Some((first, last)) => (backlog(last)?.value - backlog(first)?.value, BACKLOG_NOISE),
        None => (typical_growth(seconds)?, SHORT_BACKLOG_NOISE),
    };
    let noise = f64::from(summary.setup.planned.load.threads)
        .max(noise_share * summary.transactions.count as f64);
    (growth > noise).then(|| Warning::Overloaded {
        backlog_end: summary.generator.backlog_end.unwrap_or(0),
        growth: growth as u64,
    })
}

/// The growth of the backlog if all seconds had been like the median one, which a stall does not
/// affect; `None` for fewer than three seconds.
fn typical_growth(seconds: &[SecondTotals]) -> Option<f64> {
    let looks = seconds.iter().filter_map(|second| second.backlog);
    let looks: Vec<f64> = looks.map(|backlog| backlog as f64).collect();
    let mut steps: Vec<f64> = looks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_by(f64::total_cmp);
    let median = steps.get((steps.len().max(1) - 1) / 2)?;
    (looks.len() >= 3).then_some(median * steps.len() as f64)
}

/// Mean backlog, sampled once a second; `None` in a closed loop.
fn backlog(seconds: &[SecondTotals]) -> Option<Estimate> {
    let looks = seconds.iter().filter_map(|second| second.backlog);
    let parts = looks.map(|backlog| Part {
        total: backlog as f64,
        weight: 1.0,
    });
    estimate(&parts.collect::<Vec<_>>())
}

/// Only for a load that ran to its end with all its users: at a limit of transactions, users stop
/// one by one. A pause goes on while another variant has its turn, and ends in no block. Phases
/// change the number of active users.
pub(crate) fn little(
    summary: &TrialSummary,
    responses: &TotalLatency,
    seconds: &[SecondTotals],
) -> Option<Little> {
    let planned = &summary.setup.planned;
    let load = &planned.load;
    let pauses_in_gaps = planned.turns().is_some() && !load.think.is_zero();
    let is_missing = |agent: &AgentSummary| agent.missing_since_s.is_some();
    let some_leave = summary.agents.iter().any(is_missing);
    let users_change = some_leave || (load.phase.is_some() && load.rate.is_none());
    let has_limit = load.events.is_some();
    if summary.outcome != Outcome::Completed || has_limit || pauses_in_gaps || users_change {
        return None;
    }
    Little::of(summary, responses, backlog(seconds))
}

fn off(found: Little) -> Option<Warning> {
    (!found.holds()).then_some(Warning::LittlesLaw {
        users: found.users,
        accounted: found.accounted,
    })
}

fn steady(summary: &TrialSummary) -> Option<Warning> {
    let warmup_s = summary.setup.planned.load.warmup.as_secs_f64();
    match summary.steady? {
        Steady::Never { reason } => Some(Warning::NeverSteady { reason }),
        // A phase may end some milliseconds late.
        Steady::From { s } => (s > warmup_s + 1.0).then_some(Warning::WarmupTooShort {
            steady_from_s: s,
            warmup_s,
        }),
    }
}

/// Not reported after a short warm-up: that warning explains the change.
fn level_changed(summary: &TrialSummary, seconds: &[Part]) -> Option<Warning> {
    let warmup_s = summary.setup.planned.load.warmup.as_secs_f64();
    let mut changes = in_measurement(warmup_s, seconds);
    if let Some(Steady::From { s }) = summary.steady
        && s > warmup_s + 1.0
    {
        changes.retain(|change| change.at_s > s);
    }
    (!changes.is_empty()).then_some(Warning::LevelChanged { changes })
}

/// Not reported if the load was ended early, because it had no chance to reach the target.
fn unsure(summary: &TrialSummary) -> Option<Warning> {
    let asked = summary.setup.planned.load.until?.ci;
    let reached = summary.transactions.per_s.and_then(|tps| tps.relative());
    let is_sure = reached.is_some_and(|reached| reached <= asked);
    let to_its_limit = summary.outcome == Outcome::Completed && summary.ended.is_none();
    (to_its_limit && !is_sure).then_some(Warning::Unsure { reached, asked })
}

fn unsteady(seconds: &[Part]) -> Option<Warning> {
    if seconds.len() < MIN_SECONDS {
        return None;
    }
    let (first, last) = thirds(seconds)?;
    let (first_per_s, last_per_s) = (per_s(first)?, per_s(last)?);
    let mean = per_s(seconds)?;
    let difference = (last_per_s - first_per_s).abs();
    let by_chance = by_chance(first, last)?;
    (difference > by_chance.max(UNSTEADY * mean)).then_some(Warning::Unsteady {
        first_per_s,
        last_per_s,
    })
}

/// The time before the first fault is usually too short for what other checks require of a series,
/// but a trend can be told from its other movements.
fn baseline_unsteady(summary: &TrialSummary, seconds: &[Part]) -> Option<Warning> {
    let faults = summary.setup.planned.topology.faults.iter();
    let at = faults.map(|fault| fault.at).min()?;
    let before = seconds.get(..usize::try_from(at.as_secs()).ok()?)?;
    let (first, last) = thirds(before)?;
    let share = per_s(last)? / per_s(first)? - 1.0;
    let found = trend(&off_mean(before)?)?;
    let is_chance = student::p_value(found.t, found.degrees) >= CHANCE;
    (share.abs() > UNSTEADY && !is_chance).then_some(Warning::BaselineUnsteady { share })
}

/// The largest difference between two parts of a steady load in 99 % of cases, given how the
/// seconds of each part vary around their mean. `None` if they fluctuate too slowly to tell.
fn by_chance(first: &[Part], last: &[Part]) -> Option<f64> {
    let lengths = 1.0 / first.len() as f64 + 1.0 / last.len() as f64;
    let found = long_run(&[off_mean(first)?, off_mean(last)?].concat())?;
    let t = student::quantile(1.0 - CHANCE / 2.0, found.degrees);
    Some(t * (found.variance * lengths).sqrt())
}

fn long_for_turns(summary: &TrialSummary) -> Option<Warning> {
    let turns = summary.setup.planned.turns()?;
    let block_ms = turns.block.as_secs_f64() * 1e3;
    let p95_ms = summary.response_ms?.p95;
    let is_long = p95_ms > LONG_FOR_TURNS * block_ms;
    is_long.then_some(Warning::LongForTurns { p95_ms, block_ms })
}

/// A partial last second may be empty without a stall.
fn stalled(seconds: &[Part]) -> Option<Warning> {
    let empty = |second: &&Part| second.total == 0.0 && second.weight >= 0.5;
    let count = seconds.iter().filter(empty).count() as u64;
    (count > 0).then_some(Warning::Stalled { seconds: count })
}

/// Faults that silence a member and were healed before the other members can have noticed.
fn healed_early(summary: &TrialSummary) -> Option<Warning> {
    let topology = &summary.setup.planned.topology;
    let cluster = topology.cluster.as_ref()?;
    let noticed = cluster.detected_within?;
    let silent = topology.faults.iter().filter(|fault| {
        let is_of_server = fault.action.options().process != FaultProcess::Manager;
        let is_silent = fault.kind().rules().isolates == Isolation::Silent;
        is_of_server && is_silent && fault.target != FaultTarget::Replica
    });
    let mut heals = silent.filter_map(|fault| fault.heal);
    let healed = heals.find(|heal| *heal < noticed)?;
    Some(Warning::HealedEarly {
        healed_s: healed.as_secs_f64(),
        noticed_s: noticed.as_secs_f64(),
        detector: cluster.detector.clone(),
    })
}

fn misses(summary: &TrialSummary) -> Option<Warning> {
    let share = summary.lookups.missed_share?;
    (share > MISSES).then_some(Warning::Misses {
        share,
        key_range: summary.setup.planned.key_range(),
        rows: summary.setup.planned.data.rows,
    })
}

fn restarts(summary: &TrialSummary) -> Option<Warning> {
    let count = summary.restarts();
    let share = count as f64 / (summary.transactions.count + count) as f64;
    (share > RESTARTS).then_some(Warning::Restarts { share })
}

fn ends(summary: &TrialSummary) -> Vec<Warning> {
    let unfinished = summary.unfinished;
    let longest_ms = summary.response_ms.map_or(0.0, |response| response.max);
    let oldest_ms = unfinished.oldest_ms;
    let oldest_ms = oldest_ms.filter(|oldest_ms| *oldest_ms > longest_ms);
    let old = oldest_ms.map(|oldest_ms| Warning::Unfinished {
        count: unfinished.count,
        oldest_ms,
    });
    let cancelled = (unfinished.cancelled > 0).then_some(Warning::Cancelled {
        count: unfinished.cancelled,
    });
    [old, cancelled].into_iter().flatten().collect()
}

/// The first and the last third, if both have enough seconds for a comparison.
fn thirds<T>(seconds: &[T]) -> Option<(&[T], &[T])> {
    let third = seconds.len() / 3;
    (seconds.len() >= MIN_POINTS).then(|| (&seconds[..third], &seconds[seconds.len() - third..]))
}

fn per_s(seconds: &[Part]) -> Option<f64> {
    ratio(seconds).filter(|per_s| *per_s > 0.0)
}

fn off_mean(seconds: &[Part]) -> Option<Vec<f64>> {
    Some(residuals(seconds, ratio(seconds)?))
}

#[cfg(test)]
#[path = "check_tests.rs"]
pub(crate) mod tests;

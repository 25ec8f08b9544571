//! A trial: what happened, and a table for each view of it.

use measure::agent::AgentSummary;
use measure::fault::FaultRecord;
use measure::instance::InstanceSummary;
use measure::metric::{Metric, MetricSummary, bracketed, split};
use measure::setup::Outcome;
use measure::summary::{ErrorSummary, LatencySummary, Rate, StatementSummary, TrialSummary};

use crate::grid::{Columns, Grid, Head};
use crate::list::{clause, joined_known};
use crate::sheet::{Block, Facts, folded, known, tables};
use crate::table::shown_in;
use crate::{describe, ledger, number, parts, recovery};

pub(crate) fn blocks(trial: &TrialSummary) -> Vec<Block> {
    let mut blocks = vec![Block::Facts(facts(trial))];
    let [ledger, anomalies] = ledger::of_trial(trial);
    blocks.extend(tables([
        times(trial),
        events(trial),
        recovery::phases(trial),
        recovery::service(trial),
        recovery::costs(trial),
        ledger,
        anomalies,
        servers(trial),
        agents(trial),
        parts::table("workload", trial, &trial.by_workload),
        parts::table("phase", trial, &trial.by_phase),
        statements(trial),
        errors(trial),
    ]));
    blocks.extend(folded([
        ("Metrics", metrics(trial)),
        ("Metrics of each server", metrics_by_server(trial)),
    ]));
    blocks
}

fn facts(trial: &TrialSummary) -> Facts {
    let is_early = trial.outcome != Outcome::Completed;
    let [reads, writes, others] = [trial.reads, trial.writes, trial.others].map(number::count);
    let statements = rate(trial.statements);
    let statements = format!("{statements}: {reads} reads, {writes} writes, {others} others");
    let restarts = number::counted(trial.restarts(), "restart");
    let errors = format!("{}; {restarts}", number::count(trial.failures()));
    let missed = trial.lookups.missed_share.filter(|share| *share > 0.0);
    let reconnects = Some(trial.reconnects).filter(|count| *count > 0);
    known([
        ("Ended early", is_early.then(|| trial.outcome.to_string())),
        ("Verdict", trial.verdict.as_ref().map(ToString::to_string)),
        ("Measured", Some(number::seconds(trial.measured_s))),
        ("Transactions", Some(rate(trial.transactions))),
        ("Statements", Some(statements)),
        ("Errors", Some(errors)),
        ("Generator", Some(describe::generator(trial))),
        ("Started", trial.started_at.clone()),
        ("Server", describe::unseen(trial)),
        ("Steady", describe::steady(trial)),
        ("Little's law", describe::little(trial)),
        ("Lookups without a row", missed.map(number::percent)),
        ("Space", trial.space.as_ref().map(describe::space)),
        ("Ended", trial.ended.as_ref().map(ToString::to_string)),
        ("Reconnects", reconnects.map(number::count)),
        ("Unfinished", describe::unfinished(trial)),
    ])
}

/// `100,235 (1,671 ± 8/s, ± 0.5 %)`.
fn rate(rate: Rate) -> String {
    let relative = rate.per_s.and_then(|per_s| per_s.relative());
    let relative = relative.map_or(String::new(), |share| {
        format!(", ± {}", number::percent(share))
    });
    format!(
        "{} ({}/s{relative})",
        number::count(rate.count),
        number::estimate(rate.per_s)
    )
}

fn times(trial: &TrialSummary) -> Grid {
    let rows = [
        ("Response", trial.response_ms),
        ("Service", trial.service_ms),
    ];
    let rows = rows
        .into_iter()
        .filter_map(|(name, times)| Some((name, times?)));
    let columns = Columns::<(&str, LatencySummary)>::new()
        .key("", |(name, _)| name)
        .with("mean", |(_, times)| times.mean)
        .with("σ", |(_, times)| times.stddev)
        .with("min", |(_, times)| times.min)
        .with("p50", |(_, times)| times.p50)
        .with("p75", |(_, times)| times.p75)
        .with("p90", |(_, times)| times.p90)
        .with("p95", |(_, times)| (times.p95, times.p95_range))
        .with("p99", |(_, times)| (times.p99, times.p99_range))
        .with("p99.9", |(_, times)| times.p999)
        .with("max", |(_, times)| times.max);
    columns.grid(
        "Transaction times in milliseconds. In parentheses: 95 % confidence interval.",
        rows,
    )
}

/// Each server's part, where there are several.
fn servers(trial: &TrialSummary) -> Grid {
    let all = trial.instances.as_slice();
    let early = all.iter().any(|one| one.outcome != Outcome::Completed);
    let columns = Columns::<&InstanceSummary>::new()
        .key("server", |one| one.number)
        .with("transactions", |one| one.transactions.count)
        .with("tps", |one| one.transactions.per_s)
        .with("mean", |one| Some(one.response_ms?.mean))
        .with("p95", |one| Some(one.response_ms?.p95))
        .with("p99", |one| Some(one.response_ms?.p99))
        .with("max", |one| Some(one.response_ms?.max))
        .with("errors", |one| one.errors.saturating_sub(one.restarts))
        .with("restarts", |one| one.restarts)
        .words_if(early, "ended", |one| one.outcome.to_string())
        .words("address", |one| &one.server);
    columns.grid(
        "Each server under its own load, all at the same time. Response times in \
         milliseconds.",
        all.iter().filter(|_| all.len() > 1),
    )
}

/// Each agent's part of the load.
fn agents(trial: &TrialSummary) -> Grid {
    let is_missing = |one: &AgentSummary| one.missing_since_s.is_some();
    let several = trial.instances.len() > 1;
    let columns = Columns::<&AgentSummary>::new()
        .key("agent", |one| &one.label)
        .when(several, |columns| columns.with("server", |one| one.server))
        .with("transactions", |one| one.transactions)
        .with("statements", |one| one.statements)
        .with("response", |one| one.response_ms)
        .with("CPUs used", |one| one.cpus_used)
        .with("CPU µs per statement", |one| one.cpu_us_per_statement)
        .with("lateness p99", |one| one.lateness_p99_ms)
        .with("delay", |one| one.delay_ms)
        .with("late start", |one| one.late_start_ms)
        .with("clock ahead", |one| one.clock_ahead_ms)
        .with("round trip", |one| one.round_trip_ms)
        .words_if(trial.agents.iter().any(is_missing), "missing", |one| {
            let since = one.missing_since_s.map(|s| format!("from {s:.1} s"));
            since.unwrap_or_default()
        });
    columns.grid(
        "Each agent's part of the load. Times in milliseconds: its mean response time, how late it noticed arrivals \
         and read replies, how late it began, how far its clock was ahead, and the shortest round trip to it.",
        &trial.agents,
    )
}

fn statements(trial: &TrialSummary) -> Grid {
    let columns = Columns::<&StatementSummary>::new()
        .key("statement", |one| &one.name)
        .with("class", |one| one.class.to_string())
        .with("count", |one| one.count)
        .with("per second", |one| one.per_s)
        .with("mean", |one| Some(one.latency_ms?.mean.value))
        .with("p50", |one| Some(one.latency_ms?.p50))
        .with("p95", |one| Some(one.latency_ms?.p95))
        .with("p99", |one| Some(one.latency_ms?.p99))
        .with("max", |one| Some(one.latency_ms?.max));
    columns.grid(
        "Statements. Times in milliseconds, from sending to the complete reply.",
        &trial.by_statement,
    )
}

fn errors(trial: &TrialSummary) -> Grid {
    let columns = Columns::<&ErrorSummary>::new()
        .key("code", |error| &error.code)
        .with("count", |error| error.count)
        .words("action", |error| &error.action)
        .words("message", |error| &error.example);
    columns.grid(
        "Errors, with the first server message of each. A restarted transaction, as \
         after a deadlock, did not fail.",
        &trial.errors,
    )
}

/// Something that happened; empty texts where a column says nothing.
#[derive(Default)]
struct Event {
    at_s: f64,
    server: Option<u32>,
    event: String,
    effect_s: Option<f64>,
    healed_s: Option<f64>,
    error: String,
}

fn events(trial: &TrialSummary) -> Grid {
    let events = trial.events.iter().map(|event| Event {
        at_s: event.at_s,
        server: Some(event.node),
        event: event.what.to_string(),
        error: event.reason.clone(),
        ..Event::default()
    });
    let faults = trial.faults.iter().flat_map(of_fault);
    let mut rows: Vec<Event> = faults.chain(events).collect();
    rows.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    let seconds = |title: &str| Head {
        title: title.to_owned(),
        unit: "s",
    };
    let time = |at_s: Option<f64>, digits: usize| {
        at_s.map_or_else(String::new, |at_s| format!("{at_s:.digits$}"))
    };
    let server = |row: &Event| row.server.map_or_else(String::new, |node| node.to_string());
    let columns = Columns::<&Event>::new()
        .key(seconds("at"), move |row| time(Some(row.at_s), 1))
        .with("server", server)
        .with("event", |row| &row.event)
        .with(seconds("effect"), move |row| time(row.effect_s, 3))
        .with(seconds("healed"), move |row| time(row.healed_s, 1))
        .words("error", |row| &row.error);
    columns.grid("Events, on the clock of the trial's figures.", &rows)
}

/// The fault, the promotion after it, and the end of its server.
fn of_fault(fault: &FaultRecord) -> impl Iterator<Item = Event> {
    let scrub = fault.scrub.as_ref().map(ToString::to_string);
    let of_fault = Event {
        at_s: fault.asked_s,
        server: fault.node,
        event: joined_known([Some(fault.words()), scrub], ": "),
        effect_s: fault.effect_s,
        healed_s: fault.healed_s,
        error: fault.error.clone().unwrap_or_default(),
    };
    let promotion = fault.promotion.as_ref().map(|promotion| Event {
        at_s: promotion.asked_s,
        server: promotion.node,
        event: promotion.words(),
        effect_s: promotion.done_s,
        error: promotion.error.clone().unwrap_or_else(|| {
            clause(promotion.done_s.is_none(), "not done when the trial ended").to_owned()
        }),
        ..Event::default()
    });
    let crash = fault.crash.as_ref().map(|crash| Event {
        at_s: crash.at_s,
        server: fault.node,
        event: format!("ended after {}", fault.words()),
        error: crash.reason.clone(),
        ..Event::default()
    });
    [Some(of_fault), promotion, crash].into_iter().flatten()
}

/// The metrics of the host and of all servers together; a figure has those of each core, another
/// table those of each server.
fn metrics(trial: &TrialSummary) -> Grid {
    let shown = trial.metrics.iter().filter(|(name, _)| {
        let (plain, of) = split(name);
        let one_of_several = of.is_some() && trial.metrics.contains_key(plain.as_ref());
        !one_of_several || (plain.starts_with("disk.") && of_several(trial, &plain))
    });
    let mut shown: Vec<(&String, &MetricSummary)> = shown.collect();
    shown.sort_by_key(|(name, _)| (Metric::find(name).map(|metric| metric.group), *name));
    let columns = Columns::<(&String, &MetricSummary)>::new()
        .key("metric", |(name, _)| name)
        .with("unit", |(name, _)| unit(name))
        .with("mean", |(name, metric)| metric.mean / scale(name))
        .with("min", |(name, metric)| metric.min / scale(name))
        .with("max", |(name, metric)| metric.max / scale(name));
    columns.grid(
        "Metrics during the measurement: the mean, and the minimum and maximum of the \
         one-second samples.",
        shown,
    )
}

fn unit(name: &str) -> &'static str {
    shown_in(measure::column::unit(name)).0
}

fn scale(name: &str) -> f64 {
    shown_in(measure::column::unit(name)).1
}

/// Whether there are several things that have this metric.
fn of_several(trial: &TrialSummary, plain: &str) -> bool {
    let names = trial.metrics.keys().map(|name| split(name));
    let parts = names.filter(|(of, what)| of == plain && what.is_some());
    parts.count() > 1
}

/// The means of each server's metrics, side by side.
fn metrics_by_server(trial: &TrialSummary) -> Grid {
    let servers = trial.instances.iter().map(|instance| instance.number);
    let servers: Vec<String> = servers.map(|number| number.to_string()).collect();
    let mean = |name: &str| Some(trial.metrics.get(name)?.mean / scale(name));
    let of_server = |name: &str, server: &str| {
        let metric = trial.metrics.get(&bracketed(name, server));
        Some(metric?.mean / scale(name))
    };
    let plain = trial.metrics.keys().filter(|name| {
        let mut servers = servers.iter().filter(|_| servers.len() > 1);
        name.starts_with("server.") && servers.any(|server| of_server(name, server).is_some())
    });
    let columns = Columns::<&String>::new()
        .key("metric", |name| name)
        .with("unit", |name| unit(name))
        .with("all", |name| mean(name))
        .each(&servers, |columns, server| {
            columns.with(format!("server {server}"), move |name| {
                of_server(name, server)
            })
        });
    columns.grid(
        "Mean of each server's metrics during the measurement.",
        plain,
    )
}

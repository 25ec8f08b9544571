//! A trial in words.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::instance::{InstanceSummary, Space};
use measure::setup::Setup;
use measure::steady::{MIN_SECONDS, Steady};
use measure::summary::TrialSummary;
use measure::until::in_words;
use measure::work;
use plan::{Compare, Load, Topology, shown_bytes};

use crate::list::{around, clause, distinct, grouped, joined_any, joined_known};
use crate::number;
use crate::sheet::{Facts, known};

pub(crate) fn setup(setup: &Setup) -> Facts {
    let planned = &setup.planned;
    let (load, data, topology) = (&planned.load, &planned.data, &planned.topology);
    let count = |number: u32| Some(number::count(number.into()));
    // A script has tables of its own.
    let of_tables = |fact: String| (setup.tables > 0).then_some(fact);
    let preload = clause(load.preload, ", after reading every table and index once");
    let replies = format!("the {}", setup.reply_time);
    let cluster = topology.cluster.as_ref();
    let cluster = cluster.map(|one| format!("{}, members: {}", one.kind.value, one.members));
    let mut facts = known([
        ("Workload", Some(load.workload.value.clone())),
        ("Options", Some(options(setup))),
        ("Engine", Some(setup.engine.clone())),
        ("Server", Some(setup.server.clone())),
        ("Encryption", Some(encryption(setup).to_owned())),
        ("Instances", count(topology.instances)),
        ("Virtual users per instance", count(load.threads)),
        ("Generator workers per instance", count(setup.workers)),
        ("Tables", of_tables(number::count(setup.tables.into()))),
        ("Rows per table", of_tables(number::count(data.rows))),
        ("Key distribution", of_tables(keys(setup))),
        ("Statements", Some(load.protocol.to_string())),
        ("Replies timed by", Some(replies)),
        ("Arrivals", Some(pace(load))),
        ("Think time", Some(think_time(load))),
        ("Seed", Some(data.seed.to_string())),
        ("Warm-up", Some(seconds(load.warmup) + preload)),
        ("Measurement", Some(limit(setup))),
        ("Turns", setup.planned.turns().map(turns)),
        ("Cluster", cluster),
    ]);
    facts.extend(setup.directory.iter().flat_map(|place| node(setup, place)));
    facts
}

pub(crate) fn of_all(facts: impl Iterator<Item = Facts>) -> Vec<(String, Vec<String>)> {
    let facts = grouped(facts.flatten()).into_iter();
    facts
        .map(|(name, values)| (name, distinct(values)))
        .collect()
}

/// Each setting of some servers that differs from its default, with its distinct values,
/// sorted by name.
pub(crate) fn settings<'a>(
    instances: impl Iterator<Item = &'a InstanceSummary>,
) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in instances.flat_map(|instance| &instance.settings) {
        let known = values.entry(name).or_default();
        if !known.contains(&value.as_str()) {
            known.push(value);
        }
    }
    values
}

/// `26.0 MiB of data; 14.1 MiB on the devices, 45.8 % saved`.
pub(crate) fn space(space: &Space) -> String {
    let used = space.used_bytes;
    let used = used.map(|used| format!("; {} on the devices", shown_bytes(used)));
    let saved = space.savings_pct();
    let saved = saved.map(|saved| format!(", {} saved", number::percent(saved / 100.0)));
    let data = format!("{} of data", shown_bytes(space.data_bytes));
    joined_known([Some(data), used, saved], "")
}

/// Where each server ran, how much of the machine it could use, and where its data lay.
fn node(setup: &Setup, directory: &str) -> Facts {
    let node = &setup.planned.topology.node;
    let limits = &node.site.limits;
    let all = |limit: Option<String>| Some(limit.unwrap_or_else(|| "all".to_owned()));
    let cpus = limits.cpus.as_ref();
    let cpus = cpus.map(|cpus| format!("at most {}", cpus.value));
    let cpuset = limits.cpuset.as_ref();
    let cpuset = cpuset.map(|cpuset| cpuset.value.to_string());
    let memory = limits.memory.as_ref();
    let memory = memory.map(|bytes| format!("at most {}", shown_bytes(bytes.value)));
    let log_volume = node.log_volume.as_ref();
    let how = setup.platform.as_deref().unwrap_or_default();
    let site = format!("{}{}", node.site.kind.value, around(" (", how, ")"));
    let volume = Some(&node.volume).filter(|volume| !volume.is_default());
    known([
        ("Site", Some(site)),
        ("Hosts", placement(&setup.planned.topology)),
        ("CPUs per server", all(cpus)),
        ("CPUs that servers share", all(cpuset)),
        ("Memory per server", all(memory)),
        ("Data directory", Some(directory.to_owned())),
        ("Volume", volume.map(ToString::to_string)),
        ("Log volume", log_volume.map(ToString::to_string)),
    ])
}

/// Which other host had which servers: `db1 (servers 1, 3); db2 (server 2, at most 4 CPUs)`.
fn placement(topology: &Topology) -> Option<String> {
    let hosts = topology.node.site.hosts.as_ref()?;
    let shown = hosts.list.iter().enumerate().filter_map(|(place, host)| {
        let is_there = |number: &u32| topology.host_of(*number) == place;
        let numbers = (0..topology.nodes()).filter(is_there);
        let numbers: Vec<String> = numbers.map(|number| (number + 1).to_string()).collect();
        let servers = match numbers.len() {
            0 => return None,
            1 => "server",
            _ => "servers",
        };
        let cpus = host.cpus.map(|cpus| format!(", at most {cpus} CPUs"));
        let device = host
            .device
            .as_ref()
            .map(|device| format!(", {}", device.display()));
        let more = [cpus, device].into_iter().flatten().collect::<String>();
        Some(format!(
            "{} ({servers} {}{more})",
            host.address.value,
            numbers.join(", ")
        ))
    });
    Some(shown.collect::<Vec<_>>().join("; "))
}

pub(crate) fn in_short(setup: &Setup) -> String {
    let planned = &setup.planned;
    let (load, data, topology) = (&planned.load, &planned.data, &planned.topology);
    let several = (topology.instances > 1).then_some(topology.instances);
    let has_tables = setup.tables > 0;
    let tables = number::counted(setup.tables.into(), "table");
    let rows = number::counted(data.rows, "row");
    let think = (!load.think.is_zero()).then(|| think_time(load));
    let options = Some(work::options(&setup.planned)).filter(|options| !options.is_empty());
    let parts = [
        Some(format!("{} on {}", load.workload.value, setup.engine)),
        Some(setup.server.clone()),
        Some(format!("encryption {}", encryption(setup))),
        several.map(|instances| format!("{instances} instances at once, for each")),
        Some(number::counted(load.threads.into(), "virtual user")),
        Some(number::counted(setup.workers.into(), "worker")),
        has_tables.then(|| format!("{tables} of {rows}")),
        has_tables.then(|| format!("keys {}", keys(setup))),
        Some(format!("seed {}", data.seed)),
        Some(format!("{} statements", load.protocol)),
        Some(pace(load)),
        think.map(|think| format!("think time {think}")),
        Some(format!("warm-up {}", seconds(load.warmup))),
        options.map(|options| format!("options {options}")),
    ];
    joined_known(parts, "; ") + "."
}

/// When transactions start.
pub(crate) fn pace(load: &Load) -> String {
    let Some(phases) = &load.phase else {
        return load.pace().to_string();
    };
    let arrivals = load.rate.map(|_| load.arrivals.to_string());
    joined_known([arrivals, Some(format!("in phases: {phases}"))], " ")
}

fn options(setup: &Setup) -> String {
    match work::options(&setup.planned) {
        options if options.is_empty() => "all default".to_owned(),
        options => options,
    }
}

fn think_time(load: &Load) -> String {
    match load.think.is_zero() {
        true => "none".to_owned(),
        false => seconds(load.think),
    }
}

fn seconds(time: Duration) -> String {
    number::seconds(time.as_secs_f64())
}

fn turns(compare: Compare) -> String {
    let block = seconds(compare.block);
    format!("blocks of {block} on average, alternating with the other variants")
}

pub(crate) fn encryption(setup: &Setup) -> &str {
    setup.tls.as_deref().unwrap_or("none")
}

pub(crate) fn keys(setup: &Setup) -> String {
    format!(
        "1 to {}, {}",
        number::count(setup.planned.key_range()),
        setup.planned.load.distribution.value
    )
}

fn limit(setup: &Setup) -> String {
    let load = &setup.planned.load;
    let time = load.longest().map(seconds);
    let events = load.events.map(number::count);
    let events = events.map(|events| format!("{events} transactions"));
    let least_s = load.time.as_secs_f64();
    let until = load.until.map(|until| in_words(until.ci, least_s));
    match (until, time, events) {
        (Some(until), Some(time), _) => format!("{until}; at most {time}"),
        (_, Some(time), Some(events)) => format!("{time} or {events}, whichever comes first"),
        (_, Some(limit), None) | (_, None, Some(limit)) => limit,
        (_, None, None) => "until interrupted".to_owned(),
    }
}

pub(crate) fn generator(summary: &TrialSummary) -> String {
    let generator = &summary.generator;
    let most = |share: fn(&measure::slice::Busy) -> f64| {
        let shares = generator.workers.iter().map(share);
        shares.max_by(f64::total_cmp)
    };
    let worker = match generator.workers.len() {
        1 => "the worker".to_owned(),
        workers => format!("the busiest of {workers} workers"),
    };
    let late_max = number::maybe(generator.lateness_max_ms);
    let refused = Some(generator.refused_stamps).filter(|count| *count > 0);
    let backlog = generator.backlog_peak.zip(generator.backlog_end);
    let parts = [
        most(|busy| busy.running)
            .map(|share| format!("{worker} ran {} of the time", number::percent(share))),
        most(|busy| busy.waiting)
            .map(|share| format!("waited for a CPU {} of the time", number::percent(share))),
        generator.lateness_p99_ms.map(|p99| {
            let p99 = number::value(p99);
            format!("noticed arrivals {p99} ms late (p99; maximum {late_max} ms)")
        }),
        generator.delay_ms.map(|delay| {
            let [mean, p99] = [delay.mean.value, delay.p99].map(number::value);
            format!("read replies {mean} ms after their arrival (p99 {p99} ms)")
        }),
        refused.map(number::count).map(|count| {
            format!("rejected the time stamps of {count} replies because a clock was set")
        }),
        backlog.map(|(peak, end)| {
            let [peak, end] = [peak, end].map(number::count);
            format!("maximum backlog {peak}, {end} at the end")
        }),
    ];
    joined_any(parts.into_iter().flatten(), "; ").unwrap_or_else(|| "not measured".to_owned())
}

/// What is not known of servers whose process is not seen, and why.
pub(crate) fn unseen(summary: &TrialSummary) -> Option<String> {
    let reason = summary.unseen_server()?;
    Some(format!("CPU time and memory not measured: {reason}"))
}

/// From when on it was in steady state, why never, or that it was too short to tell; `None`
/// when nothing was measured.
pub(crate) fn steady(summary: &TrialSummary) -> Option<String> {
    match summary.steady {
        Some(Steady::From { s }) => Some(format!("from {}", number::seconds(s))),
        Some(Steady::Never { reason }) => Some(format!("never: {reason}")),
        None if summary.setup.planned.turns().is_some() => {
            Some("not assessed: its variant took turns with others".to_owned())
        }
        None if summary.setup.planned.load.phase.is_some() => {
            Some("not assessed: the load has phases".to_owned())
        }
        None if (0.0..MIN_SECONDS as f64).contains(&summary.measured_s) => Some(format!(
            "not assessed: requires a measurement of at least {MIN_SECONDS} s"
        )),
        None => None,
    }
}

/// The same in a word or two.
pub(crate) fn steady_in_short(summary: &TrialSummary) -> String {
    match summary.steady {
        Some(Steady::From { s }) => format!("from {}", number::seconds(s)),
        Some(Steady::Never { .. }) => "never".to_owned(),
        None => number::ABSENT.to_owned(),
    }
}

/// Both sides of Little's law; `None` if it cannot be checked.
pub(crate) fn little(summary: &TrialSummary) -> Option<String> {
    let planned = &summary.setup.planned;
    if planned.turns().is_some() && !planned.load.think.is_zero() {
        return Some("not checked: users think during the turns of other variants, too".to_owned());
    }
    let little = summary.little?;
    Some(format!(
        "{}: throughput × time accounts for {} of {} users",
        if little.holds() { "holds" } else { "violated" },
        number::value_to(little.accounted, 1),
        number::value_to(little.users, 1),
    ))
}

/// What was still running at the end; `None` when nothing was.
pub(crate) fn unfinished(summary: &TrialSummary) -> Option<String> {
    let unfinished = summary.unfinished;
    (unfinished.count > 0 || unfinished.cancelled > 0).then(|| {
        let oldest = unfinished.oldest_ms.map_or(String::new(), |oldest_ms| {
            format!(", the oldest for {} ms", number::value(oldest_ms))
        });
        format!(
            "{} running at the end{oldest}; {} cancelled",
            number::count(unfinished.count),
            number::count(unfinished.cancelled)
        )
    })
}

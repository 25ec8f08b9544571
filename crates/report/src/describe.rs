//! A trial in words.

use std::time::Duration;

use measure::ended::Until;
use measure::setup::Setup;
use measure::space::Space;
use measure::steady::{MIN_SECONDS, Steady};
use measure::summary::TrialSummary;
use measure::work;
use plan::{Load, shown_bytes};

use crate::number;

/// Names and values.
pub(crate) type Facts = Vec<(&'static str, String)>;

/// The set-up as names and values.
pub(crate) fn setup(setup: &Setup) -> Facts {
    let mut facts = vec![
        ("Workload", setup.planned.load.workload.value.clone()),
        ("Options", options(setup)),
        ("Engine", setup.engine.clone()),
        ("Server", setup.server.clone()),
        ("Encryption", encryption(setup).to_owned()),
        (
            "Instances",
            number::count(setup.planned.topology.instances.into()),
        ),
        (
            "Virtual users per instance",
            number::count(setup.planned.load.threads.into()),
        ),
        (
            "Generator workers per instance",
            number::count(setup.workers.into()),
        ),
        ("Tables", number::count(setup.tables.into())),
        ("Rows per table", number::count(setup.planned.data.rows)),
        ("Key distribution", keys(setup)),
        ("Statements", setup.planned.load.protocol.to_string()),
        ("Replies timed by", format!("the {}", setup.reply_time)),
        ("Arrivals", setup.planned.load.pace().to_string()),
        ("Think time", think_time(&setup.planned.load)),
        ("Seed", setup.planned.data.seed.to_string()),
        ("Warm-up", warm_up(setup)),
        ("Measurement", limit(setup)),
    ];
    if let Some(cluster) = &setup.planned.topology.cluster {
        let members = number::count(cluster.members.into());
        facts.push((
            "Cluster",
            format!("{}, members: {members}", cluster.kind.value),
        ));
    }
    if let Some(directory) = &setup.directory {
        facts.extend(site(setup));
        facts.push(("Data directory", directory.clone()));
        let volume = &setup.planned.topology.node.volume;
        if !volume.is_default() {
            facts.push(("Volume", volume.to_string()));
        }
        if let Some(log) = &setup.planned.topology.node.log_volume {
            facts.push(("Log volume", log.to_string()));
        }
    }
    facts
}

/// `26.0 MiB of data; 14.1 MiB on the devices, 45.8 % saved`.
pub(crate) fn space(space: &Space) -> String {
    let mut text = format!("{} of data", shown_bytes(space.data_bytes));
    if let Some(used) = space.used_bytes {
        text.push_str(&format!("; {} on the devices", shown_bytes(used)));
    }
    if let Some(savings) = space.savings_pct() {
        text.push_str(&format!(", {} saved", number::percent(savings / 100.0)));
    }
    text
}

/// Where each server ran, and how much of the machine it could use.
fn site(setup: &Setup) -> Facts {
    let site = &setup.planned.topology.node.site;
    let limits = &site.limits;
    let all = |limit: Option<String>| limit.unwrap_or_else(|| "all".to_owned());
    let cpus = limits.cpus.as_ref();
    let cpuset = limits.cpuset.as_ref();
    let memory = limits.memory.as_ref();
    let platform = setup.platform.as_ref();
    let how = platform.map_or(String::new(), |platform| format!(" ({platform})"));
    vec![
        ("Site", format!("{}{how}", site.kind.value)),
        (
            "CPUs per server",
            all(cpus.map(|cpus| format!("at most {}", cpus.value))),
        ),
        (
            "CPUs that servers share",
            all(cpuset.map(|cpuset| cpuset.value.to_string())),
        ),
        (
            "Memory per server",
            all(memory.map(|bytes| format!("at most {}", plan::shown_bytes(bytes.value)))),
        ),
    ]
}

/// The setup in a few lines, for a terminal.
pub(crate) fn in_short(setup: &Setup) -> String {
    let mut parts = vec![
        format!("{} on {}", setup.planned.load.workload.value, setup.engine),
        setup.server.clone(),
        format!("encryption {}", encryption(setup)),
    ];
    if setup.planned.topology.instances > 1 {
        parts.push(format!(
            "{} instances at once, for each",
            setup.planned.topology.instances
        ));
    }
    parts.extend([
        number::counted(setup.planned.load.threads.into(), "virtual user"),
        number::counted(setup.workers.into(), "worker"),
        format!(
            "{} of {}",
            number::counted(setup.tables.into(), "table"),
            number::counted(setup.planned.data.rows, "row")
        ),
        format!("keys {}", keys(setup)),
        format!("seed {}", setup.planned.data.seed),
        format!("{} statements", setup.planned.load.protocol),
        setup.planned.load.pace().to_string(),
    ]);
    if !setup.planned.load.think.is_zero() {
        parts.push(format!("think time {}", think_time(&setup.planned.load)));
    }
    parts.push(format!("warm-up {}", seconds(setup.planned.load.warmup)));
    let options = work::options(&setup.planned);
    if !options.is_empty() {
        parts.push(format!("options {options}"));
    }
    format!("{}.", parts.join("; "))
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

fn warm_up(setup: &Setup) -> String {
    let preload = if setup.planned.load.preload {
        ", after reading every table and index once"
    } else {
        ""
    };
    format!("{}{preload}", seconds(setup.planned.load.warmup))
}

/// Protocol and cipher, or `none`.
pub(crate) fn encryption(setup: &Setup) -> &str {
    setup.tls.as_deref().unwrap_or("none")
}

/// Which keys, and how.
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
    let events = load
        .events
        .map(|events| format!("{} transactions", number::count(events)));
    if let (Some(until), Some(time)) = (Until::of(load), &time) {
        return format!("{}; at most {time}", measure::until::in_words(&until));
    }
    match (time, events) {
        (Some(time), Some(events)) => format!("{time} or {events}, whichever comes first"),
        (Some(limit), None) | (None, Some(limit)) => limit,
        (None, None) => "until interrupted".to_owned(),
    }
}

/// The load generator, in one sentence.
pub(crate) fn generator(summary: &TrialSummary) -> String {
    let generator = &summary.generator;
    let most = |share: fn(&measure::slice::Busy) -> f64| {
        let shares = generator.workers.iter().map(share);
        shares.max_by(f64::total_cmp)
    };
    let mut parts = Vec::new();
    if let Some(running) = most(|busy| busy.running) {
        let which = match generator.workers.len() {
            1 => "the worker".to_owned(),
            workers => format!("the busiest of {workers} workers"),
        };
        parts.push(format!(
            "{which} ran {} of the time",
            number::percent(running)
        ));
    }
    if let Some(waiting) = most(|busy| busy.waiting) {
        parts.push(format!(
            "waited for a CPU {} of the time",
            number::percent(waiting)
        ));
    }
    if let Some(p99) = generator.lateness_p99_ms {
        let max = number::maybe(generator.lateness_max_ms);
        parts.push(format!(
            "noticed arrivals {} ms late (p99; maximum {max} ms)",
            number::value(p99)
        ));
    }
    if let Some(delay_ms) = generator.delay_ms {
        parts.push(format!(
            "read replies {} ms after their arrival (p99 {} ms)",
            number::value(delay_ms.mean.value),
            number::value(delay_ms.p99)
        ));
    }
    if generator.refused_stamps > 0 {
        parts.push(format!(
            "rejected the time stamps of {} replies because a clock was set",
            number::count(generator.refused_stamps)
        ));
    }
    if let (Some(peak), Some(end)) = (generator.backlog_peak, generator.backlog_end) {
        parts.push(format!(
            "maximum backlog {}, {} at the end",
            number::count(peak),
            number::count(end)
        ));
    }
    if parts.is_empty() {
        return "not measured".to_owned();
    }
    parts.join("; ")
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

//! Builds the trial of a point. What it does not read has no effect.

use std::time::Duration;

use crate::chaos;
use crate::error::Report;
use crate::hosts;
use crate::point::{AGENTS, CLUSTER, DEFAULTS, ENGINE, FROM, LISTEN, NATS, Point, URL};
use crate::servers::Servers;
use crate::volume;
use plan::key::{
    CHAOS, COMPARE, IN_PROCESS_USERS, KEYS, Key, LEDGER_RATE, Needs, OPEN_LOOP_USERS, SWITCHES,
    THREADS,
};
use plan::{
    Agents, Chaos, Cluster, ClusterProfile, Compare, Configured, Detector, Durability, EngineSpec,
    FindMax, Fleet, Ledger, Limited, Limits, Load, Nats, Node, Phases, Reset, Script, ServerSpec,
    Site, SiteKind, Spanned, Topology, Trial, Until, format_duration, is_lua, is_same_setting,
    parse_frequency, parse_labels, parse_scripts,
};
use serde::de::DeserializeOwned;

const SCRIPT: &str = "load.script";
const TTL: &str = "topology.ttl";
/// Name of the only trial of a study.
const SINGLE: &str = "single";

/// The first trial of a point, without its faults.
pub(crate) fn trial(at: &Point<'_>) -> Option<Trial> {
    let label = at.label();
    let server = server(at);
    let mut trial = Trial {
        number: 1,
        label: if label.is_empty() {
            SINGLE.into()
        } else {
            label
        },
        repeat: 1,
        place: 0,
        topology: topology(at, &server),
        server,
        data: section(at, "data")?,
        load: load(at)?,
        transaction: section(at, "transaction")?,
        ledger: ledger(at),
        chaos: None,
        compare: compare(at),
        monitors: at.get("monitors.enabled"),
        point: at.values(),
    };
    trial.chaos = chaos(at, &trial);
    Some(trial)
}

fn server(at: &Point<'_>) -> ServerSpec {
    if let Some(url) = at.maybe_spanned(URL) {
        let login = fields(at, |key| key.needs == Needs::RunningServer);
        return ServerSpec::Url(url, login.unwrap_or_default());
    }
    let mut spec = EngineSpec {
        engine: at.maybe_spanned(ENGINE).unwrap_or_default(),
        basedir: None,
        version: None,
        port: None,
        config: Vec::new(),
        reset: Reset::default(),
        cold_data: true,
    };
    // In a study of several engines, the keys below belong to the others.
    if at.is_started() {
        spec.basedir = at.maybe_spanned("server.basedir");
        spec.version = at.maybe_spanned("server.version");
        spec.port = at.maybe_spanned("server.port");
        spec.config = config(at);
        spec.reset = at.get("server.reset");
        spec.cold_data = at.get("server.cold_data");
    }
    ServerSpec::Engine(Box::new(spec))
}

/// The settings of the study, and those that it asks for by a word.
fn config(at: &Point<'_>) -> Vec<(String, Spanned<String>)> {
    at.mark("server.config");
    let settings = at.settings().into_iter();
    let settings = settings.filter_map(|(name, given)| {
        let given = given.value.as_ref()?;
        Some((name.to_owned(), Spanned::new(given.to_string(), given.span)))
    });
    let mut config = settings.collect();
    if let Some(kind) = at.cluster() {
        let durability: Durability = at.get("topology.durability");
        let profile: ClusterProfile = at.get("topology.profile");
        let durable = (durability == Durability::Equal).then_some(kind.conduct.durable);
        let tuned = (profile == ClusterProfile::Tuned).then_some(kind.conduct.tuned);
        let settings = durable.into_iter().chain(tuned).flatten();
        settings.for_each(|setting| add(&mut config, *setting));
    }
    config
}

/// Adds a setting, unless the study has it.
fn add(config: &mut Vec<(String, Spanned<String>)>, (name, value): (&str, &str)) {
    if !config.iter().any(|(known, _)| is_same_setting(known, name)) {
        config.push((name.to_owned(), value.to_owned().into()));
    }
}

fn topology(at: &Point<'_>, server: &ServerSpec) -> Topology {
    let is_started = at.is_started();
    let cluster = at.find(CLUSTER).map(|_| cluster(at, server));
    let node = match is_started {
        true => Node {
            site: site(at),
            volume: volume::volume(at),
            log_volume: volume::log_volume(at),
        },
        false => Node {
            site: site_of_another(at),
            ..Node::default()
        },
    };
    let topology = Topology {
        instances: at.get("topology.instances"),
        follow: match cluster.is_some() || server.hosts() > 1 {
            true => at.get("topology.follow"),
            false => plan::Follow::default(),
        },
        cluster: cluster.filter(|_| is_started),
        node,
        faults: Vec::new(),
    };
    volume::check(&topology, at);
    topology
}

fn cluster(at: &Point<'_>, server: &ServerSpec) -> Cluster {
    let known = at.cluster();
    let settings: &[_] = match server {
        ServerSpec::Engine(spec) => &spec.config,
        ServerSpec::Url(..) => &[],
    };
    let configured = Configured {
        settings,
        members: at.get("topology.members"),
        ttl: match known {
            Some(kind) if !kind.has_manager => at.default(TTL).unwrap_or_default(),
            _ => at.get(TTL),
        },
    };
    let failover = at.maybe("topology.failover");
    let conduct = known.map(|kind| &kind.conduct);
    let detector = conduct.and_then(|conduct| (conduct.detector)(&configured));
    let detector = detector.or_else(|| Some(promoter(failover?)));
    Cluster {
        detected_within: detector.as_ref().map(|detector| detector.within),
        detector: detector.map_or_else(|| "nobody".to_owned(), |detector| detector.text),
        acknowledged: conduct
            .map_or_else(String::new, |conduct| (conduct.acknowledged)(&configured)),
        kind: match at.is_started() {
            true => at.maybe_spanned(CLUSTER).unwrap_or_default(),
            false => Spanned::default(),
        },
        members: configured.members,
        ttl: configured.ttl,
        failover,
        network: at.spanned("topology.network"),
        durability: at.get("topology.durability"),
        profile: at.get("topology.profile"),
    }
}

/// What detects the loss of a primary whose members do not elect another one.
fn promoter(within: Duration) -> Detector {
    let text = format!("dyno, {} after the loss", format_duration(within));
    Detector { text, within }
}

fn site(at: &Point<'_>) -> Site {
    let limits = Limits {
        cpus: at.maybe_spanned("site.cpus"),
        cpuset: at.maybe_spanned("site.cpuset"),
        memory: at.maybe_spanned("site.memory"),
    };
    let hosts = hosts::hosts(at);
    let implied = match (&hosts, limits == Limits::default()) {
        (Some(_), _) => SiteKind::Ssh,
        (None, true) => SiteKind::Process,
        (None, false) => SiteKind::Limited,
    };
    let mut kind: Spanned<SiteKind> = at.maybe_spanned("site.kind").unwrap_or(implied.into());
    if hosts.is_some() {
        kind.value = SiteKind::Ssh;
    }
    Site {
        runtime: match kind.value {
            SiteKind::Container => at.get("site.runtime"),
            _ => plan::Runtime::default(),
        },
        kind,
        hosts,
        limits,
    }
}

/// The site of a server that dyno does not start, or of an engine inside dyno.
fn site_of_another(at: &Point<'_>) -> Site {
    let mut site = Site::default();
    if at.is_given(URL) && at.in_process().is_none() {
        site.kind.value = SiteKind::Url;
    }
    if at.word("site.kind") == Some(SiteKind::Url.name()) {
        // It says what `server.url` says.
        at.mark("site.kind");
    }
    site
}

/// The ledger, which random faults turn on.
fn ledger(at: &Point<'_>) -> Option<Ledger> {
    let has_chaos = at.find(CHAOS).is_some();
    let replica_reads = match has_chaos || at.find(LEDGER_RATE).is_some() {
        true => at.get("ledger.replica_reads"),
        false => 0.0,
    };
    if at.in_process().is_some() {
        return None;
    }
    let default = SWITCHES.iter().find(|(key, _)| *key == LEDGER_RATE);
    let default = default.and_then(|(_, rate)| rate.parse().ok());
    let rate = at.maybe(LEDGER_RATE).or(default.filter(|_| has_chaos));
    let rate = rate.filter(|rate| *rate > 0.0)?;
    Some(Ledger {
        rate,
        replica_reads,
    })
}

fn compare(at: &Point<'_>) -> Option<Compare> {
    at.maybe::<u32>(COMPARE)?;
    section(at, "compare")
}

/// What the faults are drawn from, if they are random.
fn chaos(at: &Point<'_>, trial: &Trial) -> Option<Chaos> {
    at.find(CHAOS)?;
    let rate: String = at.get("chaos.rate");
    let seed = at.get("chaos.seed");
    let kinds: String = at.is_started().then(|| at.maybe(CHAOS)).flatten()?;
    let servers = Servers::of(trial, at.engines);
    Some(Chaos {
        kinds: chaos::named(&kinds).unwrap_or_else(|| chaos::possible(&servers)),
        per_s: parse_frequency(&rate)?,
        seed,
    })
}

/// A part of a trial whose fields are named after the keys of its section.
fn section<T: DeserializeOwned>(at: &Point<'_>, section: &str) -> Option<T> {
    fields(at, |key| key.section() == section)
}

/// A part of a trial whose fields are named after these keys, with `_` for `.`.
fn fields<T: DeserializeOwned>(at: &Point<'_>, of: impl Fn(&Key) -> bool) -> Option<T> {
    let has_script = !scripts(at).is_empty();
    let fields = KEYS.iter().filter(|key| of(key)).filter_map(|key| {
        let typed = match key.needs {
            // Only a load with a rate reads it.
            Needs::Rate => DEFAULTS.get(key.name),
            Needs::Tables if has_script => DEFAULTS.get(key.name),
            Needs::Until | Needs::Phases | Needs::Fleet => None,
            _ => at.typed(key.name),
        };
        let value = serde_json::to_value(typed?).ok()?;
        Some((key.last().replace('.', "_"), value))
    });
    let fields: serde_json::Map<_, _> = fields.collect();
    let read = serde_json::from_value(fields.into());
    read.map_err(|error| at.internal(&error.to_string())).ok()
}

/// The scripts that virtual users run; none if they run what is built in.
fn scripts(at: &Point<'_>) -> Vec<Script> {
    match (at.word(SCRIPT), at.word("load.workload")) {
        (Some(scripts), _) => parse_scripts(scripts).unwrap_or_default(),
        (None, Some(path)) if is_lua(path) => vec![Script::new(path, 1)],
        _ => Vec::new(),
    }
}

fn load(at: &Point<'_>) -> Option<Load> {
    let mut names = [SCRIPT, "load.mix"].into_iter();
    let workload = names.find_map(|name| at.maybe_spanned(name));
    let mut load = Load {
        workload: workload.unwrap_or_else(|| at.spanned("load.workload")),
        scripts: scripts(at),
        distribution: at.spanned("load.distribution"),
        phase: phase(at),
        until: until(at),
        find_max: find_max(at),
        fleet: fleet(at),
        ..section(at, "load")?
    };
    if !load.scripts.is_empty() {
        load.options = at.below("load.options");
    }
    if at.find(SCRIPT).is_some() {
        load.variables = at.below("load.variables");
    }
    load.rate = load.rate.or(load.mix().and_then(|mix| mix.rate));
    match load.phase.as_deref().map(str::parse::<Phases>) {
        Some(Ok(phases)) => {
            load.time = phases.time();
            match phases.is_open {
                true => load.rate = Some(phases.mean()),
                false => load.threads = phases.most() as u32,
            }
        }
        // The text is valid without its repetitions.
        Some(Err(error)) => {
            let repeat = at.find("load.phases.repeat").map(|entry| entry.at);
            at.add(repeat.unwrap_or_default(), error);
            load.phase = None;
        }
        None => {}
    }
    if load.rate.is_some() || at.is_given("load.rate") {
        load.arrivals = at.maybe("load.arrivals")?;
    }
    let is_open = load.rate.is_some() || load.find_max.is_some();
    if is_open && at.given(THREADS).is_none() {
        load.threads = match at.in_process() {
            Some(_) => IN_PROCESS_USERS,
            None => OPEN_LOOP_USERS,
        };
    }
    Some(load)
}

/// The phases with their repetitions, as text.
fn phase(at: &Point<'_>) -> Option<String> {
    let phases: String = at.maybe("load.phase")?;
    Some(match at.get::<u32>("load.phases.repeat") {
        1 => phases,
        times => format!("{times} x ({phases})"),
    })
}

fn until(at: &Point<'_>) -> Option<Until> {
    at.find("load.until.ci")?;
    let max = at.get("load.until.max");
    at.maybe("load.until.ci").map(|ci| Until { ci, max })
}

/// The machines that the load comes from.
fn fleet(at: &Point<'_>) -> Option<Fleet> {
    // Bad labels or numbers of agents need a nats-server, too.
    at.find(FROM).or_else(|| at.find(AGENTS))?;
    let listen = at.maybe::<String>(LISTEN);
    let listen = listen.and_then(|listen| listen.parse().ok());
    let nats = match at.maybe_spanned(NATS) {
        Some(url) => Nats::Url(url),
        None => listen.map_or(Nats::LOOPBACK, |listen| Nats::Private { listen }),
    };
    let labels = at.word(FROM).and_then(|labels| parse_labels(labels).ok());
    let agents = match labels {
        Some(labels) => Agents::Labels(labels),
        None => Agents::Count(at.maybe(AGENTS)?),
    };
    Some(Fleet { agents, nats })
}

fn find_max(at: &Point<'_>) -> Option<FindMax> {
    let mut limits = Limited::KEYS.into_iter();
    limits.find_map(|(name, of)| at.maybe(name).map(|limit| FindMax { of, limit }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_the_study_goes_before_one_that_a_word_stands_for() {
        let mut config = vec![("Sync-Binlog".to_owned(), "0".to_owned().into())];
        add(&mut config, ("sync_binlog", "1"));
        add(&mut config, ("sync_relay_log", "1"));
        assert_eq!(config[0].1.value, "0");
        assert_eq!((config.len(), &*config[1].1.value), (2, "1"));
    }
}

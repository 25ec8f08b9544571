//! Builds the plan from the content of a study.

use std::time::Duration;

use crate::chaos::SHORT_SEEDS;
use crate::content::{Content, TypedFault};
use crate::effect::in_process;
use crate::error::Diagnostic;
use crate::order;
use crate::point::{LocatedDiagnostic, Point, defaults, internal};
use crate::servers::Servers;
use crate::volume;
use plan::key::{
    CHAOS, IN_PROCESS_USERS, KEYS, LEDGER_RATE, OPEN_LOOP_USERS, SWITCHES, THREADS, VARIANT,
};
use plan::{
    Chaos, Cluster, ClusterProfile, Conduct, Configured, CpuSet, Detector, Durability, EngineSpec,
    EngineTraits, Fault, FaultTarget, FindMax, Host, Ledger, Limited, Limits, Load, LoginSpec,
    Node, Order, Plan, Reset, ServerSpec, Site, SiteKind, Span, Spanned, SplitMix64, TableSpec,
    Topology, Trial, Until, format_duration, is_same_setting, parse_bytes, parse_frequency,
};
use serde::de::DeserializeOwned;

/// Name of the only trial of a study.
const SINGLE: &str = "single";

pub(crate) fn plan(content: &Content, engines: &[EngineTraits]) -> Result<Plan, LocatedDiagnostic> {
    let defaults = defaults()?;
    let bases = content.bases();
    let point = |index| Point::at(index, content, &bases, &defaults);
    // For values that are the same in every trial.
    let first = point(0)?;
    let repeats = first.get("load.repeats")?;
    let order = order(&first, repeats)?;
    let values = content.axes.iter().map(|a| a.values.len());
    let combinations = values.product::<usize>();
    let (mut trials, mut number) = (Vec::new(), 0);
    let blocks = order::blocks(bases.len(), combinations, repeats, order);
    for (repeat, block) in (1..).zip(blocks) {
        for index in block {
            let at = point(index)?;
            let mut label = at.label();
            if repeats > 1 {
                label.push(format!("repeat {repeat}"));
            }
            number += 1;
            let mut trial = trial(&at, engines, number, repeat, label)?;
            trial.place = u32::try_from(index).unwrap_or(u32::MAX);
            trial.topology.faults = faults(content, trial.data.seed, repeat);
            let servers = Servers::of(&trial, engines);
            if servers.are_processes() {
                trial.ledger = ledger(&at)?;
            }
            if let Some(chaos) = chaos(&at, &servers, repeat)? {
                let cluster = trial.topology.cluster.as_ref();
                let noticed = cluster.and_then(|cluster| cluster.detected_within);
                trial.topology.faults =
                    crate::chaos::draw(&chaos, trial.load.time, &servers, noticed);
                trial.chaos = Some(chaos);
            }
            trials.push(trial);
        }
    }
    Ok(Plan {
        title: first.get("title")?,
        description: first.maybe("description")?,
        trials,
        axes: axes(content),
        repeats,
        order,
        tables: tables(content),
        delta_as_in: first.maybe("report.delta_as_in")?,
        thresholds: content.thresholds.clone(),
        baseline: content.baseline.clone(),
        sizes: content.sizes.iter().map(|s| s.name.clone()).collect(),
        size: content.size.clone(),
    })
}

/// Random by default if there are repeats.
fn order(at: &Point<'_>, repeats: u32) -> Result<Order, LocatedDiagnostic> {
    let word: Option<String> = at.maybe("load.order")?;
    Ok(Order {
        random: word.map_or(repeats > 1, |word| word == "random"),
        seed: at.get("load.order_seed")?,
    })
}

fn axes(content: &Content) -> Vec<String> {
    let variant = (!content.variants.is_empty()).then(|| VARIANT.to_owned());
    let swept = content.axes.iter().map(|a| a.name.full().to_owned());
    variant.into_iter().chain(swept).collect()
}

fn tables(content: &Content) -> Vec<TableSpec> {
    let spec = |table: &crate::content::TypedTable| TableSpec {
        rows: table.rows.value.clone(),
        columns: table.columns.clone(),
    };
    content.tables.iter().map(spec).collect()
}

fn trial(
    at: &Point<'_>,
    engines: &[EngineTraits],
    number: u32,
    repeat: u32,
    label: Vec<String>,
) -> Result<Trial, LocatedDiagnostic> {
    let is_process = is_process(at, engines)?;
    let server = server(at, engines, is_process)?;
    Ok(Trial {
        number,
        label: if label.is_empty() {
            SINGLE.into()
        } else {
            label.join(", ")
        },
        repeat,
        place: 0,
        topology: topology(at, engines, &server)?,
        server,
        data: section(at, "data")?,
        load: load(at, engines)?,
        transaction: section(at, "transaction")?,
        ledger: None,
        chaos: None,
        monitors: at.get("monitors.enabled")?,
        point: at.values(),
    })
}

/// Whether dyno starts the servers as processes of their own.
fn is_process(at: &Point<'_>, engines: &[EngineTraits]) -> Result<bool, LocatedDiagnostic> {
    let name: Option<String> = at.maybe("server.engine")?;
    let is_process = |name: String| {
        let mut engines = engines.iter().filter(|engine| engine.is_process);
        engines.any(|engine| engine.name == name)
    };
    Ok(name.is_some_and(is_process))
}

/// Whether the engine runs in process, on a temporary database or on that of a URL.
fn runs_in_process(at: &Point<'_>, engines: &[EngineTraits]) -> bool {
    let named = at.typed("server.url").or_else(|| at.typed("server.engine"));
    named.is_some_and(|named| in_process(engines, &named.value).is_some())
}

fn server(
    at: &Point<'_>,
    engines: &[EngineTraits],
    is_process: bool,
) -> Result<ServerSpec, LocatedDiagnostic> {
    if let Some(url) = at.maybe_spanned("server.url")? {
        return Ok(ServerSpec::Url(url, Box::new(login(at)?)));
    }
    let mut spec = EngineSpec {
        engine: at.spanned("server.engine")?,
        basedir: None,
        version: None,
        port: None,
        config: Vec::new(),
        reset: Reset::default(),
        cold_data: true,
    };
    // In a study of several engines, the keys below belong to the others.
    if is_process {
        spec.basedir = at.maybe_spanned("server.basedir")?;
        spec.version = at.maybe_spanned("server.version")?;
        spec.port = at.maybe_spanned("server.port")?;
        spec.config = at.settings(&spec.engine.value, engines);
        let kind = at.maybe::<String>("topology.cluster")?;
        if let Some(conduct) = kind.and_then(|kind| conduct(engines, &spec.engine.value, &kind)) {
            let (durability, profile) = words(at)?;
            let durable = conduct
                .durable
                .iter()
                .filter(|_| durability == Durability::Equal);
            let tuned = conduct
                .tuned
                .iter()
                .filter(|_| profile == ClusterProfile::Tuned);
            durable
                .chain(tuned)
                .for_each(|one| add(&mut spec.config, *one));
        }
        spec.reset = at.get("server.reset")?;
        spec.cold_data = at.get("server.cold_data")?;
    }
    Ok(ServerSpec::Engine(Box::new(spec)))
}

/// What a study asks for by a word.
fn words(at: &Point<'_>) -> Result<(Durability, ClusterProfile), LocatedDiagnostic> {
    Ok((at.get("topology.durability")?, at.get("topology.profile")?))
}

/// Adds a setting, unless the study has it.
fn add(config: &mut Vec<(String, Spanned<String>)>, (name, value): (&str, &str)) {
    if !config.iter().any(|(known, _)| is_same_setting(known, name)) {
        let (value, span) = (value.to_owned(), Span::NOWHERE);
        config.push((name.to_owned(), Spanned { value, span }));
    }
}

fn conduct(engines: &[EngineTraits], engine: &str, kind: &str) -> Option<Conduct> {
    let engine = engines.iter().find(|known| known.name == engine);
    let kinds = engine.into_iter().flat_map(|engine| engine.clusters);
    let kind = kinds.into_iter().find(|known| known.name == kind)?;
    Some(kind.conduct)
}

fn site(at: &Point<'_>) -> Result<Site, LocatedDiagnostic> {
    let limits = Limits {
        cpus: at.maybe_spanned("site.cpus")?,
        cpuset: at.maybe_parsed("site.cpuset", CpuSet::parse)?,
        memory: at.maybe_parsed("site.memory", parse_bytes)?,
    };
    let host = match at.maybe_spanned("site.host")? {
        Some(name) => Some(Host {
            name,
            ssh_config: at.maybe("site.ssh_config")?,
            directory: at.get("site.directory")?,
        }),
        None => None,
    };
    let implied = match (&host, limits == Limits::default()) {
        (Some(_), _) => SiteKind::Ssh,
        (None, true) => SiteKind::Process,
        (None, false) => SiteKind::Limited,
    };
    let kind: Option<Spanned<SiteKind>> = at.maybe_spanned("site.kind")?;
    runs_already(at, kind.as_ref())?;
    Ok(Site {
        host,
        runtime: at.get("site.runtime")?,
        kind: kind.unwrap_or(Spanned {
            value: implied,
            span: Span::NOWHERE,
        }),
        limits,
    })
}

/// The site of a server that dyno does not start, or of an engine inside dyno.
fn site_of_another(at: &Point<'_>, engines: &[EngineTraits]) -> Result<Site, LocatedDiagnostic> {
    runs_already(at, at.maybe_spanned("site.kind")?.as_ref())?;
    let url = at.typed("server.url");
    let is_server = url.is_some_and(|url| in_process(engines, &url.value).is_none());
    let mut site = Site::default();
    if is_server {
        site.kind.value = SiteKind::Url;
    }
    Ok(site)
}

/// Checks that a site of the kind `url` has the URL of its server.
fn runs_already(at: &Point<'_>, kind: Option<&Spanned<SiteKind>>) -> Result<(), LocatedDiagnostic> {
    let is_url = |kind: &&Spanned<SiteKind>| kind.value == SiteKind::Url;
    match (kind.filter(is_url), at.typed("server.url")) {
        (Some(kind), None) => {
            let message = "a site of the kind `url` needs the URL of a server that is running";
            let help = "add server.url, or choose the kind of site on which dyno starts the server";
            Err((kind.span, Diagnostic::new(message, help)))
        }
        _ => Ok(()),
    }
}

fn topology(
    at: &Point<'_>,
    engines: &[EngineTraits],
    server: &ServerSpec,
) -> Result<Topology, LocatedDiagnostic> {
    let process = match server {
        ServerSpec::Engine(spec) if is_process(at, engines)? => Some(spec),
        _ => None,
    };
    let node = match process.is_some() {
        true => Node {
            site: site(at)?,
            volume: volume::volume(at)?,
            log_volume: volume::log_volume(at)?,
        },
        false => Node {
            site: site_of_another(at, engines)?,
            ..Node::default()
        },
    };
    let cluster = match process.is_some() {
        true => at.maybe_spanned("topology.cluster")?,
        false => None,
    };
    let members = at.get("topology.members")?;
    let ttl = at.get("topology.ttl")?;
    let failover = at.maybe("topology.failover")?;
    let network = at.spanned("topology.network")?;
    let (durability, profile) = words(at)?;
    let configured = Configured {
        settings: process.map_or(&[], |spec| &spec.config),
        members,
        ttl,
    };
    let topology = Topology {
        instances: at.get("topology.instances")?,
        follow: at.get("topology.follow")?,
        cluster: cluster.map(|kind: Spanned<String>| {
            let conduct = process.and_then(|spec| conduct(engines, &spec.engine, &kind.value));
            let of_kind = conduct.and_then(|conduct| (conduct.detector)(&configured));
            let detector = of_kind.or_else(|| Some(promoter(failover?)));
            Cluster {
                detected_within: detector.as_ref().map(|detector| detector.within),
                detector: detector.map_or_else(|| "nobody".to_owned(), |detector| detector.text),
                acknowledged: conduct
                    .map_or_else(String::new, |conduct| (conduct.acknowledged)(&configured)),
                kind,
                members,
                ttl,
                failover,
                network,
                durability,
                profile,
            }
        }),
        node,
        faults: Vec::new(),
    };
    volume::check(&topology)?;
    Ok(topology)
}

/// What detects the loss of a primary whose members do not elect another one.
fn promoter(within: Duration) -> Detector {
    let text = format!("dyno, {} after the loss", format_duration(within));
    Detector { text, within }
}

/// Ordered by time; faults at the same time remain in the order of the study. Seeds that the study
/// does not give follow from the data's, the fault's number, and the repeat's.
fn faults(content: &Content, seed: u64, repeat: u32) -> Vec<Fault> {
    let mut typed: Vec<_> = content.faults.iter().collect();
    typed.sort_by_key(|typed| typed.fault.at);
    let mut seeds = SplitMix64::new(seed.wrapping_add(u64::from(repeat)));
    let fault = |typed: &TypedFault| {
        let mut fault = typed.fault.clone();
        let drawn = seeds.next_u64() % SHORT_SEEDS;
        if let FaultTarget::Any(seed) = &mut fault.target
            && !typed.has_seed
        {
            *seed = drawn;
        }
        if let Some(loss) = &mut fault.loss
            && !typed.has_seed
        {
            loss.seed = drawn;
        }
        fault
    };
    typed.into_iter().map(fault).collect()
}

/// The ledger, which random faults turn on.
fn ledger(at: &Point<'_>) -> Result<Option<Ledger>, LocatedDiagnostic> {
    let default = SWITCHES.iter().find(|(key, _)| *key == LEDGER_RATE);
    let default = default.and_then(|(_, rate)| rate.parse().ok());
    let implied = match at.typed(CHAOS) {
        Some(_) => default,
        None => None,
    };
    let rate = at.maybe(LEDGER_RATE)?.or(implied);
    let replica_reads = at.get("ledger.replica_reads")?;
    let is_on = |rate: &f64| *rate > 0.0;
    Ok(rate.filter(is_on).map(|rate| Ledger {
        rate,
        replica_reads,
    }))
}

/// What the faults of a trial are drawn from, if they are random.
fn chaos(
    at: &Point<'_>,
    servers: &Servers,
    repeat: u32,
) -> Result<Option<Chaos>, LocatedDiagnostic> {
    let Some(kinds) = at.maybe::<String>(CHAOS)? else {
        return Ok(None);
    };
    let possible = crate::chaos::possible(servers);
    let rate: String = at.get("chaos.rate")?;
    let per_s = parse_frequency(&rate);
    Ok(Some(Chaos {
        kinds: crate::chaos::named(&kinds).unwrap_or(possible),
        per_s: per_s.ok_or_else(|| internal("`chaos.rate` has no value"))?,
        seed: crate::chaos::seed_of_repeat(at.get("chaos.seed")?, repeat),
    }))
}

fn login(at: &Point<'_>) -> Result<LoginSpec, LocatedDiagnostic> {
    Ok(LoginSpec {
        tls_mode: at.maybe("server.tls.mode")?,
        tls_ca: at.maybe("server.tls.ca")?,
        tls_cert: at.maybe("server.tls.cert")?,
        tls_key: at.maybe("server.tls.key")?,
        get_server_public_key: at.get("server.get_server_public_key")?,
        server_public_key_path: at.maybe("server.server_public_key_path")?,
        enable_cleartext_plugin: at.get("server.enable_cleartext_plugin")?,
    })
}

/// A part of a trial whose fields are named after the keys of its section.
fn section<T: DeserializeOwned>(at: &Point<'_>, section: &str) -> Result<T, LocatedDiagnostic> {
    let keys = KEYS.iter().filter(|key| key.section() == section);
    let fields = keys.filter_map(|key| {
        let value = serde_json::to_value(at.typed(key.name)?).ok()?;
        Some((key.last().to_owned(), value))
    });
    let fields: serde_json::Map<_, _> = fields.collect();
    serde_json::from_value(fields.into()).map_err(|error| internal(&error.to_string()))
}

fn load(at: &Point<'_>, engines: &[EngineTraits]) -> Result<Load, LocatedDiagnostic> {
    let mut load = Load {
        workload: at.spanned("load.workload")?,
        distribution: at.spanned("load.distribution")?,
        until: until(at)?,
        find_max: find_max(at)?,
        ..section(at, "load")?
    };
    let is_open = load.rate.is_some() || load.find_max.is_some();
    if is_open && at.given(THREADS).is_none() {
        load.threads = match runs_in_process(at, engines) {
            true => IN_PROCESS_USERS,
            false => OPEN_LOOP_USERS,
        };
    }
    Ok(load)
}

fn until(at: &Point<'_>) -> Result<Option<Until>, LocatedDiagnostic> {
    let max = at.get("load.until.max")?;
    Ok(at.maybe("load.until.ci")?.map(|ci| Until { ci, max }))
}

fn find_max(at: &Point<'_>) -> Result<Option<FindMax>, LocatedDiagnostic> {
    for (name, of) in Limited::KEYS {
        if let Some(limit) = at.maybe(name)? {
            return Ok(Some(FindMax { of, limit }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_the_study_goes_before_one_that_a_word_stands_for() {
        let own = |value: &str| Spanned {
            value: value.to_owned(),
            span: Span::NOWHERE,
        };
        let mut config = vec![("Sync-Binlog".to_owned(), own("0"))];
        add(&mut config, ("sync_binlog", "1"));
        add(&mut config, ("sync_relay_log", "1"));
        assert_eq!(config[0].1.value, "0");
        assert_eq!((config.len(), &*config[1].1.value), (2, "1"));
    }
}

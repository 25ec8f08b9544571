//! What the values of a point must have in common; what is wrong is reported at the point.

use plan::key::{CHAOS, KEYS, LEDGER_RATE, THREADS};
use plan::{
    EngineTraits, Limited, Reset, ServerSpec, SiteKind, Span, Spanned, TextError, Trial, Value,
    alternatives, format_duration, parse_bytes, shown,
};

use crate::content::Content;
use crate::error::Report;
use crate::point::{AGENTS, CLUSTER, ENGINE, FROM, Point, URL};
use crate::read::not_one_of;
use crate::{chaos, faults, fleet, hosts, volume};

/// Keys that limit what a site may use.
const SITE_LIMITS: [&str; 3] = ["site.cpus", "site.cpuset", "site.memory"];
/// Least memory of a guest: less than its kernel and a small server need.
const GUEST_BYTES: u64 = 256 << 20;
/// Most CPUs of a guest, which QEMU's machine can have.
const GUEST_CPUS: f64 = 255.0;
/// Keys that trials which take turns cannot have: a queue of arrivals would grow between turns, each
/// turn would have a share of the limit, all servers are up at once, and agents take no turns.
const NOT_IN_TURNS: [&str; 9] = [
    "load.rate",
    "load.phase",
    "load.events",
    "load.until.ci",
    "server.port",
    FROM,
    AGENTS,
    LEDGER_RATE,
    CHAOS,
];
const MAX_PORT: u32 = u16::MAX as u32;

pub(crate) fn check(at: &Point<'_>, trial: &Trial, content: &Content) {
    has_one_server(at, content);
    one_url_is_one_server(at, trial);
    clusters_are_copied(at);
    ports_for_all(at, trial);
    running_servers_have_urls(at);
    processes_have_no_limits(at);
    hosts::check(at, trial);
    guests(at);
    measurement_ends(at, trial);
    replaced(at, trial);
    turns(at, trial, content);
    fleet::check(at, trial);
    let is_known = at.is_given(URL) || at.engine().is_some();
    let has_cluster = trial.topology.cluster.is_some();
    if has_cluster {
        can_form_its_cluster(at);
    }
    if at.is_started() {
        settings_are_free(at);
    }
    if is_known && (!has_cluster || at.cluster().is_some()) {
        faults::check(&content.faults, trial, at);
        if at.is_given(CHAOS) {
            chaos::check(trial, at);
        }
    }
}

fn has_one_server(at: &Point<'_>, content: &Content) {
    match (at.find(ENGINE), at.find(URL)) {
        (Some(engine), Some(url)) => at.refuse_two(
            engine.at,
            url.at,
            "both `server.engine` and `server.url` are given",
            "keep `engine` to let dyno start a server, or `url` to use a running one",
        ),
        (None, None) => has_no_server(at, content),
        _ => {}
    }
    if let Some(typed) = at.given(ENGINE)
        && at.in_process().is_none()
        && at.engine().is_none()
    {
        let names = EngineTraits::names(at.engines);
        at.add(typed.span, not_one_of(ENGINE, &typed.to_string(), &names));
    }
}

fn has_no_server(at: &Point<'_>, content: &Content) {
    let is_elsewhere = [ENGINE, URL]
        .iter()
        .any(|name| content.place(name).is_some());
    match at.variant.filter(|_| is_elsewhere) {
        Some(variant) => at.refuse(
            variant.name.span,
            format!("the variant `{}` has no server", shown(&variant.name)),
            "add server.engine or server.url to it, or to [server] for all variants",
        ),
        None => {
            let names = alternatives(&EngineTraits::names(at.engines)).replace('`', "");
            let message = "missing key `server.engine` or `server.url`";
            let help =
                format!("under [server], write engine = {names}, or the url of a running server");
            at.refuse(Span::NOWHERE, message, help);
        }
    }
}

fn can_form_its_cluster(at: &Point<'_>) {
    let (Some(engine), Some(typed)) = (at.engine(), at.given(CLUSTER)) else {
        return;
    };
    let Some(kind) = at.cluster() else {
        let name = typed.to_string();
        let message = format!(
            "`{}` cannot form the cluster `{}`",
            engine.name,
            shown(&name)
        );
        let help = match engine.cluster_names().as_slice() {
            [] => "leave out `topology.cluster`, or choose an engine that replicates".to_owned(),
            kinds => format!("it can form {}", alternatives(kinds)),
        };
        return at.refuse(typed.span, message, help);
    };
    if let Some(failover) = at.given("topology.failover").filter(|_| kind.elects) {
        let message = format!(
            "the members of a `{}` cluster elect their primary themselves",
            kind.name
        );
        let help =
            "remove `failover`, or set it only in a [[variant]] whose cluster does not elect";
        at.refuse_also(failover.span, typed.span, message, help);
    }
}

fn settings_are_free(at: &Point<'_>) {
    let Some(engine) = at.engine() else { return };
    for (setting, given) in at.settings() {
        if let Some(why) = (engine.reserved_setting)(setting) {
            let message = format!("the setting `{}` is reserved", shown(setting));
            at.refuse(given.at, message, why);
        }
    }
}

fn one_url_is_one_server(at: &Point<'_>, trial: &Trial) {
    let url = at.find(URL);
    let typed = at.given("topology.instances");
    if let (Some(url), Some(typed), count @ 2..) = (url, typed, trial.topology.instances) {
        let message = format!("{count} instances of a server that is already running");
        let help = "a URL names a single server: remove `instances`, or let dyno start the servers with `server.engine`";
        at.refuse_also(typed.span, url.at, message, help);
    }
}

/// The members of a cluster start from copies of the same data.
fn clusters_are_copied(at: &Point<'_>) {
    let (Some(cluster), Some(reset)) = (at.given(CLUSTER), at.given("server.reset")) else {
        return;
    };
    if reset.as_text() != Some(Reset::Copy.name()) {
        let message = format!("a cluster cannot be reset by `{}`", reset.value);
        let help = "its members start from copies of the same data: remove `reset`, or write reset = \"copy\"";
        at.refuse_also(reset.span, cluster.span, message, help);
    }
}

fn ports_for_all(at: &Point<'_>, trial: &Trial) {
    let ServerSpec::Engine(spec) = &trial.server else {
        return;
    };
    let Some(port) = &spec.port else { return };
    let count = trial.topology.nodes();
    let last = u32::from(port.value) + count - 1;
    if last > MAX_PORT {
        let first = port.value;
        let message = format!("{count} servers with ports from {first} would need port {last}");
        let help = format!("the highest port is {MAX_PORT}: use a lower `port`");
        let mut several = ["topology.members", "topology.instances"].into_iter();
        let also = several.find_map(|name| Some(at.given(name)?.span));
        at.report(port.span, also, TextError::new(message, help));
    }
}

fn kind<'a>(at: &Point<'a>, wanted: SiteKind) -> Option<&'a Spanned<Value>> {
    let kind = at.given("site.kind");
    kind.filter(|kind| kind.as_text() == Some(wanted.name()))
}

fn running_servers_have_urls(at: &Point<'_>) {
    if let Some(kind) = kind(at, SiteKind::Url).filter(|_| !at.is_given(URL)) {
        let message = "a site of the kind `url` needs the URL of a server that is running";
        let help = "add server.url, or choose the kind of site on which dyno starts the server";
        at.refuse(kind.span, message, help);
    }
}

/// What servers cannot have because of the place where they run.
struct Place<'p, 'a> {
    at: &'p Point<'a>,
    words: &'static str,
    cause: Span,
}

impl Place<'_, '_> {
    /// Refuses what only servers of this host can have.
    fn is_elsewhere(&self, help: &str) {
        let of_volumes = KEYS.iter().filter(|key| {
            let is_of_volume = key.axis && volume::SECTIONS.contains(&key.section());
            is_of_volume && key.name != "volume.directory"
        });
        self.has_no(of_volumes.map(|key| key.name).chain([CLUSTER]), help);
        let reset = self.at.given("server.reset");
        if let Some(typed) = reset.filter(|reset| reset.as_text() == Some(Reset::None.name())) {
            let message = format!("servers {} can have no `server.reset` = `none`", self.words);
            let help = "write reset = \"copy\", or let servers run on this host";
            self.at.refuse_two(typed.span, self.cause, message, help);
        }
    }

    fn has_no<'n>(&self, names: impl IntoIterator<Item = &'n str>, help: &str) {
        for name in names {
            if let Some(typed) = self.at.given(name) {
                let message = format!("servers {} can have no `{name}`", self.words);
                self.at.refuse_two(typed.span, self.cause, message, help);
            }
        }
    }
}

/// A site of the kind `process` has no limits.
fn processes_have_no_limits(at: &Point<'_>) {
    let kind = kind(at, SiteKind::Process).into_iter();
    for (kind, name) in kind.flat_map(|kind| SITE_LIMITS.map(|name| (kind, name))) {
        if let Some(limit) = at.given(name) {
            let message = format!("a site of the kind `process` has no limit `{name}`");
            let help = "use kind = \"limited\" or \"container\" for servers with limits, or remove the limit";
            at.refuse_two(limit.span, kind.span, message, help);
        }
    }
}

/// What servers in a guest need and cannot have.
fn guests(at: &Point<'_>) {
    let Some(cause) = kind(at, SiteKind::Vm).map(|kind| kind.span) else {
        return;
    };
    let (words, help) = ("in a guest", "remove it, or use another kind of site");
    let place = Place { at, words, cause };
    place.has_no(["server.port", "volume.directory"], help);
    place.is_elsewhere(help);
    let is_count = |cpus: f64| (1.0..=GUEST_CPUS).contains(&cpus) && cpus.fract() == 0.0;
    let cpus = at.given("site.cpus");
    let cpus = cpus.filter(|cpus| !cpus.as_number().is_some_and(is_count));
    let memory = at.given("site.memory");
    let bytes = memory.and_then(|memory| memory.as_text().and_then(parse_bytes));
    let memory = memory.filter(|_| bytes.is_some_and(|bytes| bytes < GUEST_BYTES));
    for (name, typed, message) in [
        ("site.cpus", cpus, "a guest has whole CPUs, from 1 to 255"),
        ("site.memory", memory, "a guest needs 256M at least"),
    ] {
        if let Some(typed) = typed {
            let help = format!("write another `{name}`, or use another kind of site");
            at.refuse_two(typed.span, cause, message, help);
        }
    }
}

/// A measurement ends, and not before its minimum length.
fn measurement_ends(at: &Point<'_>, trial: &Trial) {
    let load = &trial.load;
    let time = at.given("load.time");
    let ends = || at.is_given("load.events") || at.is_given("load.until.ci");
    if let Some(time) = time.filter(|_| load.time.is_zero() && !ends()) {
        let message = "`load.time` 0 means no time limit, and nothing else ends the measurement";
        let help = "set a time, or a number of transactions with `load.events`";
        at.refuse(time.span, message, help);
    }
    if let Some(until) = load.until.filter(|until| load.time > until.max) {
        let message = format!(
            "the minimum length, `load.time`, is longer than the maximum, {}",
            format_duration(until.max)
        );
        let help = "with `load.until.ci`, a trial lasts from `load.time` to `load.until.max`: use a shorter `load.time`";
        let typed = time.or_else(|| at.given("load.until.max"));
        let typed = typed.or_else(|| at.given("load.until.ci"));
        let place = typed.map_or(Span::NOWHERE, |typed| typed.span);
        at.refuse(place, message, help);
    }
}

/// What mixes, scripts, and phases say in place of other keys.
fn replaced(at: &Point<'_>, trial: &Trial) {
    let load = &trial.load;
    let refuse = |part: &str, keys: &[&str]| {
        for key in keys {
            if let (Some(one), Some(other)) = (at.find(part), at.find(key)) {
                let message = format!("`{key}` cannot be combined with this `{part}`");
                at.refuse_two(one.at, other.at, message, "remove one of the two");
            }
        }
    };
    refuse("load.mix", &["load.workload"]);
    refuse("load.script", &["load.workload", "load.mix"]);
    let ends = ["load.time", "load.rate", "load.until.ci", "load.events"];
    refuse("load.phase", &ends);
    if load.mix().is_some_and(|mix| mix.rate.is_some()) {
        refuse("load.mix", &["load.rate", "load.phase"]);
        refuse("load.mix", &Limited::KEYS.map(|(key, _)| key));
    }
    if load.phase.is_some() && load.rate.is_none() {
        refuse("load.phase", &[THREADS]);
    }
}

/// What trials that take turns cannot have.
fn turns(at: &Point<'_>, trial: &Trial, content: &Content) {
    let place = |name| at.find(name).map(|entry| entry.at);
    let Some(compare) = trial.turns() else {
        if let Some(pause) =
            place("compare.pause").filter(|_| trial.compare.is_some_and(|compare| compare.pause))
        {
            let message =
                "`pause` freezes the servers of variants between their turns, but they take none";
            at.refuse(pause, message, "add alternate = \"always\", or remove it");
        }
        return;
    };
    let cause = place("compare.alternate").unwrap_or_default();
    let refuse = |place: Option<Span>, what: &str, help: &str| {
        if let Some(place) = place {
            let message = format!("variants that take turns cannot have {what}");
            at.refuse_two(place, cause, message, help);
        }
    };
    let help = "remove it, or write alternate = \"never\"";
    for name in NOT_IN_TURNS {
        refuse(place(name), &format!("`{name}`"), help);
    }
    let fault = content.faults.first().map(|fault| fault.kind);
    refuse(fault, "faults", help);
    if compare.block > trial.load.time {
        let block = format_duration(compare.block);
        let message = format!("a turn of {block} is longer than the measurement");
        let help = "use a shorter `block`, or a longer `load.time`";
        at.refuse(place("compare.block").unwrap_or(cause), message, help);
    }
}

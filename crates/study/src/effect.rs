//! Refuses keys that have no effect.
//!
//! A value of the file must have an effect in some trial. An axis or a variant must have one in
//! all of its trials, because the others would differ in name only.

use std::collections::BTreeSet;

use crate::content::{Base, Content, Entry};
use crate::engines::{CLUSTER, kinds_of_clusters};
use crate::error::{Diagnostic, Diagnostics};
use crate::name::Name;
use plan::key::{CHAOS, LEDGER_RATE, Needs};
use plan::{EngineTraits, SiteKind, Value};

/// In which trials of a base a key's requirement is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coverage {
    All,
    /// All except those of this engine, or of this kind of cluster.
    Some(&'static str),
    None(Reason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Url,
    NoUrl,
    InProcess(&'static str),
    NoRate,
    NotUntil,
    NoCluster,
    NoManager(&'static str),
    OneServer,
    NoLedger,
    NoChaos,
}

pub(crate) fn check(content: &Content, engines: &[EngineTraits], diagnostics: &mut Diagnostics) {
    let bases = content.bases();
    let on_each = |needs| bases.iter().map(move |g| met(content, engines, g, needs));
    for axis in &content.axes {
        let gap = on_each(axis.name.key.needs).find(|met| *met != Coverage::All);
        if let Some(gap) = gap {
            diagnostics.add(axis.at, no_effect(&axis.name, gap));
        }
    }
    for base in &bases {
        let own = base.variant.iter().flat_map(|v| v.entries.values());
        for entry in first_of_each_key(own.filter(is_in_doubt)) {
            let met = met(content, engines, base, entry.name.key.needs);
            if met != Coverage::All {
                diagnostics.add(entry.at, no_effect(&entry.name, met));
            }
        }
    }
    for entry in first_of_each_key(content.entries.values().filter(is_in_doubt)) {
        let is_missing = |met: &Coverage| matches!(met, Coverage::None(_));
        let mut met = on_each(entry.name.key.needs);
        if let Some(why) = met.next().filter(is_missing)
            && met.all(|met| is_missing(&met))
        {
            diagnostics.add(entry.at, no_effect(&entry.name, why));
        }
    }
}

/// Whether it may have no effect: a site may say that the server runs already, as `server.url` does.
fn is_in_doubt(entry: &&Entry) -> bool {
    let url = Value::from(SiteKind::Url.name());
    let value = entry.value.as_ref().map(|value| &value.value);
    entry.name.key.name != "site.kind" || value != Some(&url)
}

/// Of several settings of a server, only the first is reported.
fn first_of_each_key<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<&'a Entry> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by_key(|entry| entry.at);
    let mut known = BTreeSet::new();
    entries.retain(|entry| known.insert(entry.name.key.name));
    entries
}

fn met(content: &Content, engines: &[EngineTraits], base: &Base<'_>, needs: Needs) -> Coverage {
    let is_given = |name: &str| base.entries.contains_key(name) || content.axis(name).is_some();
    match needs {
        Needs::Nothing => Coverage::All,
        Needs::Rate if is_given("load.rate") => Coverage::All,
        Needs::Rate => Coverage::None(Reason::NoRate),
        Needs::Until if is_given("load.until.ci") => Coverage::All,
        Needs::Until => Coverage::None(Reason::NotUntil),
        Needs::Cluster if is_given(CLUSTER) => Coverage::All,
        Needs::Cluster => Coverage::None(Reason::NoCluster),
        Needs::Manager if !is_given(CLUSTER) => Coverage::None(Reason::NoCluster),
        Needs::Manager => {
            let kinds = kinds_of_clusters(content, base, engines);
            let without = kinds.iter().find(|kind| !kind.has_manager);
            match without {
                None => Coverage::All,
                Some(kind) if kinds.iter().any(|kind| kind.has_manager) => {
                    Coverage::Some(kind.name)
                }
                Some(kind) => Coverage::None(Reason::NoManager(kind.name)),
            }
        }
        Needs::Members if is_given(CLUSTER) => Coverage::All,
        Needs::Members => {
            let urls = content.values_in(base, "server.url");
            match urls.is_empty() || urls.iter().any(|url| hosts(url) < 2) {
                true => Coverage::None(Reason::OneServer),
                false => Coverage::All,
            }
        }
        Needs::Ledger if is_given(LEDGER_RATE) || is_given(CHAOS) => Coverage::All,
        Needs::Ledger => Coverage::None(Reason::NoLedger),
        Needs::Chaos if is_given(CHAOS) => Coverage::All,
        Needs::Chaos => Coverage::None(Reason::NoChaos),
        Needs::RunningServer if is_given("server.url") => Coverage::All,
        Needs::RunningServer => Coverage::None(Reason::NoUrl),
        Needs::StartedServer if is_given("server.url") => Coverage::None(Reason::Url),
        Needs::StartedServer | Needs::Process => {
            let typed: Vec<_> = content.values_in(base, "server.engine");
            let urls = content.values_in(base, "server.url");
            let typed: Vec<_> = typed.into_iter().chain(urls).collect();
            let without: Vec<&str> = typed
                .iter()
                .filter_map(|typed| Some(in_process(engines, &typed.value)?.name))
                .collect();
            match without.first() {
                None => Coverage::All,
                Some(engine) if without.len() == typed.len() => {
                    Coverage::None(Reason::InProcess(engine))
                }
                Some(engine) => Coverage::Some(engine),
            }
        }
    }
}

/// The engine in process that a name or a URL stands for.
pub(crate) fn in_process(engines: &[EngineTraits], named: &Value) -> Option<EngineTraits> {
    let of_name = |engine: &&EngineTraits| match named {
        Value::Url(url) => {
            let scheme = url.expose().split(':').next();
            engine.schemes.iter().any(|known| Some(*known) == scheme)
        }
        name => name.as_text() == Some(engine.name),
    };
    let mut engines = engines.iter().filter(|engine| !engine.is_process);
    engines.find(of_name).copied()
}

/// How many servers a URL names.
pub(crate) fn hosts(url: &Value) -> u32 {
    let Value::Url(url) = url else { return 1 };
    let rest = url.expose().split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or("");
    let hosts = authority.rsplit('@').next().unwrap_or("");
    u32::try_from(hosts.split(',').count()).unwrap_or(u32::MAX)
}

fn no_effect(name: &Name, met: Coverage) -> Diagnostic {
    let name = name.full();
    match met {
        Coverage::None(Reason::NoRate) => Diagnostic::new(
            format!("`{name}` has no effect without `load.rate`"),
            "add rate = … (transactions per second), or remove `arrivals`",
        ),
        Coverage::None(Reason::NotUntil) => Diagnostic::new(
            format!("`{name}` has no effect without `load.until.ci`"),
            "add the precision to reach: until = { ci = \"2%\", max = \"30m\" }",
        ),
        Coverage::None(Reason::NoCluster) => Diagnostic::new(
            format!("`{name}` has no effect without `topology.cluster`"),
            "write how the servers replicate with cluster = …, or remove it",
        ),
        Coverage::None(Reason::NoManager(kind)) => Diagnostic::new(
            format!("`{name}` has no effect on a `{kind}` cluster, which has no cluster manager"),
            "remove it, or choose a kind of cluster that has a manager",
        ),
        Coverage::None(Reason::OneServer) => Diagnostic::new(
            format!("`{name}` has no effect on a single server"),
            "form a cluster with `topology.cluster`, or name several hosts in `server.url`",
        ),
        Coverage::None(Reason::NoLedger) => Diagnostic::new(
            format!("`{name}` has no effect without a ledger"),
            "add [ledger] with rate = 50 (transfers per second), or remove it",
        ),
        Coverage::None(Reason::NoChaos) => Diagnostic::new(
            format!("`{name}` has no effect without `chaos.faults`"),
            "add faults = \"any\" under [chaos], or remove it",
        ),
        Coverage::None(Reason::Url) => Diagnostic::new(
            format!("`{name}` has no effect with `server.url`: dyno does not start that server"),
            "remove it, or let dyno start a server: use `server.engine`",
        ),
        Coverage::None(Reason::NoUrl) => Diagnostic::new(
            format!(
                "`{name}` has no effect without `server.url`: it applies to servers that are already running"
            ),
            "remove it, or name a running server with `server.url`",
        ),
        Coverage::None(Reason::InProcess(engine)) => Diagnostic::new(
            format!("`{name}` has no effect on `{engine}`, which runs inside dyno"),
            "remove it, or choose an engine that runs as a server",
        ),
        Coverage::Some(kind) => Diagnostic::new(
            format!("`{name}` has no effect on `{kind}`, so some trials would differ in name only"),
            "make each one a [[variant]] with the keys that belong to it",
        ),
        Coverage::All => Diagnostic::new(format!("`{name}` has no effect"), "remove it"),
    }
}

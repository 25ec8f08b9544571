//! Refuses keys that have no effect: those that no trial read when it was built.
//!
//! A value of the file must be read by some trial. An axis or a variant must be read by all of its
//! trials, because the others would differ in name only.

use std::collections::{BTreeMap, BTreeSet};

use crate::content::{Content, Entries};
use crate::error::{Diagnostics, Report};
use crate::hosts;
use crate::name::Name;
use crate::point::{ENGINE, Point, URL};
use plan::Span;
use plan::key::{COMPARE, Kind, Needs};

/// What the points of a study did not read.
pub(crate) struct Effects<'a> {
    axes: Vec<Subject<'a>>,
    /// By the name of the variant.
    variants: BTreeMap<&'a str, Vec<Subject<'a>>>,
    file: Vec<Subject<'a>>,
}

/// A key, or all settings of a server that the same part of a study gives.
struct Subject<'a> {
    names: Vec<&'a Name>,
    /// The location of the first.
    at: Span,
    is_read: bool,
    /// Why the first point that did not read it had no use for it.
    gap: Option<Gap>,
}

struct Gap {
    /// The engine or kind of cluster that has no use for it.
    on: Option<&'static str>,
    why: String,
    help: String,
}

impl<'a> Effects<'a> {
    pub(crate) fn new(content: &'a Content) -> Self {
        let axes = content.common.axes.iter();
        let axes = axes.map(|axis| Subject::new(&axis.name, axis.at));
        let variants = content.variants.iter();
        let variants = variants.map(|v| (v.name.value.as_str(), subjects(&v.entries)));
        Self {
            axes: axes.collect(),
            variants: variants.collect(),
            file: subjects(&content.common.entries),
        }
    }

    /// Records what building the trial of a point read.
    pub(crate) fn record(&mut self, at: &Point<'_>) {
        let read = at.read();
        let variant = at.variant;
        let variant = variant.and_then(|v| self.variants.get_mut(v.name.as_str()));
        let subjects = self.axes.iter_mut().chain(variant.into_iter().flatten());
        subjects.for_each(|subject| subject.record(at, &read, false));
        // A study of several engines may have settings of each.
        let settings_apply = at.is_started();
        self.file
            .iter_mut()
            .for_each(|subject| subject.record(at, &read, settings_apply));
    }

    pub(crate) fn check(self, diagnostics: &Diagnostics) {
        let in_all = self
            .axes
            .into_iter()
            .chain(self.variants.into_values().flatten());
        let in_any = self.file.into_iter().filter(|subject| !subject.is_read);
        for subject in in_all.chain(in_any) {
            let Some(gap) = subject.gap else { continue };
            let name = subject.names.first().map_or("", |name| name.full());
            let (message, help) = match gap.on.filter(|_| subject.is_read) {
                Some(other) => (
                    format!(
                        "`{name}` has no effect on `{other}`, so some trials would differ in name only"
                    ),
                    "make each one a [[variant]] with the keys that belong to it".to_owned(),
                ),
                None => (format!("`{name}` has no effect{}", gap.why), gap.help),
            };
            diagnostics.refuse(subject.at, message, help);
        }
    }
}

/// The keys of a part of a study that trials may differ in or need.
fn subjects(entries: &Entries) -> Vec<Subject<'_>> {
    let mut sorted: Vec<_> = entries.values().collect();
    sorted.sort_by_key(|entry| entry.at);
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for entry in sorted {
        let same = |subject: &&mut Subject<'_>| subject.names[0].key.name == entry.name.key.name;
        match subjects.iter_mut().find(same) {
            Some(subject) => subject.names.push(&entry.name),
            None => subjects.push(Subject::new(&entry.name, entry.at)),
        }
    }
    subjects
}

impl<'a> Subject<'a> {
    fn new(name: &'a Name, at: Span) -> Self {
        Self {
            names: vec![name],
            at,
            is_read: false,
            gap: None,
        }
    }

    fn record(&mut self, at: &Point<'_>, read: &BTreeSet<&str>, settings_apply: bool) {
        let name = self.names[0];
        // Without a valid number of starts, no key of a comparison is read.
        let is_compared = name.key.needs == Needs::Compare && at.find(COMPARE).is_some();
        if name.key.needs == Needs::Nothing
            || is_compared
            || (name.key.needs == Needs::Hosts && hosts::need(at, name.full()))
            || (settings_apply && matches!(name.key.kind, Kind::Settings))
            || self.names.iter().any(|name| read.contains(name.full()))
        {
            self.is_read = true;
        } else if self.gap.is_none() {
            self.gap = Some(gap(name, at));
        }
    }
}

/// Why a point has no use for a key.
fn gap(name: &Name, at: &Point<'_>) -> Gap {
    let gap = |why: &str, help: &str| Gap {
        on: None,
        why: why.to_owned(),
        help: help.to_owned(),
    };
    let is_of_server = matches!(name.key.needs, Needs::StartedServer | Needs::Process);
    let needs = match name.key.needs {
        // Only a key for members has no use on hosts.
        Needs::Hosts if hosts::has_any(at) => Needs::Cluster,
        needs => needs,
    };
    match (needs, at.in_process(), at.cluster()) {
        (Needs::Manager, _, Some(kind)) => Gap {
            on: Some(kind.name),
            why: format!(
                " on a `{}` cluster, which has no cluster manager",
                kind.name
            ),
            help: "remove it, or choose a kind of cluster that has a manager".to_owned(),
        },
        (Needs::StartedServer, ..) if at.is_given(URL) => gap(
            " with `server.url`: dyno does not start that server",
            "remove it, or let dyno start a server: use `server.engine`",
        ),
        (_, Some(engine), _) if is_of_server => Gap {
            on: Some(engine.name),
            why: format!(" on `{}`, which runs inside dyno", engine.name),
            help: "remove it, or choose an engine that runs as a server".to_owned(),
        },
        _ if matches!(name.key.kind, Kind::Settings) => {
            let engine = at.word(ENGINE).unwrap_or_default();
            let help = format!("only the settings under `server.config.{engine}` apply to it");
            gap(&format!(" on `{engine}`"), &help)
        }
        _ if name.full() == "site.runtime" => gap(
            ": only a site of the kind `container` has a runtime",
            "remove `runtime`, or use kind = \"container\"",
        ),
        (needs, ..) => {
            let lack = LACKS.iter().find(|(of, ..)| *of == needs);
            lack.map_or_else(|| gap("", "remove it"), |(_, why, help)| gap(why, help))
        }
    }
}

/// Why a key has no use without what it needs, and the remedy.
#[rustfmt::skip] // A line for each.
const LACKS: [(Needs, &str, &str); 14] = [
    (Needs::Rate, " without `load.rate`", "add rate = … (transactions per second), or remove `arrivals`"),
    (Needs::Phases, " without `load.phase`", "add [[load.phase]] with a time and a rate, or remove it"),
    (Needs::Until, " without `load.until.ci`", "add the precision to reach: until = { ci = \"2%\", max = \"30m\" }"),
    (Needs::Cluster, " without `topology.cluster`", "write how the servers replicate with cluster = …, or remove it"),
    (Needs::Manager, " without `topology.cluster`", "write how the servers replicate with cluster = …, or remove it"),
    (Needs::Hosts, " without other hosts", "name them with hosts = [\"db1\", …] under [site], or remove it"),
    (Needs::Members, " on a single server",
        "form a cluster with `topology.cluster`, or name several hosts in `server.url`"),
    (Needs::Tables, " on a script, which has tables of its own", "remove it, or use a workload that is built in"),
    (Needs::Script, " on this workload",
        "options are for scripts in Lua and, as `scale`, for those of pgbench, which also have variables: remove it, or name a script"),
    (Needs::Ledger, " without a ledger", "add [ledger] with rate = 50 (transfers per second), or remove it"),
    (Needs::Chaos, " without `chaos.faults`", "add faults = \"any\" under [chaos], or remove it"),
    (Needs::Compare, " without `compare.starts`", "add starts = 20 under [compare], or remove it"),
    (Needs::Fleet, " without agents that the load comes from", "add agents = 4, or from = [\"load1\", …], or remove it"),
    (Needs::RunningServer, " without `server.url`: it applies to servers that are already running",
        "remove it, or name a running server with `server.url`"),
];

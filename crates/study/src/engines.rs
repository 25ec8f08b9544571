//! The engines that a study names, and the settings that apply to each of them.

use std::collections::BTreeSet;

use plan::{ClusterTraits, EngineTraits, Span, alternatives, shown};

use crate::content::{Base, Content};
use crate::error::{Diagnostic, Diagnostics};
use crate::name::Name;
use crate::read::not_one_of;

const ENGINE: &str = "server.engine";
pub(crate) const CLUSTER: &str = "topology.cluster";
const FAILOVER: &str = "topology.failover";

/// The settings of a study that apply to an engine: those under its name if there are any, else
/// those under no engine's name.
pub(crate) struct Scope<'e> {
    engine: &'e str,
    engines: &'e [EngineTraits],
    has_own: bool,
}

impl<'e> Scope<'e> {
    /// The scope of an engine in a study with these settings.
    pub(crate) fn of<'s>(
        engine: &'e str,
        mut settings: impl Iterator<Item = &'s str>,
        engines: &'e [EngineTraits],
    ) -> Self {
        let own = Self {
            engine,
            engines,
            has_own: true,
        };
        let has_own = settings.any(|setting| own.setting(setting).is_some());
        Self { has_own, ..own }
    }

    /// The name on the server of a setting that applies to the engine.
    pub(crate) fn setting<'s>(&self, setting: &'s str) -> Option<&'s str> {
        let (first, rest) = setting.split_once('.').unwrap_or((setting, ""));
        let is_engine = !rest.is_empty() && self.engines.iter().any(|e| e.name == first);
        match (is_engine, self.has_own) {
            (true, _) => (first == self.engine).then_some(rest),
            (false, has_own) => (!has_own).then_some(setting),
        }
    }

    fn no_effect(&self, name: &Name) -> Diagnostic {
        let (name, engine) = (name.full(), self.engine);
        Diagnostic::new(
            format!("`{name}` has no effect on `{engine}`"),
            format!("only the settings under `server.config.{engine}` apply to it"),
        )
    }
}

pub(crate) fn check(content: &Content, engines: &[EngineTraits], diagnostics: &mut Diagnostics) {
    let names = EngineTraits::names(engines, |_| true);
    for typed in content.values(ENGINE) {
        let name = typed.to_string();
        if !names.contains(&name.as_str()) {
            diagnostics.add(typed.span, not_one_of(ENGINE, &name, &names));
        }
    }
    let mut refused = BTreeSet::new();
    for base in content.bases() {
        clusters(content, &base, engines, diagnostics);
        for engine in started(content, &base, engines) {
            let settings = settings(content, &base);
            let names = settings.iter().filter_map(|(name, _)| name.setting());
            let scope = Scope::of(engine.name, names, engines);
            if let Some((at, diagnostic)) = without_effect(content, &base, &scope)
                && refused.insert(at)
            {
                diagnostics.add(at, diagnostic);
            }
            for (name, at) in settings {
                let setting = name.setting().and_then(|setting| scope.setting(setting));
                if let Some(setting) = setting
                    && let Some(why) = (engine.reserved_setting)(setting)
                    && refused.insert(at)
                {
                    let message = format!("the setting `{}` is reserved", shown(setting));
                    diagnostics.add(at, Diagnostic::new(message, why));
                }
            }
        }
    }
}

/// Every kind of cluster must be one of every engine that the trials on a base may start.
fn clusters(
    content: &Content,
    base: &Base<'_>,
    engines: &[EngineTraits],
    diagnostics: &mut Diagnostics,
) {
    let started = started(content, base, engines);
    for typed in content.values_in(base, CLUSTER) {
        let kind = typed.to_string();
        let lacks = |engine: &&&EngineTraits| !engine.cluster_names().contains(&kind.as_str());
        if let Some(engine) = started.iter().find(lacks) {
            let message = format!(
                "`{}` cannot form the cluster `{}`",
                engine.name,
                shown(&kind)
            );
            let help = match engine.cluster_names().as_slice() {
                [] => {
                    "leave out `topology.cluster`, or choose an engine that replicates".to_owned()
                }
                kinds => format!("it can form {}", alternatives(kinds)),
            };
            diagnostics.add(typed.span, Diagnostic::new(message, help));
        }
        let kinds = started.iter().flat_map(|engine| engine.clusters);
        let elects = kinds
            .into_iter()
            .any(|known| known.name == kind && known.elects);
        let failover = content.values_in(base, FAILOVER);
        if let (true, Some(failover)) = (elects, failover.first()) {
            let message =
                format!("the members of a `{kind}` cluster elect their primary themselves");
            let help =
                "remove `failover`, or set it only in a [[variant]] whose cluster does not elect";
            let diagnostic = Diagnostic::new(message, help);
            diagnostics.add(failover.span, diagnostic.also(typed.span));
        }
    }
}

/// The kinds of clusters of the trials of a base; unknown ones are left out.
pub(crate) fn kinds_of_clusters(
    content: &Content,
    base: &Base<'_>,
    engines: &[EngineTraits],
) -> Vec<ClusterTraits> {
    let values = content.values_in(base, CLUSTER);
    let is_named = |kind: &ClusterTraits| {
        let mut names = values.iter().filter_map(|typed| typed.as_text());
        names.any(|name| name == kind.name)
    };
    let kinds = started(content, base, engines).into_iter();
    let kinds = kinds.flat_map(|engine| engine.clusters).copied();
    kinds.filter(is_named).collect()
}

/// The settings of the trials of a base, and their locations.
fn settings<'a>(content: &'a Content, base: &Base<'a>) -> Vec<(&'a Name, Span)> {
    let entries = base.entries.values().map(|entry| (&entry.name, entry.at));
    let axes = content.axes.iter().map(|axis| (&axis.name, axis.at));
    let all = entries.chain(axes);
    all.filter(|(name, _)| name.setting().is_some()).collect()
}

/// An axis or a variant whose trials would differ only in settings of another engine.
fn without_effect(
    content: &Content,
    base: &Base<'_>,
    scope: &Scope<'_>,
) -> Option<(Span, Diagnostic)> {
    let has_effect = |name: &Name| name.setting().is_none_or(|s| scope.setting(s).is_some());
    let mut axes = content.axes.iter().map(|axis| (&axis.name, axis.at));
    let axis = axes.find(|(name, _)| !has_effect(name));
    let in_variant = || {
        let own = base.variant.iter().flat_map(|v| v.entries.values());
        let settings: Vec<_> = own.filter(|entry| entry.name.setting().is_some()).collect();
        let first = settings.iter().min_by_key(|entry| entry.at)?;
        let has_any = settings.iter().any(|entry| has_effect(&entry.name));
        (!has_any).then_some((&first.name, first.at))
    };
    let (name, at) = axis.or_else(in_variant)?;
    Some((at, scope.no_effect(name)))
}

/// The engines of the trials of a base that run as separate processes.
pub(crate) fn started<'e>(
    content: &Content,
    base: &Base<'_>,
    engines: &'e [EngineTraits],
) -> Vec<&'e EngineTraits> {
    let values = content.values_in(base, ENGINE);
    let names: Vec<_> = values.iter().map(|typed| typed.to_string()).collect();
    let is_started =
        |engine: &&EngineTraits| engine.is_process && names.iter().any(|name| name == engine.name);
    engines.iter().filter(is_started).collect()
}

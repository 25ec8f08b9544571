//! Finds where a study sets the key that a failure blames.

use engine::Engine;
use plan::{Devices, EngineSpec, Span, Spanned, Topology, Volume};

use crate::Failure;

/// Adds the place in the study of the key to blame.
pub(crate) fn placed(failure: Failure, spec: &EngineSpec, topology: &Topology) -> Failure {
    let key = failure.key.as_deref();
    let span = key.and_then(|key| span_of(key, spec, topology));
    Failure {
        span: failure.span.or(span),
        ..failure
    }
}

fn span_of(key: &str, spec: &EngineSpec, topology: &Topology) -> Option<Span> {
    let (section, name) = key.split_once('.')?;
    let site = &topology.node.site;
    match (section, name) {
        ("volume", name) => span_in_volume(&topology.node.volume, name),
        ("log_volume", name) => span_in_volume(topology.node.log_volume.as_ref()?, name),
        ("server", "engine") => Some(spec.engine.span),
        ("server", "basedir") => span(&spec.basedir),
        ("server", "version") => span(&spec.version),
        ("server", "port") => span(&spec.port),
        ("server", name) => span_of_setting(spec, name.strip_prefix("config.")?),
        ("site", "kind") => Some(site.kind.span),
        ("site", "host" | "directory") => Some(site.hosts.as_ref()?.list.first()?.address.span),
        ("site", "cpus") => span(&site.limits.cpus),
        ("site", "cpuset") => span(&site.limits.cpuset),
        ("site", "memory") => span(&site.limits.memory),
        ("topology", "network") => Some(topology.cluster.as_ref()?.network.span),
        _ => None,
    }
}

fn span<T>(value: &Option<Spanned<T>>) -> Option<Span> {
    value.as_ref().map(|value| value.span)
}

fn span_in_volume(volume: &Volume, name: &str) -> Option<Span> {
    match name {
        "directory" => span(&volume.directory),
        "scheduler" => span(&volume.scheduler),
        _ => {
            let made = volume.file_system.as_ref()?;
            Some(match &made.devices {
                Devices::Named(device) => device.span,
                Devices::Loop { .. } => made.kind.span,
            })
        }
    }
}

fn span_of_setting(spec: &EngineSpec, name: &str) -> Option<Span> {
    let engine = engine::by_name(&spec.engine).and_then(Engine::server);
    let plain_name = |name: &str| match engine {
        Some(engine) => engine.plain_name(name),
        None => name.to_owned(),
    };
    let name = plain_name(name);
    let mut settings = spec.config.iter();
    let (_, value) = settings.find(|(known, _)| plain_name(known) == name)?;
    Some(value.span)
}

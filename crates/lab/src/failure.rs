//! Failures that several parts of the laboratory report, and their places in the study.

use plan::{Devices, EngineSpec, Span, Spanned, Topology, Volume};

use crate::setup::spec::engine_of;

pub(crate) use machine::failure::{canceled, disk_full, is_disk_full, of_log};
pub use plan::{Exit, Fact, Failure};

/// A fault was to strike or heal a server that does not run.
pub(crate) fn not_running(server: &str) -> Failure {
    Failure::server(format!("{server} is not running")).fact(Fact::NotRunning)
}

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
        ("site", "host") => Some(site.host.as_ref()?.name.span),
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
    match (name, volume.directory()) {
        ("directory", directory) => directory.map(|directory| directory.span),
        ("scheduler", _) => span(&volume.scheduler),
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
    let plain_name = |name: &str| match engine_of(spec) {
        Ok(engine) => engine.plain_name(name),
        Err(_) => name.to_owned(),
    };
    let name = plain_name(name);
    let mut settings = spec.config.iter();
    let (_, value) = settings.find(|(known, _)| plain_name(known) == name)?;
    Some(value.span)
}

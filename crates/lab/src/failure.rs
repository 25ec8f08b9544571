//! Failures that several parts of the laboratory report, and their places in the study.

use std::io::ErrorKind;
use std::path::Path;

use plan::{Devices, EngineSpec, Span, Spanned, Topology, Volume, shown_bytes};

use crate::spec::engine_of;

pub use engine::{Exit, Fact, Failure};

/// The user interrupted before the load.
pub(crate) fn canceled() -> Failure {
    Failure::interrupted("interrupted while preparing the servers; nothing was left behind")
}

/// A fault was to strike or heal a server that does not run.
pub(crate) fn not_running(server: &str) -> Failure {
    Failure::server(format!("{server} is not running")).fact(Fact::NotRunning)
}

/// The disk of a directory has too little space for what needs so much in total.
pub(crate) fn disk_full(what: &str, dir: &Path, needed_bytes: u64, free_bytes: u64) -> Failure {
    Failure::server(format!(
        "{}: {what} needs {}; only {} is available",
        dir.display(),
        shown_bytes(needed_bytes),
        shown_bytes(free_bytes)
    ))
    .remedy("free some disk space, use less data, or choose another disk: DYNO_CACHE_DIR for dyno's cache, volume.directory for the servers' data")
    .key("volume.directory")
}

pub(crate) fn is_disk_full(failure: &Failure) -> bool {
    [ErrorKind::StorageFull, ErrorKind::QuotaExceeded]
        .iter()
        .any(|kind| failure.is(Fact::Io(*kind)))
}

/// Marks a failure as one of the volume of a server's log, which has its own place in the study.
pub(crate) fn of_log(failure: Failure) -> Failure {
    if failure.is_interrupted() {
        return failure;
    }
    Failure {
        key: failure.key.as_ref().map(|key| format!("log_{key}")),
        fact: None,
        ..failure
    }
    .context("[log_volume]")
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_the_volume_of_a_log_lacks_is_not_said_of_the_data() {
        let full = io::Error::from(ErrorKind::StorageFull);
        let failure = Failure::at("write", "/log")(full).key("volume.directory");
        assert!(is_disk_full(&failure));
        let failure = of_log(failure);
        assert!(!is_disk_full(&failure));
        assert_eq!(failure.exit, Exit::Server);
        assert!(
            failure
                .message
                .starts_with("[log_volume]: cannot write /log: ")
        );
        assert_eq!(failure.key.as_deref(), Some("log_volume.directory"));
        assert_eq!(of_log(canceled()), canceled());
    }
}

//! A study's private servers as the laboratory needs them, and the locations in the study of
//! failures.

use engine::{Engine, EngineError, Installed, Server};
use plan::{Devices, EngineSpec, Limits, Span, Topology, Volume};

use crate::error::LabError;
use crate::failure::{Cause, Failure};
use crate::servers;

/// The server program of a study.
pub fn installed(spec: &EngineSpec) -> Result<Installed, Failure> {
    let engine = engine_of(spec)?;
    let basedir = spec.basedir.as_ref().map(|basedir| basedir.value.as_path());
    let version = spec.version.as_ref().map(|version| version.as_str());
    servers::find(engine, basedir, version)
        .map_err(|error| placed(spec, &Topology::default(), error))
}

/// How the servers of a study are started.
pub(crate) fn engine_of(spec: &EngineSpec) -> Result<&'static dyn Server, Failure> {
    let name = spec.engine.as_str();
    let engine = engine::by_name(name).and_then(Engine::server);
    engine.ok_or_else(|| Failure::new(Cause::Internal, format!("{name} has no servers")))
}

/// The settings of a study, as written to the server's configuration file.
pub fn config(spec: &EngineSpec) -> Vec<(String, String)> {
    let settings = spec.config.iter();
    settings
        .map(|(name, value)| (name.clone(), value.value.clone()))
        .collect()
}

/// The port of a server, if the study names one.
pub(crate) fn port(spec: &EngineSpec, number: u32) -> Option<u16> {
    let first = spec.port.as_ref()?.value;
    first.checked_add(u16::try_from(number - 1).ok()?)
}

/// A failure with the location in the study that caused it.
pub(crate) fn placed(spec: &EngineSpec, topology: &Topology, error: LabError) -> Failure {
    let span = match &error {
        LabError::RejectedSetting { name, .. }
        | LabError::Engine(
            EngineError::ReservedSetting { name, .. } | EngineError::BadSetting { name, .. },
        ) => span_of_setting(spec, name),
        LabError::Engine(EngineError::WrongVersion { .. }) => {
            spec.version.as_ref().map(|version| version.span)
        }
        LabError::NoLimit { key, .. } => span_of_limit(&topology.node.site.limits, key),
        LabError::NoContainer { .. } | LabError::NoGuest { .. } => {
            Some(topology.node.site.kind.span)
        }
        LabError::NoNetwork { .. } => {
            let cluster = topology.cluster.as_ref();
            cluster.map(|cluster| cluster.network.span)
        }
        LabError::OfLog(error) => {
            let log = topology.node.log_volume.as_ref();
            log.and_then(|log| span_in_volume(log, error))
        }
        LabError::NoVolume { .. }
        | LabError::NoScheduler { .. }
        | LabError::UnfitDirectory { .. }
        | LabError::DiskFull { .. } => span_in_volume(&topology.node.volume, &error),
        LabError::UnusableHost { .. } => {
            let host = topology.node.site.host.as_ref();
            host.map(|host| host.name.span)
        }
        LabError::PortTaken { .. } => spec.port.as_ref().map(|port| port.span),
        LabError::Engine(EngineError::NoServer { .. }) => match &spec.basedir {
            Some(basedir) => Some(basedir.span),
            None => Some(spec.engine.span),
        },
        _ => None,
    };
    let failure = Failure::from(error);
    match span {
        Some(span) => failure.at(span),
        None => failure,
    }
}

fn span_of_limit(limits: &Limits, key: &str) -> Option<Span> {
    match key {
        "site.cpus" => limits.cpus.as_ref().map(|limit| limit.span),
        "site.cpuset" => limits.cpuset.as_ref().map(|limit| limit.span),
        "site.memory" => limits.memory.as_ref().map(|limit| limit.span),
        _ => None,
    }
}

/// What the study says of a volume that cannot be set up.
fn span_in_volume(volume: &Volume, error: &LabError) -> Option<Span> {
    let directory = volume.directory();
    match error {
        LabError::UnfitDirectory { .. } => directory.map(|dir| dir.span),
        LabError::NoScheduler { .. } => volume.scheduler.as_ref().map(|typed| typed.span),
        LabError::DiskFull { path, .. } => directory
            .filter(|dir| path.canonicalize().ok() == dir.value.canonicalize().ok())
            .map(|dir| dir.span),
        _ => span_of_devices(volume),
    }
}

fn span_of_devices(volume: &Volume) -> Option<Span> {
    let made = volume.file_system.as_ref()?;
    Some(match &made.devices {
        Devices::Named(device) => device.span,
        Devices::Loop { .. } => made.kind.span,
    })
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

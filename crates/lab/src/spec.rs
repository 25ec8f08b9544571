//! What a study asks of its private servers, as the laboratory needs it, and where in the
//! study a failure comes from.

use std::path::Path;

use plan::EngineSpec;

use crate::error::LabError;
use crate::failure::{Cause, Failure};
use crate::servers::{self, Installed};

/// The server program that a study asks for.
///
/// # Errors
/// When it is not installed, at its place in the study.
pub fn installed(spec: &EngineSpec) -> Result<Installed, Failure> {
    let engine = engine_of(spec)?;
    let basedir = spec.basedir.as_ref().map(|basedir| basedir.value.as_path());
    let version = spec.version.as_ref().map(|version| version.as_str());
    servers::find(engine, basedir, version).map_err(|error| placed(spec, error))
}

/// The engine of a study's servers.
pub(crate) fn engine_of(spec: &EngineSpec) -> Result<servers::Engine, Failure> {
    match spec.engine {
        plan::Engine::MariaDb => Ok(servers::Engine::MariaDb),
        plan::Engine::MySql => Ok(servers::Engine::MySql),
        plan::Engine::Sqlite => Err(Failure::new(Cause::Internal, "SQLite is no server")),
    }
}

/// Where the servers of a study have their data; `None`: in the cache.
pub(crate) fn directory_of(spec: &EngineSpec) -> Option<&Path> {
    let directory = spec.directory.as_ref();
    directory.map(|directory| directory.value.as_path())
}

/// The settings of a study as the server's option file has them.
#[must_use]
pub fn config(spec: &EngineSpec) -> Vec<(String, String)> {
    let settings = spec.config.iter();
    settings
        .map(|(name, value)| (name.clone(), value.value.clone()))
        .collect()
}

/// The port of a server, where the study names one.
pub(crate) fn port(spec: &EngineSpec, number: u32) -> Option<u16> {
    let first = spec.port.as_ref()?.value;
    first.checked_add(u16::try_from(number - 1).ok()?)
}

/// A failure at the place of the study that it is about.
pub(crate) fn placed(spec: &EngineSpec, error: LabError) -> Failure {
    let span = match &error {
        LabError::RejectedSetting { name, .. }
        | LabError::ReservedSetting { name, .. }
        | LabError::BadSetting { name, .. } => spec
            .config
            .iter()
            .find(|(known, _)| servers::same_name(known, name))
            .map(|(_, value)| value.span),
        LabError::WrongVersion { .. } => spec.version.as_ref().map(|version| version.span),
        LabError::NoCpuQuota { .. } => spec.cpus.as_ref().map(|cpus| cpus.span),
        LabError::UnfitDirectory { .. } => spec.directory.as_ref().map(|dir| dir.span),
        LabError::DiskFull { path, .. } => {
            let directory = spec.directory.as_ref();
            directory
                .filter(|dir| path.canonicalize().ok() == dir.value.canonicalize().ok())
                .map(|dir| dir.span)
        }
        LabError::PortTaken { .. } => spec.port.as_ref().map(|port| port.span),
        LabError::NoServer { .. } => match &spec.basedir {
            Some(basedir) => Some(basedir.span),
            None => Some(spec.span),
        },
        _ => None,
    };
    let failure = Failure::from(error);
    match span {
        Some(span) => failure.at(span),
        None => failure,
    }
}

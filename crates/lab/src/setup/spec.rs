//! A study's private servers as the laboratory needs them.

use std::path::PathBuf;

use engine::{Engine, Installed, Server};
use plan::{EngineSpec, Topology};

use crate::failure::{Failure, placed};
use crate::setup::servers;

/// Finds the server program of a study.
pub fn installed(spec: &EngineSpec) -> Result<Installed, Failure> {
    let engine = engine_of(spec)?;
    let basedir = spec.basedir.as_ref().map(|basedir| basedir.value.as_path());
    let version = spec.version.as_ref().map(|version| version.as_str());
    servers::find(engine, basedir, version)
        .map_err(|failure| placed(failure, spec, &Topology::default()))
}

/// The directory of the image that guests boot.
pub(crate) fn guest_image() -> PathBuf {
    engine::installations().unwrap_or_default().join("guest")
}

/// The engine of a study as a server.
pub(crate) fn engine_of(spec: &EngineSpec) -> Result<&'static dyn Server, Failure> {
    let name = spec.engine.as_str();
    let engine = engine::by_name(name).and_then(Engine::server);
    engine.ok_or_else(|| Failure::internal(format!("{name} has no servers")))
}

/// The settings of a study, as in the server's configuration file.
pub fn config(spec: &EngineSpec) -> Vec<(String, String)> {
    let settings = spec.config.iter();
    settings
        .map(|(name, value)| (name.clone(), value.value.clone()))
        .collect()
}

/// A server's port; `None` if the study names none.
pub(crate) fn port(spec: &EngineSpec, number: u32) -> Option<u16> {
    let first = spec.port.as_ref()?.value;
    first.checked_add(u16::try_from(number - 1).ok()?)
}

//! A study's private servers as the laboratory needs them, and what is known of them without running
//! a program or changing a file.

use std::path::{Path, PathBuf};

use engine::data::Wanted;
use engine::{Engine, Installed, Server};
use plan::{EngineSpec, Topology};

use crate::setup::place::placed;
use crate::template::Recipe;
use crate::template::cache::bytes_of;
use crate::{Failure, home, servers, volume};

/// Finds the server program of a study.
pub fn installed(spec: &EngineSpec) -> Result<Installed, Failure> {
    let engine = engine_of(spec)?;
    let version = spec.version.as_ref().map(|version| version.as_str());
    servers::find(engine, basedir(spec), version)
        .map_err(|failure| placed(failure, spec, &Topology::default()))
}

/// The directory of the image that guests boot.
pub(crate) fn guest_image() -> PathBuf {
    engine::installations().unwrap_or_default().join("guest")
}

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

/// Checks the programs and the directory of a study's servers. Returns the size of their prepared data in
/// the cache; `None` if there is none for a version that the study accepts.
pub fn preview(
    spec: &EngineSpec,
    topology: &Topology,
    wanted: &Wanted<'_>,
) -> Result<Option<u64>, Failure> {
    let look = || -> Result<Option<u64>, Failure> {
        let engine = engine_of(spec)?;
        engine::exists(engine, basedir(spec))?;
        let cache = home::place()?;
        // Other hosts are asked when they are connected.
        if topology.node.site.hosts.is_none() {
            volume::check(&topology.node, &servers::account()?)?;
            volume::fillable::check_all(topology, &cache)?;
        }
        let config = config(spec);
        let fits = |recipe: &Recipe| {
            recipe.is_of(engine, &config, wanted) && spec.has_version(&recipe.version)
        };
        Ok(bytes_of(&home::templates_in(&cache), fits))
    };
    look().map_err(|failure| placed(failure, spec, topology))
}

fn basedir(spec: &EngineSpec) -> Option<&Path> {
    spec.basedir.as_ref().map(|basedir| basedir.value.as_path())
}

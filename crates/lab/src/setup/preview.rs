//! What is known of a study's servers without running a program or changing a file.

use std::path::{Path, PathBuf};

use engine::Server;
use engine::data::Wanted;
use plan::{EngineSpec, Topology};

use crate::failure::{Failure, placed};
use crate::home;
use crate::setup::spec::{config, engine_of};
use crate::setup::template;
use crate::volume;

#[derive(Debug, Clone, Copy)]
pub struct Preview {
    pub engine: &'static dyn Server,
    /// Size of the prepared data in the cache; `None` without data for a version that the study
    /// accepts.
    pub template_bytes: Option<u64>,
}

/// Looks for the programs, directory, and prepared data of a study's servers.
pub fn preview(
    spec: &EngineSpec,
    topology: &Topology,
    wanted: &Wanted<'_>,
) -> Result<Preview, Failure> {
    look(spec, topology, wanted).map_err(|failure| placed(failure, spec, topology))
}

fn look(spec: &EngineSpec, topology: &Topology, wanted: &Wanted<'_>) -> Result<Preview, Failure> {
    let engine = engine_of(spec)?;
    let basedir = spec.basedir.as_ref().map(|basedir| basedir.value.as_path());
    engine::exists(engine, basedir)?;
    let account = crate::setup::servers::account()?;
    volume::check(&topology.node, &account)?;
    let cache = home::place()?;
    volume::fillable::check_all(topology, &cache)?;
    let accepts = |version: &str| spec.has_version(version);
    Ok(Preview {
        engine,
        template_bytes: template::bytes_in(&cache, engine, &accepts, wanted, &config(spec)),
    })
}

/// The cache's directory, or the nearest existing one above it.
pub fn disk_of_cache() -> Result<PathBuf, Failure> {
    let cache = home::place()?;
    let there = cache.ancestors().find(|path| path.is_dir());
    Ok(there.unwrap_or(Path::new("/")).to_owned())
}

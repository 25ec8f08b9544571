//! The directories that hold data, or are going to: what their checks examine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use engine::checks::Facts as ServerFacts;
use host::Storage;

use super::Subject;
use super::requirements::Requirements;
use crate::trial::{Target, Trial};

/// A directory that holds data, or is going to.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct DataStorage {
    pub(super) storage: Storage,
    /// The disks that hold the operating system.
    pub(super) system_disks: Vec<String>,
    /// Disks of the machine.
    pub(super) disks: usize,
    /// What the load is going to store there, in bytes.
    pub(super) needed_bytes: u64,
}

/// The named directories, and those where servers of this host store data or are going to.
pub(super) fn data_directories(
    subject: &Subject<'_>,
    servers: &[ServerFacts],
) -> Vec<(PathBuf, DataStorage)> {
    let named = subject.directories.iter().cloned();
    let running = servers.iter().filter_map(|server| server.data_dir.clone());
    let mut needed: BTreeMap<PathBuf, u64> = named.chain(running).map(|dir| (dir, 0)).collect();
    for trial in subject.trials {
        if let Some(dir) = data_directory(trial) {
            let bytes = needed.entry(dir).or_default();
            *bytes = Requirements::of(trial).disk_bytes.max(*bytes);
        }
        let log = trial.planned.topology.node.log_volume.as_ref();
        if let Some(directory) = log.and_then(plan::Volume::directory) {
            needed.entry(directory.value.clone()).or_default();
        }
    }
    let directories = needed.into_iter().map(|(path, needed_bytes)| {
        let data = DataStorage {
            storage: Storage::read(subject.files, &path),
            needed_bytes,
            ..DataStorage::default()
        };
        (path, data)
    });
    directories.collect()
}

/// Where a trial stores the data that it loads.
pub(super) fn data_directory(trial: &Trial) -> Option<PathBuf> {
    let cache = || crate::home::place().ok();
    match &trial.target {
        Target::Given(database) => database.file().map(ToOwned::to_owned),
        Target::Temporary(_) => cache(),
        Target::Private(_) => match trial.planned.topology.node.volume.directory() {
            Some(directory) => Some(directory.value.clone()),
            None => cache(),
        },
    }
}

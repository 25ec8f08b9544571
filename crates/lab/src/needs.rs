//! What a trial needs of this host, and what there is: looked at before anything starts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::Server;
use host::{Files, LOCAL, Memory, Space};

use crate::error::LabError;

/// A row of the load's tables with its index entry and the pages' fill, in bytes. Loaded
/// tables of 1 million rows take 252 to 264.
pub(crate) const ROW_BYTES: u64 = 270;
/// How fast rows are loaded and indexed, at least.
const LOAD_ROWS_PER_S: u64 = 100_000;
/// How fast data is copied without sharing blocks, at least.
const COPY_BYTES_PER_S: u64 = 500_000_000;
/// Start and stop of a server.
const START: Duration = Duration::from_secs(2);

/// What one trial asks for.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// The engine of its servers.
    pub engine: &'static dyn Server,
    /// The study's settings.
    pub config: &'a [(String, String)],
    /// Servers at once.
    pub instances: u32,
    /// Connections of each server.
    pub connections: u32,
    /// Rows of all tables of one server.
    pub rows: u64,
    /// Warm-up and measurement.
    pub load: Duration,
    /// What the cached template takes; `None` if it is still to be built.
    pub template_bytes: Option<u64>,
}

/// What a trial takes of this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The load, and what comes before it.
    pub time: Duration,
    /// Of that, building a template that is not in the cache.
    pub build_time: Duration,
    /// On disks at once: all copies, and in the cache a template that is still to be built.
    pub disk_bytes: u64,
    /// Of that, what stays after the trial: the template.
    pub template_bytes: u64,
    /// In memory, of all servers.
    pub memory_bytes: u64,
}

/// Estimates what a trial needs. The estimates are meant to be a little too high.
#[must_use]
pub fn of(asked: &Asked<'_>) -> Needs {
    let instances = u64::from(asked.instances.max(1));
    let server = asked
        .engine
        .needs(asked.config, asked.connections, asked.rows);
    let data = asked.template_bytes.unwrap_or(server.data_bytes);
    let is_built = asked.template_bytes.is_some();
    let template_bytes = if is_built { 0 } else { data };
    let build_time = if is_built {
        Duration::ZERO
    } else {
        START * 2 + Duration::from_secs(asked.rows.div_ceil(LOAD_ROWS_PER_S))
    };
    let each = data.saturating_add(server.log_bytes);
    let copies = Duration::from_secs(data.saturating_mul(instances) / COPY_BYTES_PER_S);
    Needs {
        time: asked.load + START + copies + build_time,
        build_time,
        disk_bytes: each
            .saturating_mul(instances)
            .saturating_add(template_bytes),
        template_bytes,
        memory_bytes: server.memory_bytes.saturating_mul(instances),
    }
}

/// The file system of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// The directory.
    pub path: PathBuf,
    /// What an unprivileged user may still write there.
    pub free_bytes: u64,
    /// Whether it keeps files in memory.
    pub is_memory: bool,
    device: u64,
}

/// Looks at the file system of a directory.
///
/// # Errors
/// When there is no such directory, or the operating system does not tell.
pub fn disk(path: &Path) -> Result<Disk, LabError> {
    let space = space(path)?;
    Ok(Disk {
        path: path.to_owned(),
        free_bytes: space.free_bytes,
        is_memory: space.is_memory,
        device: space.device,
    })
}

impl Disk {
    /// Whether both are one file system, with one free space.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.device == other.device
    }
}

/// What an unprivileged user may still write to the file system of `path`.
pub(crate) fn free_bytes(path: &Path) -> Result<u64, LabError> {
    space(path).map(|space| space.free_bytes)
}

fn space(path: &Path) -> Result<Space, LabError> {
    let space = LOCAL.space(path);
    space.map_err(LabError::at("look at the disk of", path))
}

/// What is left for new processes without swapping, within the limits of this process's
/// control groups.
///
/// # Errors
/// When the operating system does not tell.
pub fn available_memory() -> Result<u64, LabError> {
    let failed = LabError::at("read", Path::new("/proc/meminfo"));
    let available = Memory::read(&LOCAL).available_bytes;
    available.ok_or_else(|| failed(std::io::Error::other("no MemAvailable")))
}

#[cfg(test)]
mod tests;

//! What a trial needs, to be compared with what a host has available before anything starts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::Server;
use host::{Files, Memory, Space};

use crate::Failure;

/// Bytes of a row of the load's tables, with its index entry and unused space in pages. Tables of 1
/// million rows take 252 to 264 after loading.
pub(crate) const ROW_BYTES: u64 = 270;
/// Minimum speed of loading and indexing rows.
const LOAD_ROWS_PER_S: u64 = 100_000;
/// Minimum speed of copying data without sharing blocks.
const COPY_BYTES_PER_S: u64 = 500_000_000;
const START: Duration = Duration::from_secs(2);

/// What the needs of a trial depend on.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    pub engine: &'static dyn Server,
    /// The study's settings.
    pub config: &'a [(String, String)],
    /// Number of servers that run at the same time.
    pub instances: u32,
    /// Number of connections to each server.
    pub connections: u32,
    /// Number of rows in all tables of one server.
    pub rows: u64,
    /// Duration of warm-up and measurement together.
    pub load: Duration,
    /// Size of the cached template; `None` if it must be built.
    pub template_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Time for the load and all preparations.
    pub time: Duration,
    /// The part of `time` for building a template that is not in the cache.
    pub build_time: Duration,
    /// Disk space for all copies, and for a template that must be built.
    pub disk_bytes: u64,
    /// The part of `disk_bytes` for that template, which stays after the trial.
    pub template_bytes: u64,
    /// The part of `disk_bytes` by which the logs of all servers grow.
    pub log_bytes: u64,
    pub memory_bytes: u64,
}

/// Estimates what a trial needs, on the high side on purpose.
pub fn of(inputs: &Inputs<'_>) -> Needs {
    let instances = u64::from(inputs.instances.max(1));
    let server = inputs
        .engine
        .needs(inputs.config, inputs.connections, inputs.rows);
    let data = inputs.template_bytes.unwrap_or(server.data_bytes);
    let is_built = inputs.template_bytes.is_some();
    let template_bytes = if is_built { 0 } else { data };
    let build_time = if is_built {
        Duration::ZERO
    } else {
        START * 2 + Duration::from_secs(inputs.rows.div_ceil(LOAD_ROWS_PER_S))
    };
    let each = data.saturating_add(server.log_bytes);
    let copies = Duration::from_secs(data.saturating_mul(instances) / COPY_BYTES_PER_S);
    Needs {
        time: inputs.load + START + copies + build_time,
        build_time,
        disk_bytes: each
            .saturating_mul(instances)
            .saturating_add(template_bytes),
        template_bytes,
        log_bytes: server.log_bytes.saturating_mul(instances),
        memory_bytes: server.memory_bytes.saturating_mul(instances),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    pub path: PathBuf,
    /// Bytes available to an unprivileged user.
    pub free_bytes: u64,
    /// Whether the file system is in memory.
    pub is_memory: bool,
    device: u64,
}

pub fn disk(files: &dyn Files, path: &Path) -> Result<Disk, Failure> {
    let space = space(files, path)?;
    Ok(Disk {
        path: path.to_owned(),
        free_bytes: space.free_bytes,
        is_memory: space.is_memory,
        device: space.device,
    })
}

impl Disk {
    pub fn is_same(&self, other: &Self) -> bool {
        self.device == other.device
    }
}

/// Bytes available to an unprivileged user on the file system of `path`.
pub(crate) fn free_bytes(files: &dyn Files, path: &Path) -> Result<u64, Failure> {
    space(files, path).map(|space| space.free_bytes)
}

fn space(files: &dyn Files, path: &Path) -> Result<Space, Failure> {
    let space = files.space(path);
    space.map_err(Failure::at("read the file system of", path))
}

/// Memory available to new processes without swapping, within the limits of this process's control
/// groups.
pub fn available_memory(files: &dyn Files) -> Result<u64, Failure> {
    let failed = Failure::at("read", Path::new("/proc/meminfo"));
    let available = Memory::read(files).available_bytes;
    available.ok_or_else(|| failed(std::io::Error::other("no MemAvailable")))
}

#[cfg(test)]
mod tests;

//! What a trial needs, to be compared with what a host has available before anything starts.

use std::path::Path;
use std::time::Duration;

use host::{Files, Memory, Space};
use plan::{EngineSpec, Volume, shown_bytes};

use super::spec::{config, engine_of};
use crate::{Failure, Trial};

/// Bytes of a row of the load's tables, with its index entry and unused space in pages. Tables of 1
/// million rows take 252 to 264 after loading.
pub(crate) const ROW_BYTES: u64 = 270;
/// Minimum speed of loading and indexing rows.
const LOAD_ROWS_PER_S: u64 = 100_000;
/// Minimum speed of copying data without sharing blocks.
const COPY_BYTES_PER_S: u64 = 500_000_000;
const START: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

impl Needs {
    /// The part of `disk_bytes` for a copy of the data, without a log; there are so many servers.
    pub(crate) fn data_bytes(&self, servers: u32) -> u64 {
        let others = self.template_bytes.saturating_add(self.log_bytes);
        self.disk_bytes.saturating_sub(others) / u64::from(servers.max(1))
    }

    /// The bytes that `some` of the servers need on each kind of volume. Fails if a file system is too small
    /// for its server.
    pub fn on_volumes<'a>(
        &self,
        node: &'a plan::Node,
        servers: u32,
        some: u32,
    ) -> Result<Vec<(&'a Volume, u64)>, Failure> {
        let server_bytes = self.disk_bytes - self.template_bytes;
        let parts = match &node.log_volume {
            None => vec![("data", &node.volume, server_bytes)],
            Some(log) => vec![
                ("data", &node.volume, server_bytes - self.log_bytes),
                ("log", log, self.log_bytes),
            ],
        };
        let parts = parts.into_iter().map(|(what, volume, needed_bytes)| {
            let each_bytes = needed_bytes / u64::from(servers.max(1));
            let bytes = volume_bytes(what, volume, each_bytes)?;
            Ok((volume, bytes.saturating_mul(some.into())))
        });
        parts.collect()
    }
}

/// Estimates the needs of a trial with private servers, deliberately on the high side. `template_bytes` is
/// the size of the cached template; `None` if it must be built.
pub fn of(trial: &Trial, spec: &EngineSpec, template_bytes: Option<u64>) -> Result<Needs, Failure> {
    let (planned, data) = (&trial.planned, &trial.options.data);
    let of_script = trial.workload.data().map(|data| data.rows);
    let rows = of_script.unwrap_or(u64::from(data.tables) * data.rows);
    let server = engine_of(spec)?.needs(&config(spec), planned.load.threads, rows);
    let instances = planned.topology.nodes();
    let load = trial.load_time();
    Ok(of_servers(server, instances, rows, load, template_bytes))
}

fn of_servers(
    server: engine::Needs,
    instances: u32,
    rows: u64,
    load: Duration,
    template_bytes: Option<u64>,
) -> Needs {
    let instances = u64::from(instances.max(1));
    let data = template_bytes.unwrap_or(server.data_bytes);
    let loading = Duration::from_secs(rows.div_ceil(LOAD_ROWS_PER_S));
    let (template_bytes, build_time) = match template_bytes {
        Some(_) => (0, Duration::ZERO),
        None => (data, START * 2 + loading),
    };
    let each = data.saturating_add(server.log_bytes);
    let copies = Duration::from_secs(data.saturating_mul(instances) / COPY_BYTES_PER_S);
    Needs {
        time: load + START + copies + build_time,
        build_time,
        disk_bytes: each
            .saturating_mul(instances)
            .saturating_add(template_bytes),
        template_bytes,
        log_bytes: server.log_bytes.saturating_mul(instances),
        memory_bytes: server.memory_bytes.saturating_mul(instances),
    }
}

/// The bytes that the data or the log of a server needs on its disk. For a file system on loop devices, this
/// is the full size of their sparse files. Fails if the file system is too small.
fn volume_bytes(what: &str, volume: &Volume, each_bytes: u64) -> Result<u64, Failure> {
    let Some(made) = &volume.file_system else {
        return Ok(each_bytes);
    };
    let Some(bytes) = made.loop_bytes() else {
        return Ok(0);
    };
    let raw = made.profile.raw_per_byte(made.device_count());
    let room_bytes = (bytes as f64 / raw) as u64;
    if each_bytes > room_bytes {
        let message = format!(
            "the {what} of each server needs {}; its file system has {}",
            shown_bytes(each_bytes),
            shown_bytes(room_bytes)
        );
        let remedy = match what {
            "log" => "use a larger device_size or more devices under [log_volume]",
            _ => "use a larger device_size or more devices under [volume], or fewer rows",
        };
        let failure = Failure::usage(message);
        return Err(failure.remedy(remedy).span(made.kind.span));
    }
    Ok(bytes)
}

/// The space on the file system of `path`.
pub fn space(files: &dyn Files, path: &Path) -> Result<Space, Failure> {
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

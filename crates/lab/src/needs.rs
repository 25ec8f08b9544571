//! What a trial needs of this host, and what there is: looked at before anything starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::Server;
use rustix::io::Errno;

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
/// The kernel's number for files in memory.
const TMPFS: rustix::fs::FsWord = 0x0102_1994;
/// The most of a file of the kernel that is read.
const KERNEL_BYTES: usize = 64 * 1024;

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

/// The file system under a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// The directory.
    pub path: PathBuf,
    /// What this user may still write there.
    pub free_bytes: u64,
    /// It keeps files in memory.
    pub is_memory: bool,
    device: u64,
}

/// Looks at the file system under a directory.
///
/// # Errors
/// When there is no such directory, or the operating system does not tell.
pub fn disk(path: &Path) -> Result<Disk, LabError> {
    let failed = |error: Errno| LabError::at("look at the disk of", path)(error.into());
    Ok(Disk {
        path: path.to_owned(),
        free_bytes: free_bytes(path)?,
        is_memory: rustix::fs::statfs(path).map_err(failed)?.f_type == TMPFS,
        device: rustix::fs::stat(path).map_err(failed)?.st_dev,
    })
}

impl Disk {
    /// Whether both are one file system, with one free space.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.device == other.device
    }
}

/// What this user may still write to the file system of `path`.
pub(crate) fn free_bytes(path: &Path) -> Result<u64, LabError> {
    let stat = rustix::fs::statvfs(path)
        .map_err(|error| LabError::at("look at the disk of", path)(error.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// What is left for new processes without swapping, within the limits of this process's
/// cgroup.
///
/// # Errors
/// When the operating system does not tell.
pub fn available_memory() -> Result<u64, LabError> {
    let path = Path::new("/proc/meminfo");
    let text = fs::read_to_string(path).map_err(LabError::at("read", path))?;
    let host = mem_available(&text)
        .ok_or_else(|| LabError::at("read", path)(std::io::Error::other("no MemAvailable")))?;
    let limits = cgroup_left(Path::new("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
    Ok(limits.into_iter().fold(host, u64::min))
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let value = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// What is left below the memory limit of this process's cgroup and of those above it, in
/// either version.
fn cgroup_left(own: &Path, root: &Path) -> Vec<u64> {
    let text = fs::read_to_string(own).unwrap_or_default();
    let mut left = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let (dir, limit, usage) = if controllers.is_empty() {
            (root.to_owned(), "memory.max", "memory.current")
        } else if controllers.split(',').any(|name| name == "memory") {
            let dir = root.join("memory");
            (dir, "memory.limit_in_bytes", "memory.usage_in_bytes")
        } else {
            continue;
        };
        let group = dir.join(group.trim_start_matches('/'));
        let above = group.ancestors().take_while(|at| at.starts_with(&dir));
        left.extend(above.filter_map(|at| {
            let limit = number(&at.join(limit))?;
            // Memory of the page cache counts as used and is given back when it is needed.
            let cache = inactive_file(&at.join("memory.stat"));
            let used = number(&at.join(usage))?.saturating_sub(cache);
            Some(limit.saturating_sub(used))
        }));
    }
    left
}

/// The number in a file; `None` for `max`.
fn number(path: &Path) -> Option<u64> {
    short_text(path)?.trim().parse().ok()
}

fn inactive_file(stat: &Path) -> u64 {
    let text = short_text(stat).unwrap_or_default();
    let field = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(key, _)| *key == name)?.1.parse().ok()
    };
    field("total_inactive_file")
        .or_else(|| field("inactive_file"))
        .unwrap_or(0)
}

fn short_text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    (text.len() <= KERNEL_BYTES).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(instances: u32, config: &[(String, String)]) -> Needs {
        of(&Asked {
            engine: engine::MARIADB,
            config,
            instances,
            connections: 16,
            rows: 1_000_000,
            load: Duration::from_secs(60),
            template_bytes: None,
        })
    }

    #[test]
    fn needs_grow_with_servers_rows_and_settings() {
        let pool = |value: &str| [("innodb-buffer-pool-size".to_owned(), value.to_owned())];
        let (one, eight) = (asked(1, &[]), asked(8, &[]));
        assert_eq!(eight.memory_bytes, one.memory_bytes * 8);
        assert!(one.disk_bytes > 2 * 250_000_000 && one.time > Duration::from_secs(65));
        let large = asked(1, &pool("2G"));
        assert!(large.memory_bytes - one.memory_bytes > 1900 << 20);
        assert_eq!(asked(1, &pool("banana")).memory_bytes, one.memory_bytes);
        assert_eq!(
            asked(u32::MAX, &pool("16E")).memory_bytes,
            asked(u32::MAX, &[]).memory_bytes
        );
        let log = [("innodb_log_file_size".to_owned(), "1G".to_owned())];
        assert!(asked(1, &log).disk_bytes - one.disk_bytes > 900 << 20);
    }

    #[test]
    fn a_cached_template_is_neither_built_nor_stored_again() {
        let cached = of(&Asked {
            engine: engine::MYSQL,
            config: &[],
            instances: 2,
            connections: 1,
            rows: 1_000_000,
            load: Duration::ZERO,
            template_bytes: Some(1 << 30),
        });
        assert_eq!(cached.disk_bytes, 2 << 30);
        assert_eq!(
            (cached.build_time, cached.template_bytes),
            (Duration::ZERO, 0)
        );
    }

    #[test]
    fn limits_of_both_kinds_of_cgroup_count_with_those_above() {
        let dir = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        file("own", "4:memory:/a\n1:cpu:/x\n0::/b/c\n");
        file("memory/a/memory.limit_in_bytes", "1000\n");
        file("memory/a/memory.usage_in_bytes", "400\n");
        file(
            "memory/a/memory.stat",
            "inactive_file 1\ntotal_inactive_file 100\n",
        );
        file("b/c/memory.max", "max\n");
        file("b/c/memory.current", "5\n");
        file("b/memory.max", "500\n");
        file("b/memory.current", "450\n");
        let mut left = cgroup_left(&dir.path().join("own"), dir.path());
        left.sort_unstable();
        assert_eq!(left, [50, 700]);
        assert!(cgroup_left(Path::new("/none"), dir.path()).is_empty());
    }

    #[test]
    fn this_host_has_something_left() {
        assert_eq!(
            mem_available("MemFree: 1 kB\nMemAvailable:     20 kB\n"),
            Some(20_480)
        );
        assert!(available_memory().unwrap() > 1 << 20);
        assert!(free_bytes(Path::new("/proc/self/root")).unwrap() > 0);
        let (shm, root) = (disk(Path::new("/dev/shm")), disk(Path::new("/")));
        let (shm, root) = (shm.unwrap(), root.unwrap());
        assert!(shm.is_memory && !root.is_same(&shm));
        let again = disk(Path::new("/proc/self/root")).unwrap();
        assert!(root.is_same(&again));
    }
}

//! Control groups of version 1 and 2: the limits on this process, and the memory left.

use std::path::{Component, Path, PathBuf};

use procfs_core::{FromBufRead, ProcessCGroup, ProcessCGroups};

use crate::files::{Files, line, number, text};
use crate::mounts::{self, Mount};

/// The files with the limits of version 2, and those of version 1 with their controllers.
const V2: [&str; 7] = [
    "cpu.max",
    "cpuset.cpus",
    "cpuset.mems",
    "memory.max",
    "memory.high",
    "io.max",
    "pids.max",
];
const V1: [(&str, &str); 10] = [
    ("cpu", "cpu.cfs_quota_us"),
    ("cpu", "cpu.cfs_period_us"),
    ("cpuset", "cpuset.cpus"),
    ("cpuset", "cpuset.mems"),
    ("memory", "memory.limit_in_bytes"),
    ("blkio", "blkio.throttle.read_bps_device"),
    ("blkio", "blkio.throttle.write_bps_device"),
    ("blkio", "blkio.throttle.read_iops_device"),
    ("blkio", "blkio.throttle.write_iops_device"),
    ("pids", "pids.max"),
];
/// Maximum number of groups from this process's own up to the root.
const MAX_DEPTH: usize = 32;
/// Longest limit that is kept, in characters.
const MAX_LIMIT: usize = 4096;
/// Version 1 represents "no limit" as the largest multiple of the page size.
const NO_MEMORY_LIMIT: u64 = 1 << 60;

/// A control group of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    /// Controllers in version 1; empty in version 2.
    pub controllers: Vec<String>,
    /// The path that the kernel shows to this process.
    pub path: String,
    pub mount: Mount,
}

impl Cgroup {
    /// The directory of the group. In a container, the mounted hierarchy may start at a group
    /// below the root, and groups outside it are shown as `/..`.
    pub fn dir(&self, files: &dyn Files) -> PathBuf {
        let below = Path::new(&self.path).strip_prefix(&self.mount.root);
        let parts = below.unwrap_or(Path::new("")).components();
        let inside: PathBuf = parts
            .filter(|part| matches!(part, Component::Normal(_)))
            .collect();
        // `join` with an empty path would append a slash.
        let dir: PathBuf = self.mount.point.iter().chain(&inside).collect();
        match files.list(&dir) {
            Ok(_) => dir,
            Err(_) => self.mount.point.clone(),
        }
    }

    /// The directories of the group and its ancestors, whose limits apply, too.
    fn dirs(&self, files: &dyn Files) -> Vec<PathBuf> {
        let dir = self.dir(files);
        let ancestors = dir.ancestors();
        let groups = ancestors.take_while(|dir| dir.starts_with(&self.mount.point));
        groups.take(MAX_DEPTH).map(Path::to_owned).collect()
    }

    /// Whether the hierarchy has a controller of version 1.
    pub fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|name| name == controller)
    }

    /// Whether the hierarchy is of version 2.
    pub fn is_unified(&self) -> bool {
        self.controllers.is_empty()
    }
}

/// The groups of this process in all mounted hierarchies.
pub fn groups(files: &dyn Files) -> Vec<Cgroup> {
    let text = text(files, "/proc/self/cgroup").unwrap_or_default();
    let Ok(ProcessCGroups(groups)) = ProcessCGroups::from_buf_read(text.as_bytes()) else {
        return Vec::new();
    };
    let mounts = mounts::all(files);
    let groups = groups.into_iter().filter_map(|group| {
        let mount = mounts.iter().find(|mount| is_mount_of(mount, &group))?;
        Some(Cgroup {
            controllers: group.controllers,
            path: group.pathname,
            mount: mount.clone(),
        })
    });
    groups.collect()
}

fn is_mount_of(mount: &Mount, group: &ProcessCGroup) -> bool {
    match (mount.file_system.as_str(), group.controllers.as_slice()) {
        ("cgroup2", []) => true,
        ("cgroup", all @ [_, ..]) => {
            let options: Vec<&str> = mount.options.split(',').collect();
            all.iter().all(|name| options.contains(&name.as_str()))
        }
        _ => false,
    }
}

/// The names and values of all limits on this process, from its own groups upwards. The name of an
/// ancestor's limit includes the path of that group.
pub(crate) fn limits(files: &dyn Files) -> Vec<(String, String)> {
    let groups = groups(files);
    groups.iter().flat_map(|group| of(files, group)).collect()
}

fn of(files: &dyn Files, group: &Cgroup) -> Vec<(String, String)> {
    let names: Vec<&str> = match group.is_unified() {
        true => V2.to_vec(),
        false => {
            let ours = V1.iter().filter(|(controller, _)| group.has(controller));
            ours.map(|(_, file)| *file).collect()
        }
    };
    let mut limits = Vec::new();
    for (height, dir) in group.dirs(files).iter().enumerate() {
        for file in &names {
            let value = line(files, dir.join(file)).filter(|value| is_limit(files, file, value));
            let Some(value) = value else { continue };
            let inside = dir.strip_prefix(&group.mount.point).unwrap_or(dir);
            let name = match height {
                0 => (*file).to_owned(),
                _ => format!("{file} of /{}", inside.display()),
            };
            let value: String = value.chars().take(MAX_LIMIT).collect();
            limits.push((name, value.replace('\n', "; ")));
        }
    }
    // A period without a quota limits nothing.
    let has_quota = limits
        .iter()
        .any(|(name, _)| name.starts_with("cpu.cfs_quota"));
    limits.retain(|(name, _)| has_quota || !name.starts_with("cpu.cfs_period"));
    limits
}

fn is_limit(files: &dyn Files, file: &str, value: &str) -> bool {
    let all = |part: &str| line(files, format!("/sys/devices/system/{part}/online"));
    match file {
        "cpuset.cpus" => all("cpu").as_deref() != Some(value),
        "cpuset.mems" => all("node").as_deref() != Some(value),
        "memory.limit_in_bytes" => value
            .parse()
            .is_ok_and(|bytes: u64| bytes < NO_MEMORY_LIMIT),
        _ => !value.starts_with("max") && value != "-1",
    }
}

/// The memory left under each memory limit of this process's groups, in bytes.
pub(crate) fn memory_left(files: &dyn Files) -> Vec<u64> {
    let mut left = Vec::new();
    for group in groups(files) {
        let (limit, usage) = match group.is_unified() {
            true => ("memory.max", "memory.current"),
            false if group.has("memory") => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
            false => continue,
        };
        left.extend(group.dirs(files).iter().filter_map(|dir| {
            let limit = number(files, dir.join(limit))?;
            // The page cache counts as used, but is reclaimed when memory is needed.
            let stat = text(files, dir.join("memory.stat")).unwrap_or_default();
            let cache = count(&stat, "total_inactive_file").or(count(&stat, "inactive_file"));
            let used = number(files, dir.join(usage))?.saturating_sub(cache.unwrap_or(0));
            Some(limit.saturating_sub(used))
        }));
    }
    left
}

/// The number in the line `name number`.
pub(crate) fn count(text: &str, name: &str) -> Option<u64> {
    crate::files::field(text, name, ' ')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::TestMachine;

    const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

    fn unified(own: &str, files: &str) -> TestMachine {
        let machine = TestMachine::with(&[
            ("/proc/self/mountinfo", V2_MOUNT),
            ("/proc/self/cgroup", &format!("0::{own}\n")),
        ]);
        machine.write_all("/sys/fs/cgroup/", files);
        machine
    }

    #[test]
    fn limits_that_are_set() {
        let files = "a/b/cpu.max max 100000
                     a/b/memory.max 1073741824
                     a/memory.max max
                     a/cpu.max 50000 100000";
        let set = [
            ("memory.max".to_owned(), "1073741824".to_owned()),
            ("cpu.max of /a".to_owned(), "50000 100000".to_owned()),
        ];
        assert_eq!(limits(&unified("/a/b", files).files), set);
        assert_eq!(limits(&unified("/../../etc", files).files), []);
        assert_eq!(limits(&TestMachine::with(&[]).files), []);
    }

    /// Two hierarchies of version 1, in which the groups are `/a` and `/`.
    fn version_1() -> TestMachine {
        TestMachine::of(
            "proc/self/mountinfo 31 30 0:27 / /cg/memory rw - cgroup cgroup rw,memory; \
             32 30 0:28 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct
             proc/self/cgroup 4:memory:/a; 3:cpu,cpuacct:/; 2:pids:/x",
        )
    }

    #[test]
    fn version_1_represents_no_limit_by_special_values() {
        let machine = version_1();
        machine.write_all(
            "/cg/",
            "memory/a/memory.limit_in_bytes 9223372036854771712
             cpu/cpu.cfs_quota_us -1
             cpu/cpu.cfs_period_us 100000",
        );
        assert_eq!(limits(&machine.files), []);
        machine.write("/cg/cpu/cpu.cfs_quota_us", "50000\n");
        assert_eq!(limits(&machine.files).len(), 2);
    }

    #[test]
    fn memory_that_is_left() {
        let machine = version_1();
        machine.write_all(
            "/cg/memory/a/",
            "memory.limit_in_bytes 1000
             memory.usage_in_bytes 400
             memory.stat inactive_file 1; total_inactive_file 100",
        );
        assert_eq!(memory_left(&machine.files), [700]);
        let files = "b/c/memory.max max
                     b/c/memory.current 5
                     b/memory.max 500
                     b/memory.current 450";
        assert_eq!(memory_left(&unified("/b/c", files).files), [50]);
        assert!(memory_left(&TestMachine::with(&[]).files).is_empty());
    }

    /// A container sees its own group as the root, under its real name or as `/`.
    #[test]
    fn a_container_does_not_see_its_ancestors() {
        let mount = V2_MOUNT.replace(" / ", " /docker/0a ");
        for (own, dir) in [
            ("/docker/0a", "/sys/fs/cgroup"),
            ("/", "/sys/fs/cgroup"),
            ("/../other", "/sys/fs/cgroup"),
            ("/docker/0a/gone", "/sys/fs/cgroup"),
            ("/docker/0a/a", "/sys/fs/cgroup/a"),
        ] {
            let machine = unified(own, "a/cgroup.procs");
            machine.write("/proc/self/mountinfo", &mount);
            let found = groups(&machine.files)[0].dir(&machine.files);
            assert_eq!(found.to_str(), Some(dir), "{own}");
        }
    }
}

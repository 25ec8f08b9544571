//! What control groups limit this process to.

use std::path::{Component, Path, PathBuf};

use crate::kernel;
use crate::monitors::mounts;

/// The limits of version 2, and of version 1 with the controller that has each.
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
/// Deeper nesting is somebody's mistake.
const MAX_DEPTH: usize = 32;
/// Version 1's word for no limit of memory is the most that fits into a page count.
const NO_MEMORY_LIMIT: u64 = 1 << 60;

/// Every limit that is set, from this process's own groups up: name and value. Those of
/// a group above say which: all of them count.
pub(crate) fn all() -> Vec<(String, String)> {
    let Some(groups) = kernel::text("/proc/self/cgroup") else {
        return Vec::new();
    };
    let mounts = mounts::all();
    let mut limits = Vec::new();
    for (controllers, group) in groups.lines().filter_map(parse_group) {
        let (mount, files) = if controllers.is_empty() {
            let mount = mounts.iter().find(|mount| mount.file_system == "cgroup2");
            (mount, V2.to_vec())
        } else {
            let has = |options: &str, name: &str| options.split(',').any(|option| option == name);
            let mount = mounts.iter().find(|mount| {
                let all_of_them = controllers.split(',').all(|name| has(&mount.options, name));
                mount.file_system == "cgroup" && all_of_them
            });
            let ours = V1.iter().filter(|(name, _)| has(controllers, name));
            (mount, ours.map(|(_, file)| *file).collect())
        };
        if let Some(mount) = mount {
            limits.extend(of_group(&mount.point, group, &files));
        }
    }
    limits
}

/// `4:memory:/a/b` as the controllers and the group.
fn parse_group(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(':')?;
    rest.split_once(':')
}

/// The limits of a group and of those above it, which limit it too.
fn of_group(mount: &Path, group: &str, files: &[&str]) -> Vec<(String, String)> {
    let inside: PathBuf = Path::new(group)
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect();
    let mut limits = Vec::new();
    for (height, group) in inside.ancestors().take(MAX_DEPTH).enumerate() {
        for file in files {
            let value = super::line(mount.join(group).join(file));
            if let Some(value) = value.filter(|value| is_limit(file, value)) {
                let name = match height {
                    0 => (*file).to_owned(),
                    _ => format!("{file} of /{}", group.display()),
                };
                limits.push((name, value.replace('\n', "; ")));
            }
        }
    }
    // A period without a quota limits nothing.
    if !limits
        .iter()
        .any(|(name, _)| name.starts_with("cpu.cfs_quota"))
    {
        limits.retain(|(name, _)| !name.starts_with("cpu.cfs_period"));
    }
    limits
}

fn is_limit(file: &str, value: &str) -> bool {
    match file {
        "cpuset.cpus" => kernel::line("/sys/devices/system/cpu/online").as_deref() != Some(value),
        "cpuset.mems" => kernel::line("/sys/devices/system/node/online").as_deref() != Some(value),
        "memory.limit_in_bytes" => value
            .parse()
            .is_ok_and(|bytes: u64| bytes < NO_MEMORY_LIMIT),
        _ => !value.starts_with("max") && value != "-1",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_set_is_told_and_what_is_open_is_not() {
        let mount = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(mount.path().join(file), text).unwrap();
        fs::create_dir_all(mount.path().join("a/b")).unwrap();
        write("a/b/cpu.max", "max 100000\n");
        write("a/b/memory.max", "1073741824\n");
        write("a/memory.max", "max\n");
        write("a/cpu.max", "50000 100000\n");
        assert_eq!(
            of_group(mount.path(), "/a/b", &V2),
            [
                ("memory.max".to_owned(), "1073741824".to_owned()),
                ("cpu.max of /a".to_owned(), "50000 100000".to_owned())
            ]
        );
        assert_eq!(of_group(mount.path(), "/../../etc", &V2), []);
    }

    #[test]
    fn version_1_says_no_limit_in_its_own_ways() {
        let mount = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(mount.path().join(file), text).unwrap();
        let files: Vec<&str> = V1.iter().map(|(_, file)| *file).collect();
        write("memory.limit_in_bytes", "9223372036854771712\n");
        write("cpu.cfs_quota_us", "-1\n");
        write("cpu.cfs_period_us", "100000\n");
        write("blkio.throttle.read_bps_device", "");
        assert_eq!(of_group(mount.path(), "/", &files), []);
        write("cpu.cfs_quota_us", "50000\n");
        assert_eq!(of_group(mount.path(), "/", &files).len(), 2);
        assert_eq!(parse_group("4:memory:/a:b"), Some(("memory", "/a:b")));
    }
}

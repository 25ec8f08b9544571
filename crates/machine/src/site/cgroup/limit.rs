//! The files of a control group that set a limit, and their contents.

use host::Files;
use plan::{CpuSet, DiskLimits, Limits};

use super::parent::Parent;
use super::{Controller, Version};
use crate::failure::Failure;

/// The period of a CPU quota: the kernel's default.
const PERIOD_US: u64 = 100_000;
/// The smallest quota that the kernel accepts.
const MIN_QUOTA_US: u64 = 1000;

/// Files that some kernels do not have.
pub(super) const OPTIONAL: [&str; 2] = ["memory.memsw.limit_in_bytes", "memory.swap.max"];

/// The name of a control group's file, and what to write to it.
pub(super) type File = (&'static str, String);

fn file(name: &'static str, text: impl ToString) -> File {
    (name, text.to_string())
}

/// Checks that the machine has the resources that the limits name.
pub(super) fn check(files: &dyn Files, limits: &Limits) -> Result<(), Failure> {
    let Some(wanted) = &limits.cpuset else {
        return Ok(());
    };
    let online = host::line(files, "/sys/devices/system/cpu/online");
    let Some(online) = online.as_deref().and_then(CpuSet::parse) else {
        return Ok(());
    };
    let mut wanted = wanted.numbers().iter();
    match wanted.find(|number| !online.numbers().contains(number)) {
        None => Ok(()),
        Some(missing) => Err(Controller::CpuSet.unlimited(
            format!("this host has no CPU {missing}: its CPUs are {online}"),
            "choose among its CPUs",
        )),
    }
}

pub(super) fn controllers(limits: &Limits) -> Vec<Controller> {
    let all = [
        limits.cpus.as_ref().map(|_| Controller::Cpu),
        limits.cpuset.as_ref().map(|_| Controller::CpuSet),
        limits.memory.as_ref().map(|_| Controller::Memory),
    ];
    all.into_iter().flatten().collect()
}

/// The files that set the limit of a controller, in the order in which to write them.
pub(super) fn files(
    files: &dyn Files,
    parent: &Parent,
    controller: Controller,
    limits: &Limits,
) -> Vec<File> {
    let version = parent.version;
    let (cpus, memory_bytes) = (limits.cpus.as_ref(), limits.memory.as_ref());
    let set = match controller {
        Controller::Cpu => cpus.map(|cpus| quota(version, cpus.value)),
        Controller::CpuSet => (limits.cpuset.as_ref()).map(|set| cpuset(files, parent, &set.value)),
        Controller::Memory => memory_bytes.map(|bytes| memory(version, bytes.value)),
        Controller::CpuAccount | Controller::Io => None,
    };
    set.unwrap_or_default()
}

fn cpuset(files: &dyn Files, parent: &Parent, set: &CpuSet) -> Vec<File> {
    let set = file("cpuset.cpus", set);
    match parent.version {
        // A process can enter the group only once both files are set.
        Version::One => {
            let inherited = host::line(files, parent.dir.join("cpuset.mems"));
            vec![file("cpuset.mems", inherited.unwrap_or_default()), set]
        }
        Version::Two => vec![set],
    }
}

fn quota(version: Version, cpus: f64) -> Vec<File> {
    // The study limits `cpus` to far below what overflows.
    let quota_us = ((cpus * PERIOD_US as f64).round() as u64).max(MIN_QUOTA_US);
    match version {
        Version::One => vec![
            file("cpu.cfs_period_us", PERIOD_US),
            file("cpu.cfs_quota_us", quota_us),
        ],
        Version::Two => vec![file("cpu.max", format!("{quota_us} {PERIOD_US}"))],
    }
}

/// Limits memory and forbids swap space, which would replace it.
fn memory(version: Version, bytes: u64) -> Vec<File> {
    match version {
        Version::One => vec![
            file("memory.limit_in_bytes", bytes),
            file("memory.memsw.limit_in_bytes", bytes),
        ],
        Version::Two => vec![file("memory.max", bytes), file("memory.swap.max", 0)],
    }
}

/// The files that set the limits of one device.
pub(super) fn io_files(version: Version, device: (u32, u32), limits: &DiskLimits) -> Vec<File> {
    let device = format!("{}:{}", device.0, device.1);
    // 0 is no limit.
    let one = |name, limit: Option<u64>| file(name, format!("{device} {}", limit.unwrap_or(0)));
    let two = |name, limit: Option<u64>| {
        let limit = limit.map_or_else(|| "max".to_owned(), |limit| limit.to_string());
        format!(" {name}={limit}")
    };
    match version {
        Version::One => vec![
            one("blkio.throttle.read_iops_device", limits.read_iops),
            one("blkio.throttle.write_iops_device", limits.write_iops),
            one("blkio.throttle.read_bps_device", limits.read_bytes_per_s),
            one("blkio.throttle.write_bps_device", limits.write_bytes_per_s),
        ],
        Version::Two => {
            let limits = [
                two("riops", limits.read_iops),
                two("wiops", limits.write_iops),
                two("rbps", limits.read_bytes_per_s),
                two("wbps", limits.write_bytes_per_s),
            ];
            vec![file("io.max", device + &limits.concat())]
        }
    }
}

/// The disk that a partition is on, because the kernel limits whole disks only; any other device
/// itself.
pub(super) fn whole_disk(files: &dyn Files, (major, minor): (u32, u32)) -> (u32, u32) {
    let dir = format!("/sys/dev/block/{major}:{minor}");
    let of_disk = || {
        host::line(files, format!("{dir}/partition"))?;
        let text = host::line(files, format!("{dir}/../dev"))?;
        let (major, minor) = text.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    of_disk().unwrap_or((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_written_in_each_versions_own_way() {
        let two = quota(Version::Two, 1.5);
        assert_eq!(two, [("cpu.max", "150000 100000".to_owned())]);
        let one = quota(Version::One, 0.001);
        assert_eq!(one[1], ("cpu.cfs_quota_us", "1000".to_owned()));
        let two = memory(Version::Two, 5);
        assert_eq!(two[1], ("memory.swap.max", "0".to_owned()));
    }

    #[test]
    fn a_device_has_all_its_limits_or_none() {
        let limits = DiskLimits {
            read_iops: Some(200),
            write_bytes_per_s: Some(1 << 20),
            ..DiskLimits::default()
        };
        let two = io_files(Version::Two, (7, 1), &limits);
        let words = "7:1 riops=200 wiops=max rbps=max wbps=1048576";
        assert_eq!(two, [("io.max", words.to_owned())]);
        let one = io_files(Version::One, (7, 1), &limits);
        assert_eq!(one[0].1, "7:1 200");
        assert_eq!(one[1].1, "7:1 0");
        assert_eq!(one.len(), 4);
    }
}

//! A directory, and the disks under it.

use std::path::Path;

use super::{entries, name};
use crate::doctor::place::{Assembled, Place, Queue};
use crate::fingerprint::{chosen, place as described};
use crate::kernel;
use crate::monitors::device;

/// What is under `path`, or where it would be; `needed_bytes` is what the load puts there.
pub(in crate::doctor) fn read(path: &Path, needed_bytes: u64) -> Place {
    let existing = described::existing(path);
    let room = existing
        .as_deref()
        .and_then(|path| rustix::fs::statvfs(path).ok());
    let bytes = |blocks: fn(&rustix::fs::StatVfs) -> u64| {
        let room = room.as_ref()?;
        Some(blocks(room).saturating_mul(room.f_frsize))
    };
    let devices = existing.as_deref().map(device::disks_under);
    let system = device::disks_under(Path::new("/"));
    Place {
        described: described::describe(&[path]).pop().unwrap_or_default(),
        free_bytes: bytes(|room| room.f_bavail),
        total_bytes: bytes(|room| room.f_blocks),
        needed_bytes,
        ..on_devices(
            Path::new(device::BLOCK_DEVICES),
            &devices.unwrap_or_default(),
            &system,
        )
    }
}

/// What the kernel tells of the devices under a place and of those under the system; `all` is
/// where it tells of them.
fn on_devices(all: &Path, devices: &[String], system: &[String]) -> Place {
    let layers = device::layers(all, devices);
    let disks = layers.disks.iter();
    let arrays = layers.assembled.iter();
    Place {
        system_disks: device::layers(all, system).disks,
        devices: disks.clone().chain(arrays.clone()).cloned().collect(),
        queues: disks.filter_map(|disk| queue(&all.join(disk))).collect(),
        assembled: arrays.map(|array| assembled(all, array)).collect(),
        ..Place::default()
    }
}

/// How many requests a disk takes at once: what its driver says, else what the kernel queues.
fn queue(disk: &Path) -> Option<Queue> {
    let files = ["device/queue_depth", "queue/nr_requests"].map(|file| disk.join(file));
    let (file, depth) = files
        .iter()
        .find_map(|file| Some((file, kernel::number(file)?)))?;
    let most = match *file == files[0] {
        true => controller_queue(disk),
        false => unscheduled_queue(disk, depth),
    };
    Some(Queue {
        file: file.display().to_string(),
        depth,
        most,
    })
}

/// What a disk takes at once whose requests go to it without a scheduler, which could hold
/// more: `mq/0/nr_tags`, and what it takes now where that is not told.
fn unscheduled_queue(disk: &Path, depth: u64) -> Option<u64> {
    let scheduler = kernel::line(disk.join("queue/scheduler")).map(chosen);
    let tags = || kernel::number(disk.join("mq/0/nr_tags"));
    (scheduler? == "none").then(|| tags().unwrap_or(depth))
}

/// What the SCSI controller of a disk takes at once: `host0/scsi_host/host0/can_queue`.
fn controller_queue(disk: &Path) -> Option<u64> {
    let device = disk.join("device").canonicalize().ok()?;
    let file = |dir: &Path| {
        let host = dir.join("scsi_host").join(name(dir)?);
        kernel::number(host.join("can_queue"))
    };
    device.ancestors().find_map(file)
}

/// A device that the kernel makes of others.
fn assembled(all: &Path, device: &str) -> Assembled {
    let dir = all.join(device);
    let parts = entries(dir.join("slaves"));
    let parts: Vec<&str> = parts.iter().filter_map(|part| name(part)).collect();
    let level = kernel::line(dir.join("md/level"));
    let action = kernel::line(dir.join("md/sync_action"));
    Assembled {
        name: device.to_owned(),
        level: format!(
            "{} of {}",
            level.as_deref().unwrap_or("volume"),
            parts.join(", ")
        ),
        degraded: kernel::number(dir.join("md/degraded")).unwrap_or(0),
        action: action.filter(|action| action != "idle"),
    }
}

/// Whether the disks under a directory turn, if all of them know.
pub(in crate::doctor) fn turns(path: &Path) -> Option<bool> {
    let place = described::describe(&[path]).pop()?;
    let mut known = place.disks.iter().map(|disk| disk.rotational);
    let first = known.next()??;
    known.all(|other| other == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use measure::finding::{Finding, Level};
    use measure::result::Place as Described;

    use super::*;
    use crate::doctor::place::CHECKS;
    use crate::monitors::device::made_up::{assembled as assemble, device};
    use measure::finding::check::{on_host, run};

    /// What is found of data on `devices` where / is on `system`.
    fn findings(all: &Path, devices: &[&str], system: &[&str]) -> Vec<Finding> {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let place = Place {
            described: Described {
                disks: described::disks(all, &names(devices)),
                ..Described::default()
            },
            ..on_devices(all, &names(devices), &names(system))
        };
        let findings = CHECKS
            .iter()
            .flat_map(|checks| run(checks, &place, "/srv", on_host));
        findings.collect()
    }

    fn found<'a>(findings: &'a [Finding], id: &str) -> &'a Finding {
        findings.iter().find(|finding| finding.id == id).unwrap()
    }

    #[test]
    fn two_volumes_on_one_disk_are_that_disk() {
        let sys = tempfile::tempdir().unwrap();
        let all = sys.path();
        let volume = [
            ("queue/scheduler", "[none]\n"),
            ("queue/nr_requests", "128\n"),
        ];
        device(all, "dm-0", &volume);
        device(all, "dm-1", &volume);
        device(all, "sda/sda2", &[("partition", "2\n")]);
        device(
            all,
            "sda",
            &[
                ("queue/scheduler", "none mq-deadline [bfq]\n"),
                ("queue/nr_requests", "64\n"),
                ("device/queue_depth", "1\n"),
            ],
        );
        assemble(all, "dm-0", &["sda/sda2"]);
        assemble(all, "dm-1", &["sda/sda2"]);
        let findings = findings(all, &["dm-1"], &["dm-0"]);
        let beside = found(&findings, "data-beside-system");
        assert_eq!(beside.level, Level::Careful);
        assert!(
            beside.seen.ends_with("lies on sda, as / does"),
            "{beside:?}"
        );
        let scheduler = found(&findings, "io-scheduler");
        assert_eq!(scheduler.seen, "/sys/block/sda/queue/scheduler: bfq");
        let queue = found(&findings, "queue-depth");
        assert!(
            queue
                .seen
                .ends_with("sda/device/queue_depth: 1 requests at once"),
            "{queue:?}"
        );
        let raid = found(&findings, "raid");
        assert_eq!(raid.seen, "/sys/block/dm-1: volume of sda2");
    }

    #[test]
    fn an_array_below_a_volume_is_found() {
        let sys = tempfile::tempdir().unwrap();
        let all = sys.path();
        device(
            all,
            "md0",
            &[("md/level", "raid1\n"), ("md/degraded", "1\n")],
        );
        assemble(all, "md0", &["sda", "sdb"]);
        assemble(all, "dm-0", &["md0"]);
        let findings = findings(all, &["dm-0"], &["sdc"]);
        let raid = found(&findings, "raid");
        let seen = "/sys/block/md0: raid1 of sda, sdb, 1 disks are missing";
        assert_eq!((raid.level, raid.seen.as_str()), (Level::Spoils, seen));
        let beside = found(&findings, "data-beside-system");
        assert!(
            beside.seen.ends_with("lies on sda, sdb, / on sdc"),
            "{beside:?}"
        );
        let place = on_devices(all, &["dm-0".to_owned()], &[]);
        assert_eq!(place.devices, ["sda", "sdb", "dm-0", "md0"]);
    }

    #[test]
    fn a_queue_is_told_from_the_file_that_is_there() {
        let sys = tempfile::tempdir().unwrap();
        let all = sys.path();
        let mend = |disk: &str, scheduler: &str, tags: Option<&str>| {
            let files = [
                ("queue/nr_requests", "16\n"),
                ("queue/scheduler", scheduler),
            ];
            let tags = tags.map(|tags| ("mq/0/nr_tags", tags));
            let files: Vec<(&str, &str)> = files.into_iter().chain(tags).collect();
            device(all, disk, &files);
            let findings = findings(all, &[disk], &["sda"]);
            let mend = found(&findings, "queue-depth").mend.clone().unwrap();
            mend.replace(&all.join(disk).display().to_string(), "DISK")
        };
        let scheduled = mend("nvme0n1", "none [mq-deadline]\n", Some("16\n"));
        assert_eq!(scheduled, "echo 128 > DISK/queue/nr_requests");
        // Without a scheduler the kernel refuses more than the device has tags.
        for (disk, scheduler, tags) in [
            ("nvme1n1", "[none] mq-deadline\n", Some("16\n")),
            ("nvme2n1", "none\n", None),
        ] {
            let no_more = mend(disk, scheduler, tags);
            assert_eq!(no_more, "nothing: the device takes no more at once");
        }
        let some_more = mend("nvme3n1", "[none]\n", Some("64\n"));
        assert_eq!(some_more, "echo 64 > DISK/queue/nr_requests");
    }

    #[test]
    fn a_controller_limits_its_disks() {
        let sys = tempfile::tempdir().unwrap();
        let host = sys.path().join("devices/host0");
        device(&host, "scsi_host/host0", &[("can_queue", "32\n")]);
        device(&host, "target0:0:0/0:0:0:0", &[("queue_depth", "1\n")]);
        let disk = sys.path().join("sda");
        fs::create_dir(&disk).unwrap();
        let device = host.join("target0:0:0/0:0:0:0");
        std::os::unix::fs::symlink(device, disk.join("device")).unwrap();
        let queue = queue(&disk).unwrap();
        assert_eq!((queue.depth, queue.most), (1, Some(32)));
    }
}

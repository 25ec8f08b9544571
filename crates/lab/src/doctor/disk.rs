//! The disks below a directory that holds data, and the kernel's settings for them.

use host::{RequestQueue, StackedDevice};
use measure::finding::Level::{Note, Severe, Warning};

use super::check::{About, Check, Observed, Remedy};
use super::storage::DataStorage;

/// A shorter queue keeps a disk from working in parallel.
const SHORT_QUEUE: u64 = 32;
/// The depth that the remedy sets.
const LONG_QUEUE: u64 = 128;

pub(super) const CHECKS: &[Check<DataStorage>] = &[
    Check {
        about: About {
            id: "io-scheduler",
            worst: Severe,
            why: "A fair I/O scheduler delays a database's requests: in AnandTech's tests, CPUs were only 60-70 % busy with CFQ, but fully busy with deadline.",
            source: "AnandTech article (deadline), SanDisk paper (noop); kernel docs, block/switching-sched",
            remedy: Remedy::Words("echo SCHEDULER | tee FILES"),
        },
        judge: scheduler,
    },
    Check {
        about: About {
            id: "data-beside-system",
            worst: Warning,
            why: "Logs, swap and program files share the disk with the data.",
            source: "Sun and VMware paper, best practices (operating system and database on separate disks)",
            remedy: Remedy::Words(
                "use a separate disk for the data: volume.directory in the study, DYNO_CACHE_DIR=/path, or the server's datadir",
            ),
        },
        judge: beside_system,
    },
    Check {
        about: About {
            id: "raid",
            worst: Severe,
            why: "A degraded or rebuilding array is slower than usual, and software RAID takes CPU time from the server.",
            source: "Sun and VMware paper, best practices (hardware RAID, 0+1); kernel docs, admin-guide/md",
            remedy: Remedy::Words("wait until the array is in sync: cat /proc/mdstat"),
        },
        judge: raid,
    },
    Check {
        about: About {
            id: "queue-depth",
            worst: Note,
            why: "With a short queue, the disk serves few requests in parallel.",
            source: "Sun and VMware paper, best practices (queue depth 128); kernel docs, ABI/stable/sysfs-block (nr_requests)",
            remedy: Remedy::Words("echo NUMBER > FILE"),
        },
        judge: queue,
    },
];

impl DataStorage {
    fn disks(&self) -> Vec<&str> {
        let disks = self.storage.described.disks.iter();
        disks.map(|disk| disk.name.as_str()).collect()
    }

    fn no_disk(&self) -> Observed {
        Observed::unknown(format!("{}: no disk known to the kernel", self.mount()))
    }
}

fn scheduler(data: &DataStorage) -> Observed {
    let disks = data.storage.described.disks.iter();
    let known = disks.filter_map(|disk| {
        let file = format!("/sys/block/{}/queue/scheduler", disk.name);
        Some((file, disk.scheduler.as_deref()?))
    });
    let known: Vec<(String, &str)> = known.collect();
    let shown = |known: &[(String, &str)]| {
        let known = known.iter().map(|(file, name)| format!("{file}: {name}"));
        known.collect::<Vec<_>>().join(", ")
    };
    if known.is_empty() {
        return data.no_disk();
    }
    let mut fair = known.clone();
    fair.retain(|(_, name)| ["cfq", "bfq", "anticipatory"].contains(name));
    let better = match fair.first() {
        None => return Observed::passed(shown(&known)),
        Some((_, "bfq")) => "mq-deadline",
        // The schedulers of kernels before blk-mq have names without `mq-`.
        Some(_) => "deadline",
    };
    let files: Vec<&str> = fair.iter().map(|(file, _)| file.as_str()).collect();
    Observed::severe(shown(&fair))
        .with("SCHEDULER", better)
        .with("FILES", files.join(" "))
}

fn beside_system(data: &DataStorage) -> Observed {
    let disks = data.disks();
    if disks.is_empty() || data.system_disks.is_empty() {
        return data.no_disk();
    }
    let is_system = |disk: &&&str| data.system_disks.iter().any(|system| system == **disk);
    match disks.iter().find(is_system) {
        Some(disk) if data.disks == 1 => Observed::note(format!(
            "{} and / are both on {disk}, the only disk",
            data.mount()
        )),
        Some(disk) => Observed::warning(format!("{} and / are both on {disk}", data.mount())),
        None => Observed::passed(format!(
            "{} is on {}, / on {}",
            data.mount(),
            disks.join(", "),
            data.system_disks.join(", ")
        )),
    }
}

fn raid(data: &DataStorage) -> Observed {
    let stacked = &data.storage.stacked;
    let shown = |device: &StackedDevice| format!("/sys/block/{}: {}", device.name, device.level);
    let is_busy = |device: &&StackedDevice| device.degraded > 0 || device.action.is_some();
    if let Some(device) = stacked.iter().find(is_busy) {
        let missing = || format!("missing disks: {}", device.degraded);
        let state = device.action.clone().unwrap_or_else(missing);
        return Observed::severe(format!("{}, {state}", shown(device)));
    }
    match (stacked.as_slice(), data.disks().as_slice()) {
        (_, []) => data.no_disk(),
        ([], _) => Observed::passed("/sys/block: no software RAID or logical volume"),
        (stacked, _) => Observed::note(stacked.iter().map(shown).collect::<Vec<_>>().join(", ")),
    }
}

fn queue(data: &DataStorage) -> Observed {
    let queues = &data.storage.queues;
    let shown = |queue: &RequestQueue| format!("{}: depth {}", queue.file, queue.depth);
    let Some(shortest) = queues.iter().min_by_key(|queue| queue.depth) else {
        return data.no_disk();
    };
    let short = queues.iter().filter(|queue| queue.depth < SHORT_QUEUE);
    let short: Vec<&RequestQueue> = short.collect();
    if short.is_empty() {
        return Observed::passed(shown(shortest));
    }
    let observed: Vec<String> = short.iter().map(|queue| shown(queue)).collect();
    let commands: Vec<String> = short.iter().filter_map(|queue| lengthen(queue)).collect();
    Observed::note(observed.join(", ")).with_remedy(match commands.is_empty() {
        true => "none: this is the device's maximum".to_owned(),
        false => commands.join("; "),
    })
}

/// The command that makes a queue longer, up to the highest depth that the kernel accepts.
fn lengthen(queue: &RequestQueue) -> Option<String> {
    let depth = queue.max.unwrap_or(LONG_QUEUE).min(LONG_QUEUE);
    (depth > queue.depth).then(|| format!("echo {depth} > {}", queue.file))
}

#[cfg(test)]
mod tests {
    use measure::finding::Level::Passed;

    use super::*;
    use crate::doctor::file_system::tests::{on, request_queue, sound};

    #[test]
    fn every_fair_scheduler_is_replaced() {
        let three = [("sdb", "none"), ("sdc", "bfq"), ("sdd", "bfq")];
        let (c, d) = (
            "/sys/block/sdc/queue/scheduler",
            "/sys/block/sdd/queue/scheduler",
        );
        assert_eq!(
            scheduler(&on("btrfs", "rw", &three)),
            Observed::severe(format!("{c}: bfq, {d}: bfq"))
                .with("SCHEDULER", "mq-deadline")
                .with("FILES", format!("{c} {d}"))
        );
        let old = scheduler(&on("ext4", "rw", &[("sdc", "cfq")]));
        let replaced = Observed::severe(format!("{c}: cfq"));
        let replaced = replaced.with("SCHEDULER", "deadline").with("FILES", c);
        assert_eq!(old, replaced);
        let other = on("ext4", "rw", &[("sdb", "kyber")]);
        assert_eq!(scheduler(&other).level(), Passed);
    }

    #[test]
    fn data_and_system_on_the_same_disk() {
        let shared = on("ext4", "rw", &[("sda", "none")]);
        assert_eq!(beside_system(&shared).level(), Warning);
        let only = DataStorage { disks: 1, ..shared };
        assert_eq!(beside_system(&only).level(), Note);
    }

    #[test]
    fn arrays() {
        let with = |degraded, action: Option<&str>| {
            let mut data = sound();
            data.storage.stacked = vec![StackedDevice {
                name: "md0".into(),
                level: "raid10 of sda, sdb".into(),
                degraded,
                action: action.map(str::to_owned),
            }];
            raid(&data)
        };
        let observed = "/sys/block/md0: raid10 of sda, sdb";
        assert_eq!(with(0, None), Observed::note(observed));
        let missing = format!("{observed}, missing disks: 1");
        assert_eq!(with(1, None), Observed::severe(missing));
        let resync = format!("{observed}, resync");
        assert_eq!(with(0, Some("resync")), Observed::severe(resync));
    }

    #[test]
    fn the_remedy_for_a_short_queue_stays_within_its_limit() {
        let with = |queues: &[RequestQueue]| {
            let mut data = sound();
            data.storage.queues = queues.to_vec();
            queue(&data)
        };
        let long = request_queue("/long", 128, None);
        let scheduled = request_queue("/nr_requests", 16, None);
        let sata = request_queue("/queue_depth", 1, Some(32));
        let observed = "/nr_requests: depth 16, /queue_depth: depth 1";
        let remedy = "echo 128 > /nr_requests; echo 32 > /queue_depth";
        assert_eq!(
            with(&[long, scheduled, sata]),
            Observed::note(observed).with_remedy(remedy)
        );
        let full = with(&[request_queue("/queue_depth", 31, Some(31))]);
        let observed = Observed::note("/queue_depth: depth 31");
        let none = "none: this is the device's maximum";
        assert_eq!(full, observed.with_remedy(none));
    }
}

//! The disks under a directory, and how the kernel drives them.

use measure::finding::Level;

use super::{Assembled, Place, Queue};
use measure::finding::check::{About, Check, Mend, Seen};

/// A queue that is shorter keeps a disk with several heads or chips from working in parallel.
const SHORT_QUEUE: u64 = 32;
/// What is long enough.
const LONG_QUEUE: u64 = 128;

pub(super) const CHECKS: &[Check<Place>] = &[
    Check {
        about: About {
            id: "io-scheduler",
            worst: Level::Spoils,
            why: "A scheduler that shares the disk fairly holds a database's requests back: with CFQ AnandTech saw CPUs only 60-70 % busy; deadline gave them work.",
            source: "OLTP Linux on ESX 3.5 (AnandTech) (deadline), MySQL on Optimus SSDs (SanDisk) (noop); kernel docs, block/switching-sched",
            mend: Mend::Words("echo SCHEDULER | tee FILES"),
        },
        judge: scheduler,
    },
    Check {
        about: About {
            id: "data-beside-system",
            worst: Level::Careful,
            why: "Logs, swap and every program's files share the disk with the data.",
            source: "MySQL on VMware ESX (Sun, VMware), best practices (operating system and database on separate disks)",
            mend: Mend::Words(
                "put the data on a disk of its own: server.directory in the study, DYNO_CACHE_DIR=/path, or the server's datadir",
            ),
        },
        judge: beside_system,
    },
    Check {
        about: About {
            id: "raid",
            worst: Level::Spoils,
            why: "An array that lacks a disk or builds itself anew is slower than it will be, and one of the kernel's own takes CPU time from the server.",
            source: "MySQL on VMware ESX (Sun, VMware), best practices (hardware RAID, 0+1); kernel docs, admin-guide/md",
            mend: Mend::Words("wait until it is whole: cat /proc/mdstat"),
        },
        judge: raid,
    },
    Check {
        about: About {
            id: "queue-depth",
            worst: Level::Note,
            why: "A short queue keeps the disk from working on requests at the same time.",
            source: "MySQL on VMware ESX (Sun, VMware), best practices (queue depth 128); kernel docs, ABI/stable/sysfs-block (nr_requests)",
            mend: Mend::Words("echo NUMBER > FILE"),
        },
        judge: queue,
    },
];

fn no_disk(place: &Place) -> Seen {
    Seen::unseen(format!("{}: no disk that the kernel names", place.mount()))
}

fn scheduler(place: &Place) -> Seen {
    let disks = place.described.disks.iter();
    let told: Vec<(String, &str)> = disks
        .filter_map(|disk| {
            let file = format!("/sys/block/{}/queue/scheduler", disk.name);
            Some((file, disk.scheduler.as_deref()?))
        })
        .collect();
    let shown = |told: &[(String, &str)]| {
        let told = told.iter().map(|(file, name)| format!("{file}: {name}"));
        told.collect::<Vec<_>>().join(", ")
    };
    if told.is_empty() {
        return no_disk(place);
    }
    let mut unfair = told.clone();
    unfair.retain(|(_, name)| ["cfq", "bfq", "anticipatory"].contains(name));
    let better = match unfair.first() {
        None => return Seen::passed(shown(&told)),
        Some((_, "bfq")) => "mq-deadline",
        // Those of kernels before there were several queues, and so is its name.
        Some(_) => "deadline",
    };
    let files: Vec<&str> = unfair.iter().map(|(file, _)| file.as_str()).collect();
    Seen::spoils(shown(&unfair))
        .with("SCHEDULER", better)
        .with("FILES", files.join(" "))
}

fn beside_system(place: &Place) -> Seen {
    let disks: Vec<&str> = place
        .described
        .disks
        .iter()
        .map(|disk| disk.name.as_str())
        .collect();
    if disks.is_empty() || place.system_disks.is_empty() {
        return no_disk(place);
    }
    let shared = disks
        .iter()
        .find(|disk| place.system_disks.iter().any(|system| system == *disk));
    match shared {
        Some(disk) => Seen::careful(format!("{} lies on {disk}, as / does", place.mount())),
        None => Seen::passed(format!(
            "{} lies on {}, / on {}",
            place.mount(),
            disks.join(", "),
            place.system_disks.join(", ")
        )),
    }
}

fn raid(place: &Place) -> Seen {
    let busy = |array: &&Assembled| array.degraded > 0 || array.action.is_some();
    if let Some(array) = place.assembled.iter().find(busy) {
        let state = match (&array.action, array.degraded) {
            (Some(action), _) => action.clone(),
            (None, missing) => format!("{missing} disks are missing"),
        };
        return Seen::spoils(format!(
            "/sys/block/{}: {}, {state}",
            array.name, array.level
        ));
    }
    if place.described.disks.is_empty() {
        return no_disk(place);
    }
    let arrays = place.assembled.iter();
    let arrays = arrays.map(|array| format!("/sys/block/{}: {}", array.name, array.level));
    match arrays.collect::<Vec<_>>() {
        none if none.is_empty() => Seen::passed("/sys/block: no array of the kernel's own"),
        arrays => Seen::note(arrays.join(", ")),
    }
}

fn queue(place: &Place) -> Seen {
    let shown = |queue: &Queue| format!("{}: {} requests at once", queue.file, queue.depth);
    let Some(shortest) = place.queues.iter().min_by_key(|queue| queue.depth) else {
        return no_disk(place);
    };
    let short = place
        .queues
        .iter()
        .filter(|queue| queue.depth < SHORT_QUEUE);
    let short: Vec<&Queue> = short.collect();
    if short.is_empty() {
        return Seen::passed(shown(shortest));
    }
    let seen: Vec<String> = short.iter().map(|queue| shown(queue)).collect();
    let mends: Vec<String> = short.iter().filter_map(|queue| longer(queue)).collect();
    Seen::note(seen.join(", ")).mended_by(match mends.is_empty() {
        true => "nothing: the device takes no more at once".to_owned(),
        false => mends.join("; "),
    })
}

/// The command that makes a queue longer, if the device takes more: the kernel refuses what is
/// beyond that.
fn longer(queue: &Queue) -> Option<String> {
    let most = queue.most.unwrap_or(LONG_QUEUE).min(LONG_QUEUE);
    (most > queue.depth).then(|| format!("echo {most} > {}", queue.file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::place::tests::{place, sound};
    use Level::{Careful, Note, Passed, Spoils};

    #[test]
    fn every_unfair_scheduler_is_mended() {
        let three = [("sdb", "none"), ("sdc", "bfq"), ("sdd", "bfq")];
        let (c, d) = (
            "/sys/block/sdc/queue/scheduler",
            "/sys/block/sdd/queue/scheduler",
        );
        assert_eq!(
            scheduler(&place("btrfs", "rw", &three)),
            Seen::spoils(format!("{c}: bfq, {d}: bfq"))
                .with("SCHEDULER", "mq-deadline")
                .with("FILES", format!("{c} {d}"))
        );
        let old = scheduler(&place("ext4", "rw", &[("sdc", "cfq")]));
        let mended = Seen::spoils(format!("{c}: cfq"));
        assert_eq!(old, mended.with("SCHEDULER", "deadline").with("FILES", c));
        let fair = place("ext4", "rw", &[("sdb", "kyber")]);
        assert_eq!(scheduler(&fair).level(), Passed);
    }

    #[test]
    fn data_and_system_on_one_disk() {
        assert_eq!(
            beside_system(&place("ext4", "rw", &[("sda", "none")])).level(),
            Careful
        );
        assert_eq!(beside_system(&sound()).level(), Passed);
    }

    #[test]
    fn arrays() {
        let with = |degraded, action: Option<&str>| {
            let array = Assembled {
                name: "md0".into(),
                level: "raid10".into(),
                degraded,
                action: action.map(str::to_owned),
            };
            raid(&Place {
                assembled: vec![array],
                ..sound()
            })
            .level()
        };
        assert_eq!(with(0, None), Note);
        assert_eq!(with(1, None), Spoils);
        assert_eq!(with(0, Some("resync")), Spoils);
    }

    #[test]
    fn a_queue_is_made_longer_in_its_own_file_and_as_far_as_it_goes() {
        let queue_of = |file: &str, depth, most| Queue {
            file: file.into(),
            depth,
            most,
        };
        let with = |queues: &[Queue]| {
            queue(&Place {
                queues: queues.to_vec(),
                ..sound()
            })
        };
        let long = queue_of("/long", 128, None);
        let scheduled = queue_of("/nr_requests", 16, None);
        let sata = queue_of("/queue_depth", 1, Some(32));
        let seen = "/nr_requests: 16 requests at once, /queue_depth: 1 requests at once";
        let mend = "echo 128 > /nr_requests; echo 32 > /queue_depth";
        assert_eq!(
            with(&[long.clone(), scheduled, sata]),
            Seen::note(seen).mended_by(mend)
        );
        let full = with(&[queue_of("/queue_depth", 31, Some(31))]);
        let seen = Seen::note("/queue_depth: 31 requests at once");
        assert_eq!(
            full,
            seen.mended_by("nothing: the device takes no more at once")
        );
        assert_eq!(with(&[long]).level(), Passed);
    }
}

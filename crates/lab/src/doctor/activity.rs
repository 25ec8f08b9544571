//! What else the host does while nothing is under load.

use measure::finding::Level;

use measure::finding::check::{About, Check, Mend, Seen};

/// Shares of all CPUs, in %.
const SOME_CPU_PCT: f64 = 5.0;
const MUCH_CPU_PCT: f64 = 15.0;
/// Shares of the time that the hypervisor took, in %.
const SOME_STEAL_PCT: f64 = 1.0;
const MUCH_STEAL_PCT: f64 = 5.0;
/// Shares of the time that a disk was busy, in %.
const SOME_DISK_PCT: f64 = 10.0;
const MUCH_DISK_PCT: f64 = 50.0;
/// Processes that are named.
const NAMED: usize = 3;

/// What happened in a short stretch without a load of dyno's.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Activity {
    /// Length of the stretch, in seconds; 0 when there was none.
    pub(super) seconds: f64,
    /// CPUs that are on.
    pub(super) cpus: u64,
    /// Time that others ran, in % of all CPUs.
    pub(super) others_pct: Option<f64>,
    /// Those that ran most, with their share of one CPU in %, the busiest first.
    pub(super) busiest: Vec<(String, f64)>,
    /// Time that the hypervisor gave to others, in %.
    pub(super) steal_pct: Option<f64>,
    /// Pages that were swapped in or out.
    pub(super) swapped_pages: Option<u64>,
    /// Disks under the data, with the share of the time that each was busy in %.
    pub(super) disks: Vec<(String, f64)>,
    /// Processes that ran or waited for the disk, as a mean over the last minute.
    pub(super) load_1m: Option<f64>,
}

pub(super) const CHECKS: &[Check<Activity>] = &[
    Check {
        about: About {
            id: "other-load",
            worst: Level::Spoils,
            why: "What others take of the CPUs is missing to server and generator, and it comes and goes between trials.",
            source: "MySQL on VMware ESX (Sun, VMware) (both platforms set up alike); proc_stat(5)",
            mend: Mend::Words("end them, or measure when they are done: top -o %CPU"),
        },
        judge: others,
    },
    Check {
        about: About {
            id: "load-average",
            worst: Level::Note,
            why: "A host that was busy a minute ago may become so again, and its caches and its temperature still show it.",
            source: "proc_loadavg(5)",
            mend: Mend::Words("wait a minute, then look again: uptime"),
        },
        judge: load_average,
    },
    Check {
        about: About {
            id: "steal",
            worst: Level::Spoils,
            why: "The hypervisor gives this machine's CPUs to others, and what is measured is how busy those are.",
            source: "MySQL on VMware ESX (Sun, VMware), best practices (no more vCPUs than needed); proc_stat(5)",
            mend: Mend::Words("ask for CPUs of your own: a dedicated host, or pinned vCPUs"),
        },
        judge: steal,
    },
    Check {
        about: About {
            id: "swapping",
            worst: Level::Spoils,
            why: "A host that swaps measures its swap.",
            source: "MySQL on vSAN 6.7 (VMware) (memory left to the operating system)",
            mend: Mend::Words("end what takes the memory: ps -eo rss,comm --sort=-rss | head"),
        },
        judge: swapping,
    },
    Check {
        about: About {
            id: "disk-busy",
            worst: Level::Spoils,
            why: "Reads and writes of others wait in the same queue as the database's.",
            source: "papers P1 and P4 (disks of their own for the data)",
            mend: Mend::Words("end what reads and writes there: iotop -o"),
        },
        judge: disks,
    },
];

const NOT_SAMPLED: &str = "/proc/stat does not tell";

/// Which side of two limits a share is on.
fn graded(share: f64, some: f64, much: f64, seen: String) -> Seen {
    match share {
        _ if share >= much => Seen::spoils(seen),
        _ if share >= some => Seen::careful(seen),
        _ => Seen::passed(seen),
    }
}

fn others(activity: &Activity) -> Seen {
    let Some(share) = activity.others_pct else {
        return Seen::unseen(NOT_SAMPLED);
    };
    let named = activity.busiest.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|(name, of_one)| format!("{name} {of_one:.0} % of one"))
        .collect();
    let most = match named.is_empty() {
        true => String::new(),
        false => format!("; busiest: {}", named.join(", ")),
    };
    let seen = format!(
        "/proc/stat: others took {share:.0} % of {} CPUs for {:.1} s{most}",
        activity.cpus, activity.seconds
    );
    graded(share, SOME_CPU_PCT, MUCH_CPU_PCT, seen)
}

fn load_average(activity: &Activity) -> Seen {
    match activity.load_1m {
        None => Seen::unseen("/proc/loadavg is not there"),
        Some(load) => {
            let seen = format!("/proc/loadavg: {load:.2} on {} CPUs", activity.cpus);
            match load > activity.cpus as f64 / 2.0 {
                true => Seen::note(seen),
                false => Seen::passed(seen),
            }
        }
    }
}

fn steal(activity: &Activity) -> Seen {
    match activity.steal_pct {
        None => Seen::unseen(NOT_SAMPLED),
        Some(share) => {
            let seen = format!("/proc/stat: {share:.1} % stolen");
            graded(share, SOME_STEAL_PCT, MUCH_STEAL_PCT, seen)
        }
    }
}

fn swapping(activity: &Activity) -> Seen {
    let seen = |pages| {
        let seconds = activity.seconds;
        format!("/proc/vmstat: {pages} pages swapped in {seconds:.1} s")
    };
    match activity.swapped_pages {
        None => Seen::unseen("/proc/vmstat does not tell"),
        Some(0) => Seen::passed(seen(0)),
        Some(pages) => Seen::spoils(seen(pages)),
    }
}

fn disks(activity: &Activity) -> Seen {
    let busiest = activity.disks.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    match busiest {
        None => Seen::unseen("/proc/diskstats tells of no disk under the data"),
        Some((disk, share)) => {
            let seen = format!("/proc/diskstats: {disk} was busy {share:.0} % of the time");
            graded(*share, SOME_DISK_PCT, MUCH_DISK_PCT, seen)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Careful, Note, Passed, Spoils, Unseen};

    fn sampled() -> Activity {
        Activity {
            seconds: 1.0,
            cpus: 2,
            others_pct: Some(0.5),
            steal_pct: Some(0.0),
            swapped_pages: Some(0),
            disks: vec![("vda".into(), 0.3)],
            load_1m: Some(0.1),
            ..Activity::default()
        }
    }

    #[test]
    fn a_quiet_host_passes_and_one_that_tells_nothing_does_not() {
        for check in CHECKS {
            assert_eq!((check.judge)(&sampled()).level(), Passed);
            assert_eq!((check.judge)(&Activity::default()).level(), Unseen);
        }
    }

    #[test]
    fn who_takes_the_cpus_is_named() {
        let busy = Activity {
            others_pct: Some(31.0),
            busiest: vec![("rustc (4711)".into(), 60.0), ("sshd (2)".into(), 2.0)],
            ..sampled()
        };
        let words = "/proc/stat: others took 31 % of 2 CPUs for 1.0 s; busiest: rustc (4711) 60 % of one, sshd (2) 2 % of one";
        assert_eq!(others(&busy), Seen::spoils(words));
        let some = Activity {
            others_pct: Some(6.0),
            ..sampled()
        };
        assert_eq!(others(&some).level(), Careful);
    }

    #[test]
    fn what_is_taken_away_spoils() {
        let with = |steal_pct, swapped_pages, disk, load| {
            let activity = Activity {
                steal_pct: Some(steal_pct),
                swapped_pages: Some(swapped_pages),
                disks: vec![("vda".into(), 0.0), ("vdb".into(), disk)],
                load_1m: Some(load),
                ..sampled()
            };
            CHECKS[1..]
                .iter()
                .map(|check| (check.judge)(&activity).level())
                .collect::<Vec<_>>()
        };
        assert_eq!(with(2.0, 0, 20.0, 1.5), [Note, Careful, Passed, Careful]);
        assert_eq!(with(5.0, 1, 90.0, 0.0), [Passed, Spoils, Spoils, Spoils]);
    }
}

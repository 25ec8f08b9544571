//! The activity of the machine before the load starts.

use host::Activity;
use measure::finding::Level::{Note, Severe, Warning};

use super::check::{About, Check, Remedy};
use super::machine::Machine;
use super::rule::at_least;

/// Maximum number of processes that are named.
const MAX_NAMED: usize = 3;

pub(super) const CHECKS: &[Check<Machine>] = &[
    Check {
        about: About {
            id: "other-load",
            worst: Severe,
            why: "Other processes take CPU time from the server and the load generator, and how much varies from trial to trial.",
            source: "Sun and VMware paper (both platforms set up alike); proc_stat(5)",
            remedy: Remedy::Words("stop them, or measure when they have finished: top -o %CPU"),
        },
        judge: |machine| {
            let activity = &machine.activity;
            let thresholds = [(15.0, Severe), (5.0, Warning)];
            at_least(activity.others_pct, &thresholds, "/proc/stat", |share| {
                others(activity, share)
            })
        },
    },
    Check {
        about: About {
            id: "load-average",
            worst: Note,
            why: "A machine that was busy a minute ago may become busy again, and its caches and temperature have not settled.",
            source: "proc_loadavg(5)",
            remedy: Remedy::Words("wait a minute, then check again: uptime"),
        },
        judge: |machine| {
            let cpus = machine.activity.cpus.max(1) as f64;
            let load = machine.activity.load_1m.map(|load| load / cpus);
            at_least(load, &[(0.5, Note)], "/proc/loadavg", |load| {
                format!("{:.2} on {cpus} CPUs", load * cpus)
            })
        },
    },
    Check {
        about: About {
            id: "steal",
            worst: Severe,
            why: "The hypervisor gives CPU time of this machine to other machines, so results depend on their load.",
            source: "Sun and VMware paper, best practices (no more vCPUs than needed); proc_stat(5)",
            remedy: Remedy::Words("use dedicated CPUs: a dedicated host, or pinned vCPUs"),
        },
        judge: |machine| {
            let thresholds = [(5.0, Severe), (1.0, Warning)];
            let share = machine.activity.steal_pct;
            at_least(share, &thresholds, "/proc/stat", |share| {
                format!("{share:.1} % stolen by the hypervisor")
            })
        },
    },
    Check {
        about: About {
            id: "swapping",
            worst: Severe,
            why: "On a machine that swaps, the speed of the swap device determines the results.",
            source: "VMware vSAN paper (memory left to the operating system)",
            remedy: Remedy::Words(
                "stop the processes that use the memory: ps -eo rss,comm --sort=-rss | head",
            ),
        },
        judge: |machine| {
            let activity = &machine.activity;
            let pages = activity.swapped_pages.map(|pages| pages as f64);
            at_least(pages, &[(1.0, Severe)], "/proc/vmstat", |pages| {
                format!("{pages} pages swapped in {:.1} s", activity.seconds)
            })
        },
    },
    Check {
        about: About {
            id: "disk-busy",
            worst: Severe,
            why: "I/O of other processes waits in the same queue as that of the database.",
            source: "Sun and VMware paper, AnandTech article (dedicated disks for the data)",
            remedy: Remedy::Words("stop the processes that use the disk: iotop -o"),
        },
        judge: |machine| {
            let disks = machine.activity.disks.iter();
            let busiest = disks.max_by(|a, b| a.1.total_cmp(&b.1));
            let thresholds = [(50.0, Severe), (10.0, Warning)];
            let name = busiest.map_or("", |(name, _)| name);
            let share = busiest.map(|(_, share)| *share);
            at_least(share, &thresholds, "/proc/diskstats", |share| {
                format!("{name} was busy {share:.0} % of the time")
            })
        },
    },
];

fn others(activity: &Activity, share: f64) -> String {
    let named = activity.busiest.iter().take(MAX_NAMED);
    let named: Vec<String> = named
        .map(|(name, of_one)| format!("{name} {of_one:.0} % of one CPU"))
        .collect();
    let busiest = match named.is_empty() {
        true => String::new(),
        false => format!("; busiest: {}", named.join(", ")),
    };
    format!(
        "other processes used {share:.0} % of {} CPUs for {:.1} s{busiest}",
        activity.cpus, activity.seconds
    )
}

#[cfg(test)]
mod tests {
    use measure::finding::Level::{self, Passed};

    use super::*;

    fn quiet() -> Activity {
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

    fn levels(activity: Activity) -> Vec<Level> {
        let machine = Machine {
            activity,
            ..Machine::default()
        };
        let levels = CHECKS.iter().map(|check| (check.judge)(&machine).level());
        levels.collect()
    }

    #[test]
    fn a_quiet_machine_passes() {
        assert_eq!(levels(quiet()), [Passed; 5]);
    }

    #[test]
    fn the_busiest_processes_are_named() {
        let busy = Activity {
            busiest: vec![("rustc (4711)".into(), 60.0), ("sshd (2)".into(), 2.0)],
            ..quiet()
        };
        let words = "other processes used 31 % of 2 CPUs for 1.0 s; busiest: rustc (4711) 60 % of one CPU, sshd (2) 2 % of one CPU";
        assert_eq!(others(&busy, 31.0), words);
    }

    #[test]
    fn activity_of_others_is_a_finding() {
        let with = |others, steal, swapped, disk, load| {
            levels(Activity {
                others_pct: Some(others),
                steal_pct: Some(steal),
                swapped_pages: Some(swapped),
                disks: vec![("vda".into(), 0.0), ("vdb".into(), disk)],
                load_1m: Some(load),
                ..quiet()
            })
        };
        let some = [Warning, Note, Warning, Passed, Warning];
        assert_eq!(with(6.0, 2.0, 0, 20.0, 1.5), some);
        let much = [Severe, Passed, Severe, Severe, Severe];
        assert_eq!(with(15.0, 5.0, 1, 90.0, 0.0), much);
    }
}

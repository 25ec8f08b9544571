//! The activity of the machine before the load starts.

use host::Activity;
use measure::checks;
use measure::finding::Level::{Note, Severe, Warning};
use measure::finding::check::{Check, Judged};

use super::machine::Machine;
use super::rule::at_least;

/// Maximum number of processes that are named.
const MAX_NAMED: usize = 3;

pub(super) const CHECKS: &[Check<Machine>] = checks! { machine:
    "other-load", Severe => others(&machine.activity),
        why: "Other processes take CPU time from the server and the load generator, and how much varies from trial to trial.",
        source: "Sun and VMware paper (both platforms set up alike); proc_stat(5)",
        remedy: Words("stop them, or measure when they have finished: top -o %CPU");
    "load-average", Note => load_average(&machine.activity),
        why: "A machine that was busy a minute ago may become busy again, and its caches and temperature have not settled.",
        source: "proc_loadavg(5)",
        remedy: Words("wait a minute, then check again: uptime");
    "steal", Severe => at_least(machine.activity.steal_pct, &[(5.0, Severe), (1.0, Warning)], "/proc/stat", |share| {
            format!("{share:.1} % stolen by the hypervisor")
        }),
        why: "The hypervisor gives CPU time of this machine to other machines, so results depend on their load.",
        source: "Sun and VMware paper, best practices (no more vCPUs than needed); proc_stat(5)",
        remedy: Words("use dedicated CPUs: a dedicated host, or pinned vCPUs");
    "swapping", Severe => at_least(machine.activity.swapped_pages, &[(1, Severe)], "/proc/vmstat", |pages| {
            format!("{pages} pages swapped in {:.1} s", machine.activity.seconds)
        }),
        why: "On a machine that swaps, the speed of the swap device determines the results.",
        source: "VMware vSAN paper (memory left to the operating system)",
        remedy: Words("stop the processes that use the memory: ps -eo rss,comm --sort=-rss | head");
    "disk-busy", Severe => disks(&machine.activity),
        why: "I/O of other processes waits in the same queue as that of the database.",
        source: "Sun and VMware paper, AnandTech article (dedicated disks for the data)",
        remedy: Words("stop the processes that use the disk: iotop -o");
};

fn others(activity: &Activity) -> Judged {
    let thresholds = [(15.0, Severe), (5.0, Warning)];
    let named = activity.busiest.iter().take(MAX_NAMED);
    let named: Vec<String> = named
        .map(|(name, of_one)| format!("{name} {of_one:.0} % of one CPU"))
        .collect();
    let busiest = match named.is_empty() {
        true => String::new(),
        false => format!("; busiest: {}", named.join(", ")),
    };
    at_least(activity.others_pct, &thresholds, "/proc/stat", |share| {
        format!(
            "other processes used {share:.0} % of {} CPUs for {:.1} s{busiest}",
            activity.cpus, activity.seconds
        )
    })
}

fn load_average(activity: &Activity) -> Judged {
    let cpus = activity.cpus.max(1) as f64;
    at_least(
        activity.load_1m,
        &[(0.5 * cpus, Note)],
        "/proc/loadavg",
        |load| format!("{load:.2} on {cpus} CPUs"),
    )
}

fn disks(activity: &Activity) -> Judged {
    let busiest = activity.disks.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (name, share) = busiest.map_or(("", None), |(name, share)| (name, Some(*share)));
    at_least(
        share,
        &[(50.0, Severe), (10.0, Warning)],
        "/proc/diskstats",
        |share| format!("{name} was busy {share:.0} % of the time"),
    )
}

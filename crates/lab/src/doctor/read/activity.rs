//! What happens on the host in a short stretch in which dyno does nothing.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{entries, name};
use crate::doctor::activity::Activity;
use crate::fingerprint::cpu as topology;
use crate::kernel;
use crate::monitors::process;

/// Processes that are told apart; of a host with more, some are only part of the sum.
const MAX_PROCESSES: usize = 3000;
/// A process that ran less is not named, in % of one CPU.
const NAMED_PCT: f64 = 2.0;

/// The host's counters at a moment.
struct Counters {
    at: Instant,
    cpu: Option<CpuTicks>,
    /// Of this process itself.
    own: Option<u64>,
    swapped: Option<u64>,
    /// Milliseconds that each disk was busy.
    disks: HashMap<String, u64>,
    processes: HashMap<u32, u64>,
}

/// Sums over all CPUs.
#[derive(Clone, Copy)]
struct CpuTicks {
    busy: u64,
    stolen: u64,
    all: u64,
}

/// Watches the host for `stretch`; `disks` are those under the data, and the volumes
/// that are made of them.
pub(in crate::doctor) fn read(stretch: Duration, disks: &[String]) -> Activity {
    let before = counters(disks);
    sleep(stretch);
    between(&before, &counters(disks))
}

fn counters(disks: &[String]) -> Counters {
    let stat = kernel::text("/proc/stat").unwrap_or_default();
    let vmstat = kernel::text("/proc/vmstat").unwrap_or_default();
    let diskstats = kernel::text("/proc/diskstats").unwrap_or_default();
    let processes = entries("/proc");
    let numbers = processes.iter().filter_map(|dir| name(dir)?.parse().ok());
    let ticks = |pid: u32| process::cpu_ticks(&kernel::text(format!("/proc/{pid}/stat"))?);
    Counters {
        at: Instant::now(),
        cpu: cpu(&stat),
        own: ticks(std::process::id()),
        swapped: swapped(&vmstat),
        disks: busy_ms(&diskstats, disks),
        processes: numbers
            .take(MAX_PROCESSES)
            .filter_map(|pid| Some((pid, ticks(pid)?)))
            .collect(),
    }
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
fn cpu(stat: &str) -> Option<CpuTicks> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .map_while(|t| t.parse().ok())
        .collect();
    let at = |place: usize| ticks.get(place).copied().unwrap_or(0);
    let busy = [0, 1, 2, 5, 6].map(at).iter().sum();
    ticks.get(3)?;
    Some(CpuTicks {
        busy,
        stolen: at(7),
        all: busy + at(3) + at(4) + at(7),
    })
}

fn swapped(vmstat: &str) -> Option<u64> {
    let count = |name: &str| {
        let mut lines = vmstat.lines().filter_map(|line| line.split_once(' '));
        lines
            .find(|(field, _)| *field == name)?
            .1
            .parse::<u64>()
            .ok()
    };
    Some(count("pswpin")? + count("pswpout")?)
}

/// The tenth number of a disk's line in `/proc/diskstats`.
fn busy_ms(diskstats: &str, disks: &[String]) -> HashMap<String, u64> {
    let lines = diskstats
        .lines()
        .map(|line| line.split_whitespace().collect());
    lines
        .filter_map(|fields: Vec<&str>| {
            let name = (*fields.get(2)?).to_owned();
            let busy = fields.get(12)?.parse().ok()?;
            disks.contains(&name).then_some((name, busy))
        })
        .collect()
}

fn between(before: &Counters, after: &Counters) -> Activity {
    let seconds = after.at.duration_since(before.at).as_secs_f64();
    let per_cpu = 100.0 / rustix::param::clock_ticks_per_second() as f64 / seconds;
    let cpus = topology::threads().unwrap_or(1);
    let own = grown(before.own, after.own).unwrap_or(0);
    let share = |of: fn(CpuTicks) -> u64, less: u64| {
        let (before, after) = (before.cpu?, after.cpu?);
        let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
        let ticks = of(after).saturating_sub(of(before)).saturating_sub(less);
        Some(100.0 * ticks as f64 / all as f64)
    };
    let disks = after.disks.iter().filter_map(|(disk, busy)| {
        let ms = busy.saturating_sub(*before.disks.get(disk)?);
        Some((disk.clone(), (ms as f64 / seconds / 10.0).min(100.0)))
    });
    Activity {
        seconds,
        cpus,
        others_pct: share(|ticks| ticks.busy, own),
        busiest: busiest(before, after, per_cpu),
        steal_pct: share(|ticks| ticks.stolen, 0),
        swapped_pages: grown(before.swapped, after.swapped),
        disks: disks.collect(),
        load_1m: load(),
    }
}

fn grown(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

fn busiest(before: &Counters, after: &Counters, per_cpu: f64) -> Vec<(String, f64)> {
    let own = std::process::id();
    let others = after.processes.iter().filter(|(pid, _)| **pid != own);
    let mut ran: Vec<(u32, f64)> = others
        .filter_map(|(pid, ticks)| {
            let ticks = ticks.checked_sub(*before.processes.get(pid)?)?;
            let share = ticks as f64 * per_cpu;
            (share >= NAMED_PCT).then_some((*pid, share))
        })
        .collect();
    ran.sort_by(|a, b| b.1.total_cmp(&a.1));
    ran.truncate(5);
    let named = ran.into_iter().filter_map(|(pid, share)| {
        let name = kernel::line(format!("/proc/{pid}/comm"))?;
        Some((format!("{name} ({pid})"), share))
    });
    named.collect()
}

fn load() -> Option<f64> {
    let text = kernel::line("/proc/loadavg")?;
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(moment: Instant, own: u64, others: u64, stolen: u64) -> Counters {
        let all = 1000 + own + others + stolen;
        Counters {
            at: moment,
            cpu: Some(CpuTicks {
                busy: own + others,
                stolen,
                // Two CPUs for one second.
                all: all.next_multiple_of(200),
            }),
            own: Some(own),
            swapped: Some(0),
            disks: [("vda".to_owned(), own + others)].into(),
            processes: [(1, others), (std::process::id(), own)].into(),
        }
    }

    #[test]
    fn what_dyno_does_itself_is_not_others() {
        let moment = Instant::now();
        let before = at(moment, 0, 0, 0);
        let mut after = at(moment + Duration::from_secs(1), 50, 40, 10);
        after.cpu = after.cpu.map(|cpu| CpuTicks { all: 1200, ..cpu });
        let activity = between(&before, &after);
        assert_eq!(activity.others_pct, Some(20.0));
        assert_eq!(activity.steal_pct, Some(5.0));
        assert_eq!(activity.disks, [("vda".to_owned(), 9.0)]);
        assert_eq!(activity.swapped_pages, Some(0));
        assert_eq!(activity.busiest.len(), 1);
        assert!(activity.busiest[0].0.ends_with("(1)"), "{activity:?}");
    }

    #[test]
    fn the_kernels_files() {
        let ticks = cpu("cpu  100 1 50 800 40 2 3 4 0 0\ncpu0 1 1\n").unwrap();
        assert_eq!((ticks.busy, ticks.stolen, ticks.all), (156, 4, 1000));
        assert!(cpu("").is_none() && cpu("cpu  1 2\n").is_none());
        assert_eq!(swapped("pswpin 3\npswpout 4\n"), Some(7));
        assert_eq!(swapped("pswpin 3\n"), None);
        let line = " 254       0 vda 1 2 3 4 5 6 7 8 9 1234 11\n";
        let disks = busy_ms(line, &["vda".to_owned()]);
        assert_eq!(disks["vda"], 1234);
        assert!(busy_ms(line, &[]).is_empty());
    }

    #[test]
    fn this_host_can_be_watched() {
        let activity = read(Duration::from_millis(50), &[]);
        assert!(activity.seconds >= 0.05);
        assert!(activity.load_1m.is_some() && activity.cpus > 0);
    }
}

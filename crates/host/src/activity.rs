//! The activity of a machine: all of it during a short interval without load, and that of programs
//! outside a measurement.

use std::collections::{BTreeMap, HashMap};
use std::thread::sleep;
use std::time::{Duration, Instant};

use measure::values::percent;
use procfs_core::{FromBufRead, FromRead, LoadAverage, VmStat};

use crate::files::{Files, line, list_length, text};
use crate::process::{self, ProcessStat};
use crate::sample::cpu::{self, Cpus};
use crate::sample::disk::{self, Disks};

/// Maximum number of processes counted individually; the others count only in the total.
const MAX_PROCESSES: usize = 3000;
/// Processes that used less are not named, in % of one CPU.
const NAMED_PCT: f64 = 2.0;
const MAX_NAMED: usize = 5;
/// The parent of kernel threads, which also work for the measurement.
const KTHREADD: u32 = 2;
/// Programs that use less in an interval are not named, in % of one CPU.
const PROGRAM_PCT: f64 = 5.0;
/// Maximum number of generations of processes that are followed.
const MAX_GENERATIONS: usize = 30;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Activity {
    pub seconds: f64,
    pub cpus: u64,
    /// CPU time of all processes except this one, in % of all CPUs.
    pub others_pct: Option<f64>,
    /// The busiest other processes and their CPU time in % of one CPU, the busiest first.
    pub busiest: Vec<(String, f64)>,
    /// CPU time stolen by the hypervisor, in %.
    pub steal_pct: Option<f64>,
    pub swapped_pages: Option<u64>,
    /// Utilization of each disk, in %.
    pub disks: Vec<(String, f64)>,
    /// Load average of the last minute: processes that ran or waited for a disk.
    pub load_1m: Option<f64>,
}

struct Counters {
    at: Instant,
    cpu: Option<Cpus>,
    /// CPU time of this process, in clock ticks.
    own: Option<u64>,
    swapped: Option<u64>,
    disks: Disks,
    /// CPU time by process, in clock ticks.
    processes: HashMap<u32, u64>,
}

impl Activity {
    /// Watches a machine and the given disks for `interval`.
    pub fn watch(files: &dyn Files, interval: Duration, disks: &[String]) -> Self {
        let before = counters(files, disks);
        sleep(interval);
        let after = counters(files, disks);
        let load = text(files, "/proc/loadavg");
        let load = load.and_then(|text| LoadAverage::from_read(text.as_bytes()).ok());
        let online = line(files, "/sys/devices/system/cpu/online");
        Self {
            cpus: online.and_then(|list| list_length(&list)).unwrap_or(1),
            busiest: busiest(files, &before, &after),
            load_1m: load.map(|load| f64::from(load.one)),
            ..between(&before, &after)
        }
    }
}

fn counters(files: &dyn Files, disks: &[String]) -> Counters {
    let read = |file: &str| text(files, format!("/proc/{file}")).unwrap_or_default();
    let ticks = |pid: u32| process::read(files, pid).map(|process| process.cpu_ticks);
    Counters {
        at: Instant::now(),
        cpu: cpu::parse(&read("stat")),
        own: ticks(std::process::id()),
        swapped: swapped(&read("vmstat")),
        disks: disk::parse(&read("diskstats"), disks),
        processes: process::pids(files)
            .take(MAX_PROCESSES)
            .filter_map(|pid| Some((pid, ticks(pid)?)))
            .collect(),
    }
}

fn swapped(vmstat: &str) -> Option<u64> {
    let VmStat(counts) = VmStat::from_buf_read(vmstat.as_bytes()).ok()?;
    let count = |name: &str| u64::try_from(*counts.get(name)?).ok();
    count("pswpin")?.checked_add(count("pswpout")?)
}

fn between(before: &Counters, after: &Counters) -> Activity {
    let seconds = after.at.duration_since(before.at).as_secs_f64();
    let own = delta(before.own, after.own).unwrap_or(0) as f64;
    let total = before.cpu.as_ref().zip(after.cpu.as_ref());
    let total = total.map(|(before, after)| cpu::total(before, after));
    let total = total.as_ref();
    let disks = after.disks.iter().filter_map(|(name, after)| {
        let change = disk::derive(before.disks.get(name)?, after)?;
        let busy = percent(change.busy_ms / 1000.0, seconds)?;
        Some((name.clone(), busy.min(100.0)))
    });
    Activity {
        seconds,
        others_pct: total.and_then(|total| percent((total.busy - own).max(0.0), total.all)),
        steal_pct: total.and_then(|total| percent(total.stolen, total.all)),
        swapped_pages: delta(before.swapped, after.swapped),
        disks: disks.collect(),
        ..Activity::default()
    }
}

fn delta(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

fn busiest(files: &dyn Files, before: &Counters, after: &Counters) -> Vec<(String, f64)> {
    let seconds = after.at.duration_since(before.at).as_secs_f64();
    let per_cpu = 100.0 / rustix::param::clock_ticks_per_second() as f64 / seconds;
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
    ran.truncate(MAX_NAMED);
    let named = ran.into_iter().filter_map(|(pid, share)| {
        let name = line(files, format!("/proc/{pid}/comm"))?;
        Some((format!("{name} ({pid})"), share))
    });
    named.collect()
}

/// Follows the programs outside a measurement that use the CPUs.
#[derive(Debug, Default)]
pub struct OtherPrograms {
    /// The processes at the last look, with their CPU time in clock ticks; `None` before the first
    /// look.
    last: Option<HashMap<u32, u64>>,
    /// CPU time of each program so far, in seconds.
    used_s: BTreeMap<String, f64>,
}

impl OtherPrograms {
    /// Adds the CPU time of the `seconds` since the last look, of all processes except `own` ones
    /// and their descendants. The first look adds nothing.
    pub fn look(&mut self, files: &dyn Files, own: &[u32], seconds: f64) {
        let read = |pid| process::parse(&text(files, format!("/proc/{pid}/stat"))?);
        let all = process::pids(files).filter_map(|pid| Some((pid, read(pid)?)));
        let all: HashMap<u32, ProcessStat> = all.collect();
        if let Some(last) = &self.last {
            let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
            for (pid, process) in &all {
                let before = last.get(pid).copied().unwrap_or(0);
                let used_s = process.cpu_ticks.saturating_sub(before) as f64 / ticks_per_s;
                if used_s * 100.0 < PROGRAM_PCT * seconds || is_own(*pid, own, &all) {
                    continue;
                }
                if let Some(name) = line(files, format!("/proc/{pid}/comm")) {
                    *self.used_s.entry(name.replace(['[', ']'], "")).or_default() += used_s;
                }
            }
        }
        let ticks = all
            .into_iter()
            .map(|(pid, process)| (pid, process.cpu_ticks));
        self.last = Some(ticks.collect());
    }

    /// Skips an interval: the next look counts as the first one.
    pub fn skip(&mut self) {
        self.last = None;
    }

    /// The CPU time of each program so far, in seconds.
    pub fn used_s(&self) -> &BTreeMap<String, f64> {
        &self.used_s
    }
}

/// Whether a process or one of its ancestors is `own`, or the kernel's.
fn is_own(pid: u32, own: &[u32], all: &HashMap<u32, ProcessStat>) -> bool {
    let parent = |pid: &u32| all.get(pid).map(|process| process.parent);
    let mut line = std::iter::successors(Some(pid), parent).take(MAX_GENERATIONS);
    line.any(|pid| pid == KTHREADD || own.contains(&pid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{LOCAL, RootDir};

    fn at(at: Instant, stat: &str, own: u64, others: u64) -> Counters {
        let busy_ms = own + others;
        let line = format!("254 0 vda 1 2 3 4 5 6 7 8 9 {busy_ms} 11");
        Counters {
            at,
            cpu: cpu::parse(stat),
            own: Some(own),
            swapped: Some(0),
            disks: disk::parse(&line, &["vda".to_owned()]),
            processes: [(1, others), (std::process::id(), own)].into(),
        }
    }

    /// Two CPUs for one second, of which this process ran half a second.
    #[test]
    fn this_process_is_not_among_the_others() {
        let now = Instant::now();
        let before = at(now, "cpu  0 0 0 0 0 0 0 0\n", 0, 0);
        let after = at(
            now + Duration::from_secs(1),
            "cpu  80 0 10 90 10 0 0 10\n",
            50,
            40,
        );
        let activity = between(&before, &after);
        assert_eq!(activity.others_pct, Some(20.0));
        assert_eq!(activity.steal_pct, Some(5.0));
        assert_eq!(activity.disks, [("vda".to_owned(), 9.0)]);
        assert_eq!(activity.swapped_pages, Some(0));
        let busiest = busiest(&LOCAL, &before, &after);
        assert_eq!(busiest.len(), 1);
        assert!(busiest[0].0.ends_with("(1)"), "{busiest:?}");
    }

    #[test]
    fn pages_swapped_in_and_out() {
        assert_eq!(swapped("pswpin 3\npswpout 4\n"), Some(7));
        for text in ["", "pswpin 3\n", "pswpin -1\npswpout 4\n", "pswpin x\n"] {
            assert_eq!(swapped(text), None, "{text}");
        }
    }

    #[test]
    fn this_host_can_be_watched() {
        let activity = Activity::watch(&LOCAL, Duration::from_millis(50), &[]);
        assert!(activity.seconds >= 0.05);
        assert!(activity.load_1m.is_some() && activity.cpus > 0);
        assert!(activity.others_pct.is_some());
    }

    #[test]
    fn programs_are_those_of_nobody_else_by_name() {
        let look = |others: &mut OtherPrograms, ticks: [u64; 4]| {
            let dir = tempfile::tempdir().unwrap();
            let processes = [
                (10, 1, "dyno"),
                (11, 10, "server"),
                (20, 1, "cc1"),
                (21, 2, "kworker"),
            ];
            for ((pid, parent, name), ticks) in processes.iter().zip(ticks) {
                let proc = dir.path().join(format!("proc/{pid}"));
                std::fs::create_dir_all(&proc).unwrap();
                let stat = format!(
                    "{pid} ({name}) R {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5 0 0\n"
                );
                std::fs::write(proc.join("stat"), stat).unwrap();
                std::fs::write(proc.join("comm"), format!("{name}\n")).unwrap();
            }
            others.look(&RootDir::at(dir.path()), &[10], 1.0);
        };
        let mut others = OtherPrograms::default();
        look(&mut others, [100, 100, 100, 100]);
        assert!(others.used_s().is_empty());
        look(&mut others, [150, 150, 150, 150]);
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        let expected = BTreeMap::from([("cc1".to_owned(), 50.0 / ticks_per_s)]);
        assert_eq!(others.used_s(), &expected);
        others.skip();
        look(&mut others, [900, 900, 900, 900]);
        assert_eq!(others.used_s(), &expected);
    }
}

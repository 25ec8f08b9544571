//! The CPU time of programs outside a measurement, by name.

use std::collections::{BTreeMap, HashMap};

use crate::files::{Files, line, text};
use crate::process::{self, ProcessStat};

/// The parent of kernel threads, which also work for the measurement.
const KTHREADD: u32 = 2;
/// Programs that use less in an interval are not named, in % of one CPU.
const NAMED_PCT: f64 = 5.0;
/// Maximum number of generations of processes that are followed.
const MAX_GENERATIONS: usize = 30;

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
        let read = |pid| {
            Some((
                pid,
                process::parse(&text(files, format!("/proc/{pid}/stat"))?)?,
            ))
        };
        let all: HashMap<u32, ProcessStat> = process::pids(files).filter_map(read).collect();
        if let Some(last) = &self.last {
            let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
            for (pid, process) in &all {
                let before = last.get(pid).copied().unwrap_or(0);
                let used_s = process.cpu_ticks.saturating_sub(before) as f64 / ticks_per_s;
                if used_s * 100.0 < NAMED_PCT * seconds || is_own(*pid, own, &all) {
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
    use crate::files::RootDir;

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

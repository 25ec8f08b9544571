//! CPU and memory of a process (`/proc/PID/stat`).
//!
//! Its `rss` costs nothing to read; `smaps_rollup` would walk all page tables of a server with
//! a large buffer pool each second. Parsed by hand: `procfs-core` panics on damaged text.

use std::fmt::Display;

use measure::values::{Values, growth, sum};

use crate::files::{Files, text};

/// Counters of a process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Process {
    /// When it started, in clock ticks: another process may have its number later.
    started: u64,
    /// CPU time so far, in clock ticks.
    pub(crate) cpu_ticks: u64,
    rss_bytes: u64,
}

/// What a process did in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProcessChange {
    /// In % of one CPU.
    cpu: Option<f64>,
    rss_bytes: Option<f64>,
}

/// Reads the counters of a process, a number or `self`; `None` if it has ended.
#[must_use]
pub fn read(files: &dyn Files, pid: impl Display) -> Option<Process> {
    parse(&text(files, format!("/proc/{pid}/stat"))?)
}

pub(crate) fn parse(text: &str) -> Option<Process> {
    // The program's name may hold anything, blanks and parentheses too.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().take(22).collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    if matches!(*fields.first()?, "Z" | "X" | "x") {
        return None;
    }
    Some(Process {
        started: number(19)?,
        cpu_ticks: number(11)?.checked_add(number(12)?)?,
        rss_bytes: number(21)?.checked_mul(rustix::param::page_size() as u64)?,
    })
}

/// What a process did between two readings; `None` if they are of two processes.
#[must_use]
pub fn derive(before: &Process, after: &Process, seconds: f64) -> Option<ProcessChange> {
    let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
    (before.started == after.started).then(|| ProcessChange {
        cpu: growth(before.cpu_ticks, after.cpu_ticks)
            .map(|ticks| 100.0 * ticks / ticks_per_s / seconds),
        rss_bytes: Some(after.rss_bytes as f64),
    })
}

impl ProcessChange {
    /// Adds what another process did.
    pub fn add(&mut self, other: &Self) {
        self.cpu = sum(self.cpu, other.cpu);
        self.rss_bytes = sum(self.rss_bytes, other.rss_bytes);
    }

    /// Writes the metrics of `owner`, for example `server[1]`.
    pub fn put(&self, owner: &str, values: &mut Values) {
        values.put(format!("{owner}.cpu"), self.cpu);
        values.put(format!("{owner}.rss_bytes"), self.rss_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "9169 (odd) name) R 9148 9148 7600 0 -1 4194304 97 0 0 0 150 50 0 0 20 0 1 0 \
                        1580894 3133440 350 18446744073709551615 94076281307136 0 0 0";

    #[test]
    fn the_name_may_hold_anything() {
        let raw = parse(STAT).unwrap();
        assert_eq!((raw.started, raw.cpu_ticks), (1_580_894, 200));
        assert_eq!(raw.rss_bytes, 350 * rustix::param::page_size() as u64);
    }

    #[test]
    fn cpu_is_of_one_cpu() {
        let before = parse(STAT).unwrap();
        let mut after = before;
        after.cpu_ticks += 3 * rustix::param::clock_ticks_per_second();
        let step = derive(&before, &after, 2.0).unwrap();
        assert_eq!(step.cpu, Some(150.0));
    }

    #[test]
    fn another_process_of_the_same_number_is_not_compared() {
        let before = parse(STAT).unwrap();
        let after = Process {
            started: before.started + 1,
            ..before
        };
        assert_eq!(derive(&before, &after, 1.0), None);
    }

    #[test]
    fn a_zombie_and_damaged_text_are_absent() {
        assert_eq!(parse(&STAT.replace(") R", ") Z")), None);
        for text in ["", ")", "1 (a) R", "1 (a) R 1 2 3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

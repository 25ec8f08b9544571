//! CPU and memory of a process (`/proc/PID/stat`).
//!
//! Its `rss` costs nothing to read; `smaps_rollup` would walk all page tables of a
//! server with a large buffer pool each second.

use super::values::{Values, growth, sum};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Raw {
    /// When it started, in clock ticks: its number may be another's later.
    started: u64,
    /// CPU time so far, in clock ticks.
    cpu_ticks: u64,
    rss_bytes: u64,
}

/// What a process did in a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Step {
    /// In % of one CPU.
    cpu: Option<f64>,
    rss_bytes: Option<f64>,
}

/// Reads the text of `/proc/PID/stat`; a process that has ended and was not yet
/// waited for is absent.
pub(super) fn parse(text: &str) -> Option<Raw> {
    // The program's name may hold anything, blanks and parentheses too.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().take(22).collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    if matches!(*fields.first()?, "Z" | "X" | "x") {
        return None;
    }
    Some(Raw {
        started: number(19)?,
        cpu_ticks: number(11)?.checked_add(number(12)?)?,
        rss_bytes: number(21)?.checked_mul(rustix::param::page_size() as u64)?,
    })
}

/// CPU time so far, in clock ticks, of a text of `/proc/PID/stat`.
pub(crate) fn cpu_ticks(text: &str) -> Option<u64> {
    parse(text).map(|raw| raw.cpu_ticks)
}

pub(super) fn derive(before: &Raw, after: &Raw, seconds: f64) -> Option<Step> {
    let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
    (before.started == after.started).then(|| Step {
        cpu: growth(before.cpu_ticks, after.cpu_ticks)
            .map(|ticks| 100.0 * ticks / ticks_per_s / seconds),
        rss_bytes: Some(after.rss_bytes as f64),
    })
}

impl Step {
    pub(super) fn add(&mut self, other: &Self) {
        self.cpu = sum(self.cpu, other.cpu);
        self.rss_bytes = sum(self.rss_bytes, other.rss_bytes);
    }

    /// `whose` is for example `server[1]`.
    pub(super) fn put(&self, whose: &str, values: &mut Values) {
        values.put(format!("{whose}.cpu"), self.cpu);
        values.put(format!("{whose}.rss_bytes"), self.rss_bytes);
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
        let after = Raw {
            started: before.started + 1,
            ..before
        };
        assert_eq!(derive(&before, &after, 1.0), None);
    }

    #[test]
    fn what_has_ended_or_is_damaged_is_absent() {
        assert_eq!(parse(&STAT.replace(") R", ") Z")), None);
        for text in ["", ")", "1 (a) R", "1 (a) R 1 2 3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

//! How the CPUs spent their time (`/proc/stat`), in mpstat's categories. Parsed by hand, because
//! `procfs-core` loses the CPU numbers, which matter when a CPU is offline.

use measure::values::{Values, percent};

/// The categories in the kernel's order. Time of guests is included in `user`.
const CATEGORIES: [&str; 8] = [
    "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal",
];
const MAX_CORES: usize = 4096;

/// Time in each category since boot, in clock ticks.
type Ticks = [u64; CATEGORIES.len()];

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cpus {
    all: Ticks,
    cores: Vec<(u32, Ticks)>,
}

pub(crate) fn parse(text: &str) -> Option<Cpus> {
    let mut all = None;
    let mut cores = Vec::new();
    for line in text.lines() {
        let Some((number, ticks)) = cpu_line(line) else {
            break;
        };
        match number {
            None => all = Some(ticks),
            Some(number) if cores.len() < MAX_CORES => cores.push((number, ticks)),
            Some(_) => break,
        }
    }
    Some(Cpus { all: all?, cores })
}

/// `cpu  1 2 3…` or `cpu0 1 2 3…`; kernels before 2.6.33 have fewer categories.
fn cpu_line(line: &str) -> Option<(Option<u32>, Ticks)> {
    let (name, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
    let number = match name {
        "" => None,
        number => Some(number.parse().ok()?),
    };
    let mut ticks = Ticks::default();
    for (ticks, field) in ticks.iter_mut().zip(rest.split_whitespace()) {
        *ticks = field.parse().ok()?;
    }
    Some((number, ticks))
}

/// The time of all CPUs between two readings, in clock ticks.
pub(crate) struct CpuTotals {
    /// Time in which the CPUs were not idle.
    pub(crate) busy: f64,
    pub(crate) stolen: f64,
    pub(crate) all: f64,
}

pub(crate) fn total(before: &Cpus, after: &Cpus) -> CpuTotals {
    let delta = delta(&before.all, &after.all);
    let [user, nice, system, _idle, _iowait, irq, softirq, stolen] = delta;
    CpuTotals {
        busy: user + nice + system + irq + softirq,
        stolen,
        all: delta.iter().sum(),
    }
}

pub(super) fn derive(before: &Cpus, after: &Cpus, values: &mut Values) {
    put("cpu.", &before.all, &after.all, values);
    for (number, ticks) in &after.cores {
        let before = before.cores.iter().find(|(other, _)| other == number);
        if let Some((_, before)) = before {
            put(&format!("cpu[{number}]."), before, ticks, values);
        }
    }
}

fn put(prefix: &str, before: &Ticks, after: &Ticks, values: &mut Values) {
    let delta = delta(before, after);
    let total = delta.iter().sum();
    for (category, delta) in CATEGORIES.iter().zip(delta) {
        values.put(format!("{prefix}{category}"), percent(delta, total));
    }
}

/// Idle and iowait time may decrease a little (proc_stat(5)), which counts as 0.
fn delta(before: &Ticks, after: &Ticks) -> [f64; CATEGORIES.len()] {
    std::array::from_fn(|at| after[at].saturating_sub(before[at]) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  910718 276 311263 1815856 9115 0 104016 1527 0 0\n\
                          cpu0 436367 155 153288 926878 3933 0 55060 757 0 0\n\
                          cpu1 474351 121 157975 888977 5182 0 48956 769 0 0\n\
                          intr 19798319 0 0 0\nctxt 185925619\n";

    #[test]
    fn shares_are_of_the_interval_and_sum_to_100() {
        let before = parse(BEFORE).unwrap();
        let mut after = before.clone();
        after.all[0] += 60;
        after.all[3] += 120;
        after.all[4] += 20;
        after.cores[1].1[2] += 100;
        let mut values = Values::default();
        derive(&before, &after, &mut values);
        assert_eq!(values.0["cpu.user"], 30.0);
        assert_eq!(values.0["cpu.iowait"], 10.0);
        assert_eq!(values.0["cpu[1].system"], 100.0);
        assert!(
            !values.0.contains_key("cpu[0].user"),
            "its counters did not change"
        );
        let sum: f64 = CATEGORIES
            .iter()
            .map(|category| values.0[&format!("cpu.{category}")])
            .sum();
        assert!((sum - 100.0).abs() < 1e-9);
    }

    #[test]
    fn decreasing_iowait_counts_as_zero() {
        let before = parse(BEFORE).unwrap();
        let mut after = before.clone();
        after.all[4] -= 3;
        after.all[0] += 10;
        let mut values = Values::default();
        derive(&before, &after, &mut values);
        assert_eq!((values.0["cpu.user"], values.0["cpu.iowait"]), (100.0, 0.0));
    }

    #[test]
    fn damaged_text_is_absent() {
        for text in ["", "cpu", "cpu  x 2", "intr 1", "cpu0 1 2 3 4\n"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert!(parse("cpu  1 2 3 4\ncpu0 1").is_some());
    }
}

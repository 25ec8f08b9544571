//! The programs outside a trial that used the CPUs.

use crate::metric::split;

pub(crate) const MOST_NAMED: usize = 3;
/// The share of all CPUs (0 to 1) above which other programs distort a trial.
const DISTORTING: f64 = 0.15;

/// The share of all CPUs (0 to 1) that other programs used, and the busiest programs with their
/// shares of one CPU; `None` below [`DISTORTING`].
pub fn distorting<'a>(
    metrics: impl Iterator<Item = (&'a str, f64)> + Clone,
) -> Option<(f64, String)> {
    let cpus = cpus(metrics.clone().map(|(name, _)| name));
    let programs = programs(metrics);
    let used_pct: f64 = programs.iter().map(|(_, cpu_pct)| cpu_pct).sum();
    // Ticks of the clock and the looks at them do not coincide.
    let share = (used_pct / 100.0 / cpus.max(1) as f64).min(1.0);
    let busiest = programs.iter().take(MOST_NAMED);
    let busiest: Vec<String> = busiest
        .map(|(name, cpu_pct)| format!("{name} {cpu_pct:.0} % of one CPU"))
        .collect();
    (share > DISTORTING).then(|| (share, busiest.join(", ")))
}

/// Other programs and their shares of one CPU in percent, the busiest first.
pub(crate) fn programs<'a>(metrics: impl Iterator<Item = (&'a str, f64)>) -> Vec<(&'a str, f64)> {
    let named = metrics.filter_map(|(name, cpu_pct)| match split(name) {
        (metric, Some(program)) if metric == "other.cpu" => Some((program, cpu_pct)),
        _ => None,
    });
    let mut programs: Vec<(&str, f64)> = named.collect();
    programs.sort_by(|a, b| b.1.total_cmp(&a.1));
    programs
}

/// Number of CPUs that are among the metrics.
pub(crate) fn cpus<'a>(metrics: impl Iterator<Item = &'a str>) -> usize {
    metrics
        .filter(|name| name.starts_with("cpu[") && name.ends_with("].idle"))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_never_use_more_than_all_cpus() {
        let metrics = [("cpu[0].idle", 0.0), ("other.cpu[rustc]", 103.0)];
        let (share, busiest) = distorting(metrics.into_iter()).unwrap();
        assert_eq!((share, &*busiest), (1.0, "rustc 103 % of one CPU"));
    }
}

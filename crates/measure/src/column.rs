//! The columns of report tables: numbers of a trial and metrics.

use crate::interval::Estimate;
use crate::ledger::LedgerSummary;
use crate::metric::{Brackets, METRICS, Metric, split};
use crate::quantile::Range;
use crate::recovery::{self, Number, Observation, number};
use crate::summary::{LatencySummary, TrialSummary};

/// The numbers of a trial that are not metrics; `None` if one was not measured.
#[rustfmt::skip] // A line for each.
const NUMBERS: &[Number<TrialSummary, Estimate>] = &[
    number("tps", "1/s", "tps", |trial| trial.transactions.per_s),
    number("tps_flushed", "1/s", "tps with flush", |trial| exact(trial.flushed_per_s())),
    number("flush_s", "s", "flush", |trial| exact(trial.flush_s)),
    number("statements_per_s", "1/s", "statements/s", |trial| trial.statements.per_s),
    number("errors", "", "errors", |trial| count(trial.failures())),
    number("restarts", "", "restarts", |trial| count(trial.restarts())),
    number("reconnects", "", "reconnects", |trial| count(trial.reconnects)),
    number("formation_s", "s", "formation", |trial| {
        exact(trial.instances.iter().filter_map(|one| one.formation_s).reduce(f64::max))
    }),
    number("startup_s", "s", "startup", |trial| exact(trial.reset.as_ref()?.startup_s)),
    number("ledger.acknowledged", "", "acknowledged", |trial| ledger(trial, |one| Some(one.acknowledged))),
    number("ledger.lost", "", "lost", |trial| ledger(trial, |one| one.found(one.lost))),
    number("ledger.behind", "", "behind", |trial| ledger(trial, |one| one.found(one.behind))),
    number("ledger.phantom", "", "phantom", |trial| ledger(trial, |one| one.found(one.phantom))),
    number("ledger.duplicated", "", "duplicated", |trial| ledger(trial, |one| one.found(one.duplicated))),
    number("ledger.stale_reads", "", "stale reads", |trial| ledger(trial, LedgerSummary::stale)),
    number("ledger.diverged", "", "diverged members", |trial| ledger(trial, |one| one.found(one.diverged))),
    number("space.data_bytes", "bytes", "data bytes", |trial| count(trial.space.as_ref()?.data_bytes)),
    number("space.used_bytes", "bytes", "used bytes", |trial| count(trial.space.as_ref()?.used_bytes?)),
    number("space.savings_pct", "%", "space saved", |trial| exact(trial.space.as_ref()?.savings_pct())),
    number("fault.at_s", "s", "fault at", |trial| exact(Some(trial.faults.first()?.asked_s))),
    number("fault.effect_s", "s", "effect at", |trial| exact(trial.faults.first()?.effect_s)),
];

/// Texts about a trial's first fault, which tables of numbers cannot show.
pub const TEXTS: [&str; 2] = ["fault.kind", "fault.target"];

fn exact(value: Option<f64>) -> Option<Estimate> {
    value.map(Estimate::exact)
}

fn count(count: u64) -> Option<Estimate> {
    exact(Some(count as f64))
}

/// How the values of a point's repeats become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverRepeats {
    /// The mean with its confidence interval.
    Mean,
    /// The median, with the minimum and maximum: times of recovery are not normally distributed.
    Median,
    /// The maximum: an anomaly of the ledger is a fact, however rare.
    Max,
}

pub fn over_repeats(column: &str) -> OverRepeats {
    match column.split_once('.') {
        Some(("recovery", _)) => OverRepeats::Median,
        Some(("ledger", "acknowledged")) | None => OverRepeats::Mean,
        Some(("ledger", _)) => OverRepeats::Max,
        Some(_) => OverRepeats::Mean,
    }
}

/// The sum over a trial's ledgers; `None` if one of them is unknown.
fn ledger(trial: &TrialSummary, of: fn(&LedgerSummary) -> Option<u64>) -> Option<Estimate> {
    let counts: Option<Vec<u64>> = trial.ledgers.iter().map(of).collect();
    let counts = counts.filter(|counts| !counts.is_empty())?;
    count(counts.iter().sum())
}

/// A statistic of a distribution of times: name, heading, and the percentile as a share (0 to 1);
/// `None` for other statistics.
type Statistic = (
    &'static str,
    &'static str,
    Option<f64>,
    fn(LatencySummary) -> Estimate,
);

#[rustfmt::skip] // A line for each.
const STATISTICS: [Statistic; 8] = [
    ("mean", "mean", None, |times| times.mean),
    ("p50", "50 %", Some(0.5), |times| Estimate::exact(times.p50)),
    ("p75", "75 %", Some(0.75), |times| Estimate::exact(times.p75)),
    ("p90", "90 %", Some(0.9), |times| Estimate::exact(times.p90)),
    ("p95", "95 %", Some(0.95), |times| Estimate::exact(times.p95)),
    ("p99", "99 %", Some(0.99), |times| Estimate::exact(times.p99)),
    ("p999", "99.9 %", Some(0.999), |times| Estimate::exact(times.p999)),
    ("max", "max", None, |times| Estimate::exact(times.max)),
];

/// Distributions of times: name, heading, and field of a trial.
type Times = (
    &'static str,
    &'static str,
    fn(&TrialSummary) -> Option<LatencySummary>,
);

const TIMES: [Times; 3] = [
    ("response_ms", "response", |trial| trial.response_ms),
    ("service_ms", "service", |trial| trial.service_ms),
    ("generator.delay_ms", "generator delay", |trial| {
        trial.generator.delay_ms
    }),
];

/// Where a trial has a column's value.
enum Column {
    Number(&'static Number<TrialSummary, Estimate>),
    /// A number of a trial's recovery from its first fault.
    Recovery(&'static recovery::Number),
    Time(&'static Times, &'static Statistic),
    Metric(&'static Metric),
}

/// Ends the name of a table's column that shows a change.
const CHANGE: &str = ".change_pct";

/// The column whose change between variants a table's column shows: `tps` for `tps.change_pct`.
/// `None` for any other column.
pub fn changed(column: &str) -> Option<&str> {
    column.strip_suffix(CHANGE)
}

/// The full name of a column: `p99` is short for `response_ms.p99`, and so are the other
/// statistics of the response time. Any other name is already full.
pub fn full_name(column: &str) -> String {
    if let Some(of) = changed(column) {
        return format!("{}{CHANGE}", full_name(of));
    }
    let (response, ..) = TIMES[0];
    match STATISTICS.iter().any(|(name, ..)| *name == column) {
        true => format!("{response}.{column}"),
        false => column.to_owned(),
    }
}

fn find(column: &str) -> Option<Column> {
    if let Some(number) = NUMBERS.iter().find(|number| number.name == column) {
        return Some(Column::Number(number));
    }
    if let Some(number) = recovery::numbers().find(|number| number.name == column) {
        return Some(Column::Recovery(number));
    }
    match time(column) {
        Some((times, statistic)) => Some(Column::Time(times, statistic)),
        None => Metric::find(column).map(Column::Metric),
    }
}

fn time(column: &str) -> Option<(&'static Times, &'static Statistic)> {
    let (times, statistic) = column.rsplit_once('.')?;
    let times = TIMES.iter().find(|(name, ..)| *name == times)?;
    let statistic = STATISTICS.iter().find(|(name, ..)| *name == statistic)?;
    Some((times, statistic))
}

/// A trial's value of a column; `None` if it was not measured or there is no such column.
pub fn value(trial: &TrialSummary, column: &str) -> Option<Estimate> {
    match find(column)? {
        Column::Number(number) => (number.of)(trial),
        Column::Recovery(number) => {
            let found = trial.faults.first()?.recovery.as_ref()?;
            (number.of)(found).map(Estimate::exact)
        }
        Column::Time((.., times), (.., of)) => times(trial).map(of),
        Column::Metric(_) => Some(Estimate::exact(trial.metrics.get(column)?.mean)),
    }
}

/// A trial's value of a column; a recovery time may be censored.
pub fn observation(trial: &TrialSummary, column: &str) -> Option<Observation> {
    match find(column)? {
        Column::Recovery(number) => number.observed(trial.faults.first()?.recovery.as_ref()?),
        _ => value(trial, column).map(|found| Observation::Exactly(found.value)),
    }
}

/// The confidence interval of a trial's percentile; `None` if unknown, and for any other column.
pub fn range(trial: &TrialSummary, column: &str) -> Option<Range> {
    let ((.., times), (name, ..)) = time(column)?;
    let times = times(trial)?;
    match *name {
        "p95" => times.p95_range,
        "p99" => times.p99_range,
        _ => None,
    }
}

/// The values of a column in a trial's jackknife replicates; `None` unless the column is the mean or a
/// percentile of the response times.
pub(crate) fn replicates(trial: &TrialSummary, column: &str) -> Option<Vec<f64>> {
    let ((times, ..), (statistic, .., of)) = time(column)?;
    let all = trial.response_replicates_ms.iter();
    let is_sampled = *times == "response_ms" && *statistic != "max";
    is_sampled.then(|| all.map(|times| of(*times).value).collect())
}

/// A trial's value of a column, with the half-width of its interval; for percentiles, whose
/// intervals are not symmetric, the longer side.
pub fn estimate(trial: &TrialSummary, column: &str) -> Option<Estimate> {
    let found = value(trial, column)?;
    let longer =
        range(trial, column).map(|range| (found.value - range.low).max(range.high - found.value));
    Some(Estimate {
        half_width: found.half_width.or(longer),
        ..found
    })
}

/// The percentile as a share (0 to 1); `None` for any other column.
pub fn percentile(column: &str) -> Option<f64> {
    let (_, (_, _, share, _)) = time(column)?;
    *share
}

/// Whether the column is a mean or a percentile over a trial's time, which differs by chance in
/// another run. Other columns count or time single events.
pub fn is_sampled(column: &str) -> bool {
    find(column).is_some_and(|found| match found {
        Column::Number(number) => number.unit == "1/s",
        Column::Time(..) | Column::Metric(_) => true,
        Column::Recovery(_) => false,
    })
}

/// Whether a column exists. Any name is accepted in brackets, because the devices and cores of a
/// host are known only when the study runs.
pub fn is_known(column: &str) -> bool {
    find(column).is_some()
}

/// Columns with brackets are given as patterns such as `cpu[CORE].user`.
pub fn all_names() -> Vec<String> {
    let numbers = NUMBERS.iter().map(|number| number.name.to_owned());
    let times = TIMES.iter().flat_map(|(times, ..)| {
        let statistics = STATISTICS.iter();
        statistics.map(move |(name, ..)| format!("{times}.{name}"))
    });
    let metrics = METRICS.iter().flat_map(Metric::patterns);
    let recovery = recovery::numbers().map(|number| number.name.to_owned());
    numbers
        .chain(recovery)
        .chain(times)
        .chain(metrics)
        .collect()
}

/// A short heading, such as `response 99 %` or `disk reads/s (device vda)`; for an unknown column,
/// its name.
pub fn heading(column: &str) -> String {
    match find(column) {
        None => column.to_owned(),
        Some(Column::Number(number)) => number.heading.to_owned(),
        Some(Column::Recovery(number)) => number.heading.to_owned(),
        Some(Column::Time(times, statistic)) => format!("{} {}", times.1, statistic.1),
        Some(Column::Metric(metric)) => match (metric.brackets, split(column).1) {
            (Brackets::Always(what) | Brackets::Optional(what), Some(of)) => {
                format!("{} ({what} {of})", metric.heading)
            }
            _ => metric.heading.to_owned(),
        },
    }
}

/// The unit of a column, for example `ms`; empty for a plain number.
pub fn unit(column: &str) -> &'static str {
    match find(column) {
        None => "",
        Some(Column::Number(number)) => number.unit,
        Some(Column::Recovery(number)) => number.unit,
        Some(Column::Time(..)) => "ms",
        Some(Column::Metric(metric)) => metric.unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::MetricSummary;

    #[test]
    fn every_name_is_known_and_has_a_heading() {
        for name in all_names() {
            assert!(is_known(&name), "{name}");
            assert_ne!(heading(&name), "", "{name}");
        }
        for wrong in [
            "tp",
            "response_ms",
            "response_ms.p98",
            "response_ms.mean.x",
            "generator.delay_ms",
            "generator.delay_ms.p98",
            "cpu.usr",
        ] {
            assert!(!is_known(wrong), "{wrong}");
        }
    }

    #[test]
    fn short_names_are_of_the_response_time() {
        for name in ["mean", "p50", "p75", "p90", "p95", "p99", "p999", "max"] {
            let full = full_name(name);
            assert_eq!(full, format!("response_ms.{name}"));
            assert!(is_known(&full), "{full}");
        }
        for full in ["tps", "errors", "service_ms.p99", "cpu.user", "p98"] {
            assert_eq!(full_name(full), full);
        }
        assert_eq!(full_name("p99.change_pct"), "response_ms.p99.change_pct");
    }

    #[test]
    fn headings_say_of_what() {
        assert_eq!(heading("response_ms.p99"), "response 99 %");
        assert_eq!(heading("disk[vda].read_iops"), "disk reads/s (device vda)");
        assert_eq!(heading("cpu.user"), "CPU user");
        assert_eq!(heading("nonsense"), "nonsense");
        assert_eq!((unit("cpu[3].user"), unit("service_ms.max")), ("%", "ms"));
    }

    #[test]
    fn only_percentiles_have_a_share_and_a_range() {
        let shares = ["response_ms.p99", "service_ms.p50"].map(percentile);
        assert_eq!(shares, [Some(0.99), Some(0.5)]);
        let none = ["response_ms.mean", "response_ms.max", "tps", "nonsense"];
        assert!(none.into_iter().all(|column| percentile(column).is_none()));
        let mut trial = crate::check::tests::trial();
        let known = Range {
            low: 1.0,
            high: 2.0,
        };
        trial.response_ms.as_mut().unwrap().p99_range = Some(known);
        assert_eq!(range(&trial, "response_ms.p99"), Some(known));
        for column in ["response_ms.p50", "service_ms.p99", "response_ms.mean"] {
            assert_eq!(range(&trial, column), None, "{column}");
        }
    }

    #[test]
    fn a_ledger_says_only_what_was_checked() {
        let mut trial = crate::check::tests::trial();
        let all = all_names();
        let names = all.iter().filter(|name| name.starts_with("ledger."));
        let of = |trial: &TrialSummary| -> Vec<Option<f64>> {
            let values = names.clone().map(|name| value(trial, name));
            values.map(|value| Some(value?.value)).collect()
        };
        assert_eq!(of(&trial), [None; 7]);
        let ledger = LedgerSummary {
            acknowledged: 10,
            lost: 2,
            behind: 6,
            phantom: 3,
            duplicated: 4,
            stale_reads: 5,
            replica_reads: 9,
            diverged: 1,
            checked: vec![1, 2],
            ..LedgerSummary::default()
        };
        trial.ledgers = vec![ledger.clone(), ledger];
        let twice = [20.0, 4.0, 12.0, 6.0, 8.0, 10.0, 2.0].map(Some);
        assert_eq!(of(&trial), twice);
        trial.ledgers[1].checked.clear();
        trial.ledgers[1].replica_reads = 0;
        assert_eq!(of(&trial), [Some(20.0), None, None, None, None, None, None]);
    }

    #[test]
    fn a_trial_has_what_was_measured_and_nothing_else() {
        let mut trial = crate::check::tests::trial();
        let summary = MetricSummary {
            mean: 61.5,
            min: 1.0,
            max: 99.0,
        };
        trial.metrics.insert("cpu.user".into(), summary);
        let of = |column| value(&trial, column).map(|estimate| estimate.value);
        assert_eq!(of("cpu.user"), Some(61.5));
        assert_eq!(of("cpu.system"), None);
        assert_eq!(of("errors"), Some(0.0));
        assert_eq!(of("service_ms.mean"), None);
        assert_eq!(of("generator.delay_ms.p99"), None);
        assert_eq!(value(&trial, "tps"), trial.transactions.per_s);
        assert_eq!(
            of("response_ms.p99"),
            trial.response_ms.map(|times| times.p99)
        );
        trial.generator.delay_ms = trial.response_ms;
        let delay = value(&trial, "generator.delay_ms.p99");
        assert_eq!(delay, value(&trial, "response_ms.p99"));
    }
}

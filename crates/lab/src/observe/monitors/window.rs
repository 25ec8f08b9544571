//! The metrics over the measure phase.

use std::collections::BTreeMap;

use measure::metric::{Metric, MetricSummary, Metrics, Reading};

use super::snapshot::{Snapshot, derive};
use super::values::Values;

/// The first snapshot of the measure phase, and the metrics of the intervals since.
#[derive(Debug, Default)]
pub(super) struct MeasureWindow {
    first: Option<Snapshot>,
    stats: BTreeMap<String, MetricStats>,
}

/// Statistics of a metric over intervals.
#[derive(Debug, Clone, Copy)]
struct MetricStats {
    count: f64,
    sum: f64,
    seconds: f64,
    /// Sum of the values, each times the length of its interval.
    weighted: f64,
    min: f64,
    max: f64,
}

impl MeasureWindow {
    /// Begins with the first snapshot of the measure phase; later calls have no effect.
    pub(super) fn begin(&mut self, snapshot: &Snapshot) {
        self.first.get_or_insert_with(|| snapshot.clone());
    }

    /// Adds an interval, if the measure phase has begun.
    pub(super) fn add(&mut self, values: &Values, seconds: f64) {
        if self.first.is_none() {
            return;
        }
        for (name, value) in &values.0 {
            match self.stats.get_mut(name) {
                Some(stats) => stats.add(*value, seconds),
                None => {
                    self.stats
                        .insert(name.clone(), MetricStats::of(*value, seconds));
                }
            }
        }
    }

    /// Summarizes counters over exactly the time from the first to the last snapshot, and levels by
    /// the mean over the intervals.
    pub(super) fn summarize(self, last: &Snapshot) -> Metrics {
        let Some(first) = self.first else {
            return Metrics::new();
        };
        let seconds = last.at.duration_since(first.at).as_secs_f64();
        let whole = derive(&first, last).0;
        let mut stats = self.stats;
        for (name, value) in &whole {
            // The whole phase was shorter than an interval.
            let only = MetricStats::of(*value, seconds);
            stats.entry(name.clone()).or_insert(only);
        }
        stats
            .into_iter()
            .map(|(name, stats)| {
                let summary = stats.summary(&name, whole.get(&name).copied());
                (name, summary)
            })
            .collect()
    }
}

impl MetricStats {
    fn of(value: f64, seconds: f64) -> Self {
        Self {
            count: 1.0,
            sum: value,
            seconds,
            weighted: value * seconds,
            min: value,
            max: value,
        }
    }

    fn add(&mut self, value: f64, seconds: f64) {
        self.count += 1.0;
        self.sum += value;
        self.seconds += seconds;
        self.weighted += value * seconds;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// `whole` is the metric between the first and the last snapshot; `None` if its counter was
    /// reset in between.
    fn summary(&self, name: &str, whole: Option<f64>) -> MetricSummary {
        let is_level = Metric::find(name).is_some_and(|metric| metric.reading == Reading::Level);
        let mean = match whole {
            _ if is_level => self.sum / self.count,
            Some(whole) => whole,
            None => self.weighted / self.seconds,
        };
        MetricSummary {
            mean,
            // The mean may include a remainder that was too short for an interval.
            min: self.min.min(mean),
            max: self.max.max(mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn snapshot() -> Snapshot {
        Snapshot {
            at: Instant::now(),
            late: Duration::ZERO,
            own_cpu: Duration::ZERO,
            host: host::Sample::default(),
            generator: None,
            servers: Vec::new(),
            others_s: BTreeMap::new(),
        }
    }

    fn values(pairs: &[(&str, f64)]) -> Values {
        let mut values = Values::default();
        for (name, value) in pairs {
            values.put(*name, Some(*value));
        }
        values
    }

    #[test]
    fn levels_and_reset_counters_are_means_over_intervals() {
        let mut window = MeasureWindow::default();
        window.add(&values(&[("server.cpu", 99.0)]), 1.0);
        window.begin(&snapshot());
        window.add(
            &values(&[("memory.dirty_bytes", 1.0), ("server.cpu", 10.0)]),
            3.0,
        );
        window.add(
            &values(&[("memory.dirty_bytes", 2.0), ("server.cpu", 50.0)]),
            1.0,
        );
        window.add(&values(&[("memory.dirty_bytes", 6.0)]), 1.0);
        let stats = |name: &str, whole| window.stats[name].summary(name, whole);
        let dirty = stats("memory.dirty_bytes", Some(6.0));
        assert_eq!((dirty.mean, dirty.min, dirty.max), (3.0, 1.0, 6.0));
        assert_eq!(stats("server.cpu", Some(30.0)).mean, 30.0);
        assert_eq!(stats("server.cpu", None).mean, 20.0);
        assert_eq!(stats("server.cpu", Some(60.0)).max, 60.0);
    }

    #[test]
    fn without_a_snapshot_there_are_no_metrics() {
        assert_eq!(
            MeasureWindow::default().summarize(&snapshot()),
            Metrics::new()
        );
    }
}

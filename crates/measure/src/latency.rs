//! Histograms of durations, which can be merged without loss.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::serialization::{self, Serializer, V2Serializer};
use hdrhistogram::{Counter, Histogram};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::interval::Estimate;
use crate::quantile::Range;

const LOWEST_NS: u64 = 64;
/// Longest duration, about 73 minutes; longer ones are recorded as this.
const HIGHEST_NS: u64 = 1 << 42;
/// Significant digits: 3, a relative error of 0.1 %.
const DIGITS: u8 = 3;
/// Relative error of a percentile, which follows from [`DIGITS`].
pub(crate) const RESOLUTION: f64 = 1e-3;
/// Significant digits of a coarse histogram: a relative error of 1 %.
const COARSE_DIGITS: u8 = 2;

/// A histogram of durations in nanoseconds (Tene's HDR histogram).
///
/// Histograms are merged; percentiles are derived on demand. The size grows with the largest value:
/// 8 KiB up to 131 µs, 45 KiB up to 100 ms.
///
/// Durations within a second are counted in 32 bits, which halves the memory that a load touches
/// with each statement; [`TotalLatency`] counts in 64 bits.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency<C: Counter = u32> {
    histogram: Histogram<C>,
    /// Exact sum, so that the mean has no rounding error of buckets.
    sum_ns: u128,
}

/// Durations of a whole trial. Counts cannot overflow, however long it is.
pub type TotalLatency = Latency<u64>;

impl<C: Counter> Default for Latency<C> {
    fn default() -> Self {
        Self::with_digits(DIGITS)
    }
}

impl<C: Counter> Latency<C> {
    /// An empty histogram whose quantiles are accurate to 1 %, in a sixth of the memory: each
    /// worker keeps twenty kinds of statement times.
    pub fn coarse() -> Self {
        Self::with_digits(COARSE_DIGITS)
    }

    fn with_digits(digits: u8) -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the bounds are constants; a test makes one"
        )]
        let mut histogram = Histogram::new_with_bounds(LOWEST_NS, 2 * LOWEST_NS, digits)
            .expect("constant bounds are valid");
        histogram.auto(true);
        Self {
            histogram,
            sum_ns: 0,
        }
    }
}

impl Latency {
    pub fn new() -> Self {
        Self::default()
    }
}

impl TotalLatency {
    pub fn accumulate(&mut self, second: &Latency) {
        Buckets::of(second).add_to(self);
    }
}

/// A finished [`Latency`]: only its non-empty buckets, which take a tenth of the memory.
#[derive(Debug, Clone)]
pub(crate) struct Buckets {
    /// The highest duration of each bucket in nanoseconds, and its count.
    counts: Box<[(u64, u64)]>,
    sum_ns: u128,
}

impl Buckets {
    pub(crate) fn of<C: Counter>(latency: &Latency<C>) -> Self {
        let buckets = latency.histogram.iter_recorded();
        Self {
            counts: buckets
                .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value().as_u64()))
                .collect(),
            sum_ns: latency.sum_ns,
        }
    }

    pub(crate) fn add_to(&self, latency: &mut TotalLatency) {
        for &(duration_ns, count) in &self.counts {
            let recorded = latency.histogram.record_n(duration_ns, count);
            debug_assert!(recorded.is_ok());
        }
        latency.sum_ns += self.sum_ns;
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// Number of durations that exceed one returned by [`Latency::quantile_ns`].
    pub(crate) fn count_above(&self, duration_ns: u64) -> u64 {
        let longer = self.counts.iter().filter(|(at_ns, _)| *at_ns > duration_ns);
        longer.map(|(_, count)| count).sum()
    }
}

impl<C: Counter> Latency<C> {
    /// Durations above 73 minutes are recorded as 73 minutes.
    #[inline]
    pub fn record(&mut self, duration_ns: u64) {
        // The histogram resizes itself, so recording cannot fail.
        let recorded = self.histogram.record(duration_ns.min(HIGHEST_NS));
        debug_assert!(recorded.is_ok());
        self.sum_ns += u128::from(duration_ns);
    }

    pub fn merge(&mut self, other: &Self) {
        // It resizes itself, so nothing can be out of range.
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok());
        self.sum_ns += other.sum_ns;
    }

    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The mean in nanoseconds; `None` when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The quantile (0 to 1) in nanoseconds: this share of all durations does not exceed it. `None`
    /// when empty.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.histogram.value_at_quantile(quantile))
    }

    /// The mean of the durations in seconds, each raised to `power`; NaN when empty.
    pub(crate) fn moment_s(&self, power: i32) -> f64 {
        let buckets = self.histogram.iter_recorded();
        let sum: f64 = buckets
            .map(|bucket| {
                let seconds = bucket.value_iterated_to() as f64 / 1e9;
                seconds.powi(power) * bucket.count_since_last_iteration() as f64
            })
            .sum();
        sum / self.count() as f64
    }

    /// The shortest duration in nanoseconds; `None` when empty.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.histogram.min())
    }

    /// The longest duration in nanoseconds; `None` when empty.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.histogram.max())
    }

    /// The histogram in HdrHistogram's V2 encoding, without compression. It is written each second
    /// for each kind of statement, and compression cost the generator as much CPU time as a tenth
    /// of its statements.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        let written = V2Serializer::new().serialize(&self.histogram, &mut bytes);
        debug_assert!(written.is_ok());
        bytes
    }

    pub fn histogram(&self) -> &Histogram<C> {
        &self.histogram
    }
}

/// For another process: the digits, the exact sum, and the histogram, if it is not empty.
type Sent = (u8, u128, String);

impl Serialize for Latency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_empty = self.histogram.is_empty();
        let text = (!is_empty).then(|| BASE64_STANDARD.encode(self.encode()));
        let sent: Sent = (
            self.histogram.sigfig(),
            self.sum_ns,
            text.unwrap_or_default(),
        );
        sent.serialize(serializer)
    }
}

/// Accepts only what [`Latency`] can have recorded.
impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (digits, sum_ns, text) = Sent::deserialize(deserializer)?;
        let mut latency = match digits {
            DIGITS | COARSE_DIGITS => Self::with_digits(digits),
            _ => return Err(D::Error::custom("unknown accuracy of a histogram")),
        };
        if text.is_empty() {
            return Ok(latency);
        }
        let bytes = BASE64_STANDARD.decode(text).map_err(D::Error::custom)?;
        let mut reader = bytes.as_slice();
        let read = serialization::Deserializer::new().deserialize::<u32, _>(&mut reader);
        let read = read.map_err(|_| D::Error::custom("not a histogram"))?;
        let is_ours = read.low() == LOWEST_NS && read.sigfig() == digits;
        let bounded = read.max() <= latency.histogram.highest_equivalent(HIGHEST_NS);
        if !is_ours || !bounded || latency.histogram.add(&read).is_err() {
            return Err(D::Error::custom("not the histogram of a load"));
        }
        if sum_ns > u128::from(latency.count()) * u128::from(u64::MAX) {
            return Err(D::Error::custom("impossible sum of a histogram"));
        }
        latency.sum_ns = sum_ns;
        Ok(latency)
    }
}

pub(crate) fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// A distribution of durations, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    pub mean: Estimate,
    pub stddev: f64,
    pub min: f64,
    pub p50: f64,
    pub p75: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
    /// 95 % confidence interval of `p95`; `None` if too little was measured.
    pub p95_range: Option<Range>,
    /// 95 % confidence interval of `p99`; `None` if too little was measured.
    pub p99_range: Option<Range>,
}

impl LatencySummary {
    /// `half_width_ms` is that of the mean. `None` for an empty histogram.
    pub fn of<C: Counter>(latency: &Latency<C>, half_width_ms: Option<f64>) -> Option<Self> {
        let quantile = |share| latency.quantile_ns(share).map(ms);
        Some(Self {
            mean: Estimate {
                value: latency.mean_ns()? / 1e6,
                half_width: half_width_ms,
            },
            stddev: latency.histogram().stdev() / 1e6,
            min: ms(latency.min_ns()?),
            p50: quantile(0.5)?,
            p75: quantile(0.75)?,
            p90: quantile(0.9)?,
            p95: quantile(0.95)?,
            p99: quantile(0.99)?,
            p999: quantile(0.999)?,
            max: ms(latency.max_ns()?),
            p95_range: None,
            p99_range: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;

    use super::*;

    /// As other programs read it; they do not know the exact sum.
    fn decoded(bytes: &[u8]) -> Latency {
        let mut reader = bytes;
        let histogram: Histogram<u32> = Deserializer::new().deserialize(&mut reader).unwrap();
        let mut latency = Latency::new();
        latency.histogram.add(&histogram).unwrap();
        latency
    }

    #[test]
    fn mean_is_exact_and_quantiles_are_within_three_digits() {
        let mut latency = Latency::new();
        for duration_ns in (1..=1000).map(|ms| ms * 1_000_000) {
            latency.record(duration_ns);
        }
        assert_eq!(latency.mean_ns(), Some(500.5e6));
        let p99 = latency.quantile_ns(0.99).unwrap() as f64;
        assert!((p99 / 990e6 - 1.0).abs() < 0.001, "{p99}");
    }

    #[test]
    fn coarse_quantiles_are_within_a_percent_also_when_merged_and_kept() {
        let (mut coarse, mut fine) = (Latency::coarse(), Latency::new());
        for duration_ns in (1..=1000).map(|ms| ms * 1_000_000) {
            coarse.record(duration_ns);
            fine.record(duration_ns);
        }
        let mut total = TotalLatency::coarse();
        total.accumulate(&coarse);
        assert_eq!(total.mean_ns(), Some(500.5e6));
        total.accumulate(&decoded(&coarse.encode()));
        for quantile in [0.5, 0.95, 0.99] {
            let found = total.quantile_ns(quantile).unwrap() as f64;
            assert!((found / (quantile * 1e9) - 1.0).abs() < 0.01, "{found}");
        }
        let size = |latency: &Latency| latency.histogram.distinct_values();
        assert!(size(&fine) > 6 * size(&coarse));
    }

    #[test]
    fn longer_than_it_can_keep_is_kept_as_the_longest() {
        let mut latency = Latency::new();
        latency.record(u64::MAX);
        assert_eq!(latency.count(), 1);
        assert!(latency.max_ns().unwrap() >= HIGHEST_NS);
    }

    #[test]
    fn merged_equals_recorded_together() {
        let (mut one, mut two, mut both) = (Latency::new(), Latency::new(), Latency::new());
        for i in 0..5000_u64 {
            let duration_ns = i * i * 37;
            if i % 3 == 0 { &mut one } else { &mut two }.record(duration_ns);
            both.record(duration_ns);
        }
        one.merge(&two);
        assert_eq!(one, both);
    }

    #[test]
    fn what_another_process_recorded_is_the_same_here() {
        let (mut one, mut coarse) = (Latency::new(), Latency::coarse());
        for i in 0..5000_u64 {
            one.record(i * i * 37);
            coarse.record(i * 7_919);
        }
        one.record(u64::MAX);
        for latency in [&one, &coarse, &Latency::new(), &Latency::coarse()] {
            let text = serde_json::to_string(latency).unwrap();
            let read: Latency = serde_json::from_str(&text).unwrap();
            assert_eq!(Buckets::of(&read).counts, Buckets::of(latency).counts);
            assert_eq!(
                (read.sum_ns, read.max_ns()),
                (latency.sum_ns, latency.max_ns())
            );
            let (mut merged, mut both) = (latency.clone(), latency.clone());
            merged.merge(&read);
            both.merge(latency);
            assert_eq!(merged, both);
        }
        for bad in ["[3,1,\"AAAA\"]", "[9,0,\"\"]", "[3,1,\"*\"]", "[3]"] {
            assert!(serde_json::from_str::<Latency>(bad).is_err(), "{bad}");
        }
        let sent = serde_json::to_string(&one).unwrap();
        let impossible = u128::from(u64::MAX) * u128::from(one.count() + 1);
        let sums = [one.sum_ns, impossible].map(|ns| format!("[3,{ns},"));
        let other_digits = sent.replace("[3,", "[2,");
        let other_sum = sent.replace(&sums[0], &sums[1]);
        for bad in [other_digits, other_sum] {
            assert!(serde_json::from_str::<Latency>(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_total_counts_more_than_32_bits_hold() {
        let most = u32::MAX;
        let (mut fast, mut slow) = (Latency::new(), Latency::new());
        fast.histogram.record_n(1_000_000, most).unwrap();
        slow.histogram.record_n(9_000_000, most).unwrap();
        let mut total = TotalLatency::default();
        for second in [&fast, &fast, &fast, &slow] {
            total.accumulate(second);
        }
        assert_eq!(total.count(), 4 * u64::from(most));
        // Three of four durations are fast; if their count were truncated to 32 bits, one of two
        // would be.
        let p74 = total.quantile_ns(0.74).unwrap();
        assert!((999_000..1_001_000).contains(&p74), "{p74}");
        let mut doubled = total.clone();
        doubled.merge(&total);
        assert_eq!(doubled.quantile_ns(0.74), Some(p74));
        assert_eq!(Buckets::of(&doubled).count_above(p74), 2 * u64::from(most));
    }

    #[test]
    fn a_total_is_what_its_seconds_are_together() {
        let (mut total, mut all) = (TotalLatency::default(), Latency::new());
        for second in 0..20_u64 {
            let mut latency = Latency::new();
            for i in 0..500 {
                let duration_ns = (i * 7_919 + second * 104_729) % 90_000_017;
                latency.record(duration_ns);
                all.record(duration_ns);
            }
            total.accumulate(&latency);
        }
        assert_eq!((total.count(), total.sum_ns()), (all.count(), all.sum_ns()));
        assert_eq!(
            (total.min_ns(), total.max_ns()),
            (all.min_ns(), all.max_ns())
        );
        for quantile in [0.0, 0.1, 0.5, 0.99, 0.999, 1.0] {
            assert_eq!(total.quantile_ns(quantile), all.quantile_ns(quantile));
        }
    }

    #[test]
    fn survives_encoding() {
        let mut latency = Latency::new();
        for i in 0..1000 {
            latency.record(i * 1_000_003);
        }
        let back = decoded(&latency.encode());
        assert_eq!(back.histogram, latency.histogram);
    }

    #[test]
    fn nothing_measured_is_absent() {
        assert_eq!(LatencySummary::of(&Latency::new(), None), None);
    }
}

//! The picture of `--histogram`.

use std::collections::BTreeMap;

/// The highest of sysbench's buckets, which are equally wide on a logarithmic scale.
const LAST_BUCKET: f64 = 1023.0;
const MIN_MS: f64 = 1e-3;
const MAX_MS: f64 = 1e5;
/// Stars of the fullest bucket.
const WIDTH: f64 = 40.0;

/// Buckets per unit of the natural logarithm.
fn scale() -> f64 {
    LAST_BUCKET / (MAX_MS.ln() - MIN_MS.ln())
}

fn bucket(value_ms: f64) -> u16 {
    let position = (value_ms.ln() - MIN_MS.ln()) * scale() + 0.5;
    position.floor().clamp(0.0, LAST_BUCKET) as u16
}

fn value_ms(bucket: u16) -> f64 {
    (f64::from(bucket) / scale() + MIN_MS.ln()).exp()
}

/// The histogram of latencies in milliseconds with their counts, in any order.
pub fn histogram(latencies: impl IntoIterator<Item = (f64, u64)>) -> String {
    let mut counts = BTreeMap::<u16, u64>::new();
    for (latency_ms, count) in latencies {
        let sum = counts.entry(bucket(latency_ms)).or_default();
        *sum = sum.saturating_add(count);
    }
    counts.retain(|_, count| *count > 0);
    let largest = counts.values().max().copied().unwrap_or(0) as f64;
    let line = |(bucket, count): (u16, u64)| {
        let stars = "*".repeat((count as f64 * WIDTH / largest + 0.5) as usize);
        format!("{:12.3} |{stars:<40} {count}\n", value_ms(bucket))
    };
    let lines: String = counts.into_iter().map(line).collect();
    format!(
        "Latency histogram (values are in milliseconds)\n       \
         value  ------------- distribution ------------- count\n{lines} \n"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The value of this latency's bucket. Buckets are 1.8 % wide.
    fn quantized(latency_ms: f64) -> f64 {
        value_ms(bucket(latency_ms))
    }

    #[test]
    fn buckets_have_their_neighbors_in_the_lines() {
        let text = histogram([(0.53, 10), (1.0, 5), (0.531, 30), (1e9, 1), (7.0, 0)]);
        let expected = "Latency histogram (values are in milliseconds)\n       \
            value  ------------- distribution ------------- count\n       \
            0.527 |**************************************** 40\n       \
            1.007 |*****                                    5\n  \
            100000.000 |*                                        1\n \n";
        assert_eq!(text, expected);
    }

    #[test]
    fn values_outside_of_the_buckets_are_in_the_outermost() {
        for value_ms in [f64::NAN, -1.0, 0.0, 1e-9] {
            assert!((quantized(value_ms) - MIN_MS).abs() < 1e-9, "{value_ms}");
        }
        assert!((quantized(f64::INFINITY) - MAX_MS).abs() < 1e-6);
        assert_eq!(histogram([]).lines().count(), 3);
    }

    proptest! {
        #[test]
        fn values_are_known_to_one_percent(value_ms in 1e-3..1e5) {
            prop_assert!((quantized(value_ms) / value_ms - 1.0).abs() < 0.0091);
            prop_assert!((quantized(quantized(value_ms)) / quantized(value_ms) - 1.0).abs() < 1e-9);
        }
    }
}

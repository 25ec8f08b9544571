//! Decides at which rate to probe next. Pure: its caller reports the outcome of each probe.
//!
//! The rate is first multiplied by a factor until one probe is below the limit and one above it.
//! Then probes alternate between both sides of the pooled estimate, so that slow drift affects both
//! sides alike.

use super::SearchEnd;
use super::pooled::{PooledRate, Probe, highest_rate, separated};

/// The first rate, as a fraction of the capacity.
const START: f64 = 0.8;
/// The factor to the next rate as long as no probe was above the limit.
const UP: f64 = 1.15;
/// The factor to the second rate if the first probe was above the limit, squared with each further
/// one: a stall near the highest rate costs little, and a much lower rate is soon reached.
const DOWN: f64 = 0.85;
/// The lowest rate that is tried, as a fraction of the capacity.
const LOWEST: f64 = 1.0 / 128.0;
/// Number of probes before the estimate decides where the next one is.
const BRACKET: usize = 3;
/// The search ends when half of the interval is at most this share of the rate, but not before
/// [`FEWEST`] probes: an interval from fewer is too often narrow by chance.
const PRECISE: f64 = 0.03;
const FEWEST: usize = 14;

/// The rate of the next probe, given the throughput of the server in a closed loop (per second).
///
/// # Errors
///
/// The reason for ending the search.
pub fn next_probe(capacity_per_s: f64, limit: f64, probes: &[Probe]) -> Result<f64, SearchEnd> {
    let rates = |above: bool| {
        let rates = probes
            .iter()
            .filter(move |probe| probe.exceeds(limit) == above);
        rates.map(|probe| probe.rate_per_s)
    };
    let (below, above) = (rates(false).reduce(f64::max), rates(true).reduce(f64::min));
    let rate = match (below, above) {
        (None, None) => capacity_per_s * START,
        (Some(below), None) => below * UP,
        (None, Some(above)) if above <= capacity_per_s * LOWEST => return Err(SearchEnd::NoRate),
        (None, Some(above)) => above * DOWN.powf(2_f64.powi(probes.len() as i32 - 1)),
        (Some(below), Some(above)) => {
            let placed = highest_rate(probes, limit).filter(|_| probes.len() >= BRACKET);
            match placed {
                Some(rate) if is_precise(rate, probes) => return Err(SearchEnd::Precise),
                Some(rate) if separated(probes, limit).is_none() => other_side(rate, probes),
                _ => (below * above).sqrt(),
            }
        }
    };
    Ok(rounded(rate))
}

fn is_precise(rate: PooledRate, probes: &[Probe]) -> bool {
    probes.len() >= FEWEST && rate.half_width.is_some_and(|half| half <= PRECISE)
}

/// The rate on the other side of the estimate from the last probe.
fn other_side(rate: PooledRate, probes: &[Probe]) -> f64 {
    let is_upper = probes.len().is_multiple_of(2);
    let side = if is_upper { 1.0 } else { -1.0 };
    rate.per_s * (1.0 + side * rate.distance)
}

/// Rounded to four significant digits.
fn rounded(rate: f64) -> f64 {
    let factor = 10_f64.powi(3 - rate.log10().floor() as i32);
    let rounded = (rate * factor).round() / factor;
    match rounded.is_finite() && rounded > 0.0 {
        true => rounded,
        false => rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probes of a server that reaches the limit at 777 per second.
    fn search(limit: f64, slow: impl Fn(f64) -> f64) -> (Vec<Probe>, Result<f64, SearchEnd>) {
        let mut probes = Vec::new();
        loop {
            match next_probe(1000.0, limit, &probes) {
                Ok(rate_per_s) if probes.len() < 26 => probes.push(Probe {
                    rate_per_s,
                    transactions: 10_000.0,
                    amount: 10_000.0 * slow(rate_per_s).min(1.0),
                }),
                end => return (probes, end),
            }
        }
    }

    #[test]
    fn probes_bracket_the_rate_and_then_alternate_around_it() {
        let (probes, end) = search(0.01, |rate| 0.01 * (10.0 * (rate / 777.0 - 1.0)).exp());
        assert_eq!(end, Err(SearchEnd::Precise));
        let found = highest_rate(&probes, 0.01).unwrap();
        assert!((found.per_s / 777.0 - 1.0).abs() < 1e-3, "{found:?}");
        assert_eq!(probes.len(), FEWEST);
        assert_eq!(probes[1].rate_per_s, 800.0 * DOWN);
        let sides = probes[3..].iter().map(|probe| probe.rate_per_s > 777.0);
        assert!(sides.eq((3..FEWEST).map(|place| place % 2 == 0)));
    }

    #[test]
    fn rates_have_four_significant_digits() {
        assert_eq!(rounded(1234.567), 1235.0);
        assert_eq!(rounded(0.123_456), 0.1235);
        assert_eq!(rounded(987_654.0), 987_700.0);
    }

    #[test]
    fn no_rate_is_found_if_a_single_transaction_exceeds_the_limit() {
        assert_eq!(search(0.01, |_| 0.5).1, Err(SearchEnd::NoRate));
    }

    #[test]
    fn a_server_that_never_slows_down_is_driven_ever_harder() {
        let (probes, end) = search(0.01, |_| 0.0);
        assert_eq!(probes.len(), 26);
        assert!(end.is_ok());
    }
}

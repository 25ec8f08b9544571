//! Ends a trial once its throughput has reached the target precision.
//!
//! An interval that is checked repeatedly is most likely to look narrow when it happens to be too
//! narrow, as in the calm between two checkpoints. That bias vanishes for long runs (Chow and
//! Robbins, "On the asymptotic theory of fixed-width sequential confidence intervals for the mean",
//! Annals of Mathematical Statistics 36, 1965; Glynn and Whitt, "The asymptotic validity of
//! sequential stopping rules for stochastic simulations", Annals of Applied Probability 2, 1992). So
//! no run ends before it has met what a server does every minute or two ([`FIRST_CHECK_S`]); the
//! interval is checked only each time the run is a tenth longer (Heidelberger and Welch, "Simulation
//! run length control in the presence of an initial transient", Operations Research 31, 1983, take
//! longer steps); and two checks in a row must agree, with a steady run at both. The interval of the
//! result is the requested one, even if chance makes that of the seconds narrower at the end.
//! `tests/integration/until.rs` measures the coverage.

use crate::interval::{Part, estimate};
use crate::steady::Steady;

/// Minimum number of seconds before the first check: several cycles of whatever happens every
/// minute. With less, trials on hosts that dip, stall, or drift end during a calm.
pub const FIRST_CHECK_S: usize = 240;
/// From one check to the next, the run grows by this share.
const STEP: f64 = 0.1;

/// Whether the mean throughput is known to ±`ci`, a share of the mean, after at least `least_s`
/// seconds.
///
/// `measured` are the seconds of the measurement so far, `warmup` those before it, each with its
/// transactions and its length. To be called after each second: it computes something only when a
/// check is due, which takes about a millisecond after ten minutes.
pub fn is_precise(ci: f64, least_s: f64, warmup: &[Part], measured: &[Part]) -> bool {
    let first = FIRST_CHECK_S.max(least_s.ceil() as usize);
    let Some((before, last)) = last_checks(first, measured.len()) else {
        return false;
    };
    let is_narrow = |length: usize| {
        let relative = estimate(&measured[..length]).and_then(|mean| mean.relative());
        relative.is_some_and(|half| half <= ci) && is_steady(warmup, &measured[..length])
    };
    last == measured.len() && is_narrow(last) && is_narrow(before)
}

/// The rule of [`is_precise`] in words, for a report.
pub fn in_words(ci: f64, least_s: f64) -> String {
    format!(
        "until mean throughput is known to ±{:.1} %: checked after {} s and each time the \
         measurement is a tenth longer, and ended when two checks in a row find the 95 % interval \
         that narrow and the load steady",
        ci * 100.0,
        least_s.max(FIRST_CHECK_S as f64)
    )
}

/// Whether the load is steady; if not, more seconds would change the mean.
fn is_steady(warmup: &[Part], seen: &[Part]) -> bool {
    let warmup_s = warmup.iter().map(|second| second.weight).sum::<f64>();
    // A phase may end some milliseconds late.
    matches!(Steady::of(warmup, seen), Some(Steady::From { s }) if s <= warmup_s + 1.0)
}

/// The two latest lengths, in seconds, at which a check was due.
fn last_checks(first: usize, length: usize) -> Option<(usize, usize)> {
    let (mut before, mut last) = (None, first);
    loop {
        let next = ((last as f64 * (1.0 + STEP)).ceil() as usize).max(last + 1);
        if next > length {
            break;
        }
        (before, last) = (Some(last), next);
    }
    before.map(|before| (before, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_a_tenth_apart_and_start_late() {
        assert_eq!(last_checks(30, 0), None);
        assert_eq!(last_checks(30, 32), None);
        assert_eq!(last_checks(30, 33), Some((30, 33)));
        assert_eq!(last_checks(30, 36), Some((30, 33)));
        assert_eq!(last_checks(30, 37), Some((33, 37)));
        assert_eq!(last_checks(60, 65), None);
        let late = last_checks(30, 100_000).unwrap();
        assert!(late.1 <= 100_000 && late.1 > 90_000, "{late:?}");
    }

    #[test]
    fn it_is_sure_of_what_hardly_varies_and_never_of_what_drifts() {
        let part = |total| Part { total, weight: 1.0 };
        let level = |i: usize| 1000.0 + ((31 * i * i + 7 * i) % 11) as f64;
        let flat: Vec<Part> = (0..300).map(|i| part(level(i))).collect();
        assert!(!is_precise(0.02, 1.0, &[], &flat[..263]));
        assert!(is_precise(0.02, 1.0, &[], &flat[..264]));
        assert!(!is_precise(0.02, 300.0, &[], &flat));
        assert!(!is_precise(1e-6, 1.0, &[], &flat[..264]));
        let drift: Vec<Part> = (0..264).map(|i| part(level(i) + 5.0 * i as f64)).collect();
        assert!(!is_precise(0.2, 1.0, &[], &drift));
        let words = in_words(0.02, 1.0);
        assert!(words.starts_with("until mean throughput is known to ±2.0 %: checked after 240 s"));
    }
}

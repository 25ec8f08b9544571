//! Comparisons of recovery times, which may be censored or 0, and of yes-or-no outcomes.
//!
//! If all values have a logarithm, they are compared like any other number. A time that was not over
//! when its trial ended is only known to be longer, and 0 has no logarithm: then the sides are
//! compared by ranks, which need neither (Mann and Whitney, "On a test of whether one of two random
//! variables is stochastically larger than the other", Annals of Mathematical Statistics 18, 1947).
//! The distribution of the rank sum is exact, over all ways to divide the observed values, including
//! ties; for yes-or-no outcomes, this is Fisher's exact test.

use std::collections::BTreeMap;

use super::{Comparison, Found, Measured, Method, NoComparison, Question, compare};
use crate::interval::Estimate;
use crate::recovery::{Distribution, Observation};

/// A repeat, counted from 1, and its value, which may be censored.
pub type Observed = (u32, Observation);

/// Compares by log ratios if both sides consist of known numbers above 0, otherwise by ranks.
pub fn compare_observed(
    base: &[Observed],
    new: &[Observed],
    question: &Question,
) -> Result<Comparison, NoComparison> {
    let [Some(base_known), Some(new_known)] = [base, new].map(measured) else {
        return compare_ranks(base, new, question);
    };
    compare(&base_known, &new_known, question)
}

/// Every value; `None` if some have no logarithm.
fn measured(side: &[Observed]) -> Option<Vec<Measured>> {
    let known = side.iter().map(|(repeat, value)| match value {
        Observation::Exactly(value) if *value > 0.0 => Some(Measured {
            repeat: *repeat,
            value: Estimate::exact(*value),
        }),
        _ => None,
    });
    known.collect()
}

/// Compares by ranks, without an interval.
pub fn compare_ranks(
    base: &[Observed],
    new: &[Observed],
    question: &Question,
) -> Result<Comparison, NoComparison> {
    let sides = [base, new].map(|side| side.iter().map(|(_, value)| *value).collect::<Vec<_>>());
    let all = sides
        .each_ref()
        .map(|side| Distribution::of(side.iter().copied()));
    let [Some(base_all), Some(new_all)] = all else {
        return Err(NoComparison::Nothing);
    };
    if base.len().min(new.len()) < 2 {
        return Err(NoComparison::SingleRank);
    }
    let (p, new_longer) = rank_test(&sides[0], &sides[1]);
    let method = Method::Ranks {
        base: base.len(),
        new: new.len(),
        new_longer,
    };
    let found = Found {
        base: base_all.median().bound(),
        new: new_all.median().bound(),
        change: f64::NAN,
        log_ratio: None,
        p: Some(p),
        no_verdict: None,
    };
    Ok(found.compared(method, question))
}

/// The probability (0 to 1) of a rank sum at least this far from its mean by chance, and the share of all
/// pairs in which the new value is longer, with ties as half.
fn rank_test(base: &[Observation], new: &[Observation]) -> (f64, f64) {
    let all: Vec<Observation> = base.iter().chain(new).copied().collect();
    // Twice the mean rank of tied values, so that ranks are integers. Censored times are tied: which
    // is longer is unknown.
    let is_less = |one: &Observation, other: &Observation| match (one, other) {
        (Observation::Longer(_), _) => false,
        (Observation::Exactly(_), Observation::Longer(_)) => true,
        (Observation::Exactly(one), Observation::Exactly(other)) => one < other,
    };
    let rank = |one: &Observation| {
        let less = all.iter().filter(|other| is_less(other, one)).count();
        let greater = all.iter().filter(|other| is_less(one, other)).count();
        all.len() + 1 + less - greater
    };
    // `ways[n]`: the number of ways to reach each rank sum with n of the values so far.
    let mut ways: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); new.len() + 1];
    ways[0].insert(0, 1.0);
    for one in &all {
        let rank = rank(one);
        for taken in (0..new.len()).rev() {
            for (sum, count) in ways[taken].clone() {
                *ways[taken + 1].entry(sum + rank).or_default() += count;
            }
        }
    }
    let (base_n, new_n) = (base.len() as f64, new.len() as f64);
    let mean = new_n * (base_n + new_n + 1.0);
    let observed = new.iter().map(rank).sum::<usize>() as f64 - mean;
    let sums = &ways[new.len()];
    let extreme = sums.iter();
    let extreme = extreme.filter(|(sum, _)| (**sum as f64 - mean).abs() >= observed.abs());
    let p = extreme.map(|(_, count)| count).sum::<f64>() / sums.values().sum::<f64>();
    (p, 0.5 + observed / (2.0 * base_n * new_n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Decision, LEAST, Sense};

    fn exactly(values: &[f64]) -> Vec<Observation> {
        values.iter().copied().map(Observation::Exactly).collect()
    }

    fn yes(yes: usize, of: usize) -> Vec<Observation> {
        let values = (0..of).map(|one| f64::from(u8::from(one < yes)));
        values.map(Observation::Exactly).collect()
    }

    fn numbered(values: &[Observation]) -> Vec<Observed> {
        (1..).zip(values.iter().copied()).collect()
    }

    fn question() -> Question {
        Question {
            sense: Sense::LowerIsBetter,
            interleaved: true,
            restarted: true,
            least: LEAST,
            boundary: None,
        }
    }

    /// Mann and Whitney's table: of 5 and 5, P(U <= 2) = 0.016 and P(U = 0) = 1/252.
    #[test]
    fn it_is_the_table_of_mann_and_whitney() {
        let base = exactly(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let apart = rank_test(&base, &exactly(&[6.0, 7.0, 8.0, 9.0, 10.0]));
        assert!((apart.0 - 2.0 / 252.0).abs() < 1e-12, "{apart:?}");
        assert_eq!(apart.1, 1.0);
        let two = rank_test(&base, &exactly(&[3.5, 6.0, 7.0, 8.0, 9.0]));
        assert!((two.0 - 8.0 / 252.0).abs() < 1e-12, "{two:?}");
    }

    /// Fisher's tea (*The Design of Experiments*, 1935): 3 of 4 against 1 of 4, 0.4857; and 1 of 12
    /// against 9 of 12, 0.002759 (R: `fisher.test`).
    #[test]
    fn of_yes_and_no_it_is_fishers_exact_test() {
        let (tea, _) = rank_test(&yes(3, 4), &yes(1, 4));
        assert!((tea - 34.0 / 70.0).abs() < 1e-12, "{tea}");
        let (studies, _) = rank_test(&yes(1, 12), &yes(9, 12));
        assert!((studies - 0.002_759).abs() < 1e-6, "{studies}");
        assert_eq!(rank_test(&yes(0, 9), &yes(0, 7)), (1.0, 0.5));
    }

    #[test]
    fn times_that_were_not_over_are_the_longest() {
        let base = numbered(&exactly(&[1.0, 2.0, 3.0, 4.0, 5.0]));
        let new = numbered(&[4.5, 30.0, 30.0, 30.0, 30.0].map(Observation::Longer));
        let found = compare_observed(&base, &new, &question()).unwrap();
        assert_eq!(found.decision, Decision::Slower);
        assert_eq!(found.change_pct.interval, None);
        let same = compare_observed(&base, &base, &question()).unwrap();
        assert_eq!(same.method, Method::Blocks { blocks: 5 });
        let few = compare_observed(&base[..2], &new[..2], &question()).unwrap();
        let undecided = Decision::Undecided {
            repeats_needed: None,
        };
        assert_eq!(few.decision, undecided);
        let single = compare_observed(&base[..1], &new, &question());
        assert_eq!(single, Err(NoComparison::SingleRank));
    }
}

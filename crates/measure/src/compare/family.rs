//! The verdicts of several comparisons that are made at once.
//!
//! At each point one number is tested first: the throughput in a closed loop, the mean response time
//! in an open one. These are decided together by Holm's procedure ("A simple sequentially rejective
//! multiple test procedure", Scandinavian Journal of Statistics 6, 1979), so that a family without
//! any difference shows one in at most 5 % of the cases. The percentiles of a point are tested only
//! where its first number has a verdict (gatekeeping: Westfall and Krishen, "Optimally weighted,
//! fixed sequence and gatekeeper multiple testing procedures", Journal of Statistical Planning and
//! Inference 99, 2001), together at the same error rate; those behind closed gates count as tested,
//! because a gate opens most easily where chance moves all numbers of a point. It opens for
//! *equivalent*, too: so narrow an interval leaves its share of false alarms to the percentiles.

use super::{Comparison, ERROR_RATE, NoVerdict};

/// The comparisons of one point: a first number, and those that are tested only if the first one
/// has a verdict.
#[derive(Debug)]
pub struct Gated<'a> {
    /// `None` if it could not be compared.
    pub first: Option<&'a mut Comparison>,
    /// Tested only if the first one is faster, slower, or equivalent.
    pub then: Vec<&'a mut Comparison>,
}

/// Decides the comparisons of several points together. Those that cannot be tested, such as single
/// runs, are not part of the family.
pub fn decide(points: &mut [Gated<'_>]) {
    let firsts = points
        .iter_mut()
        .filter_map(|point| point.first.as_deref_mut());
    holm(firsts.collect(), 0);
    let (mut tested, mut closed) = (Vec::new(), 0);
    for point in points {
        let first = point.first.as_deref();
        let is_open = first.is_some_and(Comparison::is_conclusive);
        for comparison in &mut point.then {
            match is_open {
                true => tested.push(&mut **comparison),
                false if comparison.is_tested() => {
                    comparison.leave_open(NoVerdict::Gate);
                    closed += 1;
                }
                false => {}
            }
        }
    }
    holm(tested, closed);
}

/// Tests each comparison, the smallest p first, at the error rate divided by the number of those
/// not yet decided. Once one shows no difference, the remaining ones share its level. `others`
/// belong to the family too, and show no difference.
fn holm(family: Vec<&mut Comparison>, others: usize) {
    let tested = family.into_iter().filter(|one| one.is_tested());
    let mut by_p: Vec<(f64, &mut Comparison)> =
        tested.filter_map(|one| Some((one.p?, one))).collect();
    by_p.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let count = by_p.len() + others;
    let mut stopped_at = None;
    let mut p_adjusted: f64 = 0.0;
    for (rank, (p, comparison)) in by_p.into_iter().enumerate() {
        let left = (count - rank) as f64;
        p_adjusted = p_adjusted.max(p * left).min(1.0);
        let tests = stopped_at.unwrap_or(left);
        comparison.settle(ERROR_RATE / tests, p_adjusted);
        if p_adjusted >= ERROR_RATE {
            stopped_at = Some(tests);
        }
    }
}

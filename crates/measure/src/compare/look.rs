//! A look at a sequential comparison: the verdict so far, and whether more starts may change it.

use super::{Comparison, Decision, ERROR_RATE, NoVerdict, power};

/// If the probability of a verdict at the last look is below this, the comparison ends undecided.
pub const FUTILE: f64 = 0.1;

/// A comparison as the starts so far leave it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// With the verdict: [`Decision::Faster`], [`Decision::Slower`], or [`Decision::Equivalent`] end it.
    pub comparison: Comparison,
    /// Whether further starts may still decide. If not, and [`Decision::Undecided`], it is known how
    /// many would ([`Look::more_starts`]).
    pub goes_on: bool,
}

impl Comparison {
    /// Looks at this as one of `comparisons`: all variants at all points against their bases. Each
    /// is decided at its share of the error rate (Bonferroni's correction), because the others may not have
    /// been measured yet; when all are decided together ([`super::decide`]), levels are at least
    /// as high, so that every verdict stands.
    pub fn at_look(mut self, comparisons: usize) -> Look {
        let error_rate = ERROR_RATE / comparisons.max(1) as f64;
        if let (true, Some(p)) = (self.is_tested(), self.p) {
            self.settle(error_rate, (p * comparisons as f64).min(1.0));
        }
        Look {
            goes_on: self.may_decide(error_rate),
            comparison: self,
        }
    }

    fn may_decide(&self, error_rate: f64) -> bool {
        let (Decision::Undecided { .. }, Some(ratio), Some(boundary)) =
            (self.decision, self.log_ratio, self.question.boundary)
        else {
            // More starts show how much starts differ.
            return matches!(
                self.decision,
                Decision::NoVerdict {
                    reason: NoVerdict::SingleRun { .. }
                }
            );
        };
        let (starts, most) = (self.method.repeats(), boundary.most);
        let critical = boundary.critical(error_rate, most);
        let chance =
            |starts| power::predictive(&ratio, self.question.least, critical, [starts, most]);
        starts < most && chance(starts) >= FUTILE
    }
}

impl Look {
    /// Starts beyond those so far with which 80 % of such comparisons decide; `None` if there is a verdict, and
    /// if more than [`super::MOST_REPEATS`] are needed.
    pub fn more_starts(&self) -> Option<u32> {
        let needed = self.comparison.decision.repeats_needed()?;
        let more = needed.saturating_sub(self.comparison.method.repeats());
        Some(more.max(1))
    }
}

//! Whether variants that take turns disturb each other.
//!
//! In the order ABBA, some blocks follow a block of the other variant, and some follow one of their own.
//! What a block leaves behind, such as dirty pages or a warm cache, affects the other variant in the first
//! case and the same one in the second. If both show the same difference, turns are fair. This is the
//! carry-over of crossover designs (Jones and Kenward, *Design and Analysis of Cross-Over Trials*).

use super::{
    Block, Boundary, Comparison, Measured, NoComparison, Question, Sense, compare, mean,
    starts_in_turns,
};
use crate::interval::Estimate;
use crate::summary::TrialSummary;

/// The smallest carry-over that matters: 1 %.
pub const CARRY_OVER: f64 = 0.01;

/// Carry-over between two variants of a point; `None` unless they took turns. `trials` must include
/// those of all other variants, because their turns also separate the turns of these two.
pub fn carried(trials: &[&TrialSummary], variants: [&str; 2]) -> Option<Comparison> {
    let starts = starts_in_turns(trials, &variants);
    carry_over(&starts, Boundary::of_trials(trials.iter())).ok()
}

/// Compares the ratio of two variants' rates in blocks after their own variant with that in blocks after
/// another; each start has one value. [`super::Decision::Equivalent`]: turns are fair. `Faster` and
/// `Slower`: they are not. `Undecided`: unknown.
///
/// Starts in which a variant has no block of either kind are left out.
pub fn carry_over(
    starts: &[Vec<Block>],
    boundary: Option<Boundary>,
) -> Result<Comparison, NoComparison> {
    let question = Question {
        sense: Sense::HigherIsBetter,
        interleaved: true,
        restarted: true,
        least: CARRY_OVER,
        boundary,
    };
    let side = |after_itself: bool| -> Vec<Measured> {
        let measured = (1..).zip(starts).filter_map(|(repeat, blocks)| {
            let log = |variant| mean_log(blocks, variant, after_itself);
            let ratio = (log(1)? - log(0)?).exp();
            Some(Measured {
                repeat,
                value: Estimate::exact(ratio),
            })
        });
        measured.collect()
    };
    compare(&side(false), &side(true), &question)
}

/// The mean logarithm of the rate of a variant's blocks that follow its own, or another's; `None` if
/// there are none.
fn mean_log(blocks: &[Block], variant: usize, after_itself: bool) -> Option<f64> {
    let pairs = blocks.windows(2).filter_map(|pair| {
        let [before, block] = pair else { return None };
        let is_wanted = block.variant == variant && (before.variant == variant) == after_itself;
        (is_wanted && block.rate > 0.0).then_some(block.rate.ln())
    });
    let logs: Vec<f64> = pairs.collect();
    (!logs.is_empty()).then(|| mean(&logs))
}

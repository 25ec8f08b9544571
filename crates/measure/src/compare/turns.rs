//! The blocks of starts in which variants took turns.

use std::collections::BTreeMap;

use crate::summary::{TrialSummary, counted};

/// A block of a start in which variants take turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// Which variant had its turn.
    pub variant: usize,
    /// Transactions per second; 0, which has no logarithm, if none completed.
    pub rate: f64,
}

/// The blocks of each start of a point in order of time; empty unless its variants took turns. Variants
/// that are not in `variants` share the next number.
pub(super) fn starts_in_turns(trials: &[&TrialSummary], variants: &[&str]) -> Vec<Vec<Block>> {
    let mut starts: BTreeMap<u32, Vec<(f64, Block)>> = BTreeMap::new();
    for trial in counted(trials) {
        let name = trial.setup.planned.variant();
        let place = variants.iter().position(|variant| name == Some(*variant));
        let variant = place.unwrap_or(variants.len());
        let blocks = trial.turns.iter().map(|turn| {
            let rate = turn.transactions as f64 / turn.length_s;
            (turn.start_s, Block { variant, rate })
        });
        let start = starts.entry(trial.setup.planned.repeat).or_default();
        start.extend(blocks);
    }
    let in_order = starts.into_values().map(|mut start| {
        start.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        start.into_iter().map(|(_, block)| block).collect()
    });
    in_order
        .filter(|start: &Vec<_>| !start.is_empty())
        .collect()
}

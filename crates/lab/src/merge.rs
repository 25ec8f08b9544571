//! The seconds of several loads as those of one.

use std::collections::VecDeque;

use measure::slice::{Phase, Second};

/// Collects the seconds of loads that began together, and gives them merged: one
/// when all loads that still run have told theirs.
#[derive(Debug)]
pub(crate) struct Merger {
    loads: Vec<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    seconds: VecDeque<Second>,
    has_ended: bool,
}

impl Merger {
    pub(crate) fn new(loads: usize) -> Self {
        Self {
            loads: (0..loads).map(|_| Waiting::default()).collect(),
        }
    }

    /// A load has told a second.
    pub(crate) fn add(&mut self, load: usize, second: Second) {
        if let Some(waiting) = self.loads.get_mut(load) {
            waiting.seconds.push_back(second);
        }
    }

    /// A load will tell no more.
    pub(crate) fn end(&mut self, load: usize) {
        if let Some(waiting) = self.loads.get_mut(load) {
            waiting.has_ended = true;
        }
    }

    /// The next second of all loads together, once it is whole. A load that ended a
    /// phase before the others has no part in the rest of it.
    pub(crate) fn next(&mut self) -> Option<Second> {
        if self
            .loads
            .iter()
            .any(|load| load.seconds.is_empty() && !load.has_ended)
        {
            return None;
        }
        let fronts = self.loads.iter().filter_map(|load| load.seconds.front());
        let phase = fronts.map(|second| second.phase).min_by_key(order)?;
        let parts = self.loads.iter_mut().filter_map(|load| {
            let is_next = load.seconds.front()?.phase == phase;
            is_next.then(|| load.seconds.pop_front()).flatten()
        });
        parts.reduce(merged)
    }
}

fn order(phase: &Phase) -> u8 {
    match phase {
        Phase::Warmup => 0,
        Phase::Measure => 1,
        Phase::Drain => 2,
    }
}

fn merged(mut all: Second, one: Second) -> Second {
    all.start_ns = all.start_ns.min(one.start_ns);
    all.end_ns = all.end_ns.max(one.end_ns);
    all.slice.merge(&one.slice);
    all.backlog = match (all.backlog, one.backlog) {
        (Some(mine), Some(theirs)) => Some(mine + theirs),
        (mine, theirs) => mine.or(theirs),
    };
    all.workers.extend(one.workers);
    all
}

#[cfg(test)]
mod tests {
    use measure::slice::{Busy, Slice};

    use super::*;

    fn second(number: u64, phase: Phase, response_ns: &[u64]) -> Second {
        let mut slice = Slice::new(0);
        for ns in response_ns {
            slice.response.record(*ns);
        }
        Second {
            start_ns: number * 1_000_000_000,
            end_ns: (number + 1) * 1_000_000_000,
            phase,
            slice,
            backlog: Some(3),
            workers: vec![Busy::default()],
        }
    }

    #[test]
    fn histograms_are_merged_never_percentiles() {
        let mut merger = Merger::new(2);
        merger.add(0, second(0, Phase::Measure, &[1_000, 2_000]));
        assert_eq!(merger.next(), None);
        merger.add(1, second(0, Phase::Measure, &[9_000_000]));
        let merged = merger.next().unwrap();
        assert_eq!(merged.slice.response.count(), 3);
        // To three digits, as histograms keep it.
        let longest = merged.slice.response.max_ns().unwrap();
        assert!((9_000_000..9_010_000).contains(&longest), "{longest}");
        assert_eq!(merged.backlog, Some(6));
        assert_eq!(merged.workers.len(), 2);
        assert_eq!(merger.next(), None);
    }

    #[test]
    fn a_load_that_ends_early_does_not_hold_up_the_others() {
        let mut merger = Merger::new(2);
        merger.add(0, second(0, Phase::Measure, &[1]));
        merger.add(0, second(1, Phase::Drain, &[]));
        merger.end(0);
        merger.add(1, second(0, Phase::Measure, &[1]));
        merger.add(1, second(1, Phase::Measure, &[1, 1]));
        let counts: Vec<_> = std::iter::from_fn(|| merger.next())
            .map(|second| (second.phase, second.slice.response.count()))
            .collect();
        assert_eq!(counts, [(Phase::Measure, 2), (Phase::Measure, 2)]);
        merger.end(1);
        assert_eq!(merger.next().map(|second| second.phase), Some(Phase::Drain));
        assert_eq!(merger.next(), None);
    }
}

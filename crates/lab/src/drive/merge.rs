//! Merges the seconds of several loads.
//!
//! The seconds of different loads end at slightly different instants. A merged second starts and
//! ends at the mean of its parts' instants, so its length is the mean of their lengths, and its
//! transactions divided by that length are the sum of the loads' rates. From the earliest start to
//! the latest end, it would be longer than any of its parts.

use std::collections::VecDeque;

use measure::slice::{Busy, Phase, SHORTEST_SECOND_NS, Second};

/// Merges the seconds of loads that started together. A merged second is complete when every
/// running load has delivered its part.
#[derive(Debug)]
pub(crate) struct Merger {
    loads: Vec<PendingSeconds>,
}

/// Seconds of one load that are not merged yet.
#[derive(Debug, Default)]
struct PendingSeconds {
    seconds: VecDeque<Second>,
    has_ended: bool,
    /// The load's part of the next merged second so far.
    part: Option<Second>,
    /// Phase and end of the last merged second.
    merged_until: Option<(Phase, u64)>,
    workers: usize,
}

impl Merger {
    pub(crate) fn new(loads: usize) -> Self {
        Self {
            loads: (0..loads).map(|_| PendingSeconds::default()).collect(),
        }
    }

    pub(crate) fn add(&mut self, load: usize, second: Second) {
        let pending = &mut self.loads[load];
        pending.workers = pending.workers.max(second.workers.len());
        pending.seconds.push_back(second);
    }

    /// Marks the end of a load after its last second.
    pub(crate) fn end(&mut self, load: usize) {
        self.loads[load].has_ended = true;
    }

    /// The next merged second, once it is complete. A load that ended a phase before the others
    /// contributes nothing to the rest of that phase. If a load was delayed and had one long second,
    /// several seconds of the others are merged with it.
    pub(crate) fn next(&mut self) -> Option<Second> {
        let phase = self.phase()?;
        loop {
            let ends_ns = self.loads.iter().filter_map(PendingSeconds::part_end_ns);
            let end_ns = ends_ns.max();
            let mut loads = self.loads.iter_mut();
            match loads.find(|load| load.is_behind(phase, end_ns.unwrap_or(0))) {
                Some(load) => load.extend()?,
                None => return merged(&mut self.loads, end_ns?),
            }
        }
    }

    /// The phase of the next merged second; `None` while a load may still deliver an
    /// earlier one.
    fn phase(&self) -> Option<Phase> {
        let running = self.loads.iter().filter(|load| !load.is_over());
        let phases: Option<Vec<Phase>> = running.map(PendingSeconds::phase).collect();
        // They are declared in the order of time.
        phases?.into_iter().min_by_key(|phase| *phase as u8)
    }
}

impl PendingSeconds {
    fn is_over(&self) -> bool {
        self.has_ended && self.phase().is_none()
    }

    fn phase(&self) -> Option<Phase> {
        let next = self.part.as_ref().or(self.seconds.front());
        next.map(|second| second.phase)
    }

    fn part_end_ns(&self) -> Option<u64> {
        self.part.as_ref().map(|part| part.end_ns)
    }

    /// Whether this load's part of a merged second that ends at `end_ns` is incomplete.
    fn is_behind(&self, phase: Phase, end_ns: u64) -> bool {
        let may_have_more = match self.seconds.front() {
            // The blocks of a load that takes turns have gaps between them, which do not count.
            Some(next) => {
                let follows = |part: &Second| part.end_ns == next.start_ns;
                next.phase == phase && self.part.as_ref().is_none_or(follows)
            }
            None => !self.has_ended,
        };
        let part_end_ns = self.part_end_ns();
        may_have_more && part_end_ns.is_none_or(|part_end_ns| !is_together(part_end_ns, end_ns))
    }

    /// Adds the load's next second to its part; `None` if that second has not arrived yet.
    fn extend(&mut self) -> Option<()> {
        let next = self.seconds.pop_front()?;
        self.part = Some(match self.part.take() {
            Some(part) => joined(part, next),
            None => next,
        });
        Some(())
    }

    /// When the load ended `phase`, if the others ended it at about the same time, apart from a
    /// remainder.
    fn ended_ns(&self, phase: Phase, end_ns: u64) -> Option<u64> {
        let (last, last_ns) = self.merged_until?;
        (last == phase && is_together(last_ns, end_ns)).then_some(last_ns)
    }
}

fn is_together(earlier_ns: u64, later_ns: u64) -> bool {
    earlier_ns + SHORTEST_SECOND_NS > later_ns
}

/// Merges two seconds of one load.
fn joined(first: Second, next: Second) -> Second {
    let (first_ns, next_ns) = (first.length_ns() as f64, next.length_ns() as f64);
    let mean = |a: f64, b: f64| (a * first_ns + b * next_ns) / (first_ns + next_ns).max(1.0);
    let workers = first.workers.iter().zip(&next.workers);
    let workers = workers.map(|(a, b)| Busy {
        running: mean(a.running, b.running),
        waiting: mean(a.waiting, b.waiting),
    });
    let workers = workers.collect();
    let mut slice = first.slice;
    slice.merge(&next.slice);
    Second {
        start_ns: first.start_ns,
        slice,
        workers,
        ..next
    }
}

/// Merges the parts of all loads. The workers of a load without a part were idle.
fn merged(loads: &mut [PendingSeconds], end_ns: u64) -> Option<Second> {
    let phase = loads.iter().find_map(|load| load.part.as_ref())?.phase;
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    let mut workers = Vec::new();
    let mut all: Option<Second> = None;
    for load in loads {
        let Some(part) = load.part.take() else {
            let ended_ns = load.ended_ns(phase, end_ns);
            starts.extend(ended_ns);
            ends.extend(ended_ns);
            workers.resize(workers.len() + load.workers, Busy::default());
            continue;
        };
        load.merged_until = Some((phase, part.end_ns));
        starts.push(part.start_ns);
        ends.push(part.end_ns);
        workers.extend_from_slice(&part.workers);
        match &mut all {
            Some(all) => {
                all.slice.merge(&part.slice);
                all.backlog = match (all.backlog, part.backlog) {
                    (Some(mine), Some(theirs)) => Some(mine + theirs),
                    (mine, theirs) => mine.or(theirs),
                };
            }
            None => all = Some(part),
        }
    }
    Some(Second {
        start_ns: mean_ns(&starts),
        end_ns: mean_ns(&ends),
        workers,
        ..all?
    })
}

fn mean_ns(instants: &[u64]) -> u64 {
    let sum: u128 = instants.iter().map(|ns| u128::from(*ns)).sum();
    u64::try_from(sum / instants.len().max(1) as u128).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use measure::slice::Slice;
    use measure::summarize::Summarizer;

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
        // Histograms keep three significant digits.
        let longest = merged.slice.response.max_ns().unwrap();
        assert!((9_000_000..9_010_000).contains(&longest), "{longest}");
        assert_eq!(merged.backlog, Some(6));
        assert_eq!(merged.workers.len(), 2);
        assert_eq!(merger.next(), None);
    }

    #[test]
    fn a_load_that_ends_early_does_not_delay_the_others() {
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

    const SECOND_NS: u64 = 1_000_000_000;

    fn cut(start_ns: u64, end_ns: u64, transactions: u64) -> Second {
        let mut second = second(0, Phase::Measure, &vec![1_000_000; transactions as usize]);
        (second.start_ns, second.end_ns) = (start_ns, end_ns);
        second
    }

    /// The merged seconds of loads whose seconds end at the given instants, and each load's
    /// measured throughput. `per_s` is the rate of each load.
    fn loads(cuts: &[Vec<u64>], per_s: impl Fn(usize) -> f64) -> (Vec<Second>, Vec<f64>) {
        let mut merger = Merger::new(cuts.len());
        let mut rates = Vec::new();
        for (load, cuts) in cuts.iter().enumerate() {
            let mut gather = Summarizer::new(&[]);
            for edges in cuts.windows(2) {
                let length_s = (edges[1] - edges[0]) as f64 / 1e9;
                let second = cut(edges[0], edges[1], (per_s(load) * length_s).round() as u64);
                gather.add(&second);
                merger.add(load, second);
            }
            merger.end(load);
            rates.push(throughput(&gather));
        }
        (std::iter::from_fn(|| merger.next()).collect(), rates)
    }

    fn throughput(gather: &Summarizer) -> f64 {
        let input = crate::for_tests::input();
        gather.finish(input).transactions.per_s.unwrap().value
    }

    /// The throughput of the merged seconds divided by the sum of the loads' throughput; and the
    /// merged seconds.
    fn total_over_sum(cuts: &[Vec<u64>], per_s: impl Fn(usize) -> f64) -> (f64, Vec<Second>) {
        let (seconds, rates) = loads(cuts, per_s);
        let mut gather = Summarizer::new(&[]);
        seconds.iter().for_each(|second| gather.add(second));
        (throughput(&gather) / rates.iter().sum::<f64>(), seconds)
    }

    fn is_one(ratio: f64) {
        assert!((0.999..1.001).contains(&ratio), "{ratio}");
    }

    /// The ends of `seconds` seconds, each up to 12 ms late; all loads start together.
    fn late(load: u64, seconds: u64) -> Vec<u64> {
        let late_ns = |i: u64| match i {
            0 => 0,
            i => (load * 7 + i * i * 5) % 13 * 1_000_000,
        };
        (0..=seconds).map(|i| i * SECOND_NS + late_ns(i)).collect()
    }

    #[test]
    fn the_total_is_the_sum_of_loads_whose_seconds_are_skewed() {
        for (count, seconds) in [(2, 10), (8, 10), (8, 60)] {
            let cuts: Vec<_> = (0..count).map(|load| late(load, seconds)).collect();
            let (ratio, merged) = total_over_sum(&cuts, |load| 400.0 + 90.0 * load as f64);
            is_one(ratio);
            assert_eq!(merged.len() as u64, seconds);
            // Each second starts at the end of the one before.
            let gaps = merged.windows(2).map(|two| two[1].start_ns - two[0].end_ns);
            assert!(gaps.into_iter().all(|gap| gap == 0));
        }
    }

    #[test]
    fn a_delayed_load_stays_aligned_with_the_others() {
        let mut cuts: Vec<_> = (0..8).map(|load| late(load, 20)).collect();
        cuts[3].drain(6..9);
        let (ratio, merged) = total_over_sum(&cuts, |load| 400.0 + 90.0 * load as f64);
        is_one(ratio);
        assert_eq!(merged.len(), 17);
        let lengths: Vec<u64> = merged.iter().map(Second::length_ns).collect();
        assert!((lengths[5] as f64 / 1e9 - 4.0).abs() < 0.02, "{lengths:?}");
        assert!((merged[16].end_ns as f64 / 1e9 - 20.0).abs() < 0.02);
        // The rate of every merged second is the sum of all rates.
        for second in &merged {
            let per_s = second.slice.response.count() as f64 / (second.length_ns() as f64 / 1e9);
            assert!((per_s / 5720.0 - 1.0).abs() < 0.01, "{per_s}");
        }
    }

    #[test]
    fn a_remainder_that_only_some_loads_have_counts_for_all() {
        // Three of eight loads ended after their last full second, with a remainder of 9 ms.
        let mut cuts: Vec<_> = (0..8).map(|load| late(load, 10)).collect();
        for load in [1, 4, 6] {
            let end_ns = cuts[load][10];
            cuts[load].push(end_ns + 9_000_000);
        }
        let (ratio, merged) = total_over_sum(&cuts, |_| 5000.0);
        is_one(ratio);
        let last = merged.last().unwrap();
        let per_s = last.slice.response.count() as f64 / (last.length_ns() as f64 / 1e9);
        assert!((per_s / 40_000.0 - 1.0).abs() < 0.05, "{per_s}");
    }

    #[test]
    fn blocks_of_loads_that_take_turns_are_not_joined_across_their_gaps() {
        let mut merger = Merger::new(2);
        // Two blocks of a second each. The main thread of one load was late in the first one.
        let blocks = |late_ns: u64| {
            let first = cut(0, SECOND_NS + late_ns, 100);
            [first, cut(5 * SECOND_NS, 6 * SECOND_NS, 100)]
        };
        for (load, late_ns) in [0, 600_000_000].into_iter().enumerate() {
            for block in blocks(late_ns) {
                merger.add(load, block);
            }
            merger.end(load);
        }
        let merged: Vec<Second> = std::iter::from_fn(|| merger.next()).collect();
        let lengths: Vec<u64> = merged.iter().map(Second::length_ns).collect();
        assert_eq!(lengths, [1_300_000_000, SECOND_NS]);
    }

    #[test]
    fn workers_keep_their_positions_when_a_load_has_ended() {
        let mut merger = Merger::new(2);
        let busy = |running| Busy {
            running,
            waiting: 0.0,
        };
        merger.add(0, second(0, Phase::Measure, &[1]));
        merger.end(0);
        for number in 0..3 {
            merger.add(
                1,
                Second {
                    workers: vec![busy(0.5)],
                    ..second(number, Phase::Measure, &[1])
                },
            );
        }
        merger.end(1);
        let all: Vec<Second> = std::iter::from_fn(|| merger.next()).collect();
        assert_eq!(all.len(), 3);
        assert!(
            all.iter()
                .all(|second| second.workers == [busy(0.0), busy(0.5)])
        );
    }
}

//! How the rate of arrivals, or the number of active users, changes over a load.

use std::iter::once;
use std::time::Duration;

use plan::Phases;

const NS_PER_S: f64 = 1e9;

/// A positive value over time: linear within each piece, and constant after the last one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Schedule {
    /// When the first piece starts, on the load's clock.
    start_ns: u64,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    /// From the start of the schedule.
    start_s: f64,
    /// Infinite for the last piece.
    length_s: f64,
    from: f64,
    to: f64,
    /// The integral over all pieces before this one.
    before: f64,
}

impl Schedule {
    pub(crate) fn constant(value: f64, start_ns: u64) -> Self {
        Self::new(once((f64::INFINITY, value, value)), start_ns)
    }

    /// Phases after a warm-up with the value at their beginning. They end with the load; the value
    /// at their end lasts while it stops.
    pub(crate) fn of(phases: &Phases, warmup: Duration, start_ns: u64) -> Self {
        let list = phases.list.iter();
        let first = phases.list.first().map(|phase| phase.from);
        let last = phases.list.last().map(|phase| phase.to);
        let warmup = first.map(|value| (warmup.as_secs_f64(), value, value));
        let end = last.map(|value| (f64::INFINITY, value, value));
        let list = list.map(|phase| (phase.time.as_secs_f64(), phase.from, phase.to));
        let pieces = warmup.into_iter().chain(list).chain(end);
        Self::new(pieces.filter(|(length_s, ..)| *length_s > 0.0), start_ns)
    }

    /// Pieces with their lengths, and their values at the beginning and at the end.
    fn new(pieces: impl Iterator<Item = (f64, f64, f64)>, start_ns: u64) -> Self {
        let (mut start_s, mut before) = (0.0, 0.0);
        let pieces = pieces.map(|(length_s, from, to)| {
            let piece = Piece {
                start_s,
                length_s,
                from,
                to,
                before,
            };
            start_s += length_s;
            before += length_s * f64::midpoint(from, to);
            piece
        });
        Self {
            start_ns,
            pieces: pieces.collect(),
        }
    }

    /// When the integral of the value over time, in seconds, reaches `area`.
    pub(crate) fn filled_ns(&self, area: f64) -> u64 {
        let later = self.pieces.partition_point(|piece| piece.before <= area);
        let piece = self.pieces.get(later.saturating_sub(1));
        self.clock_ns(piece.map_or(f64::INFINITY, |piece| piece.filled_s(area)))
    }

    /// When the value is at least this, from `now_ns` on.
    pub(crate) fn reached_ns(&self, value: f64, now_ns: u64) -> u64 {
        let now_s = now_ns.saturating_sub(self.start_ns) as f64 / NS_PER_S;
        let pieces = self.pieces.iter();
        let mut later = pieces.filter(|piece| piece.start_s + piece.length_s > now_s);
        let reached_s = later.find_map(|piece| piece.reached_s(value, now_s));
        self.clock_ns(reached_s.unwrap_or(f64::INFINITY))
    }

    fn clock_ns(&self, at_s: f64) -> u64 {
        self.start_ns
            .saturating_add((at_s * NS_PER_S).round() as u64)
    }
}

impl Piece {
    /// The change of the value per second.
    fn slope(&self) -> f64 {
        (self.to - self.from) / self.length_s
    }

    /// The root of a quadratic equation, in the form that is exact for a small slope.
    fn filled_s(&self, area: f64) -> f64 {
        let area = area - self.before;
        let square = self.from * self.from + 2.0 * self.slope() * area;
        self.start_s + 2.0 * area / (self.from + square.max(0.0).sqrt())
    }

    fn reached_s(&self, value: f64, now_s: f64) -> Option<f64> {
        let begin_s = self.start_s.max(now_s);
        if self.from + self.slope() * (begin_s - self.start_s) >= value {
            return Some(begin_s);
        }
        let is_later = self.to >= value;
        is_later.then(|| self.start_s + (value - self.from) / self.slope())
    }
}

#[cfg(test)]
mod tests {
    use plan::Arrivals;
    use proptest::prelude::*;

    use super::*;
    use crate::arrivals::{ArrivalQueue, NextAction};
    use crate::spec::Part;

    const S: u64 = 1_000_000_000;

    fn schedule(phases: &str, warmup_s: u64) -> Schedule {
        let phases: Phases = phases.parse().unwrap();
        Schedule::of(&phases, Duration::from_secs(warmup_s), 5 * S)
    }

    #[test]
    fn an_arrival_is_where_the_integral_of_the_rate_is() {
        // 20 in the warm-up, 40 in the step, 150 in the ramp, and 20 per second afterward.
        let rate = schedule("2s 20/s, 10s 10..20/s", 1);
        let at_s = |area| (rate.filled_ns(area) as f64 / 1e9 * 1e6).round() / 1e6 - 5.0;
        assert_eq!(at_s(0.0), 0.0);
        assert_eq!(at_s(10.0), 0.5);
        assert_eq!(at_s(20.0), 1.0);
        assert_eq!(at_s(60.0), 3.0);
        // 62.5 = 10 t + t² / 2 at t = 5.
        assert_eq!(at_s(122.5), 8.0);
        assert_eq!(at_s(210.0), 13.0);
        assert_eq!(at_s(250.0), 15.0);
    }

    #[test]
    fn a_value_is_reached_in_a_step_or_on_a_ramp() {
        let users = schedule("10s 2 threads, 10s 2..12 threads, 5s 1 threads", 5);
        let at_s = |value, now_s: u64| users.reached_ns(value, (5 + now_s) * S) as f64 / 1e9 - 5.0;
        assert_eq!(at_s(1.5, 0), 0.0);
        assert_eq!(at_s(1.5, 7), 7.0);
        assert_eq!(at_s(2.5, 0), 15.5);
        assert_eq!(at_s(11.5, 3), 24.5);
        assert_eq!(at_s(2.5, 20), 20.0);
        assert_eq!(users.reached_ns(12.5, 0), u64::MAX);
        assert_eq!(users.reached_ns(1.5, 31 * S), u64::MAX);
        assert_eq!(users.reached_ns(0.5, 99 * S), 99 * S);
    }

    fn any_phases() -> impl Strategy<Value = String> {
        let phase = (1..20_u32, 10..2000_u32, 10..2000_u32);
        let phases = proptest::collection::vec(phase, 1..6);
        phases.prop_map(|phases| {
            let texts = phases
                .iter()
                .map(|(s, from, to)| format!("{s}s {from}..{to}/s"));
            texts.collect::<Vec<_>>().join(", ")
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The arrivals of each phase are its integral, give or take five standard deviations of a
        /// Poisson process, or one arrival of a constant one; and time never goes back.
        #[test]
        fn every_phase_has_its_arrivals(text in any_phases(), warmup_s in 0..5_u64, seed: u64) {
            let phases: Phases = text.parse().unwrap();
            for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
                let mut queue = ArrivalQueue::new(arrivals, schedule(&text, warmup_s), seed, Part::WHOLE);
                let mut next = || match queue.take(u64::MAX) {
                    NextAction::Start { due_ns, .. } => due_ns,
                    NextAction::Sleep { .. } => unreachable!("everything is due"),
                };
                let (mut last_ns, mut due_ns) = (0, next());
                let mut end_ns = (5 + warmup_s) * S;
                while due_ns < end_ns {
                    due_ns = next();
                }
                for phase in &phases.list {
                    end_ns += phase.time.as_secs() * S;
                    let mut count = 0.0;
                    while due_ns < end_ns {
                        prop_assert!(due_ns >= last_ns);
                        count += 1.0;
                        (last_ns, due_ns) = (due_ns, next());
                    }
                    let expected = phase.time.as_secs_f64() * f64::midpoint(phase.from, phase.to);
                    let allowed = match arrivals {
                        Arrivals::Constant => 1.01,
                        Arrivals::Poisson => 5.0 * expected.sqrt() + 1.0,
                    };
                    let difference = (count - expected).abs();
                    prop_assert!(difference <= allowed, "{arrivals}: {count}, not {expected}");
                }
            }
        }
    }
}

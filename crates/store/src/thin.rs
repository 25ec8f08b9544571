//! Keeps series of any length in bounded memory.

use measure::metric::MonitorPoint;
use measure::series::SeriesPoint;

/// A point of a series that can cover several seconds.
pub(crate) trait Thin {
    /// About how many numbers it holds.
    fn numbers(&self) -> usize;

    /// Merges the next point into this one, if that is possible; returns whether it did.
    fn absorb(&mut self, next: &Self) -> bool;
}

impl Thin for SeriesPoint {
    fn numbers(&self) -> usize {
        const BESIDES_WORKERS: usize = 16;
        BESIDES_WORKERS + 2 * self.workers.len()
    }

    fn absorb(&mut self, next: &Self) -> bool {
        SeriesPoint::absorb(self, next)
    }
}

impl Thin for MonitorPoint {
    fn numbers(&self) -> usize {
        2 + self.values.len()
    }

    fn absorb(&mut self, next: &Self) -> bool {
        MonitorPoint::absorb(self, next);
        true
    }
}

/// Collects the points of a series. When they hold too many numbers, neighbors are merged,
/// and from then on a point covers twice as many seconds.
pub(crate) struct Thinner<T> {
    pub(crate) points: Vec<T>,
    numbers: usize,
    most_numbers: usize,
    /// How many seconds a point covers.
    factor: usize,
    /// How many the last one covers so far.
    in_last: usize,
}

impl<T: Thin> Thinner<T> {
    pub(crate) fn new(most_numbers: usize) -> Self {
        Self {
            points: Vec::new(),
            numbers: 0,
            most_numbers,
            factor: 1,
            in_last: 0,
        }
    }

    pub(crate) fn push(&mut self, point: T) {
        if self.in_last < self.factor
            && let Some(last) = self.points.last_mut()
            && last.absorb(&point)
        {
            self.in_last += 1;
            return;
        }
        self.numbers += point.numbers();
        self.points.push(point);
        self.in_last = 1;
        // At least two are needed to merge.
        while self.numbers > self.most_numbers && self.points.len() > 2 && self.halve() {}
    }

    /// Merges neighbors; returns whether that reduced the number of points.
    fn halve(&mut self) -> bool {
        let before = self.points.len();
        let mut points: Vec<T> = Vec::with_capacity(before / 2 + 1);
        let mut may_absorb = false;
        for point in self.points.drain(..) {
            let last = points.last_mut().filter(|_| may_absorb);
            let is_merged = last.is_some_and(|last| last.absorb(&point));
            if !is_merged {
                points.push(point);
            }
            may_absorb = !is_merged;
        }
        self.numbers = points.iter().map(Thin::numbers).sum();
        self.points = points;
        self.factor *= 2;
        // A series may end with a point that is not full.
        self.in_last = self.factor;
        self.points.len() < before
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn point(second: usize) -> MonitorPoint {
        MonitorPoint {
            t_s: second as f64,
            seconds: 1.0,
            values: BTreeMap::from([("cpu.user".to_owned(), second as f64)]),
        }
    }

    #[test]
    fn a_short_series_stays_as_it_is() {
        let mut thinner = Thinner::new(300);
        (0..100).for_each(|second| thinner.push(point(second)));
        let all: Vec<MonitorPoint> = (0..100).map(point).collect();
        assert_eq!(thinner.points, all);
    }

    #[test]
    fn a_long_one_keeps_its_length_and_its_mean() {
        const SECONDS: usize = 100_000;
        let mut thinner = Thinner::new(300);
        (0..SECONDS).for_each(|second| {
            thinner.push(point(second));
            assert!(thinner.points.len() <= 101);
        });
        let points = thinner.points;
        assert!(points.len() > 25, "{}", points.len());
        let length_s: f64 = points.iter().map(|point| point.seconds).sum();
        assert_eq!(length_s, SECONDS as f64);
        let follows = |two: &[MonitorPoint]| two[1].t_s == two[0].t_s + two[0].seconds;
        assert!(points.windows(2).all(follows));
        let shares = points.iter().map(|p| p.values["cpu.user"] * p.seconds);
        let sum: f64 = shares.sum();
        let mean = (SECONDS - 1) as f64 / 2.0;
        assert!((sum / length_s / mean - 1.0).abs() < 1e-9);
    }
}

//! Keeps series of any length in bounded memory.

/// Collects the points of a series. When they hold too many numbers, neighbors are merged,
/// and from then on a point covers twice as many seconds.
pub(crate) struct Thinner<T> {
    pub(crate) points: Vec<T>,
    /// About how many numbers a point holds.
    numbers_of: fn(&T) -> usize,
    /// Merges the next point into one, if that is possible; returns whether it did.
    absorb: fn(&mut T, &T) -> bool,
    numbers: usize,
    most_numbers: usize,
    /// How many seconds a point covers.
    factor: usize,
    /// How many the last one covers so far.
    in_last: usize,
}

impl<T> Thinner<T> {
    pub(crate) fn new(
        most_numbers: usize,
        numbers_of: fn(&T) -> usize,
        absorb: fn(&mut T, &T) -> bool,
    ) -> Self {
        Self {
            points: Vec::new(),
            numbers_of,
            absorb,
            numbers: 0,
            most_numbers,
            factor: 1,
            in_last: 0,
        }
    }

    pub(crate) fn push(&mut self, point: T) {
        if self.in_last < self.factor
            && let Some(last) = self.points.last_mut()
            && (self.absorb)(last, &point)
        {
            self.in_last += 1;
            return;
        }
        self.numbers += (self.numbers_of)(&point);
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
            let is_merged = last.is_some_and(|last| (self.absorb)(last, &point));
            if !is_merged {
                points.push(point);
            }
            may_absorb = !is_merged;
        }
        self.numbers = points.iter().map(self.numbers_of).sum();
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

    use measure::metric::MonitorPoint;

    use super::*;

    fn thinner() -> Thinner<MonitorPoint> {
        let numbers = |point: &MonitorPoint| 2 + point.values.len();
        let absorb = |last: &mut MonitorPoint, next: &MonitorPoint| {
            last.absorb(next);
            true
        };
        Thinner::new(300, numbers, absorb)
    }

    fn point(second: usize) -> MonitorPoint {
        MonitorPoint {
            t_s: second as f64,
            seconds: 1.0,
            values: BTreeMap::from([("cpu.user".to_owned(), second as f64)]),
        }
    }

    #[test]
    fn a_short_series_stays_as_it_is() {
        let mut thinner = thinner();
        (0..100).for_each(|second| thinner.push(point(second)));
        let all: Vec<MonitorPoint> = (0..100).map(point).collect();
        assert_eq!(thinner.points, all);
    }

    #[test]
    fn a_long_one_keeps_its_length_and_its_mean() {
        const SECONDS: usize = 100_000;
        let mut thinner = thinner();
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

//! Where a curve begins to climb.

/// Minimum number of points of a curve with a knee.
const MIN_POINTS: usize = 5;
/// A curve that stays closer to the line from its first to its last point has no knee.
const MIN_BEND: f64 = 0.1;

/// The index of the knee among points in order of x; `None` with too few of them, or on a curve
/// that is nearly straight or does not rise.
///
/// Satopaa, Albrecht, Irwin and Raghavan, "Finding a 'Kneedle' in a Haystack", ICDCS Workshops
/// 2011: both axes are scaled to 0…1, and the knee is where the curve is farthest below the line
/// from its first to its last point. This is the offline form, without smoothing: a search has few
/// points, each of them a trial of its own.
pub(super) fn knee(points: &[(f64, f64)]) -> Option<usize> {
    let ((x0, y0), (x1, y1)) = (points.first()?, points.last()?);
    let (width, height) = (x1 - x0, y1 - y0);
    if points.len() < MIN_POINTS || !(width > 0.0 && height > 0.0) {
        return None;
    }
    let below = |(x, y): &(f64, f64)| (x - x0) / width - (y - y0) / height;
    let (place, most) = points
        .iter()
        .map(below)
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    (most >= MIN_BEND).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y = 1 / (1 - x) from 0 to 0.9: the scaled slope is 1 where (1 - x)^2 = 0.1.
    #[test]
    fn it_is_where_the_slope_is_that_of_the_line() {
        let points: Vec<(f64, f64)> = (0..=900)
            .map(|n| f64::from(n) / 1000.0)
            .map(|x| (x, 1.0 / (1.0 - x)))
            .collect();
        let place = knee(&points).unwrap();
        let wanted = 1.0 - 0.1_f64.sqrt();
        assert!((points[place].0 - wanted).abs() < 0.002, "{place}");
    }

    #[test]
    fn what_does_not_bend_has_none() {
        let line: Vec<(f64, f64)> = (0..9).map(|n| (f64::from(n), f64::from(n) * 3.0)).collect();
        assert_eq!(knee(&line), None);
        let falling: Vec<(f64, f64)> = line.iter().map(|(x, y)| (*x, -y)).collect();
        assert_eq!(knee(&falling), None);
        assert_eq!(knee(&[(1.0, 1.0); 9]), None);
        assert_eq!(
            knee(&[(0.0, 0.0), (1.0, 0.0), (2.0, 0.1), (3.0, 9.0)]),
            None
        );
        assert_eq!(knee(&[]), None);
        assert_eq!(knee(&[(0.0, f64::NAN); 6]), None);
    }
}

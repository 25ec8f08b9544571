//! The parameters of `select_random_points` and `select_random_ranges`.

use rand::Rng;

use super::Shared;
use super::statement::Params;
use crate::distribution::{DistributionError, KeySampler};
use crate::options::Options;
use crate::session::Param;

/// Draws values of `k` from the user's own part of the range: as in sysbench,
/// each user has an equal part, so that they do not read the same rows.
#[derive(Debug)]
pub(super) struct Points {
    keys: KeySampler,
    /// Difference between the end and the start of a range.
    delta: i64,
    params: Box<[Param<'static>]>,
}

impl Points {
    /// For the users of workloads that draw such parameters.
    pub(super) fn of(
        shared: &Shared,
        index: u32,
    ) -> Result<Option<Box<Points>>, DistributionError> {
        let options = &shared.options;
        let steps = shared.kinds.iter().flatten();
        let statements = steps.flat_map(|step| &step.statements);
        let counts = statements.map(|statement| statement.params.points(options));
        let count = counts.map(|[keys, width]| keys * width).max();
        let Some(count @ 1..) = count else {
            return Ok(None);
        };
        let (low, high) = part(options.highest_key(), shared.users, index);
        Ok(Some(Box::new(Points {
            keys: KeySampler::new(&options.distribution, low, high)?,
            delta: options.transaction.delta as i64,
            params: vec![Param::Int(0); count].into(),
        })))
    }

    /// Draws the parameters of the next statement: so many keys with `width` parameters each.
    pub(super) fn draw(
        &mut self,
        rng: &mut impl Rng,
        [keys, width]: [usize; 2],
    ) -> &[Param<'static>] {
        let all = &mut self.params[..keys * width];
        for params in all.chunks_mut(width) {
            let first = self.keys.sample(rng) as i64;
            for (param, offset) in params.iter_mut().zip([0, self.delta]) {
                *param = Param::Int(first + offset);
            }
        }
        all
    }
}

impl Params {
    /// The number of keys, and of the parameters of each: 1 for a single value, 2 for a range.
    pub(super) fn points(self, options: &Options) -> [usize; 2] {
        let transaction = &options.transaction;
        match self {
            Self::Points => [transaction.random_points as usize, 1],
            Self::Ranges => [transaction.number_of_ranges as usize, 2],
            _ => [0, 1],
        }
    }
}

/// The user's part of 0 to `highest`. Parts start at 0 and share their borders,
/// as sysbench's do.
fn part(highest: u64, users: u32, index: u32) -> (u64, u64) {
    let border = |n: u64| (u128::from(highest) * u128::from(n) / u128::from(users)) as u64;
    let index = u64::from(index % users);
    (border(index), border(index + 1))
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts_cover_the_range() {
        assert_eq!(part(1000, 4, 0), (0, 250));
        assert_eq!(part(1000, 4, 3), (750, 1000));
        assert_eq!(part(10, 3, 1), (3, 6));
        assert_eq!(part(2, 1000, 999), (1, 2));
        assert_eq!(part(1000, 4, 4), (0, 250));
    }
}

//! The parameters of `select_random_points` and `select_random_ranges`.

use rand::Rng;

use super::Shared;
use super::statement::Params;
use crate::distribution::{DistributionError, KeySampler};
use crate::session::Param;

/// Draws values of `k` from the user's own part of the range: as in sysbench,
/// each user has an equal part, so that they do not read the same rows.
#[derive(Debug)]
pub(super) struct Points {
    keys: KeySampler,
    /// Number of parameters for each key: 1 for a single value, 2 for a range.
    width: usize,
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
        let mut statements = shared.steps.iter().flat_map(|step| &step.statements);
        let needed = statements.find_map(|statement| match statement.params {
            Params::Points => Some((1, options.transaction.random_points)),
            Params::Ranges => Some((2, options.transaction.number_of_ranges)),
            _ => None,
        });
        let Some((width, count)) = needed else {
            return Ok(None);
        };
        let (low, high) = part(options.highest_key(), shared.users, index);
        Ok(Some(Box::new(Points {
            keys: KeySampler::new(&options.distribution, low, high)?,
            width,
            delta: options.transaction.delta as i64,
            params: vec![Param::Int(0); width * count as usize].into(),
        })))
    }

    /// Draws the parameters of the next statement.
    pub(super) fn draw(&mut self, rng: &mut impl Rng) -> &[Param<'static>] {
        for params in self.params.chunks_mut(self.width) {
            let first = self.keys.sample(rng) as i64;
            for (param, offset) in params.iter_mut().zip([0, self.delta]) {
                *param = Param::Int(first + offset);
            }
        }
        &self.params
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

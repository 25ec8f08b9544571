//! The kernel's count of when it stopped a server that had used up its CPU time, in the
//! `cpu.stat` of either version of control groups.

use std::path::Path;

use super::values::{Values, growth, percent};
use crate::kernel;

/// Counts since the group was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Raw {
    /// Periods in which anything of the group ran.
    periods: u64,
    /// Of these, those in which its time was used up.
    throttled: u64,
}

/// The same between two samples.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Step {
    periods: f64,
    throttled: f64,
}

/// Looks at a control group.
pub(super) fn read(group_dir: &Path) -> Option<Raw> {
    parse(&kernel::text(group_dir.join("cpu.stat"))?)
}

pub(super) fn parse(text: &str) -> Option<Raw> {
    let count = |wanted: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
        let (_, count) = pairs.find(|(name, _)| *name == wanted)?;
        count.trim().parse().ok()
    };
    Some(Raw {
        periods: count("nr_periods")?,
        throttled: count("nr_throttled")?,
    })
}

pub(super) fn derive(before: &Raw, after: &Raw) -> Option<Step> {
    Some(Step {
        periods: growth(before.periods, after.periods)?,
        throttled: growth(before.throttled, after.throttled)?,
    })
}

impl Step {
    pub(super) fn add(&mut self, other: &Self) {
        self.periods += other.periods;
        self.throttled += other.throttled;
    }

    /// `whose` is for example `server[1]`.
    pub(super) fn put(&self, whose: &str, values: &mut Values) {
        let share = percent(self.throttled, self.periods);
        values.put(format!("{whose}.throttled"), share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_periods_is_that_of_all_servers_together() {
        let one = "nr_periods 10\nnr_throttled 3\nthrottled_time 5\n";
        let two = "usage_usec 9\nnr_periods 20\nnr_throttled 10\nnr_bursts 0\n";
        let step = derive(&parse(one).unwrap(), &parse(two).unwrap()).unwrap();
        let mut all = Step {
            periods: 30.0,
            throttled: 3.0,
        };
        all.add(&step);
        let mut values = Values::default();
        step.put("server[1]", &mut values);
        all.put("server", &mut values);
        assert_eq!(values.0["server[1].throttled"], 70.0);
        assert_eq!(values.0["server.throttled"], 25.0);
    }

    #[test]
    fn a_group_in_which_nothing_ran_has_no_share() {
        let raw = parse("nr_periods 10\nnr_throttled 3\n").unwrap();
        let mut values = Values::default();
        derive(&raw, &raw).unwrap().put("server", &mut values);
        assert!(values.0.is_empty());
        assert_eq!(parse("usage_usec 9\n"), None);
        let set_back = Raw { periods: 1, ..raw };
        assert!(derive(&raw, &set_back).is_none());
    }
}

//! How often the kernel throttled a control group that had used up its CPU quota (`cpu.stat`
//! in either version).

use std::path::Path;

use measure::values::{Values, growth, percent};

use crate::cgroup::count;
use crate::files::{Files, text};

/// Counts since the group was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Periods in which anything of the group ran.
    periods: u64,
    /// Periods in which it used up its quota.
    throttled: u64,
}

/// The same in an interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct QuotaChange {
    periods: f64,
    throttled: f64,
}

/// Reads the counts of a control group.
#[must_use]
pub fn read(files: &dyn Files, group_dir: &Path) -> Option<Quota> {
    parse(&text(files, group_dir.join("cpu.stat"))?)
}

pub(crate) fn parse(text: &str) -> Option<Quota> {
    Some(Quota {
        periods: count(text, "nr_periods")?,
        throttled: count(text, "nr_throttled")?,
    })
}

/// What happened between two readings; `None` if the counts were reset.
#[must_use]
pub fn derive(before: &Quota, after: &Quota) -> Option<QuotaChange> {
    Some(QuotaChange {
        periods: growth(before.periods, after.periods)?,
        throttled: growth(before.throttled, after.throttled)?,
    })
}

impl QuotaChange {
    /// Adds what happened to another group.
    pub fn add(&mut self, other: &Self) {
        self.periods += other.periods;
        self.throttled += other.throttled;
    }

    /// Writes the metrics of `owner`, for example `server[1]`.
    pub fn put(&self, owner: &str, values: &mut Values) {
        let share = percent(self.throttled, self.periods);
        values.put(format!("{owner}.throttled"), share);
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
        let mut all = QuotaChange {
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
        let reset = Quota { periods: 1, ..raw };
        assert!(derive(&raw, &reset).is_none());
    }
}

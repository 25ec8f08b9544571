//! How often the kernel throttled a control group because of its CPU quota (`cpu.stat`, in version
//! 1 and 2).

use measure::values::{Values, growth, percent};

use crate::cgroup::count;

/// Counters since the group was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Throttling {
    /// Periods in which a process of the group ran.
    periods: u64,
    /// Periods in which the group was throttled.
    throttled: u64,
}

/// The change of the counters in an interval.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThrottlingChange {
    periods: f64,
    throttled: f64,
}

/// Reads the counters from a `cpu.stat`.
pub(crate) fn parse(text: &str) -> Option<Throttling> {
    Some(Throttling {
        periods: count(text, "nr_periods")?,
        throttled: count(text, "nr_throttled")?,
    })
}

/// The change between two readings; `None` if the counters were reset.
pub(crate) fn derive(before: &Throttling, after: &Throttling) -> Option<ThrottlingChange> {
    Some(ThrottlingChange {
        periods: growth(before.periods, after.periods)?,
        throttled: growth(before.throttled, after.throttled)?,
    })
}

impl ThrottlingChange {
    /// Adds the change of another group.
    pub(crate) fn add(&mut self, other: &Self) {
        self.periods += other.periods;
        self.throttled += other.throttled;
    }

    /// Writes the metrics of `owner`, for example `server[1]`.
    pub(crate) fn put(&self, owner: &str, values: &mut Values) {
        let throttled = percent(self.throttled, self.periods);
        values.put(format!("{owner}.throttled"), throttled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_throttled_periods_is_over_all_servers() {
        let one = "nr_periods 10\nnr_throttled 3\nthrottled_time 5\n";
        let two = "usage_usec 9\nnr_periods 20\nnr_throttled 10\nnr_bursts 0\n";
        let change = derive(&parse(one).unwrap(), &parse(two).unwrap()).unwrap();
        let mut all = ThrottlingChange {
            periods: 30.0,
            throttled: 3.0,
        };
        all.add(&change);
        let mut values = Values::default();
        change.put("server[1]", &mut values);
        all.put("server", &mut values);
        assert_eq!(values.0["server[1].throttled"], 70.0);
        assert_eq!(values.0["server.throttled"], 25.0);
    }

    #[test]
    fn an_idle_group_has_no_metric() {
        let counters = parse("nr_periods 10\nnr_throttled 3\n").unwrap();
        let mut values = Values::default();
        derive(&counters, &counters)
            .unwrap()
            .put("server", &mut values);
        assert!(values.0.is_empty());
        assert_eq!(parse("usage_usec 9\n"), None);
        let reset = Throttling {
            periods: 1,
            ..counters
        };
        assert!(derive(&counters, &reset).is_none());
    }
}

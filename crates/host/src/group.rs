//! Resource usage of the processes in a site's control groups (version 1 and 2).

use std::path::PathBuf;

use measure::values::{Values, growth, percent, sum};

use crate::cgroup::count;
use crate::files::{Files, number, text};

/// What groups count: the metric, and what its rate is divided by; `None` for levels. The last two
/// are the periods in which a process of the group ran, and those in which its CPU quota throttled
/// the group.
const COUNTERS: [(&str, Option<f64>); 8] = [
    ("group_cpu", Some(1e7)),
    ("group_memory_bytes", None),
    ("group_read_iops", Some(1.0)),
    ("group_write_iops", Some(1.0)),
    ("group_read_mb_per_s", Some(1e6)),
    ("group_write_mb_per_s", Some(1e6)),
    ("", Some(1.0)),
    ("", Some(1.0)),
];
/// The files of version 1 with the requests and the bytes of a group.
const V1_IO: [&str; 2] = [
    "blkio.throttle.io_serviced",
    "blkio.throttle.io_service_bytes",
];

/// Counters and levels of a site's groups; `None` if no group counts it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage([Option<u64>; COUNTERS.len()]);

/// The usage of one or more sites in an interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct UsageChange([Option<f64>; COUNTERS.len()]);

/// Reads the groups of a site, in the hierarchies of all controllers.
pub fn read(files: &dyn Files, groups: &[PathBuf]) -> Usage {
    let mut usage = Usage::default();
    for dir in groups {
        let of = |name: &str| text(files, dir.join(name));
        let number = |name: &str| number(files, dir.join(name));
        let stat = of("cpu.stat").unwrap_or_default();
        let used_ns = || count(&stat, "usage_usec").map(|us| us.saturating_mul(1000));
        let old_io = || Some(V1_IO.map(of)).and_then(|[all, bytes]| Some(old_io(&all?, &bytes?)));
        let io = of("io.stat").map(|text| io(&text)).or_else(old_io);
        let [reads, writes, read_bytes, write_bytes] = io.map_or([None; 4], |io| io.map(Some));
        let found = [
            number("cpuacct.usage").or_else(used_ns),
            number("memory.current").or_else(|| number("memory.usage_in_bytes")),
            reads,
            writes,
            read_bytes,
            write_bytes,
            count(&stat, "nr_periods"),
            count(&stat, "nr_throttled"),
        ];
        for (known, found) in usage.0.iter_mut().zip(found) {
            *known = known.or(found);
        }
    }
    usage
}

/// Version 2: `8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`.
fn io(text: &str) -> [u64; 4] {
    let words = text.split_whitespace();
    let counts = words.filter_map(|word| word.split_once('='));
    ["rios", "wios", "rbytes", "wbytes"].map(|kind| total(counts.clone(), kind))
}

/// Version 1: `8:0 Read 1`.
fn old_io(requests: &str, bytes: &str) -> [u64; 4] {
    let [requests, bytes] = [requests, bytes].map(|text| {
        let lines = text.lines();
        lines.filter_map(|line| line.split_once(' ')?.1.trim().split_once(' '))
    });
    let of = |kind| [total(requests.clone(), kind), total(bytes.clone(), kind)];
    let ([reads, read_bytes], [writes, write_bytes]) = (of("Read"), of("Write"));
    [reads, writes, read_bytes, write_bytes]
}

/// The sum over all disks.
fn total<'a>(counts: impl Iterator<Item = (&'a str, &'a str)>, kind: &str) -> u64 {
    let of_kind = counts.filter(|(name, _)| *name == kind);
    let values = of_kind.filter_map(|(_, value)| value.trim().parse().ok());
    values.fold(0, u64::saturating_add)
}

/// The change between two readings.
pub fn derive(before: &Usage, after: &Usage, seconds: f64) -> UsageChange {
    UsageChange(std::array::from_fn(|place| {
        let (before, after) = (before.0[place], after.0[place]?);
        match COUNTERS[place].1 {
            None => Some(after as f64),
            Some(unit) => Some(growth(before?, after)? / seconds / unit),
        }
    }))
}

impl UsageChange {
    /// Adds the change of another site.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = sum(*mine, theirs);
        }
    }

    /// Writes the metrics of `owner`, for example `server[1]`.
    pub fn put(&self, owner: &str, values: &mut Values) {
        let [.., periods, throttled] = self.0;
        for ((name, _), value) in COUNTERS.iter().zip(self.0) {
            if !name.is_empty() {
                values.put(format!("{owner}.{name}"), value);
            }
        }
        let throttled = throttled.zip(periods);
        let throttled = throttled.and_then(|(throttled, periods)| percent(throttled, periods));
        values.put(format!("{owner}.throttled"), throttled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::TestMachine;

    #[test]
    fn what_groups_use_is_read_in_both_versions() {
        let machine = TestMachine::of(
            "two/cpu.stat usage_usec 5; nr_periods 10; nr_throttled 3
             two/memory.current 4096
             two/io.stat 8:0 rbytes=4096 wbytes=10 rios=1 wios=2 dbytes=0 dios=0; 8:16 rios=1 wios=0
             cpu/cpu.stat nr_periods 10; nr_throttled 3; throttled_time 9
             cpuacct/cpuacct.usage 5000
             memory/memory.usage_in_bytes 4096
             blkio/blkio.throttle.io_serviced 8:0 Read 1; 8:0 Write 2; 8:0 Sync 3; 8:16 Read 1; Total 4
             blkio/blkio.throttle.io_service_bytes 8:0 Read 4096; 8:0 Write 10; Total 4106",
        );
        let of = |names: &[&str]| {
            let dirs: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
            read(&machine.files, &dirs)
        };
        let usage = of(&["/two"]);
        assert_eq!(usage, of(&["/cpu", "/cpuacct", "/memory", "/blkio"]));
        let counts = [5000, 4096, 2, 2, 4096, 10, 10, 3];
        assert_eq!(usage, Usage(counts.map(Some)));
        assert_eq!(of(&[]), Usage::default());
    }

    /// Only CPU time, periods, and throttled periods.
    fn usage(counts: [u64; 3]) -> Usage {
        let [cpu, periods, throttled] = counts.map(Some);
        Usage([cpu, None, None, None, None, None, periods, throttled])
    }

    fn values(change: &UsageChange) -> Values {
        let mut values = Values::default();
        change.put("server", &mut values);
        values
    }

    #[test]
    fn a_group_has_the_metrics_that_it_counts() {
        let before = usage([1_000_000_000, 10, 3]);
        let mut change = derive(&before, &usage([3_000_000_000, 20, 10]), 2.0);
        assert_eq!(values(&change).0["server.throttled"], 70.0);
        // The share of throttled periods is over all servers.
        change.add(&derive(&before, &usage([3_000_000_000, 40, 6]), 2.0));
        let values = values(&change).0;
        assert_eq!(values.len(), 2);
        assert_eq!(values["server.group_cpu"], 200.0);
        assert_eq!(values["server.throttled"], 25.0);
    }

    #[test]
    fn an_idle_group_or_one_that_was_reset_is_not_throttled() {
        let before = usage([5, 10, 3]);
        for after in [before, usage([5, 1, 3])] {
            let values = values(&derive(&before, &after, 1.0));
            assert!(!values.0.contains_key("server.throttled"));
        }
    }
}

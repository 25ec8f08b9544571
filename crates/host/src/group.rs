//! Resource usage of the processes in a site's control groups (version 1 and 2).

use std::path::PathBuf;

use measure::values::{Values, growth, sum};

use crate::cgroup::count;
use crate::files::{Files, number, text};
use crate::throttling::{self, Throttling, ThrottlingChange};

/// The files of version 1 with the requests and the bytes of a group.
const V1_IO: [&str; 2] = [
    "blkio.throttle.io_serviced",
    "blkio.throttle.io_service_bytes",
];

/// Counters and levels of a site's groups; `None` if no group counts it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    cpu_ns: Option<u64>,
    memory_bytes: Option<u64>,
    io: Option<Io>,
    throttling: Option<Throttling>,
}

/// Requests to all disks together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Io {
    reads: u64,
    writes: u64,
    read_bytes: u64,
    write_bytes: u64,
}

/// The usage of one or more sites in an interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct UsageChange {
    cpu: Option<f64>,
    memory_bytes: Option<f64>,
    read_iops: Option<f64>,
    write_iops: Option<f64>,
    read_mb_per_s: Option<f64>,
    write_mb_per_s: Option<f64>,
    throttling: Option<ThrottlingChange>,
}

/// Reads the groups of a site, in the hierarchies of all controllers.
pub fn read(files: &dyn Files, groups: &[PathBuf]) -> Usage {
    let mut usage = Usage::default();
    for dir in groups {
        let of = |name: &str| text(files, dir.join(name));
        let stat = of("cpu.stat").unwrap_or_default();
        let own_ns = || count(&stat, "usage_usec").map(|us| us.saturating_mul(1000));
        let cpu_ns = number(files, dir.join("cpuacct.usage")).or_else(own_ns);
        let memory = number(files, dir.join("memory.current"));
        let memory = memory.or_else(|| number(files, dir.join("memory.usage_in_bytes")));
        let old = || Some(V1_IO.map(&of)).and_then(|[requests, bytes]| old_io(&requests?, &bytes?));
        let io = of("io.stat").map(|text| io(&text)).or_else(old);
        usage.cpu_ns = usage.cpu_ns.or(cpu_ns);
        usage.memory_bytes = usage.memory_bytes.or(memory);
        usage.io = usage.io.or(io);
        usage.throttling = usage.throttling.or_else(|| throttling::parse(&stat));
    }
    usage
}

/// Version 2: `8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`.
fn io(text: &str) -> Io {
    let mut all = Io::default();
    for (name, value) in text
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
    {
        let counter = match name {
            "rios" => &mut all.reads,
            "wios" => &mut all.writes,
            "rbytes" => &mut all.read_bytes,
            "wbytes" => &mut all.write_bytes,
            _ => continue,
        };
        *counter = counter.saturating_add(value.parse().unwrap_or(0));
    }
    all
}

/// Version 1: `8:0 Read 1`.
fn old_io(requests: &str, bytes: &str) -> Option<Io> {
    let total = |text: &str, kind: &str| -> u64 {
        let lines = text.lines().map(|line| line.split_whitespace());
        let counts = lines.filter_map(|mut words| {
            let is_of_kind = words.nth(1) == Some(kind);
            is_of_kind.then(|| words.next()?.parse::<u64>().ok())?
        });
        counts.fold(0, u64::saturating_add)
    };
    Some(Io {
        reads: total(requests, "Read"),
        writes: total(requests, "Write"),
        read_bytes: total(bytes, "Read"),
        write_bytes: total(bytes, "Write"),
    })
}

/// The change between two readings.
pub fn derive(before: &Usage, after: &Usage, seconds: f64) -> UsageChange {
    let rate = |before: Option<u64>, after: Option<u64>| Some(growth(before?, after?)? / seconds);
    let io = |of: fn(&Io) -> u64| rate(before.io.as_ref().map(of), after.io.as_ref().map(of));
    let throttling = before.throttling.as_ref().zip(after.throttling.as_ref());
    UsageChange {
        cpu: rate(before.cpu_ns, after.cpu_ns).map(|ns_per_s| ns_per_s / 1e7),
        memory_bytes: after.memory_bytes.map(|bytes| bytes as f64),
        read_iops: io(|io| io.reads),
        write_iops: io(|io| io.writes),
        read_mb_per_s: io(|io| io.read_bytes).map(|bytes| bytes / 1e6),
        write_mb_per_s: io(|io| io.write_bytes).map(|bytes| bytes / 1e6),
        throttling: throttling.and_then(|(before, after)| throttling::derive(before, after)),
    }
}

impl UsageChange {
    /// Adds the change of another site.
    pub fn add(&mut self, other: &Self) {
        self.cpu = sum(self.cpu, other.cpu);
        self.memory_bytes = sum(self.memory_bytes, other.memory_bytes);
        self.read_iops = sum(self.read_iops, other.read_iops);
        self.write_iops = sum(self.write_iops, other.write_iops);
        self.read_mb_per_s = sum(self.read_mb_per_s, other.read_mb_per_s);
        self.write_mb_per_s = sum(self.write_mb_per_s, other.write_mb_per_s);
        if let Some(other) = &other.throttling {
            self.throttling.get_or_insert_default().add(other);
        }
    }

    /// Writes the metrics of `owner`, for example `server[1]`.
    pub fn put(&self, owner: &str, values: &mut Values) {
        for (name, value) in [
            ("cpu", self.cpu),
            ("memory_bytes", self.memory_bytes),
            ("read_iops", self.read_iops),
            ("write_iops", self.write_iops),
            ("read_mb_per_s", self.read_mb_per_s),
            ("write_mb_per_s", self.write_mb_per_s),
        ] {
            values.put(format!("{owner}.group_{name}"), value);
        }
        if let Some(throttling) = &self.throttling {
            throttling.put(owner, values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::TestMachine;

    #[test]
    fn what_groups_use_is_read_in_both_versions() {
        let machine = TestMachine::with(&[
            (
                "/two/cpu.stat",
                "usage_usec 5\nnr_periods 10\nnr_throttled 3\n",
            ),
            ("/two/memory.current", "4096\n"),
            (
                "/two/io.stat",
                "8:0 rbytes=4096 wbytes=10 rios=1 wios=2 dbytes=0 dios=0\n8:16 rios=1 wios=0\n",
            ),
            (
                "/cpu/cpu.stat",
                "nr_periods 10\nnr_throttled 3\nthrottled_time 9\n",
            ),
            ("/cpuacct/cpuacct.usage", "5000\n"),
            ("/memory/memory.usage_in_bytes", "4096\n"),
            (
                "/blkio/blkio.throttle.io_serviced",
                "8:0 Read 1\n8:0 Write 2\n8:0 Sync 3\n8:16 Read 1\nTotal 4\n",
            ),
            (
                "/blkio/blkio.throttle.io_service_bytes",
                "8:0 Read 4096\n8:0 Write 10\nTotal 4106\n",
            ),
        ]);
        let of = |names: &[&str]| {
            let dirs: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
            read(&machine.files, &dirs)
        };
        let usage = of(&["/two"]);
        assert_eq!(usage, of(&["/cpu", "/cpuacct", "/memory", "/blkio"]));
        let io = Io {
            reads: 2,
            writes: 2,
            read_bytes: 4096,
            write_bytes: 10,
        };
        assert_eq!((usage.cpu_ns, usage.io), (Some(5000), Some(io)));
        assert_eq!(of(&[]), Usage::default());
    }

    #[test]
    fn a_group_that_counts_nothing_has_no_metrics() {
        let later = Usage {
            cpu_ns: Some(3_000_000_000),
            ..Usage::default()
        };
        let before = Usage {
            cpu_ns: Some(1_000_000_000),
            ..Usage::default()
        };
        let mut change = derive(&before, &later, 2.0);
        change.add(&change.clone());
        let mut values = Values::default();
        change.put("server", &mut values);
        assert_eq!(values.0.len(), 1);
        assert_eq!(values.0["server.group_cpu"], 200.0);
    }
}

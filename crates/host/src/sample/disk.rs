//! Disk I/O (`/proc/diskstats`), in the metrics of `iostat -x`.

use std::collections::BTreeMap;

use measure::values::{Values, growth, percent, quotient};
use procfs_core::DiskStat;

/// The kernel counts in sectors of this size, whatever the device's sector size is.
const SECTOR_BYTES: f64 = 512.0;
const KB: f64 = 1024.0;
const MB: f64 = 1024.0 * KB;

pub(crate) type Disks = BTreeMap<String, DiskStat>;

/// The change of the counters of one or more devices in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct DiskChange {
    reads: IoDelta,
    writes: IoDelta,
    flushes: Option<IoDelta>,
    /// Time with at least one request in flight; for several devices, the longest.
    pub(crate) busy_ms: f64,
    queue_ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct IoDelta {
    count: f64,
    sectors: f64,
    ms: f64,
}

/// Parses the lines of the devices `wanted` in `/proc/diskstats`.
pub(crate) fn parse(text: &str, wanted: &[String]) -> Disks {
    let device = |line: &str| {
        let name = line.split_whitespace().nth(2)?;
        wanted.iter().find(|wanted| *wanted == name)?;
        Some((name.to_owned(), DiskStat::from_line(line).ok()?))
    };
    text.lines().filter_map(device).collect()
}

/// The change between two readings; `None` if the device was removed and added again.
pub(crate) fn derive(before: &DiskStat, after: &DiskStat) -> Option<DiskChange> {
    let flushes = |stat: &DiskStat| Some([stat.flushes?, 0, stat.time_flushing?]);
    let reads = |stat: &DiskStat| [stat.reads, stat.sectors_read, stat.time_reading];
    let writes = |stat: &DiskStat| [stat.writes, stat.sectors_written, stat.time_writing];
    let both_flushes = flushes(before).zip(flushes(after));
    Some(DiskChange {
        reads: delta(reads(before), reads(after))?,
        writes: delta(writes(before), writes(after))?,
        flushes: both_flushes.and_then(|(before, after)| delta(before, after)),
        busy_ms: wrapped(before.time_in_progress, after.time_in_progress),
        queue_ms: wrapped(
            before.weighted_time_in_progress,
            after.weighted_time_in_progress,
        ),
    })
}

/// The change of requests, sectors and milliseconds.
fn delta(before: [u64; 3], after: [u64; 3]) -> Option<IoDelta> {
    Some(IoDelta {
        count: growth(before[0], after[0])?,
        sectors: growth(before[1], after[1])?,
        ms: wrapped(before[2], after[2]),
    })
}

/// The change of a time in ms, which the kernel prints with 32 bits: the time in queue may wrap
/// every few days.
fn wrapped(before: u64, after: u64) -> f64 {
    f64::from((after as u32).wrapping_sub(before as u32))
}

impl DiskChange {
    pub(super) fn add(&mut self, other: &Self) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
        if let Some(flushes) = &other.flushes {
            self.flushes.get_or_insert_default().add(flushes);
        }
        self.busy_ms = self.busy_ms.max(other.busy_ms);
        self.queue_ms += other.queue_ms;
    }

    /// Writes the metrics of `owner`, for example `disk[vda]`.
    pub(super) fn put(&self, owner: &str, seconds: f64, values: &mut Values) {
        let mut put = |name: &str, value| values.put(format!("{owner}.{name}"), value);
        for (what, delta) in [("read", self.reads), ("write", self.writes)] {
            let bytes = delta.sectors * SECTOR_BYTES;
            put(&format!("{what}_iops"), Some(delta.count / seconds));
            put(&format!("{what}_mb_per_s"), Some(bytes / MB / seconds));
            put(
                &format!("{what}_size_kb"),
                quotient(bytes / KB, delta.count),
            );
            put(&format!("{what}_await_ms"), quotient(delta.ms, delta.count));
        }
        if let Some(flushes) = self.flushes {
            put("flushes_per_s", Some(flushes.count / seconds));
            put("flush_await_ms", quotient(flushes.ms, flushes.count));
        }
        put("queue", Some(self.queue_ms / 1000.0 / seconds));
        // The kernel counts whole ticks, so it may exceed the interval.
        put(
            "util",
            percent(self.busy_ms / 1000.0, seconds).map(|util| util.min(100.0)),
        );
    }
}

impl IoDelta {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sectors += other.sectors;
        self.ms += other.ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n \
         254       0 vda 1945617 60087 56608090 3312543 2305094 877071 292827008 1811195 0 373808 \
         5262273 419981 80 340806208 67229 341287 71304\n";

    fn vda() -> DiskStat {
        parse(TEXT, &["vda".to_owned()])["vda"].clone()
    }

    fn values(change: &DiskChange, seconds: f64) -> BTreeMap<String, f64> {
        let mut values = Values::default();
        change.put("disk[vda]", seconds, &mut values);
        values.0
    }

    #[test]
    fn only_the_wanted_devices_are_read() {
        let disks = parse(TEXT, &["vda".to_owned(), "sdb".to_owned()]);
        assert_eq!(disks.len(), 1);
        assert_eq!(vda().flushes, Some(341_287));
        assert_eq!(vda().time_in_progress, 373_808);
    }

    #[test]
    fn metrics_agree_with_iostat() {
        let mut after = vda();
        after.reads += 200;
        after.sectors_read += 200 * 32;
        after.time_reading += 100;
        after.time_in_progress += 1500;
        after.weighted_time_in_progress += 4000;
        let values = values(&derive(&vda(), &after).unwrap(), 2.0);
        assert_eq!(values["disk[vda].read_iops"], 100.0);
        assert_eq!(values["disk[vda].read_size_kb"], 16.0);
        assert_eq!(values["disk[vda].read_mb_per_s"], 1.5625);
        assert_eq!(values["disk[vda].read_await_ms"], 0.5);
        assert_eq!(values["disk[vda].write_iops"], 0.0);
        assert_eq!(values["disk[vda].util"], 75.0);
        assert_eq!(values["disk[vda].queue"], 2.0);
        assert_eq!(values["disk[vda].flushes_per_s"], 0.0);
        assert!(!values.contains_key("disk[vda].write_await_ms"));
        assert!(!values.contains_key("disk[vda].flush_await_ms"));
    }

    #[test]
    fn times_may_wrap_but_counts_may_not() {
        let (mut before, mut after) = (vda(), vda());
        before.weighted_time_in_progress = u64::from(u32::MAX) - 99;
        after.weighted_time_in_progress = 100;
        assert_eq!(derive(&before, &after).unwrap().queue_ms, 200.0);
        after.reads -= 1;
        assert_eq!(derive(&before, &after), None);
    }

    #[test]
    fn several_devices_are_summed_but_their_utilization_is_the_maximum() {
        let mut change = DiskChange::default();
        for busy_ms in [300.0, 900.0] {
            change.add(&DiskChange {
                busy_ms,
                queue_ms: 500.0,
                flushes: Some(IoDelta {
                    count: 10.0,
                    sectors: 0.0,
                    ms: busy_ms,
                }),
                ..DiskChange::default()
            });
        }
        let values = values(&change, 1.0);
        assert_eq!(values["disk[vda].util"], 90.0);
        assert_eq!(values["disk[vda].queue"], 1.0);
        assert_eq!(values["disk[vda].flush_await_ms"], 60.0);
    }

    #[test]
    fn damaged_text_and_older_kernels() {
        for text in [
            "",
            "254 0 vda",
            "254 0 vda 1 2 x 4 5 6 7 8 9 10 11",
            "254 0 vda 1 2 3",
        ] {
            assert!(parse(text, &["vda".to_owned()]).is_empty(), "{text}");
        }
        let old = parse("254 0 vda 1 2 3 4 5 6 7 8 9 10 11", &["vda".to_owned()]);
        assert_eq!(old["vda"].flushes, None);
    }
}

//! What disks do (`/proc/diskstats`), as `iostat -x` counts it.

use std::collections::BTreeMap;

use measure::values::{Values, growth, percent, quotient};
use procfs_core::DiskStat;

/// The kernel counts in sectors of this size whatever the device's are.
const SECTOR_BYTES: f64 = 512.0;
const KB: f64 = 1024.0;
const MB: f64 = 1024.0 * KB;

/// Counters of devices by name.
pub(crate) type Disks = BTreeMap<String, DiskStat>;

/// What one device, or several together, did in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct DiskChange {
    reads: Grown,
    writes: Grown,
    flushes: Option<Grown>,
    /// Time with at least one request; of several devices the longest.
    pub(crate) busy_ms: f64,
    /// Time of all requests.
    queue_ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Grown {
    count: f64,
    sectors: f64,
    ms: f64,
}

/// Reads the lines of the devices `wanted` in the text of `/proc/diskstats`.
pub(crate) fn parse(text: &str, wanted: &[String]) -> Disks {
    let device = |line: &str| {
        let name = line.split_whitespace().nth(2)?;
        wanted.iter().find(|wanted| *wanted == name)?;
        Some((name.to_owned(), DiskStat::from_line(line).ok()?))
    };
    text.lines().filter_map(device).collect()
}

/// `None` if the device was removed and came back in between.
pub(crate) fn derive(before: &DiskStat, after: &DiskStat) -> Option<DiskChange> {
    let flushes = |stat: &DiskStat| Some([stat.flushes?, 0, stat.time_flushing?]);
    let reads = |stat: &DiskStat| [stat.reads, stat.sectors_read, stat.time_reading];
    let writes = |stat: &DiskStat| [stat.writes, stat.sectors_written, stat.time_writing];
    let both_flushes = flushes(before).zip(flushes(after));
    Some(DiskChange {
        reads: grown(reads(before), reads(after))?,
        writes: grown(writes(before), writes(after))?,
        flushes: both_flushes.and_then(|(before, after)| grown(before, after)),
        busy_ms: wrapped(before.time_in_progress, after.time_in_progress),
        queue_ms: wrapped(
            before.weighted_time_in_progress,
            after.weighted_time_in_progress,
        ),
    })
}

/// Of requests, their sectors and their time.
fn grown(before: [u64; 3], after: [u64; 3]) -> Option<Grown> {
    Some(Grown {
        count: growth(before[0], after[0])?,
        sectors: growth(before[1], after[1])?,
        ms: wrapped(before[2], after[2]),
    })
}

/// The kernel prints times in ms as 32 bits: those of a queue start over every few days.
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
        for (what, grown) in [("read", self.reads), ("write", self.writes)] {
            let bytes = grown.sectors * SECTOR_BYTES;
            put(&format!("{what}_iops"), Some(grown.count / seconds));
            put(&format!("{what}_mb_per_s"), Some(bytes / MB / seconds));
            put(
                &format!("{what}_size_kb"),
                quotient(bytes / KB, grown.count),
            );
            put(&format!("{what}_await_ms"), quotient(grown.ms, grown.count));
        }
        if let Some(flushes) = self.flushes {
            put("flushes_per_s", Some(flushes.count / seconds));
            put("flush_await_ms", quotient(flushes.ms, flushes.count));
        }
        put("queue", Some(self.queue_ms / 1000.0 / seconds));
        // The kernel rounds to its own ticks.
        put(
            "util",
            percent(self.busy_ms / 1000.0, seconds).map(|util| util.min(100.0)),
        );
    }
}

impl Grown {
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

    fn values(step: &DiskChange, seconds: f64) -> BTreeMap<String, f64> {
        let mut values = Values::default();
        step.put("disk[vda]", seconds, &mut values);
        values.0
    }

    #[test]
    fn only_the_wanted_devices_are_read() {
        let raw = parse(TEXT, &["vda".to_owned(), "sdb".to_owned()]);
        assert_eq!(raw.len(), 1);
        assert_eq!(vda().flushes, Some(341_287));
        assert_eq!(vda().time_in_progress, 373_808);
    }

    #[test]
    fn as_iostat_counts() {
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
    fn times_wrap_and_counts_do_not() {
        let (mut before, mut after) = (vda(), vda());
        before.weighted_time_in_progress = u64::from(u32::MAX) - 99;
        after.weighted_time_in_progress = 100;
        assert_eq!(derive(&before, &after).unwrap().queue_ms, 200.0);
        after.reads -= 1;
        assert_eq!(derive(&before, &after), None);
    }

    #[test]
    fn several_devices_sum_up_and_the_busiest_is_how_busy_they_are() {
        let mut step = DiskChange::default();
        for busy_ms in [300.0, 900.0] {
            step.add(&DiskChange {
                busy_ms,
                queue_ms: 500.0,
                flushes: Some(Grown {
                    count: 10.0,
                    sectors: 0.0,
                    ms: busy_ms,
                }),
                ..DiskChange::default()
            });
        }
        let values = values(&step, 1.0);
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

//! What disks do (`/proc/diskstats`), as `iostat -x` counts it.

use std::collections::BTreeMap;

use super::values::{Values, growth, percent, quotient};

/// The kernel counts in sectors of this size whatever the device's are.
const SECTOR_BYTES: f64 = 512.0;
const KB: f64 = 1024.0;
const MB: f64 = 1024.0 * KB;

/// A device's counters by its name.
pub(super) type Raw = BTreeMap<String, Counters>;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Counters {
    reads: Requests,
    writes: Requests,
    /// Since 5.5.
    flushes: Option<Requests>,
    /// Time with at least one request, in ms.
    busy_ms: u64,
    /// Time of all requests, in ms.
    queue_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Requests {
    count: u64,
    sectors: u64,
    ms: u64,
}

/// What one device, or several together, did in a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Step {
    reads: Grown,
    writes: Grown,
    flushes: Option<Grown>,
    /// Of several devices the busiest's.
    busy_ms: f64,
    queue_ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Grown {
    count: f64,
    sectors: f64,
    ms: f64,
}

/// Reads the lines of the devices `wanted` in the text of `/proc/diskstats`.
pub(super) fn parse(text: &str, wanted: &[String]) -> Raw {
    let device = |line: &str| {
        let mut fields = line.split_whitespace().skip(2);
        let name = fields.next()?;
        wanted.iter().find(|wanted| *wanted == name)?;
        let numbers: Vec<u64> = fields
            .take(17)
            .map(|field| field.parse().ok())
            .collect::<Option<_>>()?;
        Some((name.to_owned(), counters(&numbers)?))
    };
    text.lines().filter_map(device).collect()
}

fn counters(numbers: &[u64]) -> Option<Counters> {
    let number = |place: usize| numbers.get(place).copied();
    Some(Counters {
        reads: Requests {
            count: number(0)?,
            sectors: number(2)?,
            ms: number(3)?,
        },
        writes: Requests {
            count: number(4)?,
            sectors: number(6)?,
            ms: number(7)?,
        },
        flushes: number(15).zip(number(16)).map(|(count, ms)| Requests {
            count,
            sectors: 0,
            ms,
        }),
        busy_ms: number(9)?,
        queue_ms: number(10)?,
    })
}

/// `None` when the device was taken away and came back in between.
pub(super) fn derive(before: &Counters, after: &Counters) -> Option<Step> {
    let flushes = before.flushes.zip(after.flushes);
    Some(Step {
        reads: grown(before.reads, after.reads)?,
        writes: grown(before.writes, after.writes)?,
        flushes: flushes.and_then(|(before, after)| grown(before, after)),
        busy_ms: wrapped(before.busy_ms, after.busy_ms),
        queue_ms: wrapped(before.queue_ms, after.queue_ms),
    })
}

fn grown(before: Requests, after: Requests) -> Option<Grown> {
    Some(Grown {
        count: growth(before.count, after.count)?,
        sectors: growth(before.sectors, after.sectors)?,
        ms: wrapped(before.ms, after.ms),
    })
}

/// The kernel prints times in ms as 32 bits: those of a queue start over every few days.
fn wrapped(before: u64, after: u64) -> f64 {
    f64::from((after as u32).wrapping_sub(before as u32))
}

impl Step {
    pub(super) fn add(&mut self, other: &Self) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
        if let Some(flushes) = &other.flushes {
            self.flushes.get_or_insert_default().add(flushes);
        }
        self.busy_ms = self.busy_ms.max(other.busy_ms);
        self.queue_ms += other.queue_ms;
    }

    /// `whose` is for example `disk[vda]`.
    pub(super) fn put(&self, whose: &str, seconds: f64, values: &mut Values) {
        let mut put = |name: &str, value| values.put(format!("{whose}.{name}"), value);
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

    fn vda() -> Counters {
        parse(TEXT, &["vda".to_owned()])["vda"]
    }

    fn values(step: &Step, seconds: f64) -> BTreeMap<String, f64> {
        let mut values = Values::default();
        step.put("disk[vda]", seconds, &mut values);
        values.0
    }

    #[test]
    fn only_the_wanted_devices_are_read() {
        let raw = parse(TEXT, &["vda".to_owned(), "sdb".to_owned()]);
        assert_eq!(raw.len(), 1);
        assert_eq!(vda().writes.ms, 1_811_195);
        assert_eq!(vda().flushes.unwrap().count, 341_287);
        assert_eq!((vda().busy_ms, vda().queue_ms), (373_808, 5_262_273));
    }

    #[test]
    fn as_iostat_counts() {
        let mut after = vda();
        after.reads.count += 200;
        after.reads.sectors += 200 * 32;
        after.reads.ms += 100;
        after.busy_ms += 1500;
        after.queue_ms += 4000;
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
    fn times_start_over_and_counts_do_not() {
        let (mut before, mut after) = (vda(), vda());
        before.queue_ms = u64::from(u32::MAX) - 99;
        after.queue_ms = 100;
        assert_eq!(derive(&before, &after).unwrap().queue_ms, 200.0);
        after.reads.count -= 1;
        assert_eq!(derive(&before, &after), None);
    }

    #[test]
    fn several_devices_sum_up_and_the_busiest_is_how_busy_they_are() {
        let mut step = Step::default();
        for busy_ms in [300.0, 900.0] {
            step.add(&Step {
                busy_ms,
                queue_ms: 500.0,
                flushes: Some(Grown {
                    count: 10.0,
                    sectors: 0.0,
                    ms: busy_ms,
                }),
                ..Step::default()
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
            assert_eq!(parse(text, &["vda".to_owned()]), Raw::new(), "{text}");
        }
        let old = parse("254 0 vda 1 2 3 4 5 6 7 8 9 10 11", &["vda".to_owned()]);
        assert_eq!(old["vda"].flushes, None);
    }
}

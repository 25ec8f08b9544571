//! Which request comes next, and where.

use super::{FSYNC, READ, WRITE};
use crate::options::{OptionError, Values};

/// The sizes of files and requests; none is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) files: u32,
    pub(super) file_bytes: u64,
    pub(super) request_bytes: u64,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: usize,
    pub(super) offset: u64,
    pub(super) bytes: usize,
}

impl Layout {
    pub(super) fn total_bytes(self) -> u64 {
        self.start(self.files)
    }

    /// The position of a file's first byte in all files.
    pub(super) fn start(self, file: u32) -> u64 {
        self.file_bytes * u64::from(file)
    }

    /// What a request at this position of all files covers, up to the end of a file.
    pub(super) fn at(self, position: u64) -> Place {
        let offset = position % self.file_bytes;
        Place {
            file: (position / self.file_bytes) as usize,
            offset,
            bytes: self.request_bytes.min(self.file_bytes - offset) as usize,
        }
    }

    /// The position of a request at this share (0 to 1) of all files.
    fn random(self, unit: f64) -> u64 {
        let total = self.total_bytes();
        let position = ((unit * total as f64) as u64).min(total - 1);
        // Aligned in its file, as direct I/O demands.
        position - position % self.file_bytes % self.request_bytes
    }
}

/// The requests of all threads.
pub(super) struct Schedule {
    pub(super) layout: Layout,
    /// Whether a run begins with empty files.
    pub(super) creates_files: bool,
    is_random: bool,
    /// Reads for each write: 0 if all are writes, infinite if all are reads.
    rw_ratio: f64,
    /// After how many requests all files are flushed if there was a write; never if 0.
    flush_after: u64,
    position: u64,
    reads: u64,
    writes: u64,
    is_dirty: bool,
    /// How many files are flushed, or need not be.
    flushed: u32,
}

impl Schedule {
    /// Reads the options. `layout` has requests of one block.
    pub(super) fn new(mut layout: Layout, values: &Values) -> Result<Self, OptionError> {
        let mixed = values.double("file-rw-ratio");
        if mixed < 0.0 {
            return Err(values.invalid("file-rw-ratio"));
        }
        let modes = [
            ("seqwr", (true, false, 0.0)),
            ("seqrewr", (false, false, 0.0)),
            ("seqrd", (false, false, f64::INFINITY)),
            ("rndrd", (false, true, f64::INFINITY)),
            ("rndwr", (false, true, 0.0)),
            ("rndrw", (false, true, mixed)),
        ];
        let (creates_files, is_random, rw_ratio) = values.choose("file-test-mode", &modes)?;
        if !is_random {
            let merged = values.within("file-merged-requests", 0..=u32::MAX)?.max(1);
            layout.request_bytes = layout.request_bytes.saturating_mul(merged.into());
        }
        layout.request_bytes = layout.request_bytes.min(layout.file_bytes);
        let flush_after = match values.bool("file-fsync-all") {
            true => 0,
            false => values.within("file-fsync-freq", 0..=u32::MAX)?,
        };
        Ok(Self {
            layout,
            creates_files,
            is_random,
            rw_ratio,
            flush_after: flush_after.into(),
            position: 0,
            reads: 0,
            writes: 0,
            is_dirty: false,
            flushed: layout.files,
        })
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.rw_ratio.is_infinite()
    }

    /// The next statement, and its position in all files. `unit` is a random number from 0 to 1.
    pub(super) fn next(&mut self, unit: f64) -> (u32, u64) {
        if self.flushed < self.layout.files {
            self.flushed += 1;
            return (FSYNC, self.layout.start(self.flushed - 1));
        }
        let position = match self.is_random {
            true => self.layout.random(unit),
            false => self.advance(),
        };
        let statement = self.choose();
        if self.is_dirty && (self.reads + self.writes).is_multiple_of(self.flush_after) {
            (self.is_dirty, self.flushed) = (false, 0);
        }
        (statement, position)
    }

    fn advance(&mut self) -> u64 {
        let position = self.position;
        let bytes = self.layout.at(position).bytes as u64;
        self.position = (position + bytes) % self.layout.total_bytes();
        position
    }

    fn choose(&mut self) -> u32 {
        let ratio = (self.reads + 1) as f64 / (self.writes + 1) as f64;
        if ratio < self.rw_ratio {
            self.reads += 1;
            return READ;
        }
        self.writes += 1;
        self.is_dirty = true;
        WRITE
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::native::tests::values;

    const LAYOUT: Layout = Layout {
        files: 3,
        file_bytes: 4096,
        request_bytes: 1024,
    };

    fn schedule(options: &str) -> Schedule {
        Schedule::new(LAYOUT, &values(&format!("fileio {options} run"))).unwrap()
    }

    fn statements(schedule: &mut Schedule, count: usize) -> Vec<u32> {
        (0..count).map(|_| schedule.next(0.5).0).collect()
    }

    prop_compose! {
        fn layouts()(
            files in 1_u32..200,
            file_bytes in 1_u64..1 << 40,
            request_bytes in 1_u64..1 << 40,
        ) -> Layout {
            Layout { files, file_bytes, request_bytes }
        }
    }

    fn is_inside(place: Place, layout: Layout) -> bool {
        place.file < layout.files as usize
            && place.bytes > 0
            && place.bytes as u64 <= layout.request_bytes
            && place.offset + place.bytes as u64 <= layout.file_bytes
    }

    proptest! {
        #[test]
        fn random_places_are_aligned_and_inside(layout in layouts(), unit in 0.0..1.0) {
            let place = layout.at(layout.random(unit));
            prop_assert!(is_inside(place, layout), "{place:?}");
            prop_assert_eq!(place.offset % layout.request_bytes, 0);
            // Only the last block of a file may be shorter.
            let end = place.offset + place.bytes as u64;
            prop_assert!(place.bytes as u64 == layout.request_bytes || end == layout.file_bytes);
        }

        #[test]
        fn all_positions_are_inside(layout in layouts(), share in 0.0..1.0) {
            let position = (share * layout.total_bytes() as f64) as u64;
            let place = layout.at(position.min(layout.total_bytes() - 1));
            prop_assert!(is_inside(place, layout), "{place:?}");
        }

        #[test]
        fn sequential_requests_cover_all_files_without_gaps_and_start_again(
            files in 1_u32..5,
            file_bytes in 1_u64..5000,
            request_bytes in 100_u64..9000,
        ) {
            let layout = Layout { files, file_bytes, request_bytes };
            let schedule = schedule("--file-test-mode=seqrd");
            let mut schedule = Schedule { layout, flushed: files, ..schedule };
            let mut covered = 0;
            while covered < layout.total_bytes() {
                prop_assert_eq!(schedule.next(0.5), (READ, covered));
                covered += layout.at(covered).bytes as u64;
            }
            prop_assert_eq!(covered, layout.total_bytes());
            prop_assert_eq!(schedule.next(0.5), (READ, 0));
        }
    }

    #[test]
    fn ends_of_the_random_range() {
        for (unit, position) in [(0.0, 0), (0.5, 6144), (0.999_999, 11_264), (1.0, 11_264)] {
            assert_eq!(LAYOUT.random(unit), position, "{unit}");
        }
        let last = Place {
            file: 2,
            offset: 3072,
            bytes: 1024,
        };
        assert_eq!(LAYOUT.at(11_264), last);
    }

    #[test]
    fn mixed_requests_keep_the_ratio() {
        let mut schedule = schedule("--file-test-mode=rndrw --file-fsync-freq=0");
        let statements = statements(&mut schedule, 1000);
        let reads = statements.iter().filter(|statement| **statement == READ);
        assert_eq!(reads.count(), 600);
        assert_eq!(statements[..2], [READ, WRITE]);
    }

    #[test]
    fn after_every_so_many_requests_each_file_is_flushed_once() {
        let mut schedule = schedule("--file-test-mode=seqwr --file-fsync-freq=4");
        for _ in 0..3 {
            assert_eq!(statements(&mut schedule, 4), [WRITE; 4]);
            let flushed: Vec<_> = (0..3).map(|_| schedule.next(0.5)).collect();
            assert_eq!(flushed, [(FSYNC, 0), (FSYNC, 4096), (FSYNC, 8192)]);
        }
    }

    #[test]
    fn without_a_write_nothing_is_flushed() {
        for mode in ["seqrd", "rndrd"] {
            let options = format!("--file-test-mode={mode} --file-fsync-freq=1");
            assert_eq!(statements(&mut schedule(&options), 5), [READ; 5]);
            assert!(schedule(&options).is_read_only());
        }
        let mut mixed = schedule("--file-test-mode=rndrw --file-fsync-freq=1");
        let expected = [READ, WRITE, FSYNC, FSYNC, FSYNC, READ];
        assert_eq!(statements(&mut mixed, 6), expected);
        assert!(!mixed.is_read_only());
    }

    #[test]
    fn no_flush_with_a_frequency_of_0_or_if_each_write_is_flushed() {
        for option in ["--file-fsync-freq=0", "--file-fsync-all"] {
            let mut schedule = schedule(&format!("--file-test-mode=rndwr {option}"));
            assert_eq!(statements(&mut schedule, 300), [WRITE; 300]);
        }
    }

    #[test]
    fn requests_are_merged_in_sequential_modes_up_to_a_file() {
        let merged = |mode: &str, blocks: u32| {
            let options = format!("--file-test-mode={mode} --file-merged-requests={blocks}");
            schedule(&options).layout.request_bytes
        };
        assert_eq!(merged("seqrd", 0), 1024);
        assert_eq!(merged("seqwr", 3), 3072);
        assert_eq!(merged("seqwr", 9), 4096);
        assert_eq!(merged("rndrd", 3), 1024);
    }
}

//! Which request comes next: where, whether it reads or writes, and when files are flushed.

use super::Options;

/// What `--file-test-mode` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    SequentialWrite,
    SequentialRewrite,
    SequentialRead,
    RandomRead,
    RandomWrite,
    RandomReadWrite,
}

impl Mode {
    /// What each is called on the command line.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("seqwr", Self::SequentialWrite),
        ("seqrewr", Self::SequentialRewrite),
        ("seqrd", Self::SequentialRead),
        ("rndrd", Self::RandomRead),
        ("rndwr", Self::RandomWrite),
        ("rndrw", Self::RandomReadWrite),
    ];

    pub(crate) fn is_random(self) -> bool {
        matches!(self, Self::RandomRead | Self::RandomWrite | Self::RandomReadWrite)
    }

    fn is_read_only(self) -> bool {
        matches!(self, Self::SequentialRead | Self::RandomRead)
    }
}

/// When files are flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fsync {
    /// After how many requests all files are flushed; never if 0.
    pub every: u32,
    /// Whether each write flushes its file, and nothing else does.
    pub after_write: bool,
    /// Whether each thread flushes all files when it ends.
    pub at_end: bool,
    /// Whether fdatasync(2) flushes them.
    pub data_only: bool,
}

impl Fsync {
    fn is_due(self, requests: u64) -> bool {
        !self.after_write && self.every > 0 && requests.is_multiple_of(self.every.into())
    }

    pub(crate) fn is_due_at_end(self, mode: Mode) -> bool {
        !self.after_write && self.at_end && !mode.is_read_only()
    }
}

/// The sizes of files and requests; none is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) files: u32,
    pub(crate) file_bytes: u64,
    pub(crate) request_bytes: u64,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: usize,
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}

impl Layout {
    pub(crate) fn total_bytes(self) -> u64 {
        self.file_bytes * u64::from(self.files)
    }

    /// What a request at this position of all files covers, up to the end of a file.
    fn at(self, position: u64) -> Place {
        let offset = position % self.file_bytes;
        Place {
            file: (position / self.file_bytes) as usize,
            offset,
            bytes: self.request_bytes.min(self.file_bytes - offset) as usize,
        }
    }

    /// A request at this share (0 to 1) of all files.
    fn random(self, unit: f64) -> Place {
        let total = self.total_bytes();
        let position = ((unit * total as f64) as u64).min(total - 1);
        // Aligned in its file, as direct I/O demands.
        self.at(position - position % self.file_bytes % self.request_bytes)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Read,
    Write,
    Fsync,
}

/// The requests of all threads.
#[derive(Debug)]
pub(crate) struct Schedule {
    layout: Layout,
    options: Options,
    position: u64,
    reads: u64,
    writes: u64,
    /// Whether something was written since all files were flushed.
    is_dirty: bool,
    flushed: u32,
}

impl Schedule {
    pub(crate) fn new(layout: Layout, options: Options) -> Self {
        Self {
            layout,
            options,
            position: 0,
            reads: 0,
            writes: 0,
            is_dirty: false,
            flushed: 0,
        }
    }

    /// The next request. `unit` is a random number from 0 to 1.
    pub(crate) fn next(&mut self, unit: f64) -> (Action, Place) {
        if self.is_dirty && self.options.fsync.is_due(self.reads + self.writes) {
            return (Action::Fsync, self.flush());
        }
        let place = match self.options.mode.is_random() {
            true => self.layout.random(unit),
            false => self.advance(),
        };
        if self.reads_next() {
            self.reads += 1;
            return (Action::Read, place);
        }
        self.writes += 1;
        self.is_dirty = true;
        (Action::Write, place)
    }

    fn flush(&mut self) -> Place {
        let place = Place {
            file: self.flushed as usize,
            offset: 0,
            bytes: 0,
        };
        self.flushed = (self.flushed + 1) % self.layout.files;
        self.is_dirty = self.flushed > 0;
        place
    }

    fn advance(&mut self) -> Place {
        let place = self.layout.at(self.position);
        self.position = (self.position + place.bytes as u64) % self.layout.total_bytes();
        place
    }

    fn reads_next(&self) -> bool {
        let ratio = (self.reads + 1) as f64 / (self.writes + 1) as f64;
        match self.options.mode {
            Mode::RandomReadWrite => ratio < self.options.rw_ratio,
            mode => mode.is_read_only(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::native::fileio::Access;

    const FSYNC: Fsync = Fsync {
        every: 0,
        after_write: false,
        at_end: true,
        data_only: false,
    };

    fn schedule(mode: Mode, fsync: Fsync) -> Schedule {
        let layout = Layout {
            files: 3,
            file_bytes: 4096,
            request_bytes: 1024,
        };
        let options = Options {
            mode,
            access: Access::Sync,
            fsync,
            merged_requests: 0,
            rw_ratio: 1.5,
            seed: 1,
        };
        Schedule::new(layout, options)
    }

    fn actions(schedule: &mut Schedule, count: usize) -> Vec<Action> {
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
            let place = layout.random(unit);
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
            let mut schedule = Schedule { layout, ..schedule(Mode::SequentialRead, FSYNC) };
            let mut covered = 0;
            while covered < layout.total_bytes() {
                let (action, place) = schedule.next(0.5);
                prop_assert_eq!(action, Action::Read);
                prop_assert_eq!(place.file as u64 * file_bytes + place.offset, covered);
                covered += place.bytes as u64;
            }
            prop_assert_eq!(covered, layout.total_bytes());
            let (_, first) = schedule.next(0.5);
            prop_assert_eq!((first.file, first.offset), (0, 0));
        }
    }

    #[test]
    fn ends_of_the_random_range() {
        let layout = schedule(Mode::RandomRead, FSYNC).layout;
        let place = |file, offset| Place {
            file,
            offset,
            bytes: 1024,
        };
        assert_eq!(layout.random(0.0), place(0, 0));
        assert_eq!(layout.random(0.5), place(1, 2048));
        assert_eq!(layout.random(0.999_999), place(2, 3072));
        assert_eq!(layout.random(1.0), place(2, 3072));
    }

    #[test]
    fn mixed_requests_keep_the_ratio() {
        let mut schedule = schedule(Mode::RandomReadWrite, FSYNC);
        let actions = actions(&mut schedule, 1000);
        let reads = actions.iter().filter(|action| **action == Action::Read);
        assert_eq!(reads.count(), 600);
        assert_eq!(actions[..2], [Action::Read, Action::Write]);
    }

    #[test]
    fn after_every_so_many_requests_each_file_is_flushed_once() {
        let every = Fsync { every: 4, ..FSYNC };
        let mut schedule = schedule(Mode::SequentialWrite, every);
        for _ in 0..3 {
            assert_eq!(actions(&mut schedule, 4), [Action::Write; 4]);
            let flushed: Vec<_> = (0..3).map(|_| schedule.next(0.5)).collect();
            assert!(flushed.iter().all(|(action, _)| *action == Action::Fsync));
            let files: Vec<_> = flushed.iter().map(|(_, place)| place.file).collect();
            assert_eq!(files, [0, 1, 2]);
        }
    }

    #[test]
    fn reads_need_no_flush() {
        let every = Fsync { every: 1, ..FSYNC };
        for mode in [Mode::SequentialRead, Mode::RandomRead] {
            assert_eq!(actions(&mut schedule(mode, every), 5), [Action::Read; 5]);
            assert!(!every.is_due_at_end(mode));
        }
        assert!(every.is_due_at_end(Mode::RandomReadWrite));
    }

    #[test]
    fn flushing_after_each_write_turns_the_other_rules_off() {
        let all = Fsync {
            every: 1,
            after_write: true,
            ..FSYNC
        };
        let mut schedule = schedule(Mode::RandomWrite, all);
        assert_eq!(actions(&mut schedule, 5), [Action::Write; 5]);
        assert!(!all.is_due_at_end(Mode::RandomWrite));
        assert!(!Fsync { at_end: false, ..FSYNC }.is_due_at_end(Mode::RandomWrite));
    }

    #[test]
    fn no_flush_with_a_frequency_of_0() {
        let mut schedule = schedule(Mode::RandomWrite, FSYNC);
        assert_eq!(actions(&mut schedule, 300), [Action::Write; 300]);
    }
}

//! The test `memory`: passes over blocks of memory, word by word.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::MapFlags;

use super::iterations::Iterations;
use super::period::Counts;
use super::random::Random;
use super::region::Pages;
use super::{NativeError, Test};

/// What an event does with each word of its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
    None,
}

/// The options of the test.
#[derive(Debug, Clone)]
pub struct Options {
    /// A power of 2, at least 8.
    pub block_bytes: u64,
    /// What all threads transfer together; no limit if it gives none of them a whole block.
    pub total_bytes: u64,
    pub threads: u32,
    pub operation: Operation,
    /// Whether each thread has a block of its own.
    pub is_local: bool,
    pub is_random: bool,
    pub has_huge_pages: bool,
    pub seed: u64,
}

/// An event reads or writes a block, word by word.
#[derive(Debug)]
pub struct Memory {
    options: Options,
    words: Iterations,
    shared: Option<Arc<Pages>>,
}

/// What a thread works on.
#[derive(Debug)]
pub struct Thread {
    block: Arc<Pages>,
    events_left: u64,
    random: Random,
}

impl Memory {
    /// Fails if the block cannot be allocated.
    pub fn new(options: Options) -> Result<Self, NativeError> {
        let bytes = options.block_bytes;
        if bytes < 8 || !bytes.is_power_of_two() {
            return Err(NativeError::invalid("memory-block-size", bytes));
        }
        let shared = (!options.is_local).then(|| block(&options)).transpose()?;
        Ok(Self {
            words: Iterations::new(bytes / 8),
            shared,
            options,
        })
    }

    fn events_per_thread(&self) -> u64 {
        let blocks = self.options.total_bytes / self.options.block_bytes;
        match blocks / u64::from(self.options.threads.max(1)) {
            0 => u64::MAX,
            events => events,
        }
    }

    fn read(&self, mut word: impl FnMut(u64) -> u64) {
        let mut sum = 0_u64;
        self.words.each(|n| sum = sum.wrapping_add(word(n)));
        black_box(sum);
    }
}

impl Test for Memory {
    type Thread = Thread;

    const LIMITS_ITSELF: bool = true;

    fn thread(&self, index: u32) -> Result<Thread, NativeError> {
        Ok(Thread {
            block: match &self.shared {
                Some(shared) => Arc::clone(shared),
                None => block(&self.options)?,
            },
            events_left: self.events_per_thread(),
            random: Random::new(self.options.seed, index),
        })
    }

    fn event(&self, thread: &mut Thread, _: &mut Counts) -> Result<bool, NativeError> {
        if thread.events_left == 0 {
            return Ok(false);
        }
        thread.events_left -= 1;
        let (block, random) = (thread.block.words(), &mut thread.random);
        let count = block.len() as u64;
        match (self.options.operation, self.options.is_random) {
            (Operation::Write, false) => self.words.each(|n| store(block, n, n)),
            (Operation::Write, true) => self.words.each(|n| store(block, random.below(count), n)),
            (Operation::Read, false) => self.read(|n| load(block, n)),
            (Operation::Read, true) => self.read(|_| load(block, random.below(count))),
            (Operation::None, _) => {}
        }
        Ok(true)
    }
}

/// Relaxed atomic accesses are the plain ones of the processor, but none is left out or merged.
fn store(block: &[AtomicU64], index: u64, value: u64) {
    if let Some(word) = block.get(index as usize) {
        word.store(value, Ordering::Relaxed);
    }
}

fn load(block: &[AtomicU64], index: u64) -> u64 {
    let word = block.get(index as usize);
    word.map_or(0, |word| word.load(Ordering::Relaxed))
}

fn block(options: &Options) -> Result<Arc<Pages>, NativeError> {
    let (flags, hint) = match options.has_huge_pages {
        true => (MapFlags::HUGETLB, Some("Huge pages must be reserved, see vm.nr_hugepages.")),
        false => (MapFlags::empty(), None),
    };
    let pages = Pages::new(options.block_bytes as usize, flags);
    pages.map(Arc::new).map_err(|error| NativeError {
        hint,
        ..NativeError::system("Cannot allocate the memory block", error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(block_bytes: u64) -> Options {
        Options {
            block_bytes,
            total_bytes: 10 * 4096,
            threads: 2,
            operation: Operation::Write,
            is_local: false,
            is_random: false,
            has_huge_pages: false,
            seed: 1,
        }
    }

    fn words(thread: &Thread) -> Vec<u64> {
        let words = thread.block.words().iter();
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn a_block_is_a_power_of_2() {
        for bytes in [0, 4, 7, 12, 1000] {
            let error = Memory::new(options(bytes)).unwrap_err();
            let expected = format!("Invalid value for memory-block-size: {bytes}");
            assert_eq!(error.message, expected);
        }
        assert!(Memory::new(options(8)).is_ok());
    }

    #[test]
    fn each_thread_transfers_its_share() {
        let memory = Memory::new(options(4096)).unwrap();
        let mut thread = memory.thread(0).unwrap();
        let mut counts = Counts::default();
        for _ in 0..5 {
            assert!(memory.event(&mut thread, &mut counts).unwrap());
        }
        assert!(!memory.event(&mut thread, &mut counts).unwrap());
        // The first block is written with the numbers of its words, and the other thread sees it.
        let expected: Vec<u64> = (0..512).collect();
        assert_eq!(words(&memory.thread(1).unwrap()), expected);
    }

    #[test]
    fn local_blocks_and_random_words() {
        let memory = Memory::new(Options {
            is_local: true,
            is_random: true,
            ..options(4096)
        });
        let memory = memory.unwrap();
        let (mut one, two) = (memory.thread(0).unwrap(), memory.thread(1).unwrap());
        assert!(memory.event(&mut one, &mut Counts::default()).unwrap());
        // Some words are hit more than once, and others never.
        let missed = words(&one).iter().filter(|word| **word == 0).count();
        assert!((100..300).contains(&missed), "{missed}");
        assert_eq!(words(&two), vec![0; 512]);
    }

    #[test]
    fn nothing_is_read_or_written_without_an_operation() {
        for (operation, is_random) in [
            (Operation::Read, false),
            (Operation::Read, true),
            (Operation::None, false),
        ] {
            let memory = Memory::new(Options {
                operation,
                is_random,
                ..options(1024)
            });
            let memory = memory.unwrap();
            let mut thread = memory.thread(0).unwrap();
            assert!(memory.event(&mut thread, &mut Counts::default()).unwrap());
            assert_eq!(words(&thread), vec![0; 128]);
        }
    }
}

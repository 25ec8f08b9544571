//! The test `memory`: passes over blocks of memory, word by word.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Event, Random, below, failed, region, repeat};
use crate::options::{OptionError, Values};

const NO_HUGE_PAGES: &str = "\nWARNING: Huge pages must be reserved, see vm.nr_hugepages.";

#[derive(Clone, Copy)]
enum Operation {
    Read,
    Write,
    None,
}

/// Reads or writes a block. Fails if one cannot be allocated.
pub(super) fn memory(values: &Values, threads: u32) -> Result<Event, OptionError> {
    let bytes = values.size("memory-block-size");
    if bytes < 8 || !bytes.is_power_of_two() {
        return Err(values.invalid("memory-block-size"));
    }
    let operations = [
        ("read", Operation::Read),
        ("write", Operation::Write),
        ("none", Operation::None),
    ];
    let operation = values.choose("memory-oper", &operations)?;
    let is_random = values.choose("memory-access-mode", &[("seq", false), ("rnd", true)])?;
    let blocks = values.choose("memory-scope", &[("global", 1), ("local", threads)])?;
    let has_huge_pages = values.bool("memory-hugetlb");
    let blocks = (0..blocks).map(|_| region::words(bytes, has_huge_pages));
    let blocks = blocks.collect::<Result<Vec<_>, _>>().map_err(|error| {
        let message = failed("Cannot allocate the memory block", &error);
        let hint = if has_huge_pages { NO_HUGE_PAGES } else { "" };
        OptionError::fatal(message + hint)
    })?;
    let words = AtomicU64::new(bytes / 8);
    Ok(Arc::new(move |thread, random| {
        let own = blocks.get(thread as usize).or(blocks.first());
        let block = own.copied().unwrap_or_default();
        pass(block, &words, operation, is_random.then_some(random));
    }))
}

/// The number of events of a thread. As in sysbench, there is no limit if it would be 0.
pub(super) fn events(values: &Values, threads: u32) -> u64 {
    let block_bytes = values.size("memory-block-size").max(1);
    let blocks = values.size("memory-total-size") / block_bytes;
    match blocks / u64::from(threads.max(1)) {
        0 => u64::MAX,
        events => events,
    }
}

#[inline]
fn pass(block: &[AtomicU64], words: &AtomicU64, operation: Operation, random: Option<&mut Random>) {
    let (count, mut sum) = (block.len() as u64, 0_u64);
    match (operation, random) {
        (Operation::Write, None) => repeat(words, |n| store(block, n, n)),
        (Operation::Write, Some(random)) => {
            repeat(words, |n| store(block, below(random, count), n));
        }
        (Operation::Read, None) => repeat(words, |n| sum = sum.wrapping_add(load(block, n))),
        (Operation::Read, Some(random)) => repeat(words, |_| {
            sum = sum.wrapping_add(load(block, below(random, count)));
        }),
        (Operation::None, _) => {}
    }
    black_box(sum);
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

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;
    use crate::native::tests::values;

    const WORDS: u64 = 512;

    fn words(block: &[AtomicU64]) -> Vec<u64> {
        let words = block.iter();
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// What a pass leaves in a block.
    fn left(operation: Operation, is_random: bool) -> Vec<u64> {
        let block = region::words(WORDS * 8, false).unwrap();
        let mut random = Random::seed_from_u64(1);
        let random = is_random.then_some(&mut random);
        pass(block, &AtomicU64::new(WORDS), operation, random);
        words(block)
    }

    #[test]
    fn a_block_is_a_power_of_2() {
        for size in ["0", "4", "7", "12", "1000", "3K", "1x"] {
            let values = values(&format!("memory --memory-block-size={size} run"));
            let expected = format!("FATAL: Invalid value for --memory-block-size: {size}");
            assert_eq!(memory(&values, 1).err().unwrap().message, expected);
        }
        assert!(memory(&values("memory --memory-block-size=8 run"), 1).is_ok());
    }

    #[test]
    fn names_of_options_are_exact() {
        let error = memory(&values("memory --memory-oper=Write run"), 1);
        let expected = "FATAL: Invalid value for --memory-oper: Write";
        assert_eq!(error.err().unwrap().message, expected);
    }

    #[test]
    fn each_thread_transfers_its_share() {
        let of = |total: &str| values(&format!("memory --memory-total-size={total} run"));
        assert_eq!(events(&of("10K"), 2), 5);
        assert_eq!(events(&of("10K"), 11), u64::MAX);
    }

    #[test]
    fn each_word_is_written_with_its_number() {
        assert_eq!(
            left(Operation::Write, false),
            (0..WORDS).collect::<Vec<_>>()
        );
        // Some words are hit more than once, and others never.
        let random = left(Operation::Write, true);
        let missed = random.iter().filter(|word| **word == 0).count();
        assert!((100..300).contains(&missed), "{missed}");
    }

    #[test]
    fn nothing_is_written_without_a_write() {
        for operation in [Operation::Read, Operation::None] {
            assert_eq!(left(operation, false), [0; WORDS as usize]);
            assert_eq!(left(operation, true), [0; WORDS as usize]);
        }
    }
}

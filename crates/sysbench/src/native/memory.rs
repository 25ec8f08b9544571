//! The test `memory`: passes over blocks of memory, word by word.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Event, Random, below, failed, region};
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
    Ok(Arc::new(move |thread, random| {
        let own = blocks.get(thread as usize).or(blocks.first());
        let block = own.copied().unwrap_or_default();
        pass(block, operation, is_random.then_some(random));
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

/// Accesses as many words as the block has. Like sysbench, it draws places and counts words even if
/// it accesses none.
fn pass(block: &[AtomicU64], operation: Operation, random: Option<&mut Random>) {
    let place = |random: &mut Random| below(random, block.len() as u64) as usize;
    let mut read = 0;
    match (operation, random) {
        (Operation::Read, None) => block.iter().for_each(|word| read ^= load(word)),
        (Operation::Read, Some(random)) => {
            (0..block.len()).for_each(|_| read ^= load(&block[place(random)]));
        }
        (Operation::Write, None) => (0..).zip(block).for_each(|(n, word)| store(word, n)),
        (Operation::Write, Some(random)) => {
            (0..block.len() as u64).for_each(|n| store(&block[place(random)], n));
        }
        // What a compiler leaves of the empty loop of sysbench: a step for 8 words.
        (Operation::None, None) => block.chunks(8).for_each(|_| black_box(())),
        (Operation::None, Some(random)) => (0..block.len()).for_each(|_| _ = place(random)),
    }
    black_box(read);
}

/// Relaxed atomic accesses are the plain ones of the processor, but none is left out or merged.
fn store(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Relaxed);
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
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
        pass(block, operation, random);
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
    fn places_are_drawn_for_every_operation() {
        for operation in [Operation::Read, Operation::Write, Operation::None] {
            let block = region::words(WORDS * 8, false).unwrap();
            let mut random = Random::seed_from_u64(1);
            let mut expected = random.clone();
            pass(block, operation, Some(&mut random));
            (0..WORDS).for_each(|_| _ = below(&mut expected, WORDS));
            assert_eq!(random, expected);
        }
    }

    #[test]
    fn nothing_is_written_without_a_write() {
        for operation in [Operation::Read, Operation::None] {
            assert_eq!(left(operation, false), [0; WORDS as usize]);
            assert_eq!(left(operation, true), [0; WORDS as usize]);
        }
    }
}

//! Blocks that prove that they were read as they were written.
//!
//! A block is random bytes, their CRC-32, and its offset in the file, both with the lowest byte
//! first. A file's last block may be shorter; one that has no room for these numbers has none.

use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::native::Random;

/// Bytes of the two numbers at the end.
const PROOF: usize = 12;

/// Fills the blocks from this offset on.
pub(super) fn fill(bytes: &mut [u8], offset: u64, block_bytes: usize) {
    let mut random = Random::seed_from_u64(offset);
    let offsets = (offset..).step_by(block_bytes);
    for (block, at) in bytes.chunks_mut(block_bytes).zip(offsets) {
        random.fill_bytes(block);
        if let Some((contents, end)) = block.split_last_chunk_mut::<PROOF>() {
            *end = proof(contents, at);
        }
    }
}

/// The offset of the first block that is not as it was written.
pub(super) fn first_wrong(bytes: &[u8], offset: u64, block_bytes: usize) -> Option<u64> {
    let offsets = (offset..).step_by(block_bytes);
    let mut blocks = bytes.chunks(block_bytes).zip(offsets);
    let wrong = blocks.find(|(block, at)| {
        let parts = block.split_last_chunk::<PROOF>();
        parts.is_some_and(|(contents, end)| *end != proof(contents, *at))
    });
    wrong.map(|(_, at)| at)
}

fn proof(contents: &[u8], offset: u64) -> [u8; PROOF] {
    let mut proof = [0; PROOF];
    let (crc, at) = proof.split_at_mut(4);
    crc.copy_from_slice(&crc32fast::hash(contents).to_le_bytes());
    at.copy_from_slice(&offset.to_le_bytes());
    proof
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_filled_is_right_and_any_changed_byte_is_found(
            length in 1_usize..300,
            block in 13_usize..100,
            first in 0_u64..1000,
            changed in any::<prop::sample::Index>(),
        ) {
            let mut bytes = vec![0; length];
            let offset = first * block as u64;
            fill(&mut bytes, offset, block);
            prop_assert_eq!(first_wrong(&bytes, offset, block), None);
            let index = changed.index(length);
            bytes[index] ^= 1;
            let start = index / block * block;
            let has_proof = (length - start).min(block) >= 12;
            let expected = has_proof.then_some(offset + start as u64);
            prop_assert_eq!(first_wrong(&bytes, offset, block), expected);
        }

        #[test]
        fn a_block_at_the_wrong_place_is_found(first in 0_u64..1000, other in 0_u64..1000) {
            let mut bytes = [0; 512];
            fill(&mut bytes, first * 512, 512);
            let wrong = first_wrong(&bytes, other * 512, 512);
            prop_assert_eq!(wrong, (first != other).then_some(other * 512));
        }
    }
}

//! The random digits of the columns `c` and `pad`.

use rand::Rng;

/// Bytes of a group: 11 digits and the `-` behind them.
const GROUP_BYTES: usize = 12;
const C_GROUPS: usize = 10;
const GROUPS: usize = 15;
/// Bytes of column `c`: the last group has no `-`.
pub(crate) const C_BYTES: usize = C_GROUPS * GROUP_BYTES - 1;
pub(crate) const PAD_BYTES: usize = (GROUPS - C_GROUPS) * GROUP_BYTES - 1;

/// All numbers of three digits, each with the `-` that may follow it. 1,024
/// entries, so that a masked index needs no check.
const DIGITS: [[u8; 4]; 1024] = digits();

/// The values of `c` and `pad` in one buffer that is filled again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digits {
    groups: [[u8; GROUP_BYTES]; GROUPS],
}

impl Digits {
    /// A buffer with zeros for digits.
    pub(crate) fn new() -> Digits {
        let group = *b"00000000000-";
        Digits {
            groups: [group; GROUPS],
        }
    }

    pub(crate) fn fill_c(&mut self, rng: &mut impl Rng) {
        self.groups[..C_GROUPS]
            .iter_mut()
            .for_each(|group| fill(group, rng.next_u64()));
    }

    /// Draws a new `c` and a new `pad`.
    pub(crate) fn fill_both(&mut self, rng: &mut impl Rng) {
        self.groups
            .iter_mut()
            .for_each(|group| fill(group, rng.next_u64()));
    }

    pub(crate) fn c(&self) -> &str {
        text(self.c_bytes())
    }

    pub(crate) fn pad(&self) -> &str {
        text(self.pad_bytes())
    }

    pub(crate) fn c_bytes(&self) -> &[u8] {
        &self.groups.as_flattened()[..C_BYTES]
    }

    pub(crate) fn pad_bytes(&self) -> &[u8] {
        &self.groups.as_flattened()[C_BYTES + 1..C_BYTES + 1 + PAD_BYTES]
    }
}

/// Reads 11 digits off a number in [0, 2^64), seen as a fraction: each product
/// with 1,000 pushes three digits over the point. The last three overwrite one
/// digit of those before, which is as random.
fn fill(group: &mut [u8; GROUP_BYTES], random: u64) {
    let mut fraction = random;
    for at in [0, 3, 6, 8] {
        let product = u128::from(fraction) * 1000;
        let three = (product >> 64) as usize;
        fraction = product as u64;
        if let Some(place) = group[at..].first_chunk_mut() {
            *place = DIGITS[three & 1023];
        }
    }
}

/// Digits and `-` are ASCII, so this never gives the empty text.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

const fn digits() -> [[u8; 4]; 1024] {
    let mut table = [*b"000-"; 1024];
    let mut i = 0;
    while i < 1000 {
        table[i][0] = b'0' + (i / 100) as u8;
        table[i][1] = b'0' + (i / 10 % 10) as u8;
        table[i][2] = b'0' + (i % 10) as u8;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    #[test]
    fn values_have_the_form_of_sysbench() {
        let mut digits = Digits::new();
        digits.fill_both(&mut random::user(1, 1));
        assert_eq!((digits.c().len(), digits.pad().len()), (119, 59));
        for value in [digits.c(), digits.pad()] {
            for group in value.split('-') {
                assert_eq!(group.len(), 11);
                assert!(group.bytes().all(|b| b.is_ascii_digit()));
            }
        }
    }

    #[test]
    fn every_digit_is_as_likely_at_every_place() {
        let mut rng = random::user(7, 0);
        let mut digits = Digits::new();
        let mut counts = [[0u32; 10]; C_BYTES];
        let rounds = 20_000;
        for _ in 0..rounds {
            digits.fill_c(&mut rng);
            for (place, byte) in digits.c_bytes().iter().enumerate() {
                if byte.is_ascii_digit() {
                    counts[place][usize::from(byte - b'0')] += 1;
                }
            }
        }
        let expected = f64::from(rounds) / 10.0;
        for (place, counts) in counts.iter().enumerate().filter(|(p, _)| p % 12 != 11) {
            let distance = |n: &u32| (f64::from(*n) - expected).powi(2) / expected;
            let chi_square: f64 = counts.iter().map(distance).sum();
            // 9 degrees of freedom: 45 has a probability of 10^-6.
            assert!(chi_square < 45.0, "place {place}: {chi_square}");
        }
    }
}

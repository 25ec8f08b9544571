//! The random functions of expressions, and the hashes. A draw is from 0 to `count` - 1, which
//! the caller makes sure of where floating point may round up.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::rand_core::SeedableRng;
use rand_xoshiro::{Xoroshiro128StarStar, Xoshiro256PlusPlus};

use crate::random;

pub(super) type Drawn = Result<u64, String>;

/// Rounds after which a permutation shows no pattern.
const ROUNDS: u32 = 6;

pub(super) fn exponential(rng: &mut Xoshiro256PlusPlus, count: u64, parameter: f64) -> Drawn {
    if parameter > 0.0 {
        let cut = (-parameter).exp();
        let drawn = cut + (1.0 - cut) * above_zero(rng);
        return Ok((count as f64 * -drawn.ln() / parameter) as u64);
    }
    let problem = "exponential parameter must be greater than zero";
    Err(format!("{problem} (not {parameter:.6})"))
}

/// A normal distribution that is cut off at `parameter` standard deviations.
pub(super) fn gaussian(rng: &mut Xoshiro256PlusPlus, count: u64, parameter: f64) -> Drawn {
    if parameter >= 2.0 {
        loop {
            let normal: f64 = StandardNormal.sample(rng);
            if (-parameter..parameter).contains(&normal) {
                let share = (normal + parameter) / (2.0 * parameter);
                return Ok((count as f64 * share) as u64);
            }
        }
    }
    let problem = "gaussian parameter must be at least 2.000000";
    Err(format!("{problem} (not {parameter:.6})"))
}

/// By Devroye's rejection method, which takes long for a parameter near 1.
pub(super) fn zipfian(rng: &mut Xoshiro256PlusPlus, count: u64, parameter: f64) -> Drawn {
    if !(1.001..=1000.0).contains(&parameter) {
        let problem = "zipfian parameter must be in range [1.001, 1000]";
        return Err(format!("{problem} (not {parameter:.6})"));
    }
    let power = parameter - 1.0;
    let b = power.exp2();
    while count > 1 {
        let x = above_zero(rng).powf(-1.0 / power).floor();
        let t = (1.0 + 1.0 / x).powf(power);
        let is_accepted = above_zero(rng) * x * (t - 1.0) / (b - 1.0) <= t / b;
        if is_accepted && x <= count as f64 {
            return Ok(x as u64 - 1);
        }
    }
    Ok(0)
}

/// The place of `value`, modulo `size`, in a permutation of the numbers below `size`.
pub(super) fn permute(value: i64, size: i64, seed: i64) -> Result<i64, String> {
    if size <= 0 {
        return Err("permute size parameter must be greater than zero".to_owned());
    }
    let size = size as u64;
    let mut place = value as u64 % size;
    let mut rng = Xoroshiro128StarStar::seed_from_u64(seed as u64);
    for _ in 0..ROUNDS {
        place = scatter(place, size, &mut rng);
        place = size - 1 - scatter(size - 1 - place, size, &mut rng);
        place = (place + random::below(&mut rng, size)) % size;
    }
    Ok(place as i64)
}

/// Permutes the numbers below the highest power of two in `size`; leaves the others.
fn scatter(place: u64, size: u64, rng: &mut impl Rng) -> u64 {
    let bits = size.ilog2();
    let mask = (1_u64 << bits) - 1;
    let (factor, flips) = ((rng.next_u64() & mask) | 1, rng.next_u64() & mask);
    if place > mask || size == 1 {
        return place;
    }
    let place = (place.wrapping_mul(factor) ^ flips) & mask;
    ((place << 1) & mask) | (place >> (bits - 1))
}

/// FNV-1a, whose start the seed changes.
pub(super) fn fnv1a(value: i64, seed: i64) -> i64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed as u64;
    let bytes = value.to_le_bytes().map(u64::from);
    let add = |hash: u64, byte: u64| (hash ^ byte).wrapping_mul(0x100_0000_01b3);
    bytes.into_iter().fold(start, add) as i64
}

/// MurmurHash2 for 64 bits, of eight bytes.
pub(super) fn murmur2(value: i64, seed: i64) -> i64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mixed = |k: u64| (k ^ (k >> 47)).wrapping_mul(M);
    let k = mixed((value as u64).wrapping_mul(M));
    let start = seed as u64 ^ M.wrapping_mul(8);
    let hash = mixed((start ^ k).wrapping_mul(M));
    (hash ^ (hash >> 47)) as i64
}

/// A number in (0, 1].
fn above_zero(rng: &mut impl Rng) -> f64 {
    1.0 - random::unit(rng)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pgbench::expr::Value;
    use crate::pgbench::expr::tests::{eval, eval_with};

    #[test]
    fn hashes_are_those_of_the_manual() {
        assert_eq!(murmur2(10, 5432), -5_817_877_081_768_721_676);
        assert_eq!(fnv1a(10, 5432), -7_793_829_335_365_542_153);
        let same = "hash(10) = hash_murmur2(10, 5432) and hash(10, 5432) = hash(10)";
        assert_eq!(eval(same), Ok(Value::Bool(true)));
        let other = "hash_fnv1a(10) = -7793829335365542153 and hash(10, 1) <> hash(10)";
        assert_eq!(eval(other), Ok(Value::Bool(true)));
    }

    #[test]
    fn a_permutation_stays_the_same() {
        let places = (0..10).map(|i| permute(i, 10, 5432).unwrap());
        assert!(places.eq([2, 6, 1, 7, 3, 0, 9, 8, 5, 4]));
        assert_eq!(permute(-1, 1, 7), Ok(0));
    }

    #[test]
    fn the_same_seed_is_the_same_draw() {
        let text = "random_gaussian(1, 1000000, 2.5) * random(1, 1000000)";
        assert_eq!(eval_with(text, 1), eval_with(text, 1));
        assert_ne!(eval_with(text, 1), eval_with(text, 2));
    }

    type Draw = fn(&mut Xoshiro256PlusPlus, u64, f64) -> Drawn;

    /// How often each of `count` numbers is drawn, of 200,000 times.
    fn frequencies(draw: Draw, count: u64, parameter: f64) -> Vec<f64> {
        let mut rng = random::user(3, 0);
        let mut counts = vec![0.0; count as usize];
        for _ in 0..200_000 {
            counts[draw(&mut rng, count, parameter).unwrap() as usize] += 1.0;
        }
        counts
    }

    fn assert_near(found: f64, expected: f64) {
        let error = (found - expected).abs() / expected;
        assert!(error < 0.08, "{found} instead of {expected}");
    }

    #[test]
    fn a_zipfian_key_is_as_frequent_as_its_rank_says() {
        let counts = frequencies(zipfian, 100, 1.5);
        for rank in 1..5_usize {
            let ratio = counts[rank - 1] / counts[rank];
            let next = rank as f64 + 1.0;
            assert_near(ratio, (next / rank as f64).powf(1.5));
        }
    }

    #[test]
    fn an_exponential_range_has_its_density() {
        let counts = frequencies(exponential, 10, 3.0);
        let tail = |x: f64| (-3.0 * x / 10.0).exp() / (1.0 - (-3.0_f64).exp());
        for (place, found) in counts.iter().enumerate() {
            let place = place as f64;
            assert_near(*found, 200_000.0 * (tail(place) - tail(place + 1.0)));
        }
    }

    #[test]
    fn a_gaussian_range_has_its_density() {
        let counts = frequencies(gaussian, 4, 2.0);
        // Of a normal distribution cut at 2, from 1 to 2 and from 0 to 1 standard deviations.
        let (outer, inner) = (0.135_905, 0.341_345);
        let all = 2.0 * (outer + inner);
        for (found, share) in counts.iter().zip([outer, inner, inner, outer]) {
            assert_near(*found, 200_000.0 * share / all);
        }
    }

    proptest! {
        #[test]
        fn permute_uses_each_place_once(size in 1..300_i64, seed: i64) {
            let mut places: Vec<_> = (0..size).map(|i| permute(i, size, seed).unwrap()).collect();
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..size));
        }

        #[test]
        fn draws_stay_in_their_range(
            low: i64,
            size in 0..i64::MAX,
            seed: u64,
            parameter in 2.0..50.0_f64,
        ) {
            let high = low.saturating_add(size);
            for function in ["", "_exponential", "_gaussian", "_zipfian"] {
                let parameter = match function {
                    "" => String::new(),
                    _ => format!(", {parameter}"),
                };
                let text = format!("random{function}({low}, {high}{parameter})");
                let Ok(Value::Int(drawn)) = eval_with(&text, seed) else {
                    panic!("{text}");
                };
                prop_assert!((low..=high).contains(&drawn));
            }
        }
    }
}

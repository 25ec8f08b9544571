//! The random functions of expressions, and the hashes.

use std::ops::RangeBounds;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal, Zipf};
use rand_xoshiro::rand_core::SeedableRng;
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

use super::Value::{self, Int};
use super::functions::Outcome;
use crate::random;

pub(super) fn uniform(v: &[Value], rng: &mut Xoshiro256PlusPlus) -> Outcome {
    draw(v, |count| random::below(rng, count))
}

pub(super) fn exponential(v: &[Value], rng: &mut Xoshiro256PlusPlus) -> Outcome {
    let problem = "exponential parameter must be greater than zero";
    let parameter = parameter(v, f64::MIN_POSITIVE.., problem)?;
    let cut = (-parameter).exp();
    // Above zero, so that its logarithm is finite.
    let drawn = cut + (1.0 - cut) * (1.0 - random::unit(rng));
    draw(v, |count| (count as f64 * -drawn.ln() / parameter) as u64)
}

/// A normal distribution that is cut off at so many standard deviations.
pub(super) fn gaussian(v: &[Value], rng: &mut Xoshiro256PlusPlus) -> Outcome {
    let cut = parameter(v, 2.0.., "gaussian parameter must be at least 2.000000")?;
    loop {
        let normal: f64 = StandardNormal.sample(rng);
        if (-cut..cut).contains(&normal) {
            let share = (normal + cut) / (2.0 * cut);
            return draw(v, |count| (count as f64 * share) as u64);
        }
    }
}

pub(super) fn zipfian(v: &[Value], rng: &mut Xoshiro256PlusPlus) -> Outcome {
    let problem = "zipfian parameter must be in range [1.001, 1000]";
    let exponent = parameter(v, 1.001..=1000.0, problem)?;
    draw(v, |count| {
        let zipf = Zipf::new(count as f64, exponent);
        zipf.map_or(0, |zipf| zipf.sample(rng) as u64 - 1)
    })
}

/// The third argument, which must be in a range.
fn parameter(v: &[Value], range: impl RangeBounds<f64>, problem: &str) -> Result<f64, String> {
    let parameter = v[2].to_double()?;
    match range.contains(&parameter) {
        true => Ok(parameter),
        false => Err(format!("{problem} (not {parameter:.6})")),
    }
}

/// An integer from the first argument to the second: that at the place which `place` chooses of so
/// many.
fn draw(v: &[Value], place: impl FnOnce(u64) -> u64) -> Outcome {
    let (low, high) = (v[0].to_int()?, v[1].to_int()?);
    if low > high {
        return Err("empty range given to random".to_owned());
    }
    let count = high.checked_sub(low).and_then(|last| last.checked_add(1));
    let count = count.ok_or("random range is too large")?.unsigned_abs();
    // Floating point may round up to the end of the range.
    Ok(Int(low + place(count).min(count - 1) as i64))
}

/// The place of the first argument, modulo the second, in a permutation of the numbers below that:
/// one of those below a power of two, which is repeated while it leaves the range.
pub(super) fn permute(v: &[Value], _: &mut Xoshiro256PlusPlus) -> Outcome {
    let (value, seed) = (v[0].to_int()?, v[2].to_int()?);
    let size = u64::try_from(v[1].to_int()?).ok().filter(|size| *size > 0);
    let size = size.ok_or("permute size parameter must be greater than zero")?;
    let mask = size.next_power_of_two() - 1;
    let shift = (mask.count_ones() / 2).max(1);
    let mut place = value as u64 % size;
    loop {
        let mut rng = SplitMix64::seed_from_u64(seed as u64);
        // After so many rounds, it shows no pattern.
        for _ in 0..6 {
            let (factor, add) = (rng.next_u64() | 1, rng.next_u64());
            place = place.wrapping_mul(factor).wrapping_add(add) & mask;
            place ^= place >> shift;
        }
        if place < size {
            return Ok(Int(place as i64));
        }
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pgbench::expr::functions::Function;
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

    fn place(value: i64, size: i64, seed: i64) -> i64 {
        let arguments = [value, size, seed].map(Int);
        let place = permute(&arguments, &mut random::user(1, 0));
        place.unwrap().to_int().unwrap()
    }

    #[test]
    fn a_permutation_stays_the_same() {
        let places = (0..10).map(|i| place(i, 10, 5432));
        assert!(places.eq([6, 5, 3, 7, 2, 8, 0, 1, 4, 9]));
        assert_eq!(place(-1, 1, 7), 0);
    }

    #[test]
    fn the_same_seed_is_the_same_draw() {
        let text = "random_gaussian(1, 1000000, 2.5) * random(1, 1000000)";
        assert_eq!(eval_with(text, 1), eval_with(text, 1));
        assert_ne!(eval_with(text, 1), eval_with(text, 2));
    }

    /// How often each of `count` numbers is drawn, of 200,000 times.
    fn frequencies(draw: Function, count: usize, parameter: f64) -> Vec<f64> {
        let mut rng = random::user(3, 0);
        let arguments = [Int(0), Int(count as i64 - 1), Value::Double(parameter)];
        let mut counts = vec![0.0; count];
        for _ in 0..200_000 {
            let drawn = draw(&arguments, &mut rng).unwrap();
            counts[drawn.to_int().unwrap() as usize] += 1.0;
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
            let mut places: Vec<_> = (0..size).map(|i| place(i, size, seed)).collect();
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..size));
        }

        #[test]
        fn draws_stay_in_their_range(
            low in -i64::MAX..i64::MAX,
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

//! The random numbers and texts of scripts, drawn by the generator of the user that runs.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mlua::{FromLuaMulti, Function, IntoLuaMulti, Lua, LuaString, Table};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use workload::distribution::{Distribution, KeySampler};

use super::state::Host;

/// How many ranges keep their samplers, some of which are slow to make.
const MAX_SAMPLERS: usize = 16;
/// The largest prime below 2^32 that is 3 modulo 4.
const PRIME: u64 = 4_294_967_291;
/// Odd and without a pattern, so that users with near numbers draw from far sequences.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The generator of a virtual user.
pub(super) fn generator(seed: u64, user: u32) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(user).wrapping_mul(GOLDEN))
}

/// A number below `n`.
fn below(rng: &mut impl Rng, n: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}

/// 32 random bits.
fn half(rng: &mut impl Rng) -> f64 {
    below(rng, 1 << 32) as f64
}

/// A function of Lua's that draws from the generator of the user that runs.
fn drawing<A, R>(
    lua: &Lua,
    host: &Host,
    mut draw: impl FnMut(&mut Xoshiro256PlusPlus, A) -> R + 'static,
) -> mlua::Result<Function>
where
    A: FromLuaMulti,
    R: IntoLuaMulti,
{
    let user = Rc::clone(&host.user);
    lua.create_function_mut(move |_, arguments: A| Ok(draw(&mut user.borrow_mut().rng, arguments)))
}

/// A new table of natives, with those that draw.
pub(super) fn natives(lua: &Lua, host: &Host) -> mlua::Result<Table> {
    let (native, rand) = (lua.create_table()?, lua.create_table()?);
    let default = host.common.settings.distribution;
    for (name, distribution) in [
        ("uniform", Distribution::Uniform),
        ("special", Distribution::SPECIAL),
        ("gaussian", Distribution::GAUSSIAN),
        ("pareto", Distribution::PARETO),
        ("zipfian", Distribution::ZIPFIAN),
        // Its parameters hold where a script draws from this distribution by its name, too.
        (default.name(), default),
        ("default", default),
    ] {
        rand.set(name, drawing(lua, host, sampling(distribution))?)?;
    }
    let unit = drawing(lua, host, |rng, ()| half(rng) / 4_294_967_296.0)?;
    let string = |rng: &mut Xoshiro256PlusPlus, template: LuaString| {
        LuaString::wrap(filled(&template.as_bytes(), rng))
    };
    let common = Arc::clone(&host.common);
    let unique = lua.create_function(move |_, ()| {
        let drawn = common.drawn.fetch_add(1, Ordering::Relaxed);
        Ok(nth_unique(common.settings.seed as u32, drawn))
    })?;
    rand.set("uniform_double", unit)?;
    rand.set("unique", unique)?;
    rand.set("string", drawing(lua, host, string)?)?;
    let varstring = |rng: &mut Xoshiro256PlusPlus, (low, high): (u32, u32)| {
        LuaString::wrap(varying(rng, low, high))
    };
    rand.set("varstring", drawing(lua, host, varstring)?)?;
    native.set("halves", drawing(lua, host, |rng, ()| (half(rng), half(rng)))?)?;
    native.set("rand", rand)?;
    Ok(native)
}

/// Draws from the first to the second argument.
fn sampling(
    distribution: Distribution,
) -> impl FnMut(&mut Xoshiro256PlusPlus, (f64, f64)) -> f64 + 'static {
    let mut samplers: Vec<(u64, u64, KeySampler)> = Vec::new();
    move |rng: &mut Xoshiro256PlusPlus, (low, high): (f64, f64)| {
        let (low, high) = (low as u64, high as u64);
        let is_known = |(from, to, _): &&(u64, u64, KeySampler)| (*from, *to) == (low, high);
        if let Some((_, _, sampler)) = samplers.iter().find(is_known) {
            return sampler.sample(rng) as f64;
        }
        let Ok(sampler) = KeySampler::new(&distribution, low, high) else {
            // sysbench does not refuse an empty range either.
            return low as f64;
        };
        let drawn = sampler.sample(rng) as f64;
        samplers.truncate(MAX_SAMPLERS - 1);
        samplers.push((low, high, sampler));
        drawn
    }
}

/// The template with a digit for each `#` and a letter for each `@`.
fn filled(template: &[u8], rng: &mut impl Rng) -> Vec<u8> {
    let fill = |byte: &u8| match byte {
        b'#' => b'0' + below(rng, 10) as u8,
        b'@' => b'a' + below(rng, 26) as u8,
        other => *other,
    };
    template.iter().map(fill).collect()
}

/// A text of bytes from `0` to `z` whose length is in this range.
fn varying(rng: &mut impl Rng, low: u32, high: u32) -> Vec<u8> {
    let spread = u64::from(high.saturating_sub(low)) + 1;
    let length = u64::from(low) + below(rng, spread);
    (0..length).map(|_| b'0' + below(rng, 75) as u8).collect()
}

/// A number of a sequence that has each number below 2^32 once.
fn nth_unique(seed: u32, n: u32) -> u32 {
    let start = permuted(permuted(seed).wrapping_add(0x682f_0161));
    let offset = permuted(permuted(seed.wrapping_add(1)).wrapping_add(0x4679_0905));
    let position = permuted(start.wrapping_add(n)).wrapping_add(offset);
    permuted(position ^ 0x5bf0_3635)
}

/// A permutation of the numbers below 2^32 by quadratic residues.
fn permuted(number: u32) -> u32 {
    let wide = u64::from(number);
    let residue = (wide * wide % PRIME) as u32;
    match wide {
        PRIME.. => number,
        _ if wide <= PRIME / 2 => residue,
        _ => (PRIME as u32) - residue,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_template_keeps_all_but_its_places(
            template in "[#@a-c0-1]{0,40}",
            seed in any::<u64>(),
        ) {
            let text = filled(template.as_bytes(), &mut generator(seed, 0));
            prop_assert_eq!(text.len(), template.len());
            for (from, to) in template.bytes().zip(text) {
                prop_assert!(match from {
                    b'#' => to.is_ascii_digit(),
                    b'@' => to.is_ascii_lowercase(),
                    other => to == other,
                });
            }
        }

        #[test]
        fn unique_numbers_do_not_repeat(seed in any::<u32>(), first in any::<u32>()) {
            let numbers: HashSet<_> = (0..1_000)
                .map(|n| nth_unique(seed, first.wrapping_add(n)))
                .collect();
            prop_assert_eq!(numbers.len(), 1_000);
        }

        #[test]
        fn texts_have_lengths_in_their_range(
            low in 0u32..50,
            spread in 0u32..50,
            seed in any::<u64>(),
        ) {
            let text = varying(&mut generator(seed, 1), low, low + spread);
            let length = text.len() as u32;
            prop_assert!((low..=low + spread).contains(&length));
            prop_assert!(text.iter().all(|byte| (b'0'..=b'z').contains(byte)));
        }
    }

    #[test]
    fn draws_lie_in_their_range_and_an_empty_range_is_its_start() {
        let mut rng = generator(1, 2);
        let mut draw = sampling(Distribution::SPECIAL);
        for high in 1..50 {
            let drawn = draw(&mut rng, (1.0, f64::from(high)));
            assert!((1.0..=f64::from(high)).contains(&drawn), "{drawn}");
        }
        assert_eq!(draw(&mut rng, (5.0, 1.0)), 5.0);
    }
}

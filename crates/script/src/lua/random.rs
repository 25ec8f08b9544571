//! The random numbers and texts of scripts, drawn by the generator of the user that runs.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mlua::{BString, FromLuaMulti, Function, IntoLuaMulti, Lua, Table};
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::distribution::{Distribution, KeySampler};
use workload::random::{below, unit};

use super::Common;
use super::state::CurrentUser;

/// A function of Lua's that draws from the generator of the user that runs.
fn drawing<A: FromLuaMulti, R: IntoLuaMulti>(
    lua: &Lua,
    user: &CurrentUser,
    draw: impl Fn(&mut Xoshiro256PlusPlus, A) -> R + 'static,
) -> mlua::Result<Function> {
    let user = Rc::clone(user);
    lua.create_function(move |_, arguments: A| Ok(draw(&mut user.borrow_mut().rng, arguments)))
}

/// The functions that draw, by name.
pub(super) fn table(lua: &Lua, common: &Arc<Common>, user: &CurrentUser) -> mlua::Result<Table> {
    let rand = lua.create_table()?;
    let default = common.settings.distribution;
    for name in [
        "default", "uniform", "special", "gaussian", "pareto", "zipfian",
    ] {
        let named = name.parse::<Distribution>().ok();
        // The default's parameters hold where a script draws from it by its name, too.
        let named = named.filter(|named| named.name() != default.name());
        let distribution = named.unwrap_or(default);
        let draw = move |rng: &mut Xoshiro256PlusPlus, range| key(rng, &distribution, range);
        rand.set(name, drawing(lua, user, draw)?)?;
    }
    let common = Arc::clone(common);
    let unique = lua.create_function(move |_, ()| {
        let drawn = common.drawn.fetch_add(1, Ordering::Relaxed);
        Ok(nth_unique(common.settings.seed as u32, drawn))
    })?;
    rand.set("uniform_double", drawing(lua, user, |rng, ()| unit(rng))?)?;
    rand.set("string", drawing(lua, user, filled)?)?;
    rand.set("varstring", drawing(lua, user, varying)?)?;
    rand.set("unique", unique)?;
    Ok(rand)
}

/// A number of a range, whose ends have 32 bits. An empty one is not refused, as in sysbench.
fn key(rng: &mut Xoshiro256PlusPlus, distribution: &Distribution, range: (f64, f64)) -> f64 {
    let (low, high) = (u64::from(range.0 as u32), u64::from(range.1 as u32));
    let sampler = KeySampler::new(distribution, low, high);
    sampler.map_or(low, |sampler| sampler.sample(rng)) as f64
}

/// The template with a digit for each `#` and a letter for each `@`.
fn filled(rng: &mut Xoshiro256PlusPlus, mut text: BString) -> BString {
    for byte in text.iter_mut() {
        match *byte {
            b'#' => *byte = b'0' + below(rng, 10) as u8,
            b'@' => *byte = b'a' + below(rng, 26) as u8,
            _ => {}
        }
    }
    text
}

/// A text of bytes from `0` to `z` whose length is in this range.
fn varying(rng: &mut Xoshiro256PlusPlus, (low, high): (u32, u32)) -> String {
    let spread = u64::from(high.saturating_sub(low)) + 1;
    let length = u64::from(low) + below(rng, spread);
    (0..length)
        .map(|_| char::from(b'0' + below(rng, 75) as u8))
        .collect()
}

/// A number of a sequence that has each number below 2^32 once, because each step can be undone.
fn nth_unique(seed: u32, n: u32) -> u32 {
    let mut number = n.wrapping_add(seed.wrapping_mul(0x9e37_79b9));
    for (shift, factor) in [(16, 0x7feb_352d), (15, 0x846c_a68b)] {
        number = (number ^ (number >> shift)).wrapping_mul(factor);
    }
    number ^ (number >> 16)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use workload::random::user;

    use super::*;

    proptest! {
        #[test]
        fn a_template_keeps_all_but_its_places(
            template in "[#@a-c0-1]{0,40}",
            seed in any::<u64>(),
        ) {
            let text = filled(&mut user(seed, 0), template.as_str().into());
            prop_assert_eq!(text.len(), template.len());
            for (from, to) in template.bytes().zip(text.iter().copied()) {
                let is_right = match from {
                    b'#' => to.is_ascii_digit(),
                    b'@' => to.is_ascii_lowercase(),
                    other => to == other,
                };
                prop_assert!(is_right, "{} for {}", to, from);
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
            let text = varying(&mut user(seed, 1), (low, low + spread));
            let length = text.len() as u32;
            prop_assert!((low..=low + spread).contains(&length));
            prop_assert!(text.bytes().all(|byte| (b'0'..=b'z').contains(&byte)));
        }
    }

    #[test]
    fn draws_lie_in_their_range_and_an_empty_range_is_its_start() {
        let mut rng = user(1, 2);
        for high in 1..50 {
            let drawn = key(&mut rng, &Distribution::SPECIAL, (1.0, f64::from(high)));
            assert!((1.0..=f64::from(high)).contains(&drawn), "{drawn}");
        }
        assert_eq!(key(&mut rng, &Distribution::SPECIAL, (5.0, 1.0)), 5.0);
    }
}

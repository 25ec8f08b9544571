//! What operators and functions do with values. None of them gets a null.

use std::cmp::Ordering;
use std::f64::consts::PI;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::Value::{self, Bool, Double, Int};
use super::draws;
use crate::random;

/// Most arguments of a function.
pub(super) const MAX_ARGUMENTS: usize = 16;

/// The arguments, and nulls behind them.
type Values = [Value; MAX_ARGUMENTS];
type Outcome = Result<Value, String>;
pub(crate) type Function = fn(&Values, &mut Xoshiro256PlusPlus) -> Outcome;

/// How strongly comparisons bind, of which only one can be in a row.
pub(super) const COMPARISON: u8 = 5;

/// An operator between two operands, and how strongly it binds.
pub(super) type Operator = (&'static str, u8, Function);

pub(super) static OPERATORS: [Operator; 17] = [
    ("<", COMPARISON, |v, _| compare(v, Ordering::is_lt)),
    ("<=", COMPARISON, |v, _| compare(v, Ordering::is_le)),
    ("=", COMPARISON, |v, _| compare(v, Ordering::is_eq)),
    ("<>", COMPARISON, differs),
    ("!=", COMPARISON, differs),
    (">=", COMPARISON, |v, _| compare(v, Ordering::is_ge)),
    (">", COMPARISON, |v, _| compare(v, Ordering::is_gt)),
    ("|", 6, |v, _| ints(v, |a, b| a | b)),
    ("#", 6, |v, _| ints(v, |a, b| a ^ b)),
    ("&", 6, |v, _| ints(v, |a, b| a & b)),
    // Processors use the low bits of the count.
    ("<<", 6, |v, _| ints(v, |a, b| a.wrapping_shl(b as u32))),
    (">>", 6, |v, _| ints(v, |a, b| a.wrapping_shr(b as u32))),
    ("+", 7, |v, _| arithmetic(v[0], v[1], "add", i64::checked_add, |a, b| a + b)),
    ("-", 7, |v, _| arithmetic(v[0], v[1], "sub", i64::checked_sub, |a, b| a - b)),
    ("*", 8, |v, _| arithmetic(v[0], v[1], "mul", i64::checked_mul, |a, b| a * b)),
    ("/", 8, |v, _| arithmetic(v[0], v[1], "div", i64::checked_div, |a, b| a / b)),
    ("%", 8, modulo),
];

/// Functions, with the least and the most arguments.
pub(super) static FUNCTIONS: [(&str, usize, usize, Function); 21] = [
    ("abs", 1, 1, absolute),
    ("debug", 1, 1, |v, _| Ok(v[0])),
    ("double", 1, 1, |v, _| double(v, |a| a)),
    ("exp", 1, 1, |v, _| double(v, f64::exp)),
    ("greatest", 1, usize::MAX, |v, _| extreme(v, |a, b| Some(a.max(b)), f64::max)),
    ("hash", 1, 2, |v, _| ints(v, draws::murmur2)),
    ("hash_fnv1a", 1, 2, |v, _| ints(v, draws::fnv1a)),
    ("hash_murmur2", 1, 2, |v, _| ints(v, draws::murmur2)),
    ("int", 1, 1, |v, _| v[0].to_int().map(Int)),
    ("least", 1, usize::MAX, |v, _| extreme(v, |a, b| Some(a.min(b)), f64::min)),
    ("ln", 1, 1, |v, _| double(v, f64::ln)),
    ("mod", 2, 2, modulo),
    ("permute", 2, 3, permute),
    ("pi", 0, 0, |_, _| Ok(Double(PI))),
    ("pow", 2, 2, power),
    ("power", 2, 2, power),
    ("random", 2, 2, |v, rng| draw(v, |n| Ok(random::below(rng, n)))),
    ("random_exponential", 3, 3, |v, rng| {
        draw(v, |n| draws::exponential(rng, n, v[2].to_double()?))
    }),
    ("random_gaussian", 3, 3, |v, rng| {
        draw(v, |n| draws::gaussian(rng, n, v[2].to_double()?))
    }),
    ("random_zipfian", 3, 3, |v, rng| {
        draw(v, |n| draws::zipfian(rng, n, v[2].to_double()?))
    }),
    ("sqrt", 1, 1, |v, _| double(v, f64::sqrt)),
];

pub(super) fn not(v: &Values, _: &mut Xoshiro256PlusPlus) -> Outcome {
    Ok(Bool(!v[0].to_bool()?))
}

fn differs(v: &Values, _: &mut Xoshiro256PlusPlus) -> Outcome {
    Ok(Bool(compare(v, Ordering::is_eq)? == Bool(false)))
}

fn absolute(v: &Values, _: &mut Xoshiro256PlusPlus) -> Outcome {
    match v[0] {
        Double(a) => Ok(Double(a.abs())),
        a => Ok(Int(a.to_int()?.wrapping_abs())),
    }
}

fn modulo(v: &Values, _: &mut Xoshiro256PlusPlus) -> Outcome {
    match (v[0].to_int()?, v[1].to_int()?) {
        (_, 0) => Err("division by zero".to_owned()),
        (a, b) => Ok(Int(a.wrapping_rem(b))),
    }
}

fn power(v: &Values, _: &mut Xoshiro256PlusPlus) -> Outcome {
    Ok(Double(v[0].to_double()?.powf(v[1].to_double()?)))
}

fn permute(v: &Values, _: &mut Xoshiro256PlusPlus) -> Outcome {
    draws::permute(v[0].to_int()?, v[1].to_int()?, v[2].to_int()?).map(Int)
}

fn double(v: &Values, of: fn(f64) -> f64) -> Outcome {
    v[0].to_double().map(of).map(Double)
}

fn ints(v: &Values, of: fn(i64, i64) -> i64) -> Outcome {
    Ok(Int(of(v[0].to_int()?, v[1].to_int()?)))
}

fn has_double(a: Value, b: Value) -> bool {
    matches!((a, b), (Double(_), _) | (_, Double(_)))
}

fn arithmetic(
    a: Value,
    b: Value,
    name: &str,
    of_ints: fn(i64, i64) -> Option<i64>,
    of_doubles: fn(f64, f64) -> f64,
) -> Outcome {
    if has_double(a, b) {
        return Ok(Double(of_doubles(a.to_double()?, b.to_double()?)));
    }
    let (a, b) = (a.to_int()?, b.to_int()?);
    of_ints(a, b).map(Int).ok_or_else(|| match (name, b) {
        ("div", 0) => "division by zero".to_owned(),
        _ => format!("bigint {name} out of range"),
    })
}

/// Nothing holds between a number and a NaN.
fn compare(v: &Values, holds: fn(Ordering) -> bool) -> Outcome {
    let order = match has_double(v[0], v[1]) {
        true => v[0].to_double()?.partial_cmp(&v[1].to_double()?),
        false => Some(v[0].to_int()?.cmp(&v[1].to_int()?)),
    };
    Ok(Bool(order.is_some_and(holds)))
}

fn extreme(
    v: &Values,
    of_ints: fn(i64, i64) -> Option<i64>,
    of_doubles: fn(f64, f64) -> f64,
) -> Outcome {
    let mut best = v[0];
    for value in v.iter().take_while(|value| **value != Value::Null) {
        best = arithmetic(best, *value, "extreme", of_ints, of_doubles)?;
    }
    Ok(best)
}

/// The integer between the first two arguments at the place that `draw` draws of so many.
fn draw(v: &Values, draw: impl FnOnce(u64) -> draws::Drawn) -> Outcome {
    let (low, high) = (v[0].to_int()?, v[1].to_int()?);
    if low > high {
        return Err("empty range given to random".to_owned());
    }
    let count = high.checked_sub(low).and_then(|last| last.checked_add(1));
    let count = count.ok_or("random range is too large")?.unsigned_abs();
    let place = draw(count)?.min(count - 1);
    Ok(Int(low.wrapping_add(place as i64)))
}

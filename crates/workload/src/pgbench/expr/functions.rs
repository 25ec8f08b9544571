//! What operators and functions do with values, of which none is null.

use std::f64::consts::PI;
use std::ops::{Add, Div, Mul, Sub};

use rand_xoshiro::Xoshiro256PlusPlus;

use super::Value::{self, Bool, Double, Int};
use super::draws;

/// Most arguments of a function.
pub(super) const MOST: usize = 16;

pub(super) type Outcome = Result<Value, String>;
/// It gets as many values as the table says.
pub(crate) type Function = fn(&[Value], &mut Xoshiro256PlusPlus) -> Outcome;

/// Operators before their operand, and how strongly they bind.
pub(super) static PREFIXES: [(&str, u8, Function); 4] = [
    ("not", 3, |v, _| Ok(Bool(!v[0].is_true()))),
    ("~", 7, |v, _| Ok(Int(!v[0].to_int()?))),
    ("+", 9, |v, _| Ok(v[0])),
    ("-", 9, |v, _| {
        numbers(&[Int(0), v[0]], i64::checked_sub, f64::sub)
    }),
];

/// Operators between two operands, and how strongly they bind.
pub(super) static OPERATORS: [(&str, u8, Function); 17] = [
    ("<", 5, |v, _| compare(v, i64::lt, f64::lt)),
    ("<=", 5, |v, _| compare(v, i64::le, f64::le)),
    ("=", 5, |v, _| compare(v, i64::eq, f64::eq)),
    ("<>", 5, |v, _| compare(v, i64::ne, f64::ne)),
    ("!=", 5, |v, _| compare(v, i64::ne, f64::ne)),
    (">=", 5, |v, _| compare(v, i64::ge, f64::ge)),
    (">", 5, |v, _| compare(v, i64::gt, f64::gt)),
    ("|", 6, |v, _| ints(v, |a, b| a | b)),
    ("#", 6, |v, _| ints(v, |a, b| a ^ b)),
    ("&", 6, |v, _| ints(v, |a, b| a & b)),
    // Processors use the low bits of the count.
    ("<<", 6, |v, _| ints(v, |a, b| a.wrapping_shl(b as u32))),
    (">>", 6, |v, _| ints(v, |a, b| a.wrapping_shr(b as u32))),
    ("+", 7, |v, _| numbers(v, i64::checked_add, f64::add)),
    ("-", 7, |v, _| numbers(v, i64::checked_sub, f64::sub)),
    ("*", 8, |v, _| numbers(v, i64::checked_mul, f64::mul)),
    ("/", 8, |v, _| numbers(v, i64::checked_div, f64::div)),
    ("%", 8, modulo),
];

/// Functions, with the least and the most arguments.
pub(super) static FUNCTIONS: [(&str, usize, usize, Function); 21] = [
    ("abs", 1, 1, |v, _| {
        numbers(&[v[0], v[0]], |a, _| a.checked_abs(), |a, _| a.abs())
    }),
    ("debug", 1, 1, |v, _| Ok(v[0])),
    ("double", 1, 1, |v, _| double(v, |a| a)),
    ("exp", 1, 1, |v, _| double(v, f64::exp)),
    ("greatest", 1, MOST, |v, _| extreme(v, i64::max, f64::max)),
    ("hash", 1, 2, |v, _| ints(v, draws::murmur2)),
    ("hash_fnv1a", 1, 2, |v, _| ints(v, draws::fnv1a)),
    ("hash_murmur2", 1, 2, |v, _| ints(v, draws::murmur2)),
    ("int", 1, 1, |v, _| v[0].to_int().map(Int)),
    ("least", 1, MOST, |v, _| extreme(v, i64::min, f64::min)),
    ("ln", 1, 1, |v, _| double(v, f64::ln)),
    ("mod", 2, 2, modulo),
    ("permute", 2, 3, draws::permute),
    ("pi", 0, 0, |_, _| Ok(Double(PI))),
    ("pow", 2, 2, power),
    ("power", 2, 2, power),
    ("random", 2, 2, draws::uniform),
    ("random_exponential", 3, 3, draws::exponential),
    ("random_gaussian", 3, 3, draws::gaussian),
    ("random_zipfian", 3, 3, draws::zipfian),
    ("sqrt", 1, 1, |v, _| double(v, f64::sqrt)),
];

fn modulo(v: &[Value], _: &mut Xoshiro256PlusPlus) -> Outcome {
    match v[1].to_int()? {
        0 => Err("division by zero".to_owned()),
        divisor => Ok(Int(v[0].to_int()?.wrapping_rem(divisor))),
    }
}

fn power(v: &[Value], _: &mut Xoshiro256PlusPlus) -> Outcome {
    Ok(Double(v[0].to_double()?.powf(v[1].to_double()?)))
}

fn double(v: &[Value], of: fn(f64) -> f64) -> Outcome {
    v[0].to_double().map(of).map(Double)
}

fn ints(v: &[Value], of: fn(i64, i64) -> i64) -> Outcome {
    Ok(Int(of(v[0].to_int()?, v[1].to_int()?)))
}

fn has_double(v: &[Value]) -> bool {
    v.iter().any(|value| matches!(value, Double(_)))
}

fn numbers(
    v: &[Value],
    ints: impl Fn(i64, i64) -> Option<i64>,
    doubles: fn(f64, f64) -> f64,
) -> Outcome {
    if has_double(v) {
        return Ok(Double(doubles(v[0].to_double()?, v[1].to_double()?)));
    }
    let (a, b) = (v[0].to_int()?, v[1].to_int()?);
    match (ints(a, b), b) {
        (Some(int), _) => Ok(Int(int)),
        (None, 0) => Err("division by zero".to_owned()),
        (None, _) => Err("bigint out of range".to_owned()),
    }
}

fn compare(v: &[Value], ints: fn(&i64, &i64) -> bool, doubles: fn(&f64, &f64) -> bool) -> Outcome {
    Ok(Bool(match has_double(v) {
        true => doubles(&v[0].to_double()?, &v[1].to_double()?),
        false => ints(&v[0].to_int()?, &v[1].to_int()?),
    }))
}

fn extreme(v: &[Value], ints: fn(i64, i64) -> i64, doubles: fn(f64, f64) -> f64) -> Outcome {
    v.iter().try_fold(v[0], |best, value| {
        numbers(&[best, *value], |a, b| Some(ints(a, b)), doubles)
    })
}

//! The test `cpu`: counts primes.

use std::hint::black_box;
use std::sync::Arc;

use super::Event;
use crate::options::{OptionError, Values};

/// Divides every number below a limit by the ones up to its square root.
pub(super) fn cpu(values: &Values) -> Result<Event, OptionError> {
    let limit = u64::from(values.within("cpu-max-prime", 1..=u32::MAX)?);
    Ok(Arc::new(move |_, _| {
        black_box(primes_below(limit));
    }))
}

/// Number of primes from 3.
fn primes_below(limit: u64) -> u64 {
    // On x86, LLVM tests whether both numbers have 32 bits, and then divides in half the time that
    // sysbench takes. It leaves out that test for the result of an exclusive or.
    let zero: u64 = black_box(0);
    let is_prime = |number: &u64| {
        let number = number ^ zero;
        let root = (number as f64).sqrt() as u64;
        (2..=root).all(|divisor| !number.is_multiple_of(divisor))
    };
    (3..limit).filter(is_prime).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::tests::values;

    #[test]
    fn primes_are_counted_from_3() {
        let known = [
            (1, 0),
            (3, 0),
            (4, 1),
            (10, 3),
            (10_000, 1228),
            (1_000_000, 78_497),
        ];
        for (limit, primes) in known {
            assert_eq!(primes_below(limit), primes, "{limit}");
        }
    }

    #[test]
    fn the_limit_is_positive() {
        for limit in [0, -1, i32::MIN] {
            let values = values(&format!("cpu --cpu-max-prime={limit} run"));
            let expected = format!("FATAL: Invalid value for --cpu-max-prime: {limit}");
            assert_eq!(cpu(&values).err().unwrap().message, expected);
        }
        assert!(cpu(&values("cpu --cpu-max-prime=1 run")).is_ok());
    }
}

//! The test `cpu`: counts primes.

use std::hint::black_box;

use super::period::Counts;
use super::{NativeError, Test};

/// An event divides every number below a limit by the ones up to its square root.
#[derive(Debug)]
pub struct Cpu {
    max_prime: u64,
}

impl Cpu {
    /// `max_prime` is `--cpu-max-prime`.
    pub fn new(max_prime: i64) -> Result<Self, NativeError> {
        match u64::try_from(max_prime) {
            Ok(max_prime) if max_prime > 0 => Ok(Self { max_prime }),
            _ => Err(NativeError::new(format!(
                "Invalid value of cpu-max-prime: {max_prime}."
            ))),
        }
    }
}

impl Test for Cpu {
    type Thread = ();

    fn thread(&self, _: u32) -> Result<(), NativeError> {
        Ok(())
    }

    fn event(&self, (): &mut (), _: &mut Counts) -> Result<bool, NativeError> {
        black_box(primes_below(self.max_prime));
        Ok(true)
    }
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

    #[test]
    fn primes_are_counted_from_3() {
        let known = [(1, 0), (3, 0), (4, 1), (10, 3), (10_000, 1228), (1_000_000, 78_497)];
        for (limit, primes) in known {
            assert_eq!(primes_below(limit), primes, "{limit}");
        }
    }

    #[test]
    fn the_limit_is_positive() {
        for limit in [0, -1, i64::MIN] {
            let expected = format!("Invalid value of cpu-max-prime: {limit}.");
            assert_eq!(Cpu::new(limit).unwrap_err().message, expected);
        }
        assert!(Cpu::new(1).is_ok());
    }
}

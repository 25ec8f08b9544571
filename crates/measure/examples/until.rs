//! When recorded runs would have ended by the rule of `load.until`; for `benches/until.py`.
//!
//! Takes the width as a share of the mean. Each line of standard input is a run: seconds of
//! warm-up, then the transactions of every whole second. Each line of standard output is the
//! length in seconds at which the run would have ended, the mean until then, and half of its
//! interval; or `-`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool of the benches: its output is what it is for"
)]

use measure::interval::{Part, estimate};
use measure::until::is_precise;

fn main() {
    let ci: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let mut numbers = line.split_whitespace().map(|word| word.parse().unwrap());
        let warmup_s: f64 = numbers.next().unwrap();
        let seconds: Vec<Part> = numbers.map(|total| Part { total, weight: 1.0 }).collect();
        let (warmup, measured) = seconds.split_at(warmup_s as usize);
        let ends = |length: &usize| is_precise(ci, 1.0, warmup, &measured[..*length]);
        match (1..=measured.len()).find(ends) {
            None => println!("-"),
            Some(end) => {
                let mean = estimate(&measured[..end]).unwrap();
                println!("{end} {} {}", mean.value, ci * mean.value);
            }
        }
    }
}

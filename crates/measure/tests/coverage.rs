//! Whether 95 % intervals hold the truth in 95 of 100 cases. `benches/RESULTS.md` has
//! the tables that these tests print.

mod simulate;

use measure::interval::{Estimate, estimate};
use simulate::{Random, luck, seconds};

const RUNS: usize = 1000;

/// What 1,000 runs of one kind gave.
struct Held {
    /// Share of runs that got an interval.
    given: f64,
    /// Share of those that hold the mean.
    holds: f64,
    /// Share of all runs that got an interval which does not hold it.
    misled: f64,
    /// Mean half width against that of somebody who knows the true variance.
    width: f64,
}

fn run(random: &mut Random, correlation: f64, length: usize) -> Held {
    let (mut given, mut held, mut width) = (0, 0, 0.0);
    for _ in 0..RUNS {
        let values = random.throughput(0.05, correlation, length);
        let Some(Estimate {
            value,
            half_width: Some(half),
        }) = estimate(&seconds(&values))
        else {
            continue;
        };
        given += 1;
        held += usize::from((value - 1000.0).abs() <= half);
        width += half;
    }
    let spread = 50.0 * ((1.0 + correlation) / (1.0 - correlation) / length as f64).sqrt();
    Held {
        given: given as f64 / RUNS as f64,
        holds: held as f64 / given as f64,
        misled: (given - held) as f64 / RUNS as f64,
        width: width / given as f64 / (1.959_964 * spread),
    }
}

#[test]
fn intervals_of_a_mean_hold_it() {
    let mut random = Random::new(20_240_117);
    println!("| correlation | length s | given % | hold % | misled % | width |");
    println!("|---|---|---|---|---|---|");
    for correlation in [0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9] {
        for length in [60, 120, 300, 600] {
            let found = run(&mut random, correlation, length);
            println!(
                "| {correlation} | {length} | {:.1} | {:.1} | {:.1} | {:.2} |",
                found.given * 100.0,
                found.holds * 100.0,
                found.misled * 100.0,
                found.width
            );
            let seen = RUNS as f64 * found.given;
            let within = 0.93 - luck(0.93, seen as usize)..=0.97 + luck(0.97, seen as usize);
            let realistic = correlation <= 0.8 || length >= 300;
            assert!(
                !realistic || within.contains(&found.holds),
                "{}",
                found.holds
            );
            // Where hardly anything can be known, it is refused, so that few are misled.
            assert!(found.misled <= 0.07 + luck(0.07, RUNS), "{}", found.misled);
        }
    }
}

/// The shortest for which there is one.
#[test]
fn so_do_those_of_short_runs() {
    let mut random = Random::new(20_240_118);
    for correlation in [0.0, 0.3, 0.5] {
        for length in [10, 20, 30] {
            let found = run(&mut random, correlation, length);
            println!(
                "| {correlation} | {length} | {:.1} | {:.1} | {:.1} | {:.2} |",
                found.given * 100.0,
                found.holds * 100.0,
                found.misled * 100.0,
                found.width
            );
            assert!(found.misled <= 0.07 + luck(0.07, RUNS), "{}", found.misled);
        }
    }
}

//! What is true of trials that ended when they were sure.

mod simulate;

use measure::ended::Until;
use measure::interval::estimate;
use measure::until::{WIDENING, precision_reached};
use simulate::{Random, luck, seconds};

const RUNS: usize = 1000;
const LONGEST: usize = 900;
const WIDE: f64 = 0.02;

struct Ended {
    /// Share of trials that ended before their time.
    early: f64,
    /// Median length of all.
    median_s: usize,
    /// Share of those that ended early whose mean is within the width asked for.
    within: f64,
    /// Share of those that ended early whose interval holds the mean.
    holds: f64,
}

fn run(random: &mut Random, spread: f64, correlation: f64) -> Ended {
    let (mut within, mut holds) = (0, 0);
    let mut lengths: Vec<usize> = (0..RUNS)
        .map(|_| {
            let all = seconds(&random.throughput(spread, correlation, LONGEST + 10));
            let (warmup, measured) = all.split_at(10);
            let rule = Until {
                ci: WIDE,
                least_s: 1.0,
            };
            let end = (1..LONGEST)
                .find(|length| precision_reached(&rule, warmup, &measured[..*length]).is_some());
            let Some(end) = end else {
                return LONGEST;
            };
            if let Some(mean) = estimate(&measured[..end]) {
                let off = (mean.value - 1000.0).abs();
                within += usize::from(off <= WIDE * 1000.0);
                holds += usize::from(mean.half_width.is_some_and(|half| off <= WIDENING * half));
            }
            end
        })
        .collect();
    let early = lengths.iter().filter(|length| **length < LONGEST).count();
    lengths.sort_unstable();
    Ended {
        early: early as f64 / RUNS as f64,
        median_s: lengths[RUNS / 2],
        within: within as f64 / early as f64,
        holds: holds as f64 / early as f64,
    }
}

#[test]
fn who_ends_when_sure_is_right() {
    let mut random = Random::new(20_240_501);
    println!(
        "| spread % | correlation | ended early % | median s | within 2 % | interval holds % |"
    );
    println!("|---|---|---|---|---|---|");
    for (spread, correlation) in [
        (0.02, 0.0),
        (0.03, 0.5),
        (0.03, 0.8),
        (0.05, 0.8),
        (0.05, 0.5),
        (0.1, 0.5),
    ] {
        let found = run(&mut random, spread, correlation);
        println!(
            "| {} | {correlation} | {:.1} | {} | {:.1} | {:.1} |",
            spread * 100.0,
            found.early * 100.0,
            found.median_s,
            found.within * 100.0,
            found.holds * 100.0
        );
        let least = 0.93 - luck(0.93, (RUNS as f64 * found.early) as usize);
        assert!(found.within >= least, "{}", found.within);
        assert!(found.holds >= least, "{}", found.holds);
        assert!(found.early > 0.5, "{}", found.early);
    }
}

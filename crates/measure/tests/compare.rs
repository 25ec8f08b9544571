//! How often a comparison finds what is not there, and what is.

mod simulate;

use measure::compare::{Decision, LEAST, Measured, Question, Sense, compare, correct};
use measure::interval::{Estimate, estimate};
use simulate::{Random, luck, seconds};

const STUDIES: usize = 2000;

/// How trials differ besides what is compared, as shares of their mean.
#[derive(Clone, Copy)]
struct Noise {
    /// From block to block: the host's state, the same for both sides.
    block: f64,
    /// From run to run.
    run: f64,
}

fn study(random: &mut Random, repeats: u32, noise: Noise, slowdown: f64) -> [Vec<Measured>; 2] {
    let blocks: Vec<f64> = (0..repeats)
        .map(|_| noise.block * random.normal())
        .collect();
    [1.0, 1.0 - slowdown].map(|speed| {
        let trial = |(repeat, block): (u32, &f64)| Measured {
            repeat,
            value: Estimate {
                value: 1000.0 * speed * (1.0 + block + noise.run * random.normal()),
                half_width: None,
            },
        };
        (1..).zip(&blocks).map(trial).collect()
    })
}

fn is_different(decision: Decision) -> bool {
    matches!(decision, Decision::Faster | Decision::Slower)
}

/// Share of studies that decide so.
fn found(
    random: &mut Random,
    (repeats, interleaved): (u32, bool),
    noise: Noise,
    slowdown: f64,
    what: impl Fn(Decision) -> bool,
) -> f64 {
    let question = Question {
        sense: Sense::HigherIsBetter,
        interleaved,
        least: LEAST,
    };
    let decided = (0..STUDIES).filter(|_| {
        let [base, new] = study(random, repeats, noise, slowdown);
        compare(&base, &new, &question).is_ok_and(|found| what(found.decision))
    });
    decided.count() as f64 / STUDIES as f64
}

#[test]
fn the_same_against_itself_differs_in_at_most_5_of_100() {
    let mut random = Random::new(20_240_301);
    for interleaved in [true, false] {
        for repeats in [2, 3, 5, 10] {
            for run in [0.01, 0.03, 0.1] {
                // A block that is in both sides is noise only to pairs that ignore it.
                let block = if interleaved { 0.05 } else { 0.0 };
                let design = (repeats, interleaved);
                let called = found(&mut random, design, Noise { block, run }, 0.0, is_different);
                println!(
                    "A/A: {repeats} repeats, interleaved {interleaved}, {run} from run to run: \
                     {:.1} %",
                    called * 100.0
                );
                assert!(called <= 0.05 + luck(0.05, STUDIES), "{called}");
            }
        }
    }
}

#[test]
fn a_slowdown_of_5_percent_is_found() {
    let mut random = Random::new(20_240_302);
    let slower = |decision| decision == Decision::Slower;
    let mut power = |repeats, interleaved, block, run| {
        let noise = Noise { block, run };
        let power = found(&mut random, (repeats, interleaved), noise, 0.05, slower);
        println!(
            "5 % slower: {repeats} repeats, interleaved {interleaved}, {block} by block, {run} \
             from run to run: found in {:.1} %",
            power * 100.0
        );
        power
    };
    assert!(power(5, true, 0.05, 0.02) > 0.75);
    assert!(power(5, true, 0.05, 0.015) > 0.9);
    assert!(power(5, false, 0.0, 0.02) > 0.8);
    // Blocks that are not paired hide it; those that are do not.
    assert!(power(5, false, 0.05, 0.015) < 0.9 * power(5, true, 0.05, 0.015));
}

/// As many repeats as are said to be needed are enough four times out of five.
#[test]
fn repeats_needed_are_enough() {
    let mut random = Random::new(20_240_303);
    let slower = |decision| decision == Decision::Slower;
    // 3 % from run to run is 4.2 % between two; 2 % of a difference need 38 pairs.
    let noise = Noise {
        block: 0.05,
        run: 0.03,
    };
    // It must also be found to be at least 2 %, so the true one is a little more.
    let power = found(&mut random, (38, true), noise, 0.03, slower);
    println!("3 % slower with 38 pairs: found in {:.1} %", power * 100.0);
    assert!(power > 0.8, "{power}");
}

#[test]
fn a_family_without_a_difference_rarely_shows_one() {
    let mut random = Random::new(20_240_304);
    let question = Question {
        sense: Sense::HigherIsBetter,
        interleaved: true,
        least: LEAST,
    };
    let noise = Noise {
        block: 0.0,
        run: 0.05,
    };
    let families = 500;
    let shown = (0..families).filter(|_| {
        let mut family: Vec<_> = (0..10)
            .map(|_| {
                let [base, new] = study(&mut random, 5, noise, 0.0);
                compare(&base, &new, &question).unwrap()
            })
            .collect();
        correct(&mut family);
        family.iter().any(|one| is_different(one.decision))
    });
    let shown = shown.count() as f64 / f64::from(families);
    println!(
        "of families of ten A/A comparisons {:.1} % show a difference",
        shown * 100.0
    );
    assert!(shown <= 0.05 + luck(0.05, 500), "{shown}");
}

/// Single runs that differ by nothing but their seconds.
#[test]
fn single_runs_against_each_other() {
    let mut random = Random::new(20_240_305);
    let question = Question {
        sense: Sense::HigherIsBetter,
        interleaved: false,
        least: LEAST,
    };
    let runs = 1000;
    let mut run = || {
        let values = random.throughput(0.1, 0.5, 120);
        [Measured {
            repeat: 1,
            value: estimate(&seconds(&values)).unwrap(),
        }]
    };
    let called = (0..runs).filter(|_| {
        let found = compare(&run(), &run(), &question);
        found.is_ok_and(|found| is_different(found.decision))
    });
    let called = called.count() as f64 / f64::from(runs);
    println!("A/A within single runs: {:.1} %", called * 100.0);
    assert!(called <= 0.05 + luck(0.05, 1000), "{called}");
}

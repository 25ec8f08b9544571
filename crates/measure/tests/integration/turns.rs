//! The interval for two processes that take turns in one start, on simulated hosts.

use measure::compare::{Comparison, LEAST, Question, Sense, compare_turns};
use measure::summary::Turn;

use crate::simulate::Random;

/// Noise is drawn for each step.
const STEP_S: f64 = 0.1;
const ROUNDS: usize = 12;
const SERIES: usize = 1_000;
const CHANGE: f64 = 1.05;
const QUESTION: Question = Question {
    sense: Sense::HigherIsBetter,
    interleaved: true,
    restarted: false,
    least: LEAST,
    boundary: None,
};

/// Turns of about a second on a host whose speed is `speed` in each step.
fn compared(speed: &[f64], random: &mut Random) -> Comparison {
    let (mut turns, mut step) = ([Vec::new(), Vec::new()], 0);
    let first = usize::from(random.chance() < 0.5);
    for round in 0..ROUNDS {
        let [a, b] = [(first + round) % 2, (first + round + 1) % 2];
        for side in [a, b, b, a] {
            // The first step is left out.
            let length = 7 + (5.0 * random.chance()) as usize;
            let own = &speed[step + 1..step + 1 + length];
            let per_s = if side == 1 { CHANGE } else { 1.0 };
            let expected = own.iter().sum::<f64>() * STEP_S * per_s;
            let count = expected + expected.sqrt() * random.normal();
            turns[side].push(Turn {
                start_s: (step + 1) as f64 * STEP_S,
                length_s: length as f64 * STEP_S,
                transactions: count.max(0.0).round() as u64,
            });
            step += length + 1;
        }
    }
    compare_turns(&turns[0], &turns[1], &QUESTION).unwrap()
}

/// Share of intervals that hold the change, and their mean half width in percent.
fn coverage(name: &str, mut speed: impl FnMut(&mut Random, usize) -> Vec<f64>) -> (f64, f64) {
    let mut random = Random::new(20);
    let (mut held, mut width) = (0, 0.0);
    for _ in 0..SERIES {
        let speed = speed(&mut random, ROUNDS * 4 * 13 + 2);
        let found = compared(&speed, &mut random).change_pct.interval.unwrap();
        let change = 100.0 * (CHANGE - 1.0);
        held += usize::from(found.low <= change && change <= found.high);
        width += (found.high - found.low) / 2.0 / SERIES as f64;
    }
    let share = held as f64 / SERIES as f64;
    println!("{name}: {share:.3} hold it, half width {width:.2} %");
    (share, width)
}

#[test]
fn the_interval_holds_the_change_on_hosts_with_correlated_noise() {
    for correlated_s in [0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0] {
        let correlation = (-STEP_S / correlated_s).exp();
        let name = format!("noise correlated over {correlated_s} s");
        let (share, _) = coverage(&name, |random, length| {
            random.throughput(0.1, correlation, length)
        });
        assert!(share >= 0.93, "{name}: {share}");
    }
    let (share, _) = coverage("stalls", |random, length| random.stalls(0.005, 0.1, length));
    assert!(share >= 0.90, "stalls: {share}");
    let (share, width) = coverage("drift", |_, length| {
        let place = |i| 1000.0 * (1.0 - 0.5 * i as f64 / length as f64);
        (0..length).map(place).collect()
    });
    assert!(share >= 0.93 && width < 3.5, "drift: {share}, {width}");
}

#[test]
fn too_few_rounds_have_no_interval() {
    let turn = |start_s| Turn {
        start_s,
        length_s: 1.0,
        transactions: 100,
    };
    let turns: Vec<Turn> = (0..7).map(|i| turn(f64::from(i))).collect();
    assert!(compare_turns(&turns, &turns, &QUESTION).is_err());
    assert!(compare_turns(&[], &[], &QUESTION).is_err());
}

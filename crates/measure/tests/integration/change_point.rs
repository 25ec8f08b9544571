//! How often changes are found that are not there, and those that are.

use crate::simulate::{Random, luck, runs, share};
use measure::change_point::{in_history, in_seconds};

/// What `change` promises of seconds: 1 %, and 2 % where they wander for long.
#[test]
fn a_series_that_only_wanders_has_none() {
    let runs = runs(1000);
    let mut random = Random::new(20_240_401);
    for correlation in [0.0, 0.3, 0.5, 0.7, 0.8, 0.9] {
        for length in [30, 60, 120, 300, 600] {
            let called = share(runs, || {
                !in_seconds(&random.throughput(0.05, correlation, length)).is_empty()
            });
            println!("| {correlation} | {length} | {:.1} |", called * 100.0);
            let wanders = correlation > 0.75 && length < 120;
            let promised = if wanders { 0.02 } else { 0.01 };
            assert!(called <= promised + luck(promised, runs), "{called}");
        }
    }
}

#[test]
fn a_history_without_a_change_has_none() {
    const RUNS: usize = 2000;
    let mut random = Random::new(20_240_403);
    for correlation in [0.0, 0.4, 0.6] {
        for length in [6, 8, 12, 20, 50, 100] {
            let called = share(RUNS, || {
                !in_history(&random.throughput(0.02, correlation, length), 1).is_empty()
            });
            println!("| {correlation} | {length} | {:.1} |", called * 100.0);
            assert!(called <= 0.02, "{called}");
        }
    }
}

/// Sixteen histories at once, as those of the points of a study.
#[test]
fn many_histories_share_the_chance_of_a_false_alarm() {
    const RUNS: usize = 1000;
    const HISTORIES: usize = 16;
    let mut random = Random::new(20_240_404);
    let called = share(RUNS, || {
        (0..HISTORIES).any(|_| {
            let results = random.throughput(0.02, 0.0, 12);
            !in_history(&results, HISTORIES).is_empty()
        })
    });
    println!("any of {HISTORIES} histories: {:.1} %", called * 100.0);
    assert!(called <= 0.02 + luck(0.02, RUNS), "{called}");
}

fn lower(values: &mut [f64], step: f64) {
    values.iter_mut().for_each(|value| *value -= 1000.0 * step);
}

#[test]
fn steps_are_found() {
    const RUNS: usize = 200;
    let mut random = Random::new(20_240_402);
    let mut found = |length: usize, step: f64| {
        let found = share(RUNS, || {
            let mut values = random.throughput(0.05, 0.5, length);
            lower(&mut values[length / 2..], step);
            let changes = in_seconds(&values);
            changes.len() == 1 && changes[0].at.abs_diff(length / 2) <= 5
        });
        println!(
            "a step of {step} in {length} s: found in {:.1} %",
            found * 100.0
        );
        found
    };
    assert!(found(60, 0.2) > 0.7);
    assert!(found(120, 0.1) > 0.6);
    assert!(found(300, 0.1) > 0.85);
    let mut in_results = |length: usize, step: f64| {
        let found = share(RUNS, || {
            let mut values = random.throughput(0.01, 0.0, length);
            lower(&mut values[length / 2..], step);
            !in_history(&values, 1).is_empty()
        });
        println!(
            "a step of {step} in a history of {length}: found in {:.1} %",
            found * 100.0
        );
        found
    };
    // Few results hardly show how much those in a row resemble each other.
    assert!(in_results(20, 0.1) > 0.8);
    assert!(in_results(50, 0.03) > 0.8);
}

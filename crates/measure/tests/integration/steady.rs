//! How often steady series are called unsteady, and unsteady ones steady.

use crate::simulate::{Random, luck, seconds, share};
use measure::interval::Part;
use measure::steady::{MIN_SECONDS, Steady, UnsteadyReason};

const RUNS: usize = 500;

fn is_steady_at(warmup_s: f64, warmup: &[Part], measured: &[Part]) -> bool {
    matches!(Steady::of(warmup, measured), Some(Steady::From { s }) if s <= warmup_s)
}

#[test]
fn steady_series_are_called_steady() {
    let mut random = Random::new(20_240_201);
    for correlation in [0.0, 0.5, 0.7, 0.8] {
        for length in [30, 60, 120, 300, 600] {
            let called = share(RUNS, || {
                let all = seconds(&random.throughput(0.05, correlation, length + 10));
                is_steady_at(10.0, &all[..10], &all[10..])
            });
            println!(
                "| {correlation} | {length} | {:.1} |",
                (1.0 - called) * 100.0
            );
            // Those that are shorter wander as slowly as they are long.
            if correlation * 100.0 < length as f64 {
                assert!(called >= 0.95 - luck(0.95, RUNS), "{called}");
            }
        }
    }
}

/// Seconds of `length_s` seconds of Poisson arrivals, as a perfectly steady load has them.
fn poisson(random: &mut Random, per_s: f64, length_s: usize) -> Vec<Part> {
    let counts = (0..length_s).map(|_| (per_s + per_s.sqrt() * random.normal()).round());
    seconds(&counts.collect::<Vec<_>>())
}

#[test]
fn a_perfectly_steady_load_is_hardly_ever_called_unsteady() {
    const RUNS: usize = 2000;
    let mut random = Random::new(20_240_203);
    for per_s in [50.0, 800.0, 20_000.0] {
        for length in [12, 15, 20, 30, 60] {
            let called = share(RUNS, || {
                let all = poisson(&mut random, per_s, length + 2);
                Steady::of(&all[..2], &all[2..]).is_some_and(|found| match found {
                    Steady::Never { .. } => true,
                    Steady::From { s } => s > 2.0,
                })
            });
            println!("| {per_s} | {length} | {:.1} |", called * 100.0);
            match length < MIN_SECONDS {
                true => assert!(called == 0.0, "{called}"),
                false => assert!(called <= 0.05 + luck(0.05, RUNS), "{called}"),
            }
        }
    }
}

#[test]
fn drift_and_late_warm_ups_are_seen() {
    let mut random = Random::new(20_240_202);
    let mut drifts = |length: usize, drift: f64| {
        let found = share(RUNS, || {
            let mut values = random.throughput(0.03, 0.5, length);
            for (i, value) in values.iter_mut().enumerate() {
                *value += 1000.0 * drift * (i as f64 / length as f64 - 0.5);
            }
            let found = Steady::of(&[], &seconds(&values)).unwrap();
            matches!(found, Steady::Never { .. }) || matches!(found, Steady::From { s } if s > 0.0)
        });
        println!(
            "drift of {drift} over {length} s: found in {:.1} %",
            found * 100.0
        );
        found
    };
    assert!(drifts(60, 0.2) > 0.9);
    assert!(drifts(120, 0.1) > 0.9);
    assert!(drifts(600, 0.1) > 0.99);
    let mut warms = |length: usize, constant: f64| {
        let found = share(RUNS, || {
            let mut values = random.throughput(0.05, 0.5, length);
            for (i, value) in values.iter_mut().enumerate() {
                *value -= 500.0 * (-(i as f64) / constant).exp();
            }
            match Steady::of(&[], &seconds(&values)).unwrap() {
                Steady::From { s } => s > 0.0,
                Steady::Never { reason } => reason != UnsteadyReason::Wandering,
            }
        });
        println!(
            "warm-up by e-fold of {constant} s in {length} s: found in {:.1} %",
            found * 100.0
        );
        found
    };
    assert!(warms(60, 10.0) > 0.9);
    assert!(warms(120, 10.0) > 0.9);
    assert!(warms(300, 20.0) > 0.9);
}

//! Which results are of the same work.

#![allow(
    clippy::unwrap_used,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use common::made::{Made, made};
use measure::result::RunResult;
use measure::setup::Setup;
use report::unlike;

/// A trial at each value of a key; `set` is given the set-up and the value.
fn swept(key: &str, values: &[&str], set: impl Fn(&mut Setup, &str)) -> RunResult {
    let points: Vec<[(&str, &str); 1]> = values.iter().map(|value| [(key, *value)]).collect();
    let trials: Vec<Made<'_>> = points
        .iter()
        .map(|point| Made {
            point,
            repeat: 1,
            tps: 1000.0,
            mean_ms: 16.0,
        })
        .collect();
    let mut result = made("Work", &trials);
    for (trial, value) in result.trials.iter_mut().zip(values) {
        set(&mut trial.setup, value);
    }
    result
}

fn single(set: impl Fn(&mut Setup)) -> RunResult {
    let mut result = swept("load.threads", &["8"], |_, _| {});
    result.trials.iter_mut().for_each(|t| set(&mut t.setup));
    result
}

#[test]
fn options_think_time_and_kind_of_arrivals_are_work() {
    let base = single(|_| {});
    for (other, said) in [
        (
            single(|s| s.options = "point_selects=1, skip_trx=true".into()),
            "options: all default / point_selects=1, skip_trx=true",
        ),
        (single(|s| s.think_s = 0.005), "think time: none / 0.005 s"),
        (
            single(|s| s.arrivals = "200/s poisson".into()),
            "arrivals: closed loop / at a random rate",
        ),
    ] {
        assert_eq!(unlike(&base, &other), [said]);
        assert_eq!(unlike(&other, &other), [""; 0]);
    }
}

#[test]
fn another_rate_is_a_setting() {
    let at = |rate: &str| single(|s| s.arrivals = format!("{rate}/s poisson"));
    assert_eq!(unlike(&at("200"), &at("300")), [""; 0]);
}

#[test]
fn what_both_sweep_is_alike_at_each_point() {
    let think = |values: &[&str]| {
        swept("load.think", values, |setup, value| {
            setup.think_s = value.trim_end_matches('s').parse().unwrap();
        })
    };
    assert_eq!(
        unlike(&think(&["0s", "1s"]), &think(&["1s", "2s"])),
        [""; 0]
    );
    let rate = |values: &[&str]| {
        swept("load.rate", values, |setup, value| {
            setup.arrivals = format!("{value}/s constant");
        })
    };
    assert_eq!(
        unlike(&rate(&["100", "200"]), &rate(&["200", "300"])),
        [""; 0]
    );
    let options = |values: &[&str], more: &'static str| {
        swept("transaction.point_selects", values, move |setup, value| {
            setup.options = format!("point_selects={value}{more}");
        })
    };
    let plain = options(&["1", "2"], "");
    assert_eq!(unlike(&plain, &options(&["2", "3"], "")), [""; 0]);
    // What is not swept shows at a point that both have.
    assert_eq!(
        unlike(&plain, &options(&["2", "3"], ", skip_trx=true")),
        ["options: point_selects=2 / point_selects=2, skip_trx=true"]
    );
}

#[test]
fn what_only_one_sweeps_is_other_work() {
    let rows = swept("data.rows", &["1000", "2000"], |setup, value| {
        setup.rows = value.parse().unwrap();
        setup.key_range = setup.rows;
    });
    let fixed = single(|setup| {
        setup.rows = 1000;
        setup.key_range = 1000;
    });
    let said = [
        "rows in each table: 1,000 · 2,000 / 1,000",
        "keys drawn: 1 to 1,000 · 1 to 2,000 / 1 to 1,000",
    ];
    assert_eq!(unlike(&rows, &fixed), said);
}

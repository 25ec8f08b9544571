//! Which results are of the same work.

use std::time::Duration;

use crate::common::made;
use measure::result::RunResult;
use measure::setup::Setup;
use report::workload_differences;

/// A trial at each value of a key; `set` is given the set-up and the value.
fn swept(key: &str, values: &[&str], set: impl Fn(&mut Setup, &str)) -> RunResult {
    let points: Vec<_> = values.iter().map(|value| (*value, 1000.0, 16.0)).collect();
    let mut result = made::swept("Work", key, &points, 1, |_| 1.0);
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
fn transactions_think_time_and_open_loops_are_work() {
    let base = single(|_| {});
    let think = Duration::from_millis(5);
    for (other, said) in [
        (
            single(|s| s.planned.transaction.skip_trx = true),
            "transaction.skip_trx: false / true",
        ),
        (
            single(|s| s.planned.load.think = think),
            "load.think: 0s / 5ms",
        ),
        (
            single(|s| s.planned.load.rate = Some(200.0)),
            "load.rate: not given / given",
        ),
    ] {
        assert_eq!(workload_differences(&base, &other), [said]);
        assert_eq!(workload_differences(&other, &other), [""; 0]);
    }
}

#[test]
fn another_rate_is_a_setting() {
    let at = |rate| single(|s| s.planned.load.rate = Some(rate));
    assert_eq!(workload_differences(&at(200.0), &at(300.0)), [""; 0]);
}

#[test]
fn what_both_sweep_is_alike_at_each_point() {
    let think = |values: &[&str]| {
        swept("load.think", values, |setup, value| {
            setup.planned.load.think = plan::parse_duration(value).unwrap();
        })
    };
    assert_eq!(
        workload_differences(&think(&["0s", "1s"]), &think(&["1s", "2s"])),
        [""; 0]
    );
    let rate = |values: &[&str]| {
        swept("load.rate", values, |setup, value| {
            setup.planned.load.rate = Some(value.parse().unwrap());
        })
    };
    assert_eq!(
        workload_differences(&rate(&["100", "200"]), &rate(&["200", "300"])),
        [""; 0]
    );
    let options = |values: &[&str], skip_trx: bool| {
        swept("transaction.point_selects", values, move |setup, value| {
            setup.planned.transaction.point_selects = value.parse().unwrap();
            setup.planned.transaction.skip_trx = skip_trx;
        })
    };
    let plain = options(&["1", "2"], false);
    assert_eq!(
        workload_differences(&plain, &options(&["2", "3"], false)),
        [""; 0]
    );
    // What is not swept shows at any point.
    assert_eq!(
        workload_differences(&plain, &options(&["2", "3"], true)),
        ["transaction.skip_trx: false / true"]
    );
}

#[test]
fn what_only_one_sweeps_is_other_work() {
    let rows = swept("data.rows", &["1000", "2000"], |setup, value| {
        setup.planned.data.rows = value.parse().unwrap();
    });
    let fixed = single(|setup| setup.planned.data.rows = 1000);
    let said = [
        "data.rows: 1,000 · 2,000 / 1,000",
        "load.key_range: 1,000 · 2,000 / 1,000",
    ];
    assert_eq!(workload_differences(&rows, &fixed), said);
}

//! Trials that end when they are sure, and searches for the highest rate.

use std::time::Duration;

use crate::common::{SMALLEST, plan};
use plan::{FindMax, Limited, Until};

#[test]
fn a_table_in_a_line_is_the_same_as_two_keys() {
    let wanted = Until {
        ci: 0.02,
        max: Duration::from_secs(60),
    };
    for load in [
        "[load]\nuntil = { ci = \"2%\", max = \"1m\" }\ntime = \"5s\"",
        "[load]\nuntil.ci = \"2 %\"\nuntil.max = \"1m\"\ntime = \"5s\"",
        "[load.until]\nci = \"2.0%\"\nmax = \"1m\"\n[load]\ntime = \"5s\"",
    ] {
        let plan = plan(&format!("{SMALLEST}{load}"), &[]);
        let load = &plan.trials[0].load;
        assert_eq!(load.until, Some(wanted), "{load:?}");
        assert_eq!(load.time, Duration::from_secs(5));
        // The warm-up, and the longest measurement.
        assert_eq!(plan.duration_estimate(), Duration::from_secs(70));
    }
    assert_eq!(plan(SMALLEST, &[]).trials[0].load.until, None);
}

#[test]
fn an_override_makes_a_trial_end_when_it_is_sure() {
    let plan = plan(SMALLEST, &[("load.until.ci", "0.5%"), ("load.time", "10s")]);
    let wanted = Until {
        ci: 0.005,
        max: Duration::from_secs(1800),
    };
    assert_eq!(plan.trials[0].load.until, Some(wanted));
}

#[test]
fn a_search_has_a_limit() {
    for (limit, of) in [
        ("p99", Limited::P99),
        ("p95", Limited::P95),
        ("mean", Limited::Mean),
    ] {
        let text = format!("{SMALLEST}load.find_max = {{ {limit} = \"1500us\" }}");
        let limit = Duration::from_micros(1500);
        let found = plan(&text, &[]).trials[0].load.find_max;
        assert_eq!(found, Some(FindMax { of, limit }));
    }
    assert_eq!(plan(SMALLEST, &[]).trials[0].load.find_max, None);
}

//! Trials that end when they are sure, and searches for the highest rate.

use std::time::Duration;

use crate::common::{SMALLEST, plan, trial};
use plan::{FindMax, Limited, Until};

#[test]
fn a_table_in_a_line_is_the_same_as_two_keys() {
    let until = |ci, max_s| {
        let max = Duration::from_secs(max_s);
        Some(Until { ci, max })
    };
    for load in [
        "[load]\nuntil = { ci = \"2%\", max = \"1m\" }\ntime = \"5s\"",
        "[load]\nuntil.ci = \"2 %\"\nuntil.max = \"1m\"\ntime = \"5s\"",
        "[load.until]\nci = \"2.0%\"\nmax = \"1m\"\n[load]\ntime = \"5s\"",
    ] {
        let plan = plan(&format!("{SMALLEST}{load}"), &[]);
        assert_eq!(plan.trials[0].load.until, until(0.02, 60), "{load}");
        assert_eq!(plan.trials[0].load.longest(), Some(Duration::from_secs(60)));
    }
    assert_eq!(trial(SMALLEST, &[]).load.until, None);
    let sets = [("load.until.ci", "0.5%"), ("load.time", "10s")];
    assert_eq!(trial(SMALLEST, &sets).load.until, until(0.005, 1800));
}

#[test]
fn a_search_has_a_limit() {
    for of in Limited::ALL.iter().copied() {
        let text = format!("{SMALLEST}load.find_max = {{ {of} = \"1500us\" }}");
        let limit = Duration::from_micros(1500);
        assert_eq!(trial(&text, &[]).load.find_max, Some(FindMax { of, limit }));
    }
    assert_eq!(trial(SMALLEST, &[]).load.find_max, None);
}

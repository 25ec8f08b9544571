//! Mixes of workloads and phases of a load: as tables, and as text.

use std::time::Duration;

use crate::common::{SMALLEST, fails, plan, trial};
use plan::{Arrivals, Pace};

const MIXED: &str = "[load]
threads = 4
[[load.mix]]
workload = \"oltp_read_only\"
weight = 3
[[load.mix]]
workload = \"oltp_insert\"
";
const PHASES: &str = "[load]
warmup = \"5s\"
phases.repeat = 3
[[load.phase]]
name = \"base\"
time = \"1m\"
rate = 200
[[load.phase]]
time = \"10s\"
rate = [200, 1000.5]
";

#[test]
fn tables_and_their_text_are_the_same() {
    let text = "oltp_read_only:3,oltp_insert";
    let tables = trial(&format!("{SMALLEST}{MIXED}"), &[]);
    let set = trial(SMALLEST, &[("load.threads", "4"), ("load.mix", text)]);
    assert_eq!(tables.load, set.load);
    let phases = "base: 1m 200/s, 10s 200..1000.5/s";
    let sets = [
        ("load.warmup", "5s"),
        ("load.phase", phases),
        ("load.phases.repeat", "3"),
    ];
    let tables = trial(&format!("{SMALLEST}{PHASES}"), &[]);
    assert_eq!(tables.load, trial(SMALLEST, &sets).load);
    let repeated = format!("3 x ({phases})");
    let sets = [("load.warmup", "5s"), ("load.phase", repeated.as_str())];
    assert_eq!(tables.load, trial(SMALLEST, &sets).load);
    assert_eq!(tables.load.phases().unwrap().list.len(), 6);
}

#[test]
fn a_mix_replaces_the_workload_and_its_rates_the_rate() {
    let mixed = trial(&format!("{SMALLEST}{MIXED}"), &[]);
    assert_eq!(mixed.load.workload.value, "oltp_read_only:3, oltp_insert");
    assert_eq!(
        (mixed.load.mix().unwrap().parts.len(), mixed.load.rate),
        (2, None)
    );
    let rates = [
        ("load.mix", "oltp_read_only:200/s,oltp_insert:20/s"),
        ("load.arrivals", "constant"),
    ];
    let load = trial(SMALLEST, &rates).load;
    let (per_s, arrivals) = (220.0, Arrivals::Constant);
    assert_eq!(load.pace(), Pace::Open { per_s, arrivals });
    assert_eq!(load.threads, 64);
    // One workload with a rate is an open loop, too.
    let load = trial(SMALLEST, &[("load.mix", "oltp_insert:20/s")]).load;
    assert_eq!(load.rate, Some(20.0));
}

#[test]
fn phases_replace_the_time_and_the_rate_or_the_users() {
    let load = trial(&format!("{SMALLEST}{PHASES}"), &[]).load;
    assert_eq!(load.time, Duration::from_secs(210));
    let mean = (60.0 * 200.0 + 10.0 * 600.25) / 70.0;
    assert!((load.rate.unwrap() - mean).abs() < 1e-9, "{:?}", load.rate);
    assert_eq!(load.threads, 64);
    let closed = [("load.phase", "30s 8 threads, 30s 8..32 threads")];
    let load = trial(SMALLEST, &closed).load;
    assert_eq!((load.threads, load.rate), (32, None));
    for phases in [closed[0].1, "a/s: 30s 8 threads"] {
        let useless = [("load.phase", phases), ("load.arrivals", "constant")];
        assert!(fails(SMALLEST, &useless).contains("`load.arrivals` has no effect"));
    }
    let in_turns = "[compare]\nstarts = 2\nalternate = \"always\"\nblock = \"1s\"\n\
                    [[variant]]\nname = \"one\"\n[[variant]]\nname = \"two\"\n";
    let said = fails(&format!("{SMALLEST}{in_turns}"), &closed);
    assert!(
        said.contains("take turns cannot have `load.phase`"),
        "{said}"
    );
    let useless = [("load.phases.repeat", "2")];
    assert!(fails(SMALLEST, &useless).contains("no effect without `load.phase`"));
}

#[test]
fn mixes_and_phases_can_be_swept() {
    let sweep = "[sweep]\n\
                 load.mix = [\"oltp_insert\", [{ workload = \"oltp_delete\", weight = 2 }]]\n\
                 load.phase = [\"30s 100/s\", \"30s 200/s\"]\n";
    let plan = plan(&format!("{SMALLEST}{sweep}"), &[]);
    assert_eq!(plan.trials.len(), 4);
    assert_eq!(plan.trials[3].label, "mix=oltp_delete:2, phase=30s 200/s");
    assert_eq!(plan.trials[3].load.workload.value, "oltp_delete:2");
}

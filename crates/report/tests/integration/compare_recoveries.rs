//! Recoveries from the same fault under two variants.

use crate::common::made::made;
use crate::common::{flat, json, says};
use measure::fault::{FaultRecord, Loss, Recovery};
use measure::result::RunResult;
use plan::{FaultKind, FaultVolume};
use report::Answer;
use report::compare::{ResultComparison, Side};
use report::text::Layout;

/// Six repeats; each variant's first writes after the fault, `None` where there was none.
fn failovers(first_writes_s: [[Option<f64>; 6]; 2], lost: [u64; 2]) -> RunResult {
    let variants: [&[(&str, &str)]; 2] = [&[("variant", "old")], &[("variant", "fast")]];
    let mut trials = Vec::new();
    for repeat in 1..=6 {
        for point in variants {
            trials.push((point, repeat, 1000.0 + f64::from(repeat), 16.0));
        }
    }
    let mut result = made("Failover", &trials);
    for (place, trial) in result.trials.iter_mut().enumerate() {
        let first_write_s = first_writes_s[place % 2][place / 2];
        let mut fault = killed();
        fault.recovery = Some(Recovery {
            first_write_s,
            window_s: 40.0,
            censored: match first_write_s {
                Some(_) => Vec::new(),
                None => vec!["recovery.first_write_s".to_owned()],
            },
            loss: Some(Loss {
                transactions: lost[place % 2],
                ..Loss::default()
            }),
            ..Recovery::default()
        });
        trial.faults = vec![fault];
    }
    result
}

/// The kill of a primary, which takes effect at 20 s.
fn killed() -> FaultRecord {
    FaultRecord {
        number: 1,
        kind: FaultKind::Kill,
        target: "primary".to_owned(),
        instance: 1,
        step: 0,
        node: Some(1),
        volume: FaultVolume::Data,
        device: None,
        asked_s: 20.0,
        effect_s: Some(20.0),
        heal_asked_s: None,
        healed_s: None,
        error: None,
        crash: None,
        scrub: None,
        promotion: None,
        recovery: None,
    }
}

fn side<'a>(result: &'a RunResult, name: &'a str) -> Side<'a> {
    Side {
        name,
        result,
        variant: Some(name),
    }
}

fn compared(result: &RunResult) -> (String, serde_json::Value) {
    let both = ResultComparison::of(&side(result, "old"), &side(result, "fast"), &[]);
    let json = json(&both);
    (flat(&both.text(Layout::DEFAULT)), json)
}

/// Known times by log ratios in blocks, losses by Fisher's exact test.
#[test]
fn recovery_times_are_compared_in_pairs() {
    let old = [6.0, 6.2, 5.9, 6.1, 6.0, 6.3];
    let fast = old.map(|time_s| Some(time_s / 2.0 + 0.01));
    let (text, json) = compared(&failovers([old.map(Some), fast], [5, 0]));
    says(
        &text,
        &[
            "Recovery compared",
            "first write",
            "faster",
            "6 of 6",
            "0 of 6 (at most 39.3 %)",
        ],
    );
    let all = &json["points"][0]["recoveries"];
    assert_eq!(all[0]["comparison"]["method"]["by"], "blocks");
    assert_eq!(all[0]["comparison"]["decision"]["decision"], "faster");
    let losses = &all[1]["comparison"];
    let p = losses["p"].as_f64().unwrap();
    assert!((p - 2.0 / 924.0).abs() < 1e-9, "{p}");
    assert_eq!(losses["decision"]["decision"], "faster");
}

/// A median that is not known is empty; of losses, the share is there.
#[test]
fn recoveries_are_lines_of_the_csv() {
    let old = [6.0, 6.2, 5.9, 6.1, 6.0, 6.3].map(Some);
    let stuck = [Some(9.0), None, None, None, None, None];
    let result = failovers([old, stuck], [5, 0]);
    let csv = ResultComparison::of(&side(&result, "old"), &side(&result, "fast"), &[]).csv();
    says(
        &csv,
        &[
            "fault,column,base,base.half_width,base.n,new,new.half_width,new.n,change_pct,",
            "\r\n,tps,",
            "\r\nkill of primary,recovery.first_write_s,6.05,,6,,,6,,",
            "\r\nkill of primary,recovery.lost_commits,1,,6,0,,6,,",
        ],
    );
}

/// What was not over in its trial is longer than all that was, and has no mean.
#[test]
fn times_that_were_not_over_are_compared_by_ranks() {
    let old = [6.0, 6.2, 5.9, 6.1, 6.0, 6.3].map(Some);
    let stuck = [Some(9.0), None, None, None, None, None];
    let (text, json) = compared(&failovers([old, stuck], [0, 0]));
    says(&text, &["not over in 5 of 6", "> 40.0", "slower"]);
    let first = &json["points"][0]["recoveries"][0];
    assert_eq!(first["comparison"]["method"]["by"], "ranks");
    assert_eq!(
        first["comparison"]["change_pct"]["interval"],
        serde_json::Value::Null
    );
}

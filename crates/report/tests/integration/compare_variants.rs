//! The variants of a study in its report.

use crate::common::made::made;
use crate::common::platforms::{side, unwrapped};
use crate::common::{flat, outline, report_of, says};
use measure::result::{RunResult, Table};
use measure::setup::Outcome;
use measure::warning::Warning;
use report::Answer;
use report::compare::{ResultComparison, Side};

type Variant = (&'static [(&'static str, &'static str)], f64);

const EXT4: Variant = (&[("variant", "ext4")], 1.0);

/// Five repeats of these variants; `tps` is of a factor, a repeat, and the number of trials before.
fn file_systems(variants: &[Variant], tps: impl Fn(f64, u32, u32) -> f64) -> RunResult {
    let mut trials = Vec::new();
    for repeat in 1..=5 {
        for (point, factor) in variants {
            let tps = tps(*factor, repeat, trials.len() as u32);
            trials.push((*point, repeat, tps, 16_000.0 / tps));
        }
    }
    made("File systems", &trials)
}

/// Two variants of one study, whose trials took turns on a host that gets slower.
#[test]
fn variants_of_one_study_are_compared_in_pairs() {
    let variants = [EXT4, (&[("variant", "xfs")], 0.95)];
    let mut result = file_systems(&variants, |factor, repeat, _| {
        factor * (1000.0 - 100.0 * f64::from(repeat))
    });
    result.design.tables = vec![Table {
        rows: "variant".into(),
        columns: vec!["tps".into()],
    }];
    let report = report_of(&result);
    for text in [outline(&result), report.markdown(), report.html().unwrap()] {
        let text = flat(&text);
        says(
            &text,
            &[
                "xfs against ext4",
                "tps change %",
                "-5.00",
                "over 5 blocks",
                "slower",
            ],
        );
    }
}

/// Points whose load only reads are not flushed.
#[test]
fn a_metric_that_the_first_point_lacks_is_told() {
    const POINTS: [Variant; 4] = [
        (&[("variant", "ext4"), ("load.threads", "1")], 1.0),
        (&[("variant", "xfs"), ("load.threads", "1")], 0.9),
        (&[("variant", "ext4"), ("load.threads", "8")], 1.0),
        (&[("variant", "xfs"), ("load.threads", "8")], 0.9),
    ];
    let mut result = file_systems(&POINTS, |factor, repeat, _| {
        1000.0 * factor + f64::from(repeat)
    });
    for trial in &mut result.trials {
        trial.flush_s = (trial.setup.planned.load.threads == 8).then_some(1.0);
    }
    let text = flat(&outline(&result));
    says(&text, &["xfs against ext4", "Throughput with the flush: "]);
}

/// Three variants, of which nothing tells the second from the first: a section that holds
/// each against the first, corrected for all of them at once.
#[test]
fn more_variants_are_held_against_the_first() {
    let btrfs: Variant = (&[("variant", "btrfs")], 1.001);
    let variants = [EXT4, btrfs, (&[("variant", "xfs")], 0.9)];
    let mut result = file_systems(&variants, |factor, _, before| {
        1000.0 * factor + f64::from(before.pow(2) % 7) * 2.0
    });
    let text = outline(&result);
    let text = flat(&text);
    says(
        &text,
        &[
            "Variants against ext4",
            "btrfs against ext4. Throughput: equivalent (within ±2 %).",
            "xfs against ext4. Throughput: slower by 9.96 %.",
            "dyno compare RESULT --base 'ext4' --new NAME",
            "name metric ext4 variant change % verdict",
        ],
    );
    result
        .trials
        .retain(|trial| trial.setup.planned.point["variant"] == "ext4".into());
    assert!(!outline(&result).contains("against ext4"));
}

/// Trials of each of three variants at two points, which ran in another order than the study's.
fn out_of_order(repeats: u32) -> RunResult {
    const NAMES: [&str; 3] = ["plain", "checksum off", "RAID 5"];
    let points =
        NAMES.map(|name| ["1", "8"].map(|threads| [("variant", name), ("load.threads", threads)]));
    let mut trials = Vec::new();
    let mut places = Vec::new();
    for repeat in 1..=repeats {
        for (variant, factor) in [(2, 0.5), (0, 1.0), (1, 0.8)] {
            let luck = 1.0 + f64::from(repeat) * 0.01;
            for (threads, tps) in [(0, 1000.0), (1, 4000.0)] {
                let tps = tps * factor * luck;
                trials.push((&points[variant][threads][..], repeat, tps, 16_000.0 / tps));
                places.push((2 * variant + threads) as u32);
            }
        }
    }
    let mut result = made("Policies", &trials);
    for (trial, place) in result.trials.iter_mut().zip(places) {
        trial.setup.planned.place = place;
    }
    let columns = ["tps", "tps.change_pct", "response_ms.mean.change_pct"];
    result.design.tables = ["variant", "load.threads"]
        .map(|rows| Table {
            rows: rows.into(),
            columns: columns.map(str::to_owned).to_vec(),
        })
        .to_vec();
    result
}

#[test]
fn the_first_variant_of_the_study_is_the_base_whichever_ran_first() {
    let result = out_of_order(2);
    let names = ["plain", "checksum off", "RAID 5"];
    assert_eq!(report::variants(&result), names);
    let text = outline(&result);
    assert!(text.contains("Variants against plain"), "{text}");
    let csv = report::csv::tables(&result);
    let first: Vec<&str> = csv
        .lines()
        .filter(|line| line.starts_with("1,threads=1,") && line.contains(",tps,"))
        .map(|line| line.split(',').nth(3).unwrap())
        .collect();
    assert_eq!(first, names);
}

/// The warnings and failures of a third variant do not concern them.
#[test]
fn two_of_several_variants_have_their_own_cautions() {
    let mut result = out_of_order(2);
    for trial in &mut result.trials {
        match trial.setup.planned.variant() {
            Some("plain") => trial.warnings = vec![Warning::NoWarmup],
            Some("RAID 5") if trial.setup.planned.repeat == 2 => {
                let reason = "no memory".to_owned();
                trial.outcome = Outcome::Failed { reason };
            }
            Some("RAID 5") => trial.warnings = vec![Warning::Reconnects { count: 2 }],
            _ => {}
        }
    }
    let variant = |name| Side {
        variant: Some(name),
        ..side(name, &result)
    };
    let caution = "4 of 8 trials have warnings: no warm-up (4).";
    let both = ResultComparison::of(&variant("plain"), &variant("checksum off"), &[]);
    let text = unwrapped(&both);
    assert!(
        text.contains(caution) && !text.contains("no memory"),
        "{text}"
    );
    let both = ResultComparison::of(&variant("plain"), &variant("RAID 5"), &[]);
    assert!(unwrapped(&both).contains("no memory"));
}

/// Nothing is tested, so one sentence says why, and one table has the changes.
#[test]
fn variants_that_ran_once_say_once_what_is_missing_for_verdicts() {
    let result = out_of_order(1);
    let summary = report::summary::sheet(&result, false).text(report::text::Layout::DEFAULT);
    assert_eq!(summary.to_lowercase().matches("single run").count(), 1);
    for text in [outline(&result), summary] {
        let words = flat(&text);
        let said = "No verdict from a single run: at least 5 repeats of each needed.";
        assert_eq!(words.matches(said).count(), 1, "{text}");
        assert!(
            words.contains("change %") && words.contains("-50.00"),
            "{text}"
        );
    }
}

/// In tables by variant as well as in those with the variants side by side.
#[test]
fn a_table_shows_changes_against_the_first_variant() {
    let csv = report::csv::tables(&out_of_order(4));
    let cell = |begin: &str| -> Vec<f64> {
        let line = csv.lines().find(|line| line.starts_with(begin));
        let line = line.unwrap_or_else(|| panic!("{begin}\n{csv}"));
        let cells = line[begin.len()..].split(',').take(4);
        cells.filter_map(|cell| cell.parse().ok()).collect()
    };
    for (begin, change) in [
        ("2,threads=8,variant,RAID 5,,tps.change_pct,", -50.0),
        ("3,,load.threads,1,checksum off,tps.change_pct,", -20.0),
        (
            "3,,load.threads,8,RAID 5,response_ms.mean.change_pct,",
            100.0,
        ),
    ] {
        let [value, low, high] = cell(begin)[..] else {
            panic!("{begin}\n{csv}")
        };
        assert!((value - change).abs() < 1e-6, "{begin}{value}");
        assert!(value - low < 1e-6 && high - value < 1e-6, "{begin}{low}");
    }
    let text = outline(&out_of_order(4));
    assert!(text.contains("-50.00 (-50.00 to -50.00)"), "{text}");
    let of_two = outline(&out_of_order(2));
    let tables = of_two.split_once("Variants against").unwrap().0;
    assert!(!tables.contains("-50.00 ("), "{of_two}");
    assert!(tables.contains("507.5 (505.0–510.0)"), "{of_two}");
    let none = cell("2,threads=8,variant,plain,,tps.change_pct,");
    assert!(none.is_empty(), "{csv}");
}

/// Two runs that differ fourfold: Student's interval would reach from nothing to millions.
#[test]
fn two_wild_runs_are_undecided_without_an_interval() {
    let mut result = out_of_order(2);
    for trial in &mut result.trials {
        let luck = if trial.setup.planned.repeat == 1 {
            0.25
        } else {
            1.0
        };
        if trial.setup.planned.variant() == Some("RAID 5") {
            trial.transactions.per_s.as_mut().unwrap().value *= luck;
        }
    }
    let text = outline(&result);
    let line = text
        .lines()
        .find(|line| line.starts_with("RAID 5        threads=1  tps"));
    let line = line.unwrap();
    assert!(line.contains("undecided") && !line.contains('('), "{line}");
}

/// Clusters with different failure detectors, in one row per variant and side by side.
#[test]
fn tables_say_how_each_cluster_notices_and_acknowledges() {
    let mut result = out_of_order(1);
    let fault = r#"{"at": "5s", "kind": "kill", "target": "primary"}"#;
    for trial in &mut result.trials {
        let variant = trial.setup.planned.point.get("variant").cloned();
        let variant = variant.unwrap().to_string();
        let text = format!(
            r#"{{"kind": "{variant}", "members": 3, "detector": "{variant}, 5 s", "acknowledged": "disk"}}"#
        );
        let topology = &mut trial.setup.planned.topology;
        topology.cluster = serde_json::from_str(&text).unwrap();
        topology.faults = vec![serde_json::from_str(fault).unwrap()];
    }
    let report = report_of(&result);
    let text = report.markdown();
    let rows: Vec<&str> = text.lines().collect();
    let heads = rows.iter().filter(|row| row.contains("noticed by"));
    assert!(heads.clone().count() >= 2, "{text}");
    assert!(
        heads.clone().all(|row| row.contains("acknowledged on")),
        "{text}"
    );
    assert!(text.contains("| RAID 5, 5 s | disk |"), "{text}");
    says(
        &text,
        &["plain: plain, 5 s; checksum off: checksum off, 5 s; RAID 5: RAID 5, 5 s | disk |"],
    );
}

//! The texts and the page, on results made without a server.
//!
//! `UPDATE_GOLDEN=1 cargo test -p report` writes the golden files anew;
//! `REPORT_OUT=FILE` keeps the page, to be looked at.

use crate::common::scale_up::{STUDY, incomplete};
use crate::common::{self, flat, golden, outline, report_of, says};
use measure::change_point::LevelChange;
use measure::fault::{FaultRecord, Loss, Recovery};
use measure::ledger::LedgerSummary;
use measure::setup::Outcome;
use measure::slice::Phase;
use measure::threshold::{Baseline, Threshold, ThresholdResult, ThresholdVerdict, judge};
use measure::warning::Warning;
use plan::{FaultKind, Point};
use report::thresholds::sentences;
use report::{Answer, Report};

#[test]
fn text_of_one_trial() {
    golden("trial.txt", &outline(&common::study(&[24]).0));
}

#[test]
fn text_of_a_study() {
    golden("study.txt", &outline(&incomplete().result));
}

#[test]
fn markdown_of_a_study() {
    let left = incomplete();
    let report = Report {
        study: Some(STUDY.to_owned()),
        ..report_of(&left.result)
    };
    golden("study.md", &report.markdown());
}

#[test]
fn csv_of_a_study() {
    let result = incomplete().result;
    golden("results.csv", &report::csv::results(&result));
    golden("tables.csv", &report::csv::tables(&result));
}

/// A study with thresholds: met, missed, without a number, without a baseline.
fn verdict() -> measure::result::RunResult {
    let (mut result, _) = common::study(&[1, 8]);
    let thresholds = [
        "tps > 10",
        "response_ms.p99 < 0.001",
        "cpu.user < 50",
        "tps >= 1.5 * baseline",
    ];
    let thresholds = thresholds.map(|text| Threshold::parse_line(text).unwrap());
    let mut base = result.clone();
    base.trials.truncate(1);
    result.thresholds = judge(&thresholds, &result.trials, Baseline::Trials(&base.trials));
    result
}

#[test]
fn thresholds_are_in_every_form_of_the_report() {
    let result = verdict();
    let text = outline(&result);
    let (_, thresholds) = text.split_once("\nThresholds\n").unwrap();
    let (thresholds, _) = thresholds.split_once("\nWarnings\n").unwrap();
    golden("thresholds.txt", thresholds);
    golden("junit.xml", &report::junit::xml(&result).unwrap());
    let report = report_of(&result);
    for text in [outline(&result), report.markdown(), report.html().unwrap()] {
        says(&text, &["5 of 8 thresholds were missed, 1 is undecided"]);
        assert!(text.contains("the baseline has no such point"), "{text}");
    }
    let (without, _) = common::study(&[1]);
    assert!(!outline(&without).contains("Thresholds"));
    assert_eq!(report::junit::xml(&without), None);
}

/// With both numbers' intervals, wherever a verdict is read.
#[test]
fn a_verdict_that_is_not_sure_is_marked_in_every_form() {
    let (mut result, _) = common::study(&[8]);
    let trial = &mut result.trials[0];
    let tps = trial.transactions.per_s.unwrap();
    let limit = tps.value + tps.half_width.unwrap() / 2.0;
    trial.transactions.count = 500;
    let thresholds = [
        format!("tps >= {limit}"),
        "response_ms.p99 < 1000".to_owned(),
        "response_ms.p95 < 0.001".to_owned(),
    ];
    let thresholds = thresholds.map(|text| Threshold::parse_line(&text).unwrap());
    result.thresholds = judge(&thresholds, &result.trials, Baseline::None);
    let report = report_of(&result);
    let range = result.thresholds[2].range.unwrap();
    for text in [outline(&result), report.markdown(), report.html().unwrap()] {
        let one_line = flat(&text);
        says(
            &one_line,
            &[
                "1 of 3 thresholds were missed, 1 is undecided: the limit is within the confidence \
             interval",
                "undecided, the limit is within the confidence interval",
                "met, fewer than 10 transactions were slower",
                &format!("({:.3}–{:.3})", range.low, range.high),
            ],
        );
    }
    let xml = report::junit::xml(&result).unwrap();
    says(
        &xml,
        &["tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""],
    );
    let half = tps.half_width.unwrap();
    let skipped = xml.lines().find(|line| line.contains("<skipped")).unwrap();
    says(
        skipped,
        &[
            &format!(" ± {half:.0}: &gt;= {limit} is undecided"),
            "within the confidence interval",
        ],
    );
}

/// Variants of a study are judged by the ratio within its blocks.
#[test]
fn a_paired_ratio_is_told_with_its_interval() {
    let (mut result, _) = common::study(&[8, 8, 8, 8]);
    for (at, trial) in result.trials.iter_mut().enumerate() {
        let variant = ["base", "new"][at % 2].to_owned();
        trial.setup.planned.point = Point::from_iter([("variant", variant.as_str())]);
        trial.setup.planned.repeat = 1 + at as u32 / 2;
        let tps = [100.0, 99.0, 200.0, 201.0][at];
        trial.transactions.per_s.as_mut().unwrap().value = tps;
    }
    let threshold = Threshold::parse_line("tps >= baseline").unwrap();
    result.thresholds = judge(&[threshold], &result.trials, Baseline::Variant("base"));
    let told = sentences(&result, ThresholdResult::is_undecided);
    let [told] = told.as_slice() else {
        panic!("{told:?}")
    };
    says(told, &["99.7 % of the limit (90.7–109.7 %) over 2 pairs"]);
    let missed = sentences(&result, ThresholdResult::is_missed);
    assert_eq!(missed, [""; 0]);
}

#[test]
fn hostile_words_stay_in_their_xml() {
    let mut result = verdict();
    let bad = "]]></testcase><x a='\"&\u{1}";
    result.title = bad.into();
    result.thresholds[0].point = Point::from_iter([(bad, bad)]);
    result.thresholds[3].verdict = ThresholdVerdict::NoBaseline { reason: bad.into() };
    let xml = report::junit::xml(&result).unwrap();
    assert_eq!(xml.matches("</testcase>").count(), 6, "{xml}");
    assert!(!xml.contains("<x") && !xml.contains('\u{1}'), "{xml}");
}

/// In the warnings with its time, and in the figure of the trial's seconds.
#[test]
fn a_change_of_level_is_told_and_marked() {
    let (mut result, series) = common::study(&[8]);
    let changes = vec![LevelChange {
        at_s: 43.0,
        before_per_s: 812.0,
        after_per_s: 640.0,
    }];
    result.trials[0]
        .warnings
        .push(Warning::LevelChanged { changes });
    let report = Report {
        series,
        ..report_of(&result)
    };
    let html = report.html().unwrap();
    assert!(html.contains("\"changes\":[[43.0,812.0,640.0]]"));
    for text in [html, outline(&result)] {
        assert!(text.contains("43 s from 812 to 640"), "{text}");
    }
}

#[test]
fn a_page_needs_no_network() {
    let (result, series) = common::study(&[1, 2, 4, 8, 16, 24]);
    let report = Report {
        series,
        study: Some("title = \"How many?\"\n".to_owned()),
        ..report_of(&result)
    };
    let html = report.html().unwrap();
    if let Some(path) = std::env::var_os("REPORT_OUT") {
        std::fs::write(path, &html).unwrap();
    }
    let lower = html.to_lowercase();
    for request in ["<link", "<iframe", "<img", " src=\"", "@import", "url("] {
        let (before, after) = lower.split_at(lower.find("id=\"overview\"").unwrap());
        assert!(!before.contains(request), "{request}");
        assert!(!after[..1000].contains(request), "{request}");
    }
    assert!(
        html.contains("default-src &#39;none&#39;")
            || html.contains("default-src &#x27;none&#x27;"),
        "{}",
        &html[..600]
    );
    assert!(html.contains("id=\"sweep-tps\"") && html.contains("id=\"series-6\""));
}

#[test]
fn figures_offer_no_upload() {
    let charts = include_str!("../../assets/figure.js");
    assert!(charts.contains("showSendToCloud: false") && charts.contains("plotlyServerURL: \"\""));
}

#[test]
fn one_trial_has_no_sweep_figure() {
    let (result, series) = common::study(&[8]);
    let report = Report {
        series,
        ..report_of(&result)
    };
    let html = report.html().unwrap();
    assert!(!html.contains("id=\"sweep-tps\"") && html.contains("id=\"curves\""));
}

#[test]
fn no_trial_at_all_is_said() {
    let (mut result, _) = common::study(&[1]);
    result.trials.clear();
    let report = report_of(&result);
    assert!(
        report
            .html()
            .unwrap()
            .contains("No trial has finished yet.")
    );
}

#[test]
fn hostile_words_are_inert() {
    let bad = "</script><img src=x onerror=alert(1)>\u{2028}'\"--><!--";
    let (mut result, series) = common::study(&[8, 16]);
    result.title = bad.into();
    result.question = Some(bad.into());
    result.environment.command = bad.into();
    let trial = &mut result.trials[0];
    trial.setup.planned.label = bad.into();
    trial.setup.planned.point = Point::from_iter([(bad, bad)]);
    trial.errors[0].example = bad.into();
    trial.setup.engine = bad.into();
    trial.by_statement[0].name = bad.into();
    trial.outcome = Outcome::Stopped { error: bad.into() };
    let report = Report {
        series,
        study: Some(bad.to_owned()),
        ..report_of(&result)
    };
    let html = report.html().unwrap();
    assert!(!html.contains("<img"));
    // The overview, two trials, the library and our own.
    assert_eq!(html.matches("</script>").count(), 5);
    let json = html.split_once("id=\"overview\">").unwrap().1;
    let json = json.split_once("</script>").unwrap().0;
    assert!(!json.contains(['<', '>', '\u{2028}']));
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    let name = data["curves"][0]["name"].as_str().unwrap();
    assert!(name.starts_with(bad), "{name}");
}

#[test]
fn too_many_points_are_thinned_and_it_is_said() {
    let (result, series) = common::study(&[1]);
    let mut long = Vec::new();
    for number in 0..200_010_u32 {
        let mut point = series[0][20].clone();
        point.t_s = f64::from(number);
        point.phase = Phase::Measure;
        point.tps = Some(if number == 777 { 0.0 } else { 100.0 });
        long.push(point);
    }
    let report = Report {
        series: vec![long],
        ..report_of(&result)
    };
    let html = report.html().unwrap();
    assert!(html.contains("200,010 seconds") && html.contains("up to 2 seconds"));
}

/// What the report says of these ledgers, above everything else.
fn said_of_ledgers(trials: &[&[LedgerSummary]]) -> String {
    let threads: Vec<u32> = (1..).take(trials.len()).collect();
    let (mut result, _) = common::study(&threads);
    for (trial, ledgers) in result.trials.iter_mut().zip(trials) {
        trial.ledgers = ledgers.to_vec();
    }
    outline(&result)
}

#[test]
fn the_first_sentence_is_about_acknowledged_commits() {
    let ledger = |acknowledged, lost, phantom| LedgerSummary {
        acknowledged,
        lost,
        phantom,
        checked: vec![1, 2, 3],
        ..LedgerSummary::default()
    };
    let intact = || ledger(1482, 0, 0);
    let lossy = || LedgerSummary {
        diverged: 1,
        examples: vec!["transfer 5 of user 1 is missing on member 2".to_owned()],
        ..ledger(1482, 7, 2)
    };
    let checked = |checked: &[u32], unchecked| LedgerSummary {
        checked: checked.to_vec(),
        unchecked: vec![(unchecked, "it is down".to_owned())],
        ..intact()
    };
    let cases: [(&[&[LedgerSummary]], &str); 10] = [
        (
            &[&[ledger(1482, 0, 2)]],
            "No acknowledged commit was lost: 1,482 transfers checked on 3 members. \
             Transfers present though they failed or were never made: 2. ",
        ),
        (
            &[&[ledger(0, 0, 0)]],
            "No transfer was acknowledged, so the ledger proves nothing. ",
        ),
        (
            &[&[intact()], &[checked(&[], 1)]],
            "No acknowledged commit was lost: 1,482 transfers checked on 3 members. \
             1 of 2 ledgers could not be checked. ",
        ),
        (
            &[&[ledger(1482, 7, 0)]],
            "LOST: 7 of 1,482 acknowledged transfers are missing on the primary. ",
        ),
        (
            &[&[checked(&[1], 2)]],
            "No acknowledged commit was lost: 1,482 transfers checked on 1 member. \
             1 member could not be checked. ",
        ),
        (
            &[&[intact()]],
            "No acknowledged commit was lost: 1,482 transfers checked on 3 members. ",
        ),
        (
            &[&[intact()], &[], &[intact()]],
            "No acknowledged commit was lost: 2,964 transfers checked in 2 trials. ",
        ),
        (
            &[&[lossy()]],
            "LOST: 7 of 1,482 acknowledged transfers are missing on the primary. \
             Transfers present though they failed or were never made: 2. \
             Members that differ from the primary: 1. ",
        ),
        (
            &[&[intact()], &[lossy()]],
            "LOST: 7 of 2,964 acknowledged transfers are missing on the primary in 1 of 2 trials. ",
        ),
        (&[&[checked(&[], 1)]], "The ledger could not be checked. "),
    ];
    for (trials, words) in cases {
        let said = flat(&said_of_ledgers(trials));
        assert!(said.contains(words), "{said}");
        let unsure = words.contains("ledger could") || words.contains("ledgers could");
        assert_eq!(said.contains("server 1 not checked: it is down"), unsure);
        let shown = said.contains("transfer 5 of user 1 is missing on member 2");
        let has_example = trials.iter().copied().flatten().any(|one| one.diverged > 0);
        assert_eq!(shown, has_example, "{said}");
    }
    assert!(!said_of_ledgers(&[&[]]).contains("edger"));
}

/// A kill of the primary of which the first write and the throughput are back after these times.
fn killed(first_write_s: Option<f64>, back_s: f64) -> FaultRecord {
    let recovery = Recovery {
        first_write_s,
        back_s: Some(back_s),
        lost_transactions: Some(1200.0),
        window_s: 40.0,
        censored: match first_write_s {
            Some(_) => Vec::new(),
            None => vec!["recovery.first_write_s".to_owned()],
        },
        unavailable_s: Some(back_s / 4.0),
        two_primaries_s: Some(back_s / 8.0),
        p99_during_ms: Some(12.5),
        loss: Some(Loss {
            exposed_10_ms: 3,
            ..Loss::default()
        }),
        ..Recovery::default()
    };
    FaultRecord {
        number: 1,
        kind: FaultKind::Kill,
        target: "primary".to_owned(),
        instance: 1,
        step: 0,
        node: Some(2),
        asked_s: 20.0,
        effect_s: Some(20.001),
        heal_asked_s: None,
        healed_s: None,
        error: None,
        volume: plan::FaultVolume::Data,
        device: None,
        crash: None,
        scrub: None,
        promotion: None,
        recovery: Some(recovery),
    }
}

#[test]
fn that_nothing_was_lost_says_how_little_it_proves() {
    let (mut result, _) = common::study(&[8, 8, 8]);
    for trial in &mut result.trials {
        trial.ledgers = vec![LedgerSummary {
            acknowledged: 100,
            checked: vec![1, 2],
            ..LedgerSummary::default()
        }];
        trial.faults = vec![killed(Some(1.0), 2.0)];
    }
    let said = outline(&result);
    let said = flat(&said);
    let words = "None of 3 faults of the primary lost one, so at most 63.2 % of such faults do \
                 (95 % confidence); 9 were acknowledged in the last 10 ms before.";
    assert!(said.contains(words), "{said}");
}

#[test]
fn the_lead_tells_the_recovery_and_repeats_have_one_name() {
    let (mut result, _) = common::study(&[8, 8, 8]);
    let writes = [Some(1.25), None, Some(1.5)];
    for ((number, trial), write_s) in (1..).zip(&mut result.trials).zip(writes) {
        let planned = &mut trial.setup.planned;
        (planned.number, planned.repeat) = (number, number);
        (planned.point, planned.label) = (Point::default(), format!("repeat {number}"));
        trial.setup.directory = Some("/data".to_owned());
        trial.faults = vec![killed(write_s, 2.0 * f64::from(number))];
    }
    result.design.repeats = 3;
    result.trials[1].warnings = vec![Warning::Reconnects { count: 2 }];
    let cluster = serde_json::from_str(r#"{"kind": "galera", "members": 3}"#).unwrap();
    result.trials[0].setup.planned.topology.cluster = Some(cluster);
    let report = report_of(&result);
    let page = report.markdown().replace("\\>", ">");
    let lead = "TWO PRIMARIES accepted writes at once for 0.750 s after kill of server 2 (primary), \
                and after 2 other faults. \
                Recovery (kill of primary): first write after 1.500 (1.250–> 40.000) s in 2 of 3 repeats, \
                throughput back after 4.000 (2.000–6.000) s, no writes for 1.000 (0.500–1.500) s in all.";
    assert!(page.contains(lead), "{page}");
    let row = "| kill of primary | first write, s | 2 of 3 | 1.500 | 1.250 | > 40.00 | 1.250, 1.500, > 40.00 |";
    assert!(page.contains(row), "{page}");
    let available = "| kill of primary | available, % | 3 of 3 | 97.50 | 96.25 | 98.75 |";
    assert!(page.contains(available), "{page}");
    let never = "| kill of primary | rejoined, s | 0 of 3 | – | – | – |  |";
    assert!(page.contains(never), "{page}");
    assert!(page.contains(" (repeat 2)\n"), "{page}");
    // A fact that only some trials have is not mixed up with another one.
    assert!(page.contains("- Cluster: galera, members: 3\n"), "{page}");
    assert!(page.contains("- CPUs per server: all\n"), "{page}");
}

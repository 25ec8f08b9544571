//! Thresholds, through the whole program: met, missed, relative to another result or
//! to a variant. No server is needed, and no limit is one of speed.

use crate::common::{Finished, Program, cases};
use measure::threshold::ThresholdVerdict;

const SMALL: &str = "--tables 1 --rows 300 --threads 2 --warmup 0s --events 40";

fn bench(thresholds: &[&str]) -> Program {
    let program = Program::bench("sqlite:").args(SMALL);
    thresholds.iter().fold(program, |program, threshold| {
        program.arg("--threshold").arg(threshold)
    })
}

fn junit(done: &Finished) -> String {
    done.file("junit.xml")
}

#[test]
fn a_missed_threshold_is_exit_code_1_and_a_failed_test_case() {
    let done = bench(&["reconnects < 1", "restarts > 1000", "errors<=0"])
        .fails(1, &["missed: restarts is ", "which is not > 1000"]);
    done.prints(&["1 of 3 thresholds were missed."]);
    let missed = done.result().thresholds.into_iter();
    let missed: Vec<bool> = missed.map(|one| one.is_missed()).collect();
    assert_eq!(missed, [false, true, false]);
    let xml = junit(&done);
    assert!(xml.contains("tests=\"3\" failures=\"1\""), "{xml}");
    // The report can be written again from what is kept.
    std::fs::remove_file(done.out().join("junit.xml")).unwrap();
    Program::new().arg("report").arg(done.out()).succeeds();
    assert_eq!(junit(&done), xml);
}

#[test]
fn kept_thresholds_are_exit_code_0_and_without_any_there_is_no_file() {
    let kept = bench(&["errors <= 0"]).succeeds();
    kept.prints(&["The threshold was met."]);
    assert!(junit(&kept).contains("failures=\"0\""));
    let none = bench(&[]).succeeds();
    assert!(!none.out().join("junit.xml").exists());
    assert!(none.result().thresholds.is_empty());
}

const STUDY: &str = r#"
title = "t"
server.engine = "sqlite"
data.rows = 200
load = { warmup = "0s", time = "1h", events = 20 }
sweep = { "load.threads" = [1, 2] }
"#;

#[test]
fn a_study_is_judged_against_the_same_points_of_another_result() {
    let base = Program::study(STUDY).args("--set sweep.load.threads=[2]");
    let base = base.succeeds();
    let text = format!("{STUDY}[thresholds]\ntps = \">= 0.000001 * baseline\"\n");
    let texts = [
        "note: the baseline has no point threads=1",
        "at threads=1, tps is",
    ];
    let program = Program::study(&text).arg("--baseline").arg(base.out());
    let done = program.fails(1, &texts);
    let verdicts = done.result().thresholds.into_iter().map(|one| one.verdict);
    let reason = "the baseline has no such point".to_owned();
    let expected = [
        ThresholdVerdict::NoBaseline { reason },
        ThresholdVerdict::Undecided,
    ];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    let other = Program::study(&text)
        .args("--set load.workload=oltp_read_only --set load.threads=2 --baseline")
        .arg(base.out());
    let said = "the baseline ran a different workload";
    let work = "load.workload oltp_read_write, here oltp_read_only";
    let before = format!("note: {said} at threads=2: {work}");
    other.fails(1, &[&before, &format!("{said}: {work}")]);
}

#[test]
fn a_baseline_of_other_transactions_is_told_before_and_after_the_run() {
    let base = bench(&[]).succeeds();
    let other = bench(&["tps >= 0.000001 * baseline"]).args("--point-selects 1 --baseline");
    let reason = "the baseline ran a different workload: transaction.point_selects 10, here 1";
    let (before, after) = (
        format!("note: {reason}"),
        format!("must be >= 0.000001 * baseline: {reason}"),
    );
    let done = other.arg(base.out()).fails(1, &[&before, &after]);
    let reason = reason.to_owned();
    let verdict = &done.result().thresholds[0].verdict;
    assert_eq!(*verdict, ThresholdVerdict::NoBaseline { reason });
}

/// A baseline of another time decides nothing.
#[test]
fn an_undecided_threshold_passes_unless_told_to_fail() {
    let base = bench(&[]).succeeds();
    let run = |undecided: &str| {
        bench(&["tps > baseline", "errors <= 0"])
            .args("--baseline")
            .arg(base.out())
            .args(undecided)
            .run()
    };
    let passed = run("").succeeds();
    let verdict = &passed.result().thresholds[0].verdict;
    assert_eq!(*verdict, ThresholdVerdict::Undecided);
    passed.prints(&["0 of 2 thresholds were missed, 1 is undecided"]);
    let xml = junit(&passed);
    let counts = "tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\"";
    assert!(xml.contains(counts), "{xml}");
    assert!(xml.contains("<skipped message=\"tps is "), "{xml}");
    let failed = run("--undecided fail").fails(1, &["is undecided", "--undecided pass"]);
    assert!(junit(&failed).contains("skipped=\"1\""));
}

/// Of repeats that of their mean, in the report, on the terminal and for machines.
#[test]
fn a_number_is_judged_with_its_interval() {
    let text = format!("{STUDY}[thresholds]\ntps = \"< -1e9\"\n\"response_ms.p99\" = \"< 1e9\"\n");
    let done = Program::study(&text)
        .args("--set load.repeats=2 --set sweep.load.threads=[1] --verbose")
        .fails(1, &["tps is ", " ± "]);
    assert!(junit(&done).contains(" ± "), "{}", junit(&done));
    let json: serde_json::Value = serde_json::from_str(&done.file("result.json")).unwrap();
    let [tps, p99] = [0, 1].map(|at| &json["thresholds"][at]);
    assert!(tps["half_width"].as_f64().unwrap() > 0.0, "{json}");
    // Nobody knows the 99th percentile of 20 transactions.
    assert_eq!(p99["caveats"], serde_json::json!(["few_slower"]));
    done.prints(&["met, fewer than 10 transactions"]);
}

#[test]
fn a_variant_can_be_the_baseline_of_the_others() {
    let text = format!(
        "{STUDY}[thresholds]\ntps = \">= 1000000 * baseline\"\nerrors = \"<= 0\"\nbaseline = \"few\"\n\
         [[variant]]\nname = \"few\"\n[[variant]]\nname = \"more\"\ndata.rows = 250\n"
    );
    let done = Program::study(&text)
        .args("--set load.repeats=4")
        .fails(1, &["at more, threads=1, tps is"]);
    let thresholds = done.result().thresholds;
    let missed = thresholds.iter().filter(|j| j.is_missed());
    assert_eq!((thresholds.len(), missed.count()), (6, 2));
    let xml = junit(&done);
    assert!(xml.contains("classname=\"more, threads=2\""), "{xml}");
}

#[test]
fn a_study_says_where_a_threshold_is_wrong() {
    let wrong = "
        tsp = '> 5' => did you mean `tps`?
        tps = 'about 5' => has no comparison operator
        tps = '> 5'; baseline = 'few' => there is no variant `few`
        tps = '>= baseline' => no baseline given
        tps.change_pct = '> -5'; [[variant]]; name = 'few' => on the change of `tps`";
    for (lines, mut texts) in cases(wrong) {
        texts.push("study.toml:");
        let text = format!("{STUDY}[thresholds]\n{}\n", lines.replace("; ", "\n"));
        let done = Program::study(&text).fails(2, &texts);
        assert!(!done.out().exists());
    }
}

#[test]
fn what_ended_a_run_says_more_than_a_threshold() {
    let mut running = Program::bench("sqlite:")
        .args("--tables 1 --rows 300 --threads 1 --warmup 0s --time 1h")
        .arg("--threshold")
        .arg("errors < 0")
        .start();
    running.says("  measure  ");
    running.signal(rustix::process::Signal::INT);
    let done = running.wait().fails(4, &["interrupted"]);
    assert!(junit(&done).contains("failures=\"1\""));
}

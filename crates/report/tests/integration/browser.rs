//! The page in a real browser: figures are drawn, numbers are the CSV's, the console
//! is clean, a keyboard reaches everything, nothing overflows.
//!
//! `REPORT_OUT=DIR cargo test -p report --test integration browser` keeps the pages there, with
//! pictures of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::made::{Made, made};
use crate::common::scale_up::{Left, incomplete, scale_up, with_variants};
use crate::common::search::{FOUND, searched};
use crate::common::{self, report_of, set};
use measure::fault::Recovery;
use measure::instance::{NodeEvent, NodeEventKind};
use measure::recovery::FaultSeries;
use measure::result::RunResult;
use measure::series::SeriesPoint;
use measure::slice::Phase;
use report::{Answer, Report};

/// Writes the page of a study and its twins.
fn write(dir: &Path, name: &str, left: &Left) {
    write_report(dir, name, &left.report());
}

fn write_report(dir: &Path, name: &str, report: &Report<'_>) {
    let dir = dir.join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let keep = |file: &str, text: &str| std::fs::write(dir.join(file), text).unwrap();
    keep("report.html", &report.html().unwrap());
    keep("report.md", &report.markdown());
    keep("results.csv", &report::csv::results(report.result));
    keep("tables.csv", &report::csv::tables(report.result));
}

/// A study whose every word is an attempt to be more than a word.
fn hostile() -> Left {
    let bad = || {
        let script = "</script><script>hacked = 1</script>";
        format!("<img src=x onerror=\"hacked = 1\">{script}<b>bold</b> %{{y}} ${{x}}")
    };
    let mut left = incomplete();
    let result = &mut left.result;
    result.title = bad();
    result.description = Some(bad());
    result.environment.hostname = Some(bad());
    result.environment.command = bad();
    result.design.axes = vec![bad(), "topology.instances".into()];
    for trial in &mut result.trials {
        set(trial, &bad(), bad().as_str());
        trial.errors[0].example = bad();
        trial.instances[0].settings[0] = (bad(), bad());
        if let Some(verdict) = &mut trial.verdict {
            verdict.evidence = bad();
        }
    }
    left
}

/// Two repeats of each point, one of them twenty times as fast as the other.
fn few() -> Left {
    apart(scale_up(2))
}

/// Four, whose interval is wider than their mean.
fn apart(mut left: Left) -> Left {
    for trial in &mut left.result.trials {
        let slow = trial.setup.planned.repeat > 1;
        let factor = if slow { 0.05 } else { 1.0 };
        trial.transactions.per_s.as_mut().unwrap().value *= factor;
        trial.response_ms.as_mut().unwrap().mean.value /= factor;
    }
    left
}

/// Something happened in the last second.
fn failed() -> Left {
    let mut left = single();
    left.result.trials[0].events = vec![NodeEvent {
        at_s: 69.0,
        node: 1,
        what: NodeEventKind::BecamePrimary,
        reason: String::new(),
    }];
    left
}

/// One transaction took a hundred times as long as the others.
fn outlier() -> Left {
    let mut left = single();
    for trial in &mut left.result.trials {
        let longest = trial.response_curve.last_mut().unwrap();
        longest.ms *= 100.0;
    }
    left
}

/// The measurement ends with 12 ms in which hardly anything ended, and so does the drain.
fn partial() -> Left {
    let mut left = single();
    for points in &mut left.series {
        let at = points.iter().position(|p| p.phase == Phase::Drain).unwrap();
        let last = points[at - 1].clone();
        let rest = SeriesPoint {
            t_s: last.t_s + last.seconds,
            seconds: 0.012,
            tps: Some(33.0),
            ..last
        };
        points[at].seconds = 0.02;
        points[at].tps = Some(50.0);
        points.insert(at, rest);
    }
    left
}

/// Three repeats of one variant, with outages of 1 to 3 s, the last of which ended early; one of the other.
fn failovers() -> (RunResult, Vec<Vec<FaultSeries>>) {
    let variants: [&[(&str, &str)]; 2] = [&[("variant", "async")], &[("variant", "galera")]];
    let trials: [Made<'_>; 4] = [
        (variants[0], 1, 1000.0, 16.0),
        (variants[1], 1, 800.0, 20.0),
        (variants[0], 2, 1000.0, 16.0),
        (variants[0], 3, 1000.0, 16.0),
    ];
    let mut result = made("Failover", &trials);
    let fault = serde_json::json!({
        "number": 1, "kind": "kill", "target": "primary", "instance": 1, "node": 1, "asked_s": 20.0,
        "effect_s": 20.25,
    });
    let loads = [(250, 1, 10), (200, 1, 10), (250, 2, 10), (250, 3, 4)];
    let all = result.trials.iter_mut().zip(loads);
    let all = all.map(|(trial, (completed, outage_s, until_s))| {
        trial.faults = vec![serde_json::from_value(fault.clone()).unwrap()];
        trial.faults[0].recovery = Some(Recovery {
            window_s: f64::from(until_s),
            back_s: Some(f64::from(outage_s)),
            ..Recovery::default()
        });
        let quarters = -20..=4 * until_s;
        let is_out = |quarter: &i32| (1..=4 * outage_s).contains(quarter);
        let ends_s = quarters
            .clone()
            .map(|quarter| 20.25 + 0.25 * f64::from(quarter));
        let completed = quarters.map(|quarter| if is_out(&quarter) { 0 } else { completed });
        vec![FaultSeries {
            fault: 1,
            instance: 1,
            t_s: ends_s.collect(),
            completed: completed.collect(),
            ..FaultSeries::default()
        }]
    });
    let all = all.collect();
    (result, all)
}

fn single() -> Left {
    let (result, series) = common::study(&[8]);
    let monitors = Vec::new();
    Left {
        result,
        series,
        monitors,
    }
}

#[test]
fn the_page_in_a_browser() {
    let browser = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser");
    let installed = browser.join("node_modules/playwright-core").is_dir();
    assert!(
        installed && Path::new("/usr/bin/chromium").exists(),
        "this test needs a browser: run scripts/install-browser.sh"
    );
    let scratch = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("REPORT_OUT").map(PathBuf::from);
    let pages = kept.clone().unwrap_or_else(|| scratch.path().join("pages"));
    write(&pages, "whole", &scale_up(4));
    write(&pages, "few", &few());
    write(&pages, "apart", &apart(scale_up(4)));
    write(&pages, "failed", &failed());
    write(&pages, "incomplete", &incomplete());
    write(&pages, "variants", &with_variants());
    write(&pages, "search", &searched(&[("1000", FOUND)]));
    write(&pages, "hundred", &scale_up(13));
    write(&pages, "hostile", &hostile());
    write(&pages, "outlier", &outlier());
    write(&pages, "partial", &partial());
    write(&pages, "single", &single());
    let (result, faults) = failovers();
    let report = Report {
        faults,
        ..report_of(&result)
    };
    write_report(&pages, "faults", &report);

    // The browser hangs on node and node on this process: neither outlives the test.
    // What they leave in the temporary directory goes with it.
    let mut node = Command::new("setpriv");
    node.args(["--pdeathsig", "KILL", "node", "check.mjs"])
        .arg(&pages)
        .current_dir(&browser)
        .env("TMPDIR", scratch.path())
        .stdin(Stdio::null());
    if kept.is_some() {
        node.env("SCREENSHOTS", "1");
    }
    let output = node.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(output.status.success(), "{said}{wrong}");
}

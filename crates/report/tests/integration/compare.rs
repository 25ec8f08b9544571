//! The numbers and verdicts of one side against another, on results made without a server: those
//! of the virtualization paper.

use crate::common::platforms::{column, compare, platform, study, unwrapped, variants};
use crate::common::{golden, json, says, set};
use report::Answer;
use report::text::Layout;

#[test]
fn variants_of_a_study_have_verdicts() {
    let study = study(5);
    let both = variants(&study);
    golden("compare.txt", &both.text(Layout::DEFAULT));
    let text = both.text(Layout::DEFAULT);
    let row = |name: &str| -> Vec<&str> {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        let cells = line[name.len()..].split("  ").map(str::trim);
        let cells = cells.filter(|cell| !cell.is_empty());
        cells.map(|cell| cell.split(" ±").next().unwrap()).collect()
    };
    assert_eq!(row("threads "), ["4", "8", "16", "32"]);
    assert_eq!(row("HW tps "), ["320.0", "330.0", "329.0", "324.0"]);
    assert_eq!(row("VM tps "), ["305.0", "316.0", "313.0", "305.0"]);
    assert_eq!(row("tps change % "), ["-4.69", "-4.24", "-4.86", "-5.86"]);
    assert_eq!(
        row("response mean change % "),
        ["+2.63", "+3.85", "+7.89", "+4.72"]
    );
    // One sign convention, unless the study asks for the paper's.
    assert!(!text.contains("delta"), "{text}");
    let words = unwrapped(&both);
    says(
        &words,
        &[
            "Throughput: slower at 4 of 4 points by 4.24 to 5.86 %; -4.92 % (",
            "95th percentile: slower at 4 of 4 points by 2.63 to 7.89 %",
            "dyno recorded no other differences.",
        ],
    );
    // In a closed loop it is the same number as the throughput.
    assert!(!words.contains("Mean response time:"), "{text}");
    let decisions = column(&both, "decision");
    assert_eq!(decisions[..4], ["slower", "no_verdict", "slower", "slower"]);
    // Four points first, then eight percentiles: the smallest p at the strictest level.
    let levels = column(&both, "confidence");
    let level = |of: &str| -> f64 { of.parse().unwrap() };
    assert!(levels.iter().all(|of| level(of) >= 0.95), "{levels:?}");
    assert!(levels.iter().any(|of| level(of) > 0.993), "{levels:?}");
    let markdown = both.markdown();
    says(&markdown, &["| threads | 4 | 8 | 16 | 32 |"]);
    let csv = both.csv();
    assert!(csv.contains("\r\n4,tps,320,"), "{csv}");
    let html = both.html().unwrap();
    says(
        &html,
        &[
            "id=\"sweep-tps\"",
            "id=\"sweep-ms\"",
            "id=\"curves\"",
            "tps change %",
        ],
    );
    let json = json(&both);
    assert_eq!(json["interleaved"], true);
    let found = &json["points"][0]["numbers"][0]["comparison"];
    let change = &found["change_pct"]["value"];
    assert!((change.as_f64().unwrap() + 4.6875).abs() < 1e-3, "{change}");
    assert!(found["change_pct"]["interval"]["low"].as_f64().unwrap() < -4.6875);
    assert_eq!(found["decision"]["decision"], "slower");
    assert_eq!(json["averages"][0]["points"], 4);
}

/// Two result directories: whatever they show may be the time's.
#[test]
fn results_of_different_times_get_no_verdict() {
    let both = compare(&platform(0, 5), &platform(1, 5));
    golden("compare_apart.txt", &both.text(Layout::DEFAULT));
    assert!(
        column(&both, "decision")
            .iter()
            .all(|of| of == "no_verdict")
    );
    assert!(!column(&both, "change_pct.low").contains(&String::new()));
    assert!(column(&both, "p_adjusted").iter().all(String::is_empty));
    let words = unwrapped(&both);
    says(
        &words,
        &[
            "HW and VM ran at different times, not interleaved.",
            "[[variant]]",
            "dyno run STUDY",
        ],
    );
    for verdict in ["slower", "faster", "equivalent", "undecided"] {
        assert!(!words.contains(verdict), "{verdict}\n{words}");
    }
    let json = json(&both);
    let decision = &json["points"][0]["numbers"][0]["comparison"]["decision"];
    assert_eq!(decision["reason"]["why"], "not_interleaved");
}

/// The sign of the paper, where a study names it.
#[test]
fn the_papers_own_delta_is_shown_where_a_study_asks_for_it() {
    let mut study = study(5);
    study.design.delta_as_in = Some("Virtualizing MySQL".into());
    let text = variants(&study).text(Layout::DEFAULT);
    for (name, values) in [
        ("tps change %", ["-4.69", "-4.24", "-4.86", "-5.86"]),
        (
            "tps delta % (Virtualizing MySQL)",
            ["+4.69", "+4.24", "+4.86", "+5.86"],
        ),
        (
            "response mean delta % (Virtualizing MySQL)",
            ["-2.63", "-3.85", "-7.89", "-4.72"],
        ),
    ] {
        let line = text.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name}\n{text}"));
        let cells: Vec<&str> = line[name.len()..].split_whitespace().collect();
        assert_eq!(cells, values, "{name}");
    }
}

/// In an open loop the throughput is the rate, so the response time is the test.
#[test]
fn at_a_rate_the_mean_response_time_is_tested_first() {
    let mut study = study(5);
    for trial in &mut study.trials {
        trial.setup.planned.load.rate = Some(300.0);
    }
    let both = variants(&study);
    let decisions = column(&both, "decision");
    assert_eq!(decisions[..4], ["no_verdict", "slower", "slower", "slower"]);
    let words = unwrapped(&both);
    says(&words, &["Mean response time: slower at 4 of 4"]);
    assert!(!words.contains("Throughput:"), "{words}");
    let json = json(&both);
    let reason = &json["points"][0]["numbers"][0]["comparison"]["decision"]["reason"];
    assert_eq!(reason["why"], "arrival_rate");
}

/// Points that share their blocks' noise are no independent evidence: with all of the noise
/// in the blocks of the new side, the average is no surer than a point.
#[test]
fn an_average_over_points_is_no_surer_than_their_blocks() {
    let mut study = study(5);
    for trial in &mut study.trials {
        if trial.setup.planned.point["variant"] == "VM".into() {
            let luck = [0.97, 1.03, 1.0, 0.99, 1.01][trial.setup.planned.repeat as usize - 1];
            trial.transactions.per_s.as_mut().unwrap().value *= luck;
        }
    }
    let json = json(&variants(&study));
    let width = |change: &serde_json::Value| {
        let end = |name| change["interval"][name].as_f64().unwrap();
        end("high") - end("low")
    };
    let log = &json["points"][0]["numbers"][0]["comparison"]["log_ratio"];
    let alone = 2.0 * 2.776 * 100.0 * log["error"].as_f64().unwrap();
    let average = width(&json["averages"][0]["change_pct"]);
    assert!(average > 0.9 * alone, "{average} {alone}");
}

#[test]
fn single_runs_have_a_change_and_no_verdict() {
    let study = study(1);
    let both = variants(&study);
    assert!(
        column(&both, "decision")
            .iter()
            .all(|of| of == "no_verdict")
    );
    assert!(column(&both, "change_pct.low").iter().all(String::is_empty));
    assert!(column(&both, "change_pct")[0].starts_with("-4.687"));
    let needed = column(&both, "repeats_needed");
    assert_eq!(needed[0], "5");
    let is_enough = |of: &String| of.is_empty() || of.parse::<u32>().unwrap() >= 5;
    assert!(needed.iter().all(is_enough));
    let words = unwrapped(&both);
    says(
        &words,
        &[
            "Throughput: -4.92 % on average. 95th percentile",
            "on average. No verdict from a single run: at least 5 repeats of each needed. By threads",
            "run-to-run variation is unknown",
            "tps change % -4.69 -4.24 -4.86 -5.86",
        ],
    );
    assert!(!words.contains("slower"), "{words}");
}

#[test]
fn a_percentile_of_few_transactions_is_not_compared() {
    let (mut hardware, machine) = (platform(0, 5), platform(1, 5));
    for trial in &mut hardware.trials {
        trial.transactions.count = 336;
    }
    let csv = compare(&hardware, &machine).csv();
    let of = |number: &'static str| csv.lines().filter(move |line| line.contains(number));
    assert_eq!(of("response_ms.p99").count(), 4);
    let few = |line: &str| line.contains("fewer than 10 transactions");
    assert!(of("response_ms.p99").all(few), "{csv}");
    assert!(!of("response_ms.p95").any(few), "{csv}");
}

#[test]
fn the_same_twice_is_equivalent() {
    let mut study = study(5);
    for trial in &mut study.trials {
        set(trial, "variant", "HW");
    }
    let half = study.trials.len() / 2;
    let same: Vec<_> = study.trials[..half].to_vec();
    for (trial, same) in study.trials[half..].iter_mut().zip(same) {
        *trial = same;
        set(trial, "variant", "VM");
    }
    let both = variants(&study);
    let words = unwrapped(&both);
    says(
        &words,
        &["Throughput: equivalent (within ±2 %) at 4 of 4 points; 0.00 % ("],
    );
    let decisions = column(&both, "decision");
    assert_eq!(
        decisions[..4],
        ["equivalent", "no_verdict", "equivalent", "equivalent"]
    );
}

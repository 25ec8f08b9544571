//! `dyno history` on result directories.

use crate::common::{Finished, Program, keep};
use crate::results::made::{Made, made};
use tempfile::TempDir;

/// Ten nights; from the seventh on throughput at 16 users is 8 % lower.
fn nights() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for night in 1..=10_u32 {
        let wander = f64::from(night * 7 % 5) - 2.0;
        let level = if night < 7 { 1000.0 } else { 920.0 };
        let trials = [("4", 400.0), ("16", level)].map(|(users, tps)| (users, tps + wander));
        let points = trials.map(|(users, _)| [("load.threads", users)]);
        let trials = trials.iter().zip(&points).map(|((_, tps), point)| Made {
            point,
            repeat: 1,
            tps: *tps,
            mean_ms: 10.0,
        });
        let mut result = made("Every night", &trials.collect::<Vec<_>>());
        result.environment.started = format!("2026-03-{night:02}T02:00:00Z");
        let dir = folder.path().join(format!("night-{night}"));
        keep(&dir, &result, "title = \"Every night\"\n");
    }
    folder
}

fn history(folder: &TempDir, nights: &[u32], words: &str) -> Finished {
    let mut program = Program::new().arg("history");
    for night in nights {
        let dir = folder.path().join(format!("night-{night}"));
        program = program.arg(&dir.display().to_string());
    }
    program.args(words).run()
}

#[test]
fn a_change_of_level_is_dated_however_results_are_ordered() {
    let folder = nights();
    let order = [10, 1, 3, 2, 9, 8, 4, 5, 7, 6];
    let done = history(&folder, &order, "").succeeds();
    let words = "Throughput at threads=16 fell by 8.0 %, from 1,000 to 920.0 transactions/s, \
                 starting 2026-03-07T02:00:00Z (night-7).";
    let one_line = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(words), "{}", done.shown());
    assert_eq!(
        done.stdout.matches("from here on").count(),
        1,
        "{}",
        done.shown()
    );
    let json = history(&folder, &order, "--json --point threads=16").succeeds();
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let [course] = json["courses"].as_array().unwrap().as_slice() else {
        panic!("{json}");
    };
    assert_eq!(course["changes"][0]["at"], 6);
    assert_eq!(course["entries"][6]["name"], "night-7");
}

#[test]
fn too_few_results_and_keys_that_nobody_varies_say_so() {
    let folder = nights();
    let done = history(&folder, &[7, 1, 2, 3, 8], "").succeeds();
    let one_line = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "Too few results to detect a level change: 5 of at least 6";
    assert!(one_line.contains(words), "{}", done.shown());
    history(&folder, &[1, 2], "--point topology.instances=2").fails(2, &["is not varied"]);
    history(&folder, &[1, 1], "").fails(2, &["is given twice"]);
}

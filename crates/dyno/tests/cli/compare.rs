//! `dyno compare` on result directories: the virtualisation paper's numbers.

use std::fs;
use std::path::Path;

use crate::common::{Finished, Program, keep};
use crate::results::made::{Made, made};
use measure::result::RunResult;
use plan::Point;
use tempfile::TempDir;

/// Threads; throughput and latency of hardware, then of the virtual machine.
const PAPER: [(&str, [f64; 2], [f64; 2]); 4] = [
    ("4", [320.0, 38.0], [305.0, 39.0]),
    ("8", [330.0, 52.0], [316.0, 54.0]),
    ("16", [329.0, 114.0], [313.0, 123.0]),
    ("32", [324.0, 318.0], [305.0, 333.0]),
];
const STUDY: &str = "title = \"Cost\"\n[server]\nengine = \"mariadb\"\n";

fn platform(side: usize, repeats: u32) -> RunResult {
    let mut trials = Vec::new();
    for repeat in 1..=repeats {
        let luck = 1.0 + (f64::from(repeat) - f64::from(repeats + 1) / 2.0) * 0.002;
        for (_, hardware, machine) in &PAPER {
            let [tps, mean_ms] = if side == 0 { *hardware } else { *machine };
            let (tps, mean_ms) = (tps * luck, mean_ms / luck);
            trials.push(Made {
                point: &[],
                repeat,
                tps,
                mean_ms,
            });
        }
    }
    let mut result = made("What does virtualisation cost?", &trials);
    let threads = PAPER.iter().map(|(threads, ..)| *threads).cycle();
    for (trial, threads) in result.trials.iter_mut().zip(threads) {
        trial.setup.planned.load.threads = threads.parse().unwrap();
        trial.setup.planned.point =
            Point::from([("load.threads", trial.setup.planned.load.threads)]);
    }
    result.design.axes = vec!["load.threads".into()];
    result
}

/// Both platforms, each in its directory.
fn platforms(repeats: u32) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (side, name) in ["hw", "vm"].iter().enumerate() {
        keep(&folder.path().join(name), &platform(side, repeats), STUDY);
    }
    folder
}

fn compare(folder: &Path, places: &[&str], words: &str) -> Finished {
    let mut program = Program::new().arg("compare");
    for place in places {
        program = program.arg(&folder.join(place).display().to_string());
    }
    program.args(words).run()
}

/// Whatever two directories show may be a change of the host between them.
#[test]
fn two_directories_show_a_change_and_no_verdict() {
    let folder = platforms(5);
    let done = compare(folder.path(), &["hw", "vm"], "--out out").succeeds();
    for words in [
        "hw tps",
        "vm response mean, ms",
        "-4.69",
        "+2.63",
        "hw and vm ran at different times, not",
        "[[variant]]",
    ] {
        assert!(done.stdout.contains(words), "{words}\n{}", done.shown());
    }
    let read = |name: &str| fs::read_to_string(done.out().join(name)).unwrap();
    assert!(read("compare.html").contains("id=\"curves\""));
    assert!(read("compare.md").contains("| tps change % | -4.69 |"));
    assert!(read("compare.csv").contains("4,tps,320,"));
    let json = compare(folder.path(), &["hw", "vm"], "--json").succeeds();
    assert_eq!(json.stdout.trim(), read("compare.json").trim());
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["points"].as_array().unwrap().len(), 4);
    assert_eq!(json["interleaved"], false);
    for point in json["points"].as_array().unwrap() {
        let decision = &point["numbers"][0]["comparison"]["decision"];
        assert_eq!(decision["reason"]["why"], "not_interleaved");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_with_its_reason() {
    let folder = platforms(1);
    let path = folder.path();
    let fails = |places: &[&str], words: &str, texts: &[&str]| {
        compare(path, places, words).fails(2, texts);
    };
    fails(
        &["hw", "hw"],
        "",
        &["hw is given twice", "--base and --new"],
    );
    fails(&["hw", "none"], "", &["none", "Name a result directory"]);
    fails(
        &["hw"],
        "",
        &["has no variants to compare", "dyno compare BASE NEW"],
    );
    fails(
        &["hw", "vm"],
        "--base xfs",
        &["hw has no variant xfs", "omit"],
    );

    let mut other = platform(1, 1);
    for trial in &mut other.trials {
        trial.setup.planned.data.tables = 100;
    }
    keep(&path.join("other"), &other, STUDY);
    fails(
        &["hw", "other"],
        "",
        &["ran different workloads: data.tables: 4 / 100", "--force"],
    );
    let forced = compare(path, &["hw", "other"], "--force").succeeds();
    assert!(forced.stdout.contains("-4.69"), "{}", forced.shown());

    for trial in &mut other.trials {
        trial.setup.planned.data.tables = 4;
        trial.setup.planned.point.insert(
            "load.threads".into(),
            (trial.setup.planned.load.threads * 10).into(),
        );
    }
    keep(&path.join("apart"), &other, STUDY);
    fails(
        &["hw", "apart"],
        "",
        &["hw and apart have no point in common"],
    );
}

#[test]
fn one_damaged_trial_leaves_a_comparison_of_the_others() {
    let folder = platforms(2);
    let vm = folder.path().join("vm");
    let trials = store::trial_dirs(&vm).unwrap();
    fs::write(trials[0].join("trial.json"), "{}").unwrap();
    fs::write(vm.join("result.json"), "not JSON").unwrap();
    let done = compare(folder.path(), &["hw", "vm"], "").succeeds();
    for words in ["result.json:1", "trial.json:1"] {
        assert!(done.stderr.contains(words), "{words}\n{}", done.shown());
    }
    let words = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "No verdict: not interleaved.";
    assert!(words.contains(said), "{}", done.shown());
    // Intact points still show their change.
    assert!(done.stdout.contains("-4.24"), "{}", done.shown());
}

/// Three variants of a study that sets a setting of the server in one of them.
#[test]
fn variants_of_one_result_are_chosen_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut trials = Vec::new();
    for repeat in 1..=3 {
        let luck = f64::from(repeat * repeat);
        for tps in [1000.0 + luck, 900.0 - luck, 1100.0 + luck] {
            trials.push(Made {
                point: &[],
                repeat,
                tps,
                mean_ms: 16_000.0 / tps,
            });
        }
    }
    let mut result = made("Pools", &trials);
    let names = ["small", "tiny", "large"].iter().cycle();
    for (trial, name) in result.trials.iter_mut().zip(names) {
        trial.setup.planned.point = Point::from([("variant", *name)]);
        let size = if *name == "large" { "4G" } else { "1G" };
        trial.instances = vec![instance(trial, size)];
    }
    result.design.axes = vec!["variant".into()];
    let study = "title = \"Pools\"\n[server]\nengine = \"mariadb\"\n\
                 config = { innodb-buffer-pool-size = \"1G\", \
                 innodb_flush_log_at_trx_commit = 2 }\n\
                 [[variant]]\nname = \"small\"\n[[variant]]\nname = \"tiny\"\n\
                 [[variant]]\nname = \"large\"\n\
                 server.config = { innodb-buffer-pool-size = \"4G\", \
                 innodb_flush_log_at_trx_commit = 1 }\n";
    keep(&folder.path().join("pools"), &result, study);
    let fails = |words: &str, text: &str| {
        compare(folder.path(), &["pools"], words).fails(2, &[text]);
    };
    fails("", "has the variants small, tiny, large");
    fails("--base small --new none", "has no variant none");
    fails("--base small --new small", "given twice");
    let done = compare(folder.path(), &["pools"], "--base small --new large").succeeds();
    assert!(done.stdout.contains("faster by 9.95 %"), "{}", done.shown());
    let (meant, besides) = done.stdout.split_once("Other differences").unwrap();
    assert!(meant.contains("Intended differences"), "{}", done.shown());
    assert!(
        meant.contains("innodb_buffer_pool_size"),
        "{}",
        done.shown()
    );
    // What a study sets is shown, also where it is the server's default.
    let durable = meant.lines().find(|line| line.contains("trx_commit"));
    let durable: Vec<&str> = durable.unwrap().split_whitespace().collect();
    assert_eq!(
        durable,
        ["server", "innodb_flush_log_at_trx_commit", "2", "1"]
    );
    assert!(besides.contains("innodb_io_capacity"), "{}", done.shown());
}

fn instance(
    trial: &measure::summary::TrialSummary,
    pool: &str,
) -> measure::instance::InstanceSummary {
    measure::instance::InstanceSummary {
        number: 1,
        server: trial.setup.server.clone(),
        transactions: trial.transactions,
        response_ms: trial.response_ms,
        errors: 0,
        restarts: 0,
        outcome: measure::setup::Outcome::Completed,
        process: None,
        formation_s: None,
        settings: vec![
            ("innodb_buffer_pool_size".into(), pool.into()),
            ("innodb_io_capacity".into(), format!("{pool}x")),
        ],
    }
}

#[test]
fn two_results_of_a_hundred_trials_are_soon_compared() {
    let folder = platforms(25);
    let done = compare(folder.path(), &["hw", "vm"], "").succeeds();
    println!("two results of 100 trials compared in {:?}", done.took);
    let said = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("over 25 and 25 runs"), "{}", done.shown());
}

//! What results get that are damaged, incomplete, of another version or no results at all,
//! from every command that reads them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Finished, Program, flat, keep};
use crate::results::made::{Made, made};
use crate::results::search::{FOUND, searched};
use measure::summary::SCHEMA_VERSION;
use serde_json::Value;
use tempfile::TempDir;

/// Every command, and what it says of the trials that it reads. Where it takes two results
/// the second is whole.
const COMMANDS: [&str; 5] = ["compare", "rank", "size", "history", "report"];
const USAGE: i32 = 2;

/// Two results of one and two servers at once, two trials each: `bad` and `whole`.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, tps) in [("bad", 1000.0), ("whole", 900.0)] {
            let (one, two) = ([("topology.instances", "1")], [("topology.instances", "2")]);
            let points = [&one, &two, &one, &two].into_iter().zip([1, 1, 2, 2]);
            let trials = points.map(|(point, repeat)| {
                (&point[..], repeat, tps + f64::from(repeat), 16_000.0 / tps)
            });
            let trials: Vec<Made<'_>> = trials.collect();
            keep(&folder.path().join(name), &made("Servers", &trials), "");
        }
        Self(folder)
    }

    fn bad(&self) -> PathBuf {
        self.0.path().join("bad")
    }

    /// The `trial.json` of the bad one's trial.
    fn trial(&self, number: usize) -> PathBuf {
        store::trial_dirs(&self.bad()).unwrap()[number - 1].join("trial.json")
    }

    /// Runs a command on the bad one.
    fn run(&self, command: &str) -> Finished {
        let program = Program::new().arg(command).arg(self.bad());
        match command {
            "compare" | "rank" | "history" => program.arg(self.whole()),
            "size" => program.args("--need 17000 --efficiency 0.9"),
            _ => program,
        }
        .run()
    }

    /// What a command says of the bad one; what a report says is in its files.
    #[track_caller]
    fn said(&self, command: &str) -> (Finished, String) {
        let done = self.run(command).succeeds();
        let said = match command {
            "report" => fs::read_to_string(self.bad().join("report.md")).unwrap(),
            _ => done.stdout.clone(),
        };
        (done, flat(&said))
    }

    fn whole(&self) -> PathBuf {
        self.0.path().join("whole")
    }

    /// Every command reads what is left, and names what is not.
    #[track_caller]
    fn is_read(&self, texts: &[&str]) {
        for command in COMMANDS {
            let (done, said) = self.said(command);
            done.tells(texts);
            assert!(said.contains("tps"), "{done}");
        }
    }

    /// No command reads it; each says why. Those that read any number of results go on with
    /// the whole one.
    #[track_caller]
    fn is_refused(&self, texts: &[&str]) {
        for command in ["compare", "size", "report"] {
            self.run(command).fails(USAGE, texts);
        }
        for command in ["rank", "history"] {
            let done = self.run(command).succeeds();
            done.tells(&[texts[0], "warning: skipped: "]);
            let program = Program::new().arg(command).arg(self.bad());
            program.fails(USAGE, texts);
        }
    }
}

/// Changes a JSON file.
fn edit(path: &Path, change: impl FnOnce(&mut serde_json::Map<String, Value>)) {
    let mut json: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    change(json.as_object_mut().expect("an object"));
    fs::write(path, json.to_string()).unwrap();
}

#[test]
fn another_schema_version_is_refused_with_both_numbers() {
    let folder = Folder::new();
    edit(&folder.trial(2), |json| {
        json.insert("schema_version".into(), (SCHEMA_VERSION + 1).into());
    });
    let reads = format!("this dyno reads version {SCHEMA_VERSION}");
    let newer = format!(
        "trial.json was written by a newer dyno: schema version {}",
        SCHEMA_VERSION + 1
    );
    folder.is_read(&[&newer, &reads]);
    edit(&folder.bad().join("result.json"), |json| {
        json.insert("schema_version".into(), 3.into());
    });
    let older = "result.json was written by an older dyno: schema version 3";
    folder.is_refused(&[older, &reads, "run its study again"]);
}

#[test]
fn damaged_files_are_named_and_the_rest_is_read() {
    let folder = Folder::new();
    fs::write(folder.trial(3), "{ \"schema_version\": 2,\n broken").unwrap();
    folder.is_read(&["trial.json:2: not a file that dyno wrote"]);
    fs::write(folder.bad().join("environment.json"), "{").unwrap();
    fs::write(folder.bad().join("result.json"), [0xff, 0xfe, 0]).unwrap();
    folder.is_read(&["result.json:1", "environment.json:1", "trial.json:2"]);
    fs::remove_file(folder.bad().join("study.toml")).unwrap();
    folder.is_read(&["result.json:1"]);
}

#[test]
fn a_foreign_plan_or_size_is_refused_within_memory() {
    let folder = Folder::new();
    edit(&folder.bad().join("result.json"), |json| {
        json["design"]["trials"] = 4_000_000_000_u32.into();
    });
    folder.is_read(&["result.json: not a file that dyno wrote: a plan of 4000000000 trials"]);
    edit(&folder.trial(3), |json| {
        json["transactions"]["count"] = (-5).into();
    });
    folder.is_read(&["trial.json:1: not a file that dyno wrote", "integer `-5`"]);
    let huge = |path: PathBuf| fs::File::create(path).unwrap().set_len(4 << 30).unwrap();
    huge(folder.trial(2));
    folder.is_read(&["trial.json is larger than 33554432 bytes"]);
    huge(folder.bad().join("result.json"));
    folder.is_refused(&["result.json is larger than 268435456 bytes"]);
}

#[test]
fn missing_trials_are_shown_as_missing() {
    let folder = Folder::new();
    fs::remove_dir_all(folder.trial(4).parent().unwrap()).unwrap();
    for command in COMMANDS {
        let (_, said) = folder.said(command);
        assert!(said.contains("trial 4 is missing"), "{command}: {said}");
    }
}

#[test]
fn one_repeat_has_no_interval_over_repeats() {
    let folder = Folder::new();
    for number in [4, 3] {
        fs::remove_dir_all(folder.trial(number).parent().unwrap()).unwrap();
    }
    edit(&folder.bad().join("result.json"), |json| {
        json["design"]["trials"] = 2.into();
        json["design"]["repeats"] = 1.into();
    });
    for (command, words) in [
        ("compare", "run-to-run variation is unknown"),
        ("rank", "exclude run-to-run variation"),
        ("size", "excludes run-to-run variation"),
    ] {
        folder.run(command).succeeds().prints(&[words]);
    }
}

#[test]
fn the_steps_of_a_search_are_no_points_to_compare() {
    let folder = Folder::new();
    let search = serde_json::to_value(searched(&[("1", FOUND)]).result.searches).unwrap();
    edit(&folder.bad().join("result.json"), |json| {
        json.insert("searches".into(), search);
    });
    let words = "the result of a search for the highest rate";
    for command in ["compare", "size"] {
        folder.run(command).fails(USAGE, &[words, "dyno report"]);
    }
    for command in ["rank", "history"] {
        folder.run(command).succeeds().tells(&[words]);
    }
    folder.run("report").succeeds();
}

#[test]
fn what_is_no_result_is_refused() {
    let folder = Folder::new();
    let bad = folder.bad();
    fs::remove_dir_all(&bad).unwrap();
    folder.is_refused(&["cannot read", "No such file", "Name a result directory"]);
    fs::create_dir(&bad).unwrap();
    folder.is_refused(&["result.json", "Name a result directory"]);
    fs::write(bad.join("result.json"), "").unwrap();
    folder.is_refused(&["trials", "Name a result directory"]);
    fs::remove_dir_all(&bad).unwrap();
    fs::write(&bad, "a file").unwrap();
    folder.is_refused(&["Not a directory"]);
}

#[test]
fn other_work_and_the_same_twice_are_refused() {
    let folder = Folder::new();
    let whole = folder.whole();
    let twice = |command: &str| {
        let program = Program::new().arg(command).arg(&whole);
        program.arg(&whole).fails(USAGE, &["is given twice"]);
    };
    ["compare", "rank", "history"].into_iter().for_each(twice);
    for number in 1..=4 {
        edit(&folder.trial(number), |json| {
            json["setup"]["planned"]["load"]["workload"] = "oltp_read_only".into();
        });
    }
    for command in ["compare", "rank", "history"] {
        let texts = ["load.workload: oltp_read_only / oltp_read_write", "--force"];
        folder.run(command).fails(USAGE, &texts);
        let program = Program::new().arg(command).arg(folder.bad());
        let forced = program.arg(&whole).args("--force").succeeds();
        forced.tells(&["warning: "]);
    }
}

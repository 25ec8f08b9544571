//! `dyno rank` on result directories.

use std::fs;
use std::path::PathBuf;

use crate::common::{Finished, Program, keep};
use crate::results::made::{Made, made};
use measure::summary::SCHEMA_VERSION;
use tempfile::TempDir;

/// Three devices in two categories, each measured once.
fn devices() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (place, title, tps, mean_ms) in [
        ("pcie/es3000", "Huawei ES3000 2.4TB", 2734.69, 11.7),
        ("pcie/old", "An older card", 1500.0, 21.3),
        ("sata/m500", "Micron M500 480GB", 668.6, 47.86),
    ] {
        let trial = Made {
            point: &[],
            repeat: 1,
            tps,
            mean_ms,
        };
        let dir = folder.path().join(place);
        keep(&dir, &made(title, &[trial]), "title = \"device\"\n");
    }
    folder
}

fn rank(folder: &TempDir, places: &[&str], words: &str) -> Finished {
    let paths = places.iter().map(|place| folder.path().join(place));
    let mut program = Program::new().arg("rank");
    for path in paths {
        program = program.arg(&path.display().to_string());
    }
    program.args(words).run()
}

const ALL: [&str; 3] = ["pcie/es3000", "pcie/old", "sata/m500"];

#[test]
fn the_directories_that_results_lie_in_are_their_categories() {
    let folder = devices();
    let done = rank(&folder, &ALL, "--out boards").succeeds();
    for words in [
        "pcie, one server",
        "sata, one server",
        "Huawei ES3000 2.4TB",
        "2,735 ± 11",
    ] {
        assert!(done.stdout.contains(words), "{words}\n{}", done.shown());
    }
    let read = |name: &str| fs::read_to_string(done.dir().join("boards").join(name)).unwrap();
    assert!(read("rank.html").contains("Micron M500 480GB"));
    // A single run is told from no other.
    assert!(read("rank.md").contains("| 1= | An older card | 1 |"));
    assert!(read("rank.csv").contains("sata,1,1,false,Micron M500 480GB,m500,,668.6,"));
    let one = rank(&folder, &ALL[..2], "").succeeds();
    assert!(!one.stdout.contains("pcie"), "{}", one.shown());
    let words = format!("--out {}", folder.path().display());
    rank(&folder, &ALL, &words).fails(2, &["is not empty"]);
}

#[test]
fn what_cannot_be_ranked_is_refused_with_its_reason() {
    let folder = devices();
    let path = |place: &str| folder.path().join(place);
    rank(&folder, &["pcie/old", "pcie/../pcie/old"], "").fails(2, &["pcie/old is given twice"]);
    rank(&folder, &["pcie"], "").fails(2, &["result.json", "Name a result directory"]);
    rank(&folder, &["pcie/none"], "").fails(2, &["pcie/none", "Name a result directory"]);
    rank(&folder, &ALL, "--point threads=4").fails(2, &["`threads` is not varied"]);

    let mut other = made(
        "Reads",
        &[Made {
            point: &[],
            repeat: 1,
            tps: 9.0,
            mean_ms: 1.0,
        }],
    );
    other.trials[0].setup.planned.load.workload.value = "oltp_read_only".into();
    other.trials[0].setup.planned.data.rows = 10;
    keep(&path("pcie/other"), &other, "");
    let both = ["pcie/old", "pcie/other"];
    let words = [
        "ran different workloads",
        "oltp_read_write / oltp_read_only",
        "500,000 / 10",
        "--force",
    ];
    rank(&folder, &both, "").fails(2, &words);
    let forced = rank(&folder, &both, "--force").succeeds();
    assert!(
        forced.stderr.contains("ran different workloads"),
        "{}",
        forced.shown()
    );
}

#[test]
fn one_damaged_file_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let trial = |repeat, tps| Made {
        point: &[],
        repeat,
        tps,
        mean_ms: 5.0,
    };
    let out = folder.path().join("out");
    keep(
        &out,
        &made(
            "Three",
            &[trial(1, 990.0), trial(2, 1000.0), trial(3, 1010.0)],
        ),
        "",
    );
    let trials: Vec<PathBuf> = store::trial_dirs(&out).unwrap();
    fs::write(
        trials[1].join("trial.json"),
        "{ \"schema_version\": 2,\n broken",
    )
    .unwrap();
    let done = rank(&folder, &["out"], "").succeeds();
    assert!(done.stderr.contains("trial.json:2"), "{}", done.shown());
    assert!(
        done.stdout.contains("trial 2 is missing"),
        "{}",
        done.shown()
    );
    assert!(
        done.stdout.contains("1,000 (990–1,010)"),
        "{}",
        done.shown()
    );

    fs::write(trials[0].join("trial.json"), "{ \"schema_version\": 9 }").unwrap();
    let done = rank(&folder, &["out"], "").succeeds();
    assert!(done.stderr.contains("schema version 9"), "{}", done.shown());
    fs::remove_file(trials[2].join("trial.json")).unwrap();
    rank(&folder, &["out"], "").fails(2, &["has no complete trial"]);
    fs::write(out.join("result.json"), "{ \"schema_version\": 9 }").unwrap();
    let said = format!("schema version 9; this dyno reads version {SCHEMA_VERSION}");
    rank(&folder, &["out"], "").fails(2, &[&said]);
}

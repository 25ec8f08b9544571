//! `dyno compare BASE NEW --rerun`, without servers; `lab/turns.rs` runs one with servers.

use std::fs;
use std::path::Path;

use crate::common::{Program, keep};
use crate::results::made::made;
use measure::result::RunResult;
use tempfile::TempDir;

const STUDY: &str = "title = \"t\"\nserver.engine = \"sqlite\"\ndata.rows = 100\n\
    [load]\nworkload = \"oltp_point_select\"\nwarmup = \"0s\"\ntime = \"300ms\"\nrepeats = 3\n";

fn result() -> RunResult {
    let mut result = made("t", &[(&[], 1, 1000.0, 16.0)]);
    result.environment.dyno_version = "0.0.1".to_owned();
    result
}

/// Two results, `base` and `new`, of these studies.
fn results(base: &str, new: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, study) in [("base", base), ("new", new)] {
        keep(&folder.path().join(name), &result(), study);
    }
    folder
}

fn rerun(folder: &Path) -> Program {
    let program = Program::new().arg("compare");
    let program = program.arg(folder.join("base")).arg(folder.join("new"));
    program.args("--rerun --starts 2 --out out")
}

#[track_caller]
fn refused(folder: &Path, texts: &[&str]) {
    let refused = rerun(folder).fails(2, texts);
    assert_eq!(fs::read_dir(refused.dir()).unwrap().count(), 0);
}

#[test]
fn both_are_measured_again_as_variants() {
    let base = format!("# --set load.time=200ms\n{STUDY}");
    let new = format!("# --set load.time=200ms\n{STUDY}[topology]\ninstances = 2\n");
    let folder = results(&base, &new);
    let done = rerun(folder.path()).succeeds();
    let recorded = &result().trials[0].setup.engine;
    done.tells(&[
        &format!(
            "base was measured with {recorded} and dyno 0.0.1, and is measured again with SQLite"
        ),
        "new was measured with",
        "results go to out",
    ]);
    done.prints(&["new against base"]);
    let trials = done.all_completed();
    let of = |trial: &measure::summary::TrialSummary| {
        let planned = &trial.setup.planned;
        let instances = planned.topology.instances;
        (
            planned.variant().unwrap().to_owned(),
            instances,
            planned.load.time.as_millis(),
        )
    };
    let mut sides: Vec<_> = trials.iter().map(of).collect();
    sides.sort();
    let [base, new] = [("base", 1), ("new", 2)].map(|(name, n)| (name.to_owned(), n, 200));
    assert_eq!(sides, [base.clone(), base, new.clone(), new]);
    let study = done.file("study.toml");
    let first = study.lines().next().unwrap();
    assert!(
        first.starts_with("# ") && first.ends_with("--rerun --starts 2 --out out"),
        "{study}"
    );
}

#[test]
fn what_cannot_be_measured_again_is_refused_before_anything_runs() {
    let instances = format!("{STUDY}[topology]\ninstances = 2\n");
    let think = format!("{instances}[load.until]\nci = \"2%\"\n");
    let refused_of = |new: &str, texts: &[&str]| refused(results(STUDY, new).path(), texts);
    refused_of(STUDY, &["does not differ"]);
    let found = "`load.until.ci` is \"2%\" here, but not set in base";
    refused_of(&think, &[found, "new/study.toml:", "same value"]);
    let running = STUDY.replace("engine = \"sqlite\"", "url = \"postgres://u@h/d\"");
    refused_of(&running, &["dyno bench URL1 URL2"]);
    let variants = format!("{STUDY}[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n");
    refused_of(
        &variants,
        &["this study has variants", "--base VARIANT --new VARIANT"],
    );
    refused_of("title = 1", &["new/study.toml:1", "`title` takes a string"]);

    let folder = results(STUDY, &instances);
    fs::remove_file(folder.path().join("new/study.toml")).unwrap();
    refused(folder.path(), &["new/study.toml"]);
    let folder = results(STUDY, &instances);
    let once = rerun(folder.path()).args("--starts 1");
    once.fails(2, &["--starts"]);
    let alone = Program::new()
        .arg("compare")
        .arg(folder.path().join("base"));
    alone.args("--rerun").fails(2, &["<NEW>"]);
}

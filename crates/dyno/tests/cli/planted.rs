//! What somebody planted where dyno writes, removes and kills: `dyno` as a whole leaves it.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Cache, Program, entries};

const TINY: &str = "title = \"tiny\"\n[server]\nengine = \"sqlite\"\n[data]\nrows = 100\n\
                    [load]\nworkload = \"oltp_read_only\"\nwarmup = \"0s\"\nevents = 20\n";
const RUN: &str = "6400000000001";

/// A run's directory of somebody's, with something in it.
fn plant(cache: &Path, name: &str) -> std::path::PathBuf {
    let run = cache.join("run").join(name);
    std::fs::create_dir_all(&run).unwrap();
    std::fs::write(run.join("rows"), "theirs").unwrap();
    run
}

#[test]
fn a_directory_of_others_is_not_cleaned() {
    let cache = Cache::new();
    let run = plant(cache.path(), "experiment-42");
    let pid = format!("--pid-file={}/pid", run.display());
    let mut theirs = Command::new("sh");
    theirs.args(["-c", "read line", "sh", &pid]);
    let mut theirs = theirs.stdin(Stdio::piped()).spawn().unwrap();
    let texts = [
        ".dyno-directory",
        "was not created by dyno",
        "DYNO_CACHE_DIR",
    ];
    for words in ["clean", "clean --templates"] {
        let clean = Program::new().args(words).cache(&cache).run();
        clean.fails(2, &texts);
    }
    Program::study(TINY).cache(&cache).fails(2, &texts);
    let clean = Program::new()
        .args("clean")
        .env("DYNO_CACHE_DIR", "/")
        .run();
    clean.fails(2, &["root of the file system"]);
    assert_eq!(std::fs::read(run.join("rows")).unwrap(), b"theirs");
    assert_eq!(entries(cache.path()).len(), 1);
    assert!(theirs.try_wait().unwrap().is_none());
    theirs.kill().unwrap();
    theirs.wait().unwrap();
}

/// Only `clean` fails for what cannot be removed; it names it, and a run passes over it.
#[test]
fn a_leftover_that_stays_is_named() {
    let cache = Cache::new();
    Program::study(TINY).cache(&cache).succeeds();
    let run = plant(cache.path(), RUN);
    std::fs::create_dir(run.join("lock")).unwrap();
    let name = run.display().to_string();
    let clean = Program::new().args("clean").cache(&cache).run();
    clean.fails(3, &["could not remove", &name, "lock"]);
    let done = Program::study(TINY).cache(&cache).succeeds();
    done.tells(&[&name]);
    assert_eq!(std::fs::read(run.join("rows")).unwrap(), b"theirs");
}

#[test]
fn a_report_is_not_written_through_links() {
    let done = Program::study(TINY).succeeds();
    let out = done.out();
    let target = tempfile::tempdir().unwrap();
    let theirs = target.path().join("theirs");
    std::fs::write(&theirs, "theirs").unwrap();
    for name in ["report.html", "report.md"] {
        std::fs::remove_file(out.join(name)).unwrap();
        for (before, after) in [("", ""), ("", ".tmp"), (".", ".tmp")] {
            symlink(&theirs, out.join(format!("{before}{name}{after}"))).unwrap();
        }
    }
    let report = Program::new().arg("report").arg(&out);
    report.succeeds();
    assert_eq!(std::fs::read(&theirs).unwrap(), b"theirs");
    let page = std::fs::symlink_metadata(out.join("report.html")).unwrap();
    assert!(page.is_file() && page.len() > 1000);
}

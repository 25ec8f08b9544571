//! A plan starts nothing and changes nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{self, Cache, Program, cases};

/// Writes a program that tells that it was run.
fn telltale(path: &Path, tells: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let script = format!("#!/bin/sh\necho ran >> {}\n", tells.display());
    fs::write(path, script).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_plan_runs_no_program_and_sweeps_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
    let (base, told) = (dir.path().join("base"), dir.path().join("told"));
    telltale(&base.join("bin/mariadbd"), &told);
    let study = dir.path().join("study.toml");
    let text = format!(
        "title = \"t\"\n[server]\nengine = \"mariadb\"\nbasedir = \"{}\"\n",
        base.display()
    );
    fs::write(&study, text).unwrap();
    let study = study.display().to_string();
    // A cache that is not there is not made.
    let cache = Cache::new();
    let none = cache.path().join("none");
    let plan = |cache: &Path| {
        let program = Program::new().arg("plan").arg(&study);
        program.env("DYNO_CACHE_DIR", cache)
    };
    let done = plan(&none).succeeds();
    done.prints(&["not checked: server versions"]);
    let with_agents = plan(&none)
        .args("--set load.agents=2 --set load.threads=2")
        .succeeds();
    with_agents.prints(&["agents: up to 2, over a nats-server that dyno starts"]);
    let elsewhere = plan(&none).args("--set site.host=db1").succeeds();
    elsewhere.prints(&["other hosts: dyno run checks"]);
    assert!(!none.exists() && !told.exists());
    // What a dead dyno left stays for those that run.
    let left = cache.path().join("run/5e1c000000000/s1.0");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.parent().unwrap().join("lock"), "").unwrap();
    plan(cache.path()).succeeds();
    assert!(left.exists() && !told.exists());
    assert_eq!(common::entries(cache.path()), [cache.path().join("run")]);
    // It is the program that is not run, not the study that is not read.
    let missing = plan(cache.path()).args("--set server.basedir=/there/is/none");
    missing.fails(3, &["/there/is/none"]);
}

#[test]
fn a_plan_makes_no_database_of_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("new.db");
    let text = format!(
        "title = \"t\"\nserver.url = \"sqlite://{}\"\n",
        file.display()
    );
    let cache = dir.path().join("cache");
    let done = Program::plan(&text)
        .env("DYNO_CACHE_DIR", &cache)
        .succeeds();
    done.prints(&["1 trial"]);
    assert!(!file.exists() && !cache.exists());
}

/// Prepared data counts, although the version of the server is not looked at.
#[test]
fn a_plan_knows_prepared_data() {
    let cache = Cache::new();
    let study = "title = \"t\"\n[server]\nengine = \"mariadb\"\n[data]\nrows = 100\n\
         [load]\nwarmup = \"0s\"\ntime = \"1s\"\n";
    let plan = |sets: &str| {
        let done = Program::plan(study).args(sets).cache(&cache).succeeds();
        let mut lines = done.stdout.lines();
        let line = lines.find(|line| line.contains("single")).unwrap();
        line.split_whitespace().nth(2).unwrap().to_owned()
    };
    let before = plan("");
    let program = Program::study(study).cache(&cache);
    program.succeeds();
    let (after, other) = (plan(""), plan("--set data.rows=101"));
    assert_ne!(before, after);
    assert_eq!(before, other);
    let other_version = plan("--set server.version=1.2");
    assert_eq!(before, other_version);
}

/// Data is prepared once, but rebuilt for each trial.
#[test]
fn a_plan_counts_every_rebuild() {
    let cache = Cache::new();
    let study = "title = \"t\"\n[server]\nengine = \"mariadb\"\n[data]\nrows = 100\n\
         [load]\nrepeats = 2\nwarmup = \"0s\"\ntime = \"1s\"\n";
    let times = |sets: &str| {
        let done = Program::plan(study).args(sets).cache(&cache).succeeds();
        let rows = done
            .stdout
            .lines()
            .filter(|line| line.contains("  repeat "));
        let times = rows.map(|row| row.split_whitespace().nth(3).unwrap().to_owned());
        times.collect::<Vec<_>>()
    };
    let (copied, rebuilt) = (times(""), times("--set server.reset=rebuild"));
    assert!(copied.len() == 2 && copied[0] != copied[1], "{copied:?}");
    assert_eq!(rebuilt, [copied[0].as_str(); 2]);
}

/// A number of transactions bounds the time of a trial, or leaves it unknown.
#[test]
fn a_plan_states_a_time_only_as_far_as_it_is_known() {
    let stated = "
        => about 1m10s in total
        --set load.events=9 => at most 1m10s in total
        --set load.until.ci=2% --set load.until.max=2m => at most 2m10s in total
        --set load.events=9 --set load.time=0s => unknown time in total";
    for (sets, texts) in cases(stated) {
        let plan = Program::plan("title = \"t\"\nserver.engine = \"sqlite\"\n");
        plan.args(sets).succeeds().prints(&texts);
    }
}

/// Servers of variants that take turns are up at once, each with a pool of its own.
#[test]
fn a_plan_adds_up_what_variants_that_take_turns_need() {
    let text = "title = \"t\"\n[server]\nengine = \"mariadb\"\n[data]\nrows = 100\n\
         [load]\nworkload = \"oltp_point_select\"\n[compare]\nstarts = 2\nalternate = \"always\"\n\
         [[variant]]\nname = \"small\"\n\"server.config.innodb_buffer_pool_size\" = \"64M\"\n\
         [[variant]]\nname = \"large\"\n\"server.config.innodb_buffer_pool_size\" = \"256M\"\n";
    let memory = |text: &str| {
        let plan = Program::plan(text).succeeds().stdout;
        ["small", "large"].map(|variant| {
            let row = plan.lines().find(|line| line.contains(variant)).unwrap();
            let words: Vec<&str> = row.split_whitespace().collect();
            words[words.len() - 2..].join(" ")
        })
    };
    let [small, large] = memory(text);
    assert_eq!(small, large);
    let [small, large] = memory(&text.replace("always", "never"));
    assert_ne!(small, large);
}

/// What `[chaos]` draws can be pasted into a study, which then has the same faults.
#[test]
fn a_plan_writes_out_random_faults() {
    let text = |rest: &str| {
        format!("title = \"t\"\nserver.engine = \"mariadb\"\nload.time = \"120s\"\n{rest}")
    };
    let plan = |text: &str, overrides: &str| Program::plan(text).args(overrides).succeeds().stdout;
    let drawn = plan(&text("[chaos]\nrate = \"1 per 5s\"\nseed = 7\n"), "");
    let (before, written) = drawn.split_once("\n[[fault]]").unwrap();
    let (_, schedule) = before.split_once("chaos.seed=7:\n").unwrap();
    let (schedule, _) = schedule.split_once("\n\n").unwrap();
    assert!(schedule.lines().count() > 2, "{schedule}");
    let (written, _) = written.split_once("\nnot checked").unwrap();
    let pasted = plan(&text(&format!("[[fault]]{written}")), "");
    assert!(pasted.contains(schedule), "{pasted}");
    // One of several is found by its seed.
    let repeats = "[chaos]\nrate = \"1 per 5s\"\n";
    let all = plan(&text(repeats), "--set load.repeats=3");
    assert_eq!(all.matches("drawn with chaos.seed=").count(), 3);
    assert!(!all.contains("[[fault]]\nat"), "{all}");
}

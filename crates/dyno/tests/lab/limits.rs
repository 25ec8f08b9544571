//! Too little of something: disk, memory, permission; and two dynos in one place.

use crate::common::{Cache, Program, Running, SmallDisk, cases, give_to_nobody, wait_until};
use measure::setup::Outcome;

const USAGE: i32 = 2;
const SERVER: i32 = 3;

const STUDY: &str = "title = \"t\"\n[server]\nengine = \"mariadb\"\n[data]\nrows = 100\n\
    [load]\nworkload = \"oltp_read_only\"\nthink = \"20ms\"\nwarmup = \"0s\"\ntime = \"1s\"\n";

#[test]
fn more_than_this_host_has_is_refused_with_the_numbers() {
    let too_much = "
        --set data.rows=2000000000 --set data.tables=100 => TiB of disk & fewer rows
        --set server.config.innodb_buffer_pool_size=8T => TiB of memory & smaller buffer pools";
    for (words, mut texts) in cases(too_much) {
        texts.extend(["the study needs", "is available"]);
        let done = Program::study(STUDY).args(words).fails(USAGE, &texts);
        assert!(!done.out().exists());
        let plan = Program::plan(STUDY).args(words).fails(USAGE, &texts);
        plan.prints(&["up to"]);
    }
}

#[test]
fn a_cache_that_is_too_small_is_refused_before_anything_is_built() {
    let Some(disk) = SmallDisk::new("100m") else {
        return;
    };
    let program = Program::study(STUDY).env("DYNO_CACHE_DIR", disk.path());
    let done = program.run();
    done.fails(USAGE, &["the study needs", "of disk", "DYNO_CACHE_DIR"]);
}

#[test]
fn a_user_who_may_not() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("only root can run dyno as somebody else");
    }
    let cache = Cache::new();
    give_to_nobody(cache.path());
    let program = || Program::as_nobody().with_study(STUDY).cache(&cache);
    // Its own place, and a private server that runs as the same user.
    let own = program().args("run study.toml --out out");
    give_to_nobody(own.dir());
    let done = own.succeeds();
    assert!(done.trial().transactions.count > 0);
    cache.assert_nothing_left();
    let denied = program().args("run study.toml --out out").run();
    let texts = ["cannot create out", "Permission denied", "--out"];
    let denied = denied.fails(USAGE, &texts);
    assert!(!denied.out().exists());
    let elsewhere = tempfile::tempdir().unwrap();
    let place = elsewhere.path().join("cache").display().to_string();
    let denied = program().args("run study.toml --out out");
    let denied = denied.env("DYNO_CACHE_DIR", &place).run();
    denied.fails(SERVER, &["Permission denied", &place, "DYNO_CACHE_DIR"]);
    // The cache of one user is not another's.
    let others = Program::study(STUDY).cache(&cache).run();
    others.fails(USAGE, &["belongs to user 65534", "DYNO_CACHE_DIR"]);
}

/// Both build, copy and drive; what one of them cleans is not the other's.
#[test]
fn two_dynos_in_one_place_do_not_disturb_each_other() {
    let cache = Cache::new();
    let rest = "[topology]\ninstances = 2\n[sweep]\n\"load.threads\" = [1, 2]\n";
    let start = |time: &str| {
        let program = Program::study(&format!("{STUDY}{rest}"));
        let program = program.args(&format!("--set load.time={time}"));
        program.cache(&cache).start()
    };
    let clean = || {
        let clean = Program::new().args("clean --templates").cache(&cache);
        clean.succeeds().stdout
    };
    // On a busy machine one may end before the other has its servers, or before the cleaning.
    let together = |time| {
        let mut dynos = [start(time), start(time)];
        wait_until("both dynos' servers", || {
            cache.ports().len() >= 4 || dynos.iter_mut().any(Running::has_ended)
        });
        let cleaned = clean();
        let both_run = !dynos.iter_mut().any(Running::has_ended);
        let done = dynos.map(|dyno| dyno.wait().succeeds());
        both_run.then_some((cleaned, done))
    };
    let (mut cleaned, done) = ["1s", "5s", "60s"]
        .into_iter()
        .find_map(together)
        .expect("both run at once");
    for done in &done {
        let trials = done.result().trials;
        assert_eq!(trials.len(), 2);
        for trial in trials {
            assert_eq!(trial.outcome, Outcome::Completed, "{done}");
            assert_eq!((trial.instances.len(), trial.reconnects), (2, 0));
        }
    }
    for words in ["processes", "dead runs"] {
        assert!(!cleaned.contains(words), "{cleaned}");
    }
    cache.assert_nothing_left();
    cleaned = clean();
    assert!(cleaned.contains("template"), "{cleaned}");
    assert!(cache.templates().is_empty());
}

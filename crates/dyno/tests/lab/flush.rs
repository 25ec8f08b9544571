//! Comparisons of writes, whose servers are flushed after the load.

use crate::common::{Cache, Program, has_program};

const STUDY: &str = "title = 'writes'\n[server]\nengine = 'ENGINE'\n[data]\nrows = 2000\n\
    [load]\nworkload = 'oltp_update_index'\nthreads = 1\nwarmup = '1s'\ntime = '2s'\n\
    [compare]\nstarts = 2\n\
    [[variant]]\nname = 'quick'\n[[variant]]\nname = 'slow'\nload.think = '5ms'\n";

fn compare(engine: &str) {
    let cache = Cache::kept();
    let study = STUDY.replace("ENGINE", engine);
    let done = Program::study(&study).cache(&cache).succeeds();
    cache.assert_nothing_left();
    for trial in done.result().trials {
        let flush_s = trial.flush_s.unwrap_or_else(|| panic!("{engine}: {done}"));
        assert!(flush_s > 0.0 && flush_s < 60.0, "{engine}: {flush_s}");
        let [with, without] = [
            trial.flushed_per_s(),
            trial.transactions.per_s.map(|one| one.value),
        ];
        assert!(with < without, "{with:?} {without:?}");
    }
    let csv = done.file("results.csv");
    assert!(csv.lines().next().unwrap().contains("tps_flushed"), "{csv}");
    done.prints(&["Throughput with the flush: "]);
}

#[test]
fn servers_are_flushed() {
    compare("mariadb");
    compare("postgres");
    if has_program("mysqld") {
        compare("mysql");
    }
}

#[test]
fn sqlite_writes_its_log() {
    compare("sqlite");
}

#[test]
fn reads_defer_nothing() {
    let study = STUDY.replace("ENGINE", "sqlite");
    let study = study.replace("oltp_update_index", "oltp_point_select");
    let done = Program::study(&study).succeeds();
    let trials = done.result().trials;
    assert!(trials.iter().all(|trial| trial.flush_s.is_none()), "{done}");
    assert!(!done.stdout.contains("flush"), "{done}");
}

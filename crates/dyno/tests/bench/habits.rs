//! Whoever comes from sysbench, pgbench or k6 types what they always have: it works.

use std::time::Duration;

use crate::common::{Program, mariadb, mysql};
use measure::result::RunResult;
use plan::Point;

const SERVER: i32 = 3;

fn bench(words: &str) -> Program {
    Program::bench("sqlite:").args(words)
}

#[test]
fn the_options_of_a_sysbench_command_line_work() {
    let done = bench(
        "--workload oltp_read_write --tables=2 --table-size=200 --num-threads=2 --time=0 \
         --events=40 --warmup-time=0 --rand-type=uniform --rand-seed=3 --mysql-ignore-errors=1062 \
         --skip_trx=on --range_selects=off --auto_inc --point_selects=3 --delete_inserts=0 \
         --mysql_storage_engine=innodb",
    );
    let setup = done.succeeds().trial().setup;
    let planned = &setup.planned;
    let (data, load, transaction) = (&planned.data, &planned.load, &planned.transaction);
    assert_eq!((data.tables, data.rows, data.seed), (2, 200, 3));
    assert_eq!((load.threads, load.longest()), (2, None));
    assert!(load.warmup.is_zero() && data.auto_inc);
    assert!(transaction.skip_trx && !transaction.range_selects);
    assert_eq!(transaction.point_selects, 3);
}

#[test]
fn the_options_of_a_pgbench_or_k6_command_line_work() {
    let pgbench = bench("--rows 100 --tables 1 --warmup 0 -c 2 -T 1 -R 50 --events 0");
    let setup = pgbench.succeeds().trial().setup;
    let one_s = Duration::from_secs(1);
    assert_eq!(
        (setup.planned.load.threads, setup.planned.load.time),
        (2, one_s)
    );
    assert_eq!(setup.planned.load.rate, Some(50.0));
    let k6 = bench("--rows 100 --tables 1 --warmup 0 --vus 3 --duration 5s --iterations 30");
    let trial = k6.succeeds().trial();
    assert_eq!(trial.setup.planned.load.threads, 3);
    assert_eq!(trial.setup.planned.load.time, Duration::from_secs(5));
    assert_eq!(trial.transactions.count, 30);
}

#[test]
fn several_numbers_of_threads_run_one_after_the_other() {
    let words = "--tables 1 --rows 100 --warmup 0 --events 30 --threads 1,3 --threshold p99<60000";
    let done = bench(words).succeeds();
    let result = done.result();
    let users = result
        .trials
        .iter()
        .map(|trial| trial.setup.planned.load.threads);
    let users: Vec<u32> = users.collect();
    assert_eq!(users, [1, 3]);
    assert_eq!(result.design.axes, ["load.threads"]);
    let point = &result.trials[1].setup.planned.point;
    assert_eq!(*point, Point::from_iter([("load.threads", 3)]));
    assert_eq!(result.thresholds.len(), 2);
    let mut columns = result.thresholds.iter().map(|one| &one.column);
    assert!(columns.all(|column| column == "response_ms.p99"));
    // What is kept of it is a study that does the same.
    let study = done.file("study.toml");
    let again = Program::study(&study).succeeds().result();
    let labels = |result: &RunResult| {
        let trials = result.trials.iter();
        trials
            .map(|trial| trial.setup.planned.label.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(labels(&again), labels(&result));
}

#[test]
fn columns_have_short_names() {
    let words = "--tables 1 --rows 100 --warmup 0 --events 20 --threads 1";
    let missed = bench(words).args("--threshold p95<0.000001 --undecided fail");
    let missed = missed.fails(1, &["response_ms.p95 is"]);
    assert_eq!(missed.result().thresholds[0].column, "response_ms.p95");
    let study = "title = \"t\"\n[server]\nengine = \"sqlite\"\n[data]\ntables = 1\nrows = 100\n\
        [load]\nworkload = \"oltp_point_select\"\nthreads = 1\nwarmup = \"0s\"\ntime = \"300ms\"\n\
        [thresholds]\np99 = \"< 60000\"\n\
        [report]\ntables = [{ rows = \"load.threads\", columns = [\"tps\", \"mean\", \"p99\"] }]\n\
        [sweep]\n\"load.threads\" = [1, 2]\n";
    let result = Program::study(study).succeeds().result();
    let columns = ["tps", "response_ms.mean", "response_ms.p99"];
    assert_eq!(result.design.tables[0].columns, columns);
    assert_eq!(result.thresholds[0].column, "response_ms.p99");
}

#[test]
fn a_missing_database_is_created_when_that_is_asked_for() {
    const SHORT: &str = "--tables 1 --rows 100 --threads 2 --warmup 0 --events 20";
    for server in [mariadb(), mysql()] {
        server.sql("DROP DATABASE IF EXISTS `not-there`");
        let bench = |words: &str| {
            let url = server.url("not-there").replace("mysql://", "mariadb://");
            Program::bench(&url).args(SHORT).args(words).run()
        };
        bench("").fails(SERVER, &["1049", "--create-database"]);
        bench("--create-database").succeeds();
        // It is there now, and needs no right to create it.
        server.sql("CREATE USER guest@'%'; GRANT ALL ON `not-there`.* TO guest@'%'");
        let url = server.url("not-there").replace("root@", "guest@");
        let again = Program::bench(&url).args(SHORT).args("--create-database");
        again.succeeds();
        let other = server.url("other_than_that").replace("root@", "guest@");
        Program::bench(&other)
            .args("--create-database")
            .fails(SERVER, &["1044", "grant the account"]);
        server.sql("DROP USER guest@'%'; DROP DATABASE `not-there`");
    }
}

#[test]
fn units_work_alike_in_every_option() {
    let words = "--tables 1 --rows 100 --warmup 0 --time 1 --rate 0 --repeats 1";
    let done = bench(words).args("--threshold p99<1000000ms").succeeds();
    let load = done.trial().setup.planned.load;
    assert_eq!(
        (load.time, load.rate, load.threads),
        (Duration::from_secs(1), None, 1)
    );
    let search = "--tables 1 --rows 100 --warmup 0 --time 200ms --find-max --p99 20";
    let done = bench(search).succeeds().result();
    let load = &done.trials[0].setup.planned.load;
    assert_eq!(done.searches[0].limit_ms, 20.0);
    // As many users as are needed, up to a limit.
    assert_eq!(load.threads, 8);
}

#[test]
fn repeats_are_an_option() {
    let words = "--tables 1 --rows 100 --warmup 0 --events 20 --repeats 2";
    assert_eq!(bench(words).succeeds().result().trials.len(), 2);
}

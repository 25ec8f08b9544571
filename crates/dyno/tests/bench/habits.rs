//! Whoever comes from sysbench, pgbench or k6 types what they always have: it works, or the
//! error says what to write.

use std::time::Duration;

use crate::common::{Program, database, mariadb, mysql};
use plan::Point;

const USAGE: i32 = 2;
const SERVER: i32 = 3;

fn bench(words: &str) -> Program {
    Program::bench("sqlite:").args(words)
}

#[test]
fn the_options_of_a_sysbench_command_line_work() {
    let done = bench(
        "--workload oltp_read_write --tables=2 --table-size=200 --num-threads=2 --time=0 \
         --events=40 --warmup-time=0 --rand-type=uniform --rand-seed=3 --mysql-ignore-errors=1062 \
         --skip_trx=on --range_selects=off --auto_inc --point_selects=3 \
         --mysql_storage_engine=innodb",
    );
    let setup = done.run().succeeds().trial().setup;
    let (data, load, transaction) = (
        &setup.planned.data,
        &setup.planned.load,
        &setup.planned.transaction,
    );
    assert_eq!((data.tables, data.rows, data.seed), (2, 200, 3));
    assert_eq!((load.threads, load.longest()), (2, None));
    assert!(load.warmup.is_zero() && data.auto_inc);
    assert!(transaction.skip_trx && !transaction.range_selects);
    assert_eq!(transaction.point_selects, 3);
}

#[test]
fn the_options_of_a_pgbench_or_k6_command_line_work() {
    let pgbench = bench("--rows 100 --tables 1 --warmup 0 -c 2 -T 1 -R 50 --events 0");
    let setup = pgbench.run().succeeds().trial().setup;
    let one_s = Duration::from_secs(1);
    assert_eq!(
        (setup.planned.load.threads, setup.planned.load.time),
        (2, one_s)
    );
    assert_eq!(setup.planned.load.rate, Some(50.0));
    let k6 = bench("--rows 100 --tables 1 --warmup 0 --vus 3 --duration 5s --iterations 30");
    let trial = k6.run().succeeds().trial();
    assert_eq!(trial.setup.planned.load.threads, 3);
    assert_eq!(trial.setup.planned.load.time, Duration::from_secs(5));
    assert_eq!(trial.transactions.count, 30);
}

#[test]
fn what_means_something_else_is_answered_with_what_to_write() {
    for (words, hint) in [
        ("--percentile=99", "--threshold 'p99 < 20ms'"),
        ("--report-interval=1", "every second"),
        ("--rand-spec-pct=5", "--distribution special:pct=1"),
        ("--histogram", "stores a histogram"),
        ("--db-driver=mysql", "mysql://"),
        ("--db-ps-mode=disable", "--protocol text"),
        ("--verbosity=5", "--verbose"),
        ("oltp_read_only", "--workload oltp_read_only"),
        (
            "/usr/share/sysbench/oltp_insert.lua",
            "--workload oltp_insert",
        ),
        ("prepare", "--prepare only"),
        ("run", "in one command"),
        ("cleanup", "--prepare always"),
        ("-t 100", "--events"),
        ("-s 10", "--rows"),
        ("-P 1", "every second"),
        ("-M simple", "--protocol text"),
        ("--rps 100", "--rate"),
    ] {
        let refused = bench(words).run().fails(USAGE, &["help: ", hint]);
        assert!(!refused.stderr.contains("similar"), "{}", refused.shown());
        assert!(!refused.out().exists(), "{words}");
    }
}

#[test]
fn a_server_in_options_is_answered_with_its_address() {
    let refused = Program::new()
        .args("bench --mysql-host=db1 --mysql-port=3307 --mysql-user=me --mysql-db=shop")
        .args("--mysql-password=hush-hush")
        .run()
        .fails(
            USAGE,
            &["dyno bench mysql://me@db1:3307/shop", "DYNO_PASSWORD"],
        );
    assert!(!refused.stderr.contains("hush-hush"), "{}", refused.shown());
    for words in [
        "--host db1",
        "--port 3306",
        "--user me",
        "--password x",
        "--db shop",
    ] {
        let program = Program::new().args("bench sqlite:").args(words);
        program.run().fails(USAGE, &["dyno bench mysql://"]);
    }
}

#[test]
fn a_workload_in_the_place_of_a_command_or_an_address() {
    for words in [
        "oltp_read_write --threads=4 run",
        "bench oltp_read_write",
        "bench oltp_read_write --mysql-db=x run",
    ] {
        let refused = Program::new().args(words).run();
        refused.fails(USAGE, &["dyno bench"]);
    }
    Program::new()
        .args("bench oltp_read_write")
        .run()
        .fails(USAGE, &["--workload oltp_read_write"]);
}

#[test]
fn zero_is_no_limit_but_something_has_to_end_the_run() {
    bench("--time 0 --events 0")
        .run()
        .fails(USAGE, &["--time 0 means no time limit", "--events"]);
}

#[test]
fn several_numbers_of_threads_run_one_after_the_other() {
    let words = "--tables 1 --rows 100 --warmup 0 --events 30 --threads 1,3 --threshold p99<60000";
    let done = bench(words).run().succeeds();
    let result = done.result();
    let users: Vec<u32> = result
        .trials
        .iter()
        .map(|trial| trial.setup.planned.load.threads)
        .collect();
    assert_eq!(users, [1, 3]);
    assert_eq!(result.design.axes, ["load.threads"]);
    assert_eq!(
        result.trials[1].setup.planned.point,
        Point::from([("load.threads", 3)])
    );
    assert_eq!(result.thresholds.len(), 2);
    assert!(
        result
            .thresholds
            .iter()
            .all(|one| one.column == "response_ms.p99")
    );
    // What is kept of it is a study that does the same.
    let study = std::fs::read_to_string(done.out().join("study.toml")).unwrap();
    let again = Program::study(&study).run().succeeds().result();
    let point = |trial: &measure::summary::TrialSummary| trial.setup.planned.point.clone();
    assert!(
        again
            .trials
            .iter()
            .map(point)
            .eq(result.trials.iter().map(point))
    );
    bench("--threads 4,4")
        .run()
        .fails(USAGE, &["duplicate value 4", "use --repeats"]);
    bench("--threads 1,x").run().fails(USAGE, &["--threads"]);
}

#[test]
fn columns_have_short_names() {
    let words = "--tables 1 --rows 100 --warmup 0 --events 20 --threads 1";
    let missed = bench(words)
        .args("--threshold p95<0.000001 --undecided fail")
        .run();
    let missed = missed.fails(1, &["response_ms.p95 is"]);
    assert_eq!(missed.result().thresholds[0].column, "response_ms.p95");
    let study = "title = \"t\"\n[server]\nengine = \"sqlite\"\n[data]\ntables = 1\nrows = 100\n\
        [load]\nworkload = \"oltp_point_select\"\nthreads = 1\nwarmup = \"0s\"\ntime = \"300ms\"\n\
        [thresholds]\np99 = \"< 60000\"\n\
        [report]\ntables = [{ rows = \"load.threads\", columns = [\"tps\", \"mean\", \"p99\"] }]\n\
        [sweep]\n\"load.threads\" = [1, 2]\n";
    let result = Program::study(study).run().succeeds().result();
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
        again.run().succeeds();
        let other = server.url("other_than_that").replace("root@", "guest@");
        Program::bench(&other)
            .args("--create-database")
            .run()
            .fails(SERVER, &["1044", "grant the account"]);
        server.sql("DROP USER guest@'%'; DROP DATABASE `not-there`");
    }
}

#[test]
fn a_password_in_a_mariadb_address_leaves_the_process_list() {
    let server = mariadb();
    let url = database(&server, "scheme").replace("mysql://", "mariadb://");
    let url = url.replace("root@", "root:hush-hush@");
    // The account has no password, so the server refuses this one.
    let refused = Program::bench(&url).run().fails(SERVER, &["1045"]);
    assert!(!refused.stderr.contains("hush-hush"), "{}", refused.shown());
    let study = format!("title = \"t\"\n[server]\nurl = \"{url}\"\n");
    let refused = Program::study(&study).run();
    assert!(!refused.stderr.contains("hush-hush"), "{}", refused.shown());
}

#[test]
fn units_work_alike_in_every_option() {
    let words = "--tables 1 --rows 100 --warmup 0 --time 1 --rate 0 --repeats 1";
    let done = bench(words)
        .args("--threshold p99<1000000ms")
        .run()
        .succeeds();
    let load = done.trial().setup.planned.load;
    assert_eq!(
        (load.time, load.rate, load.threads),
        (Duration::from_secs(1), None, 1)
    );
    let search = "--tables 1 --rows 100 --warmup 0 --time 200ms --find-max --p99 20";
    let done = bench(search).run().succeeds().result();
    let load = &done.trials[0].setup.planned.load;
    assert_eq!(done.searches[0].limit_ms, 20.0);
    // As many users as are needed, up to a limit.
    assert_eq!(load.threads, 8);
}

#[test]
fn repeats_are_an_option_and_scripts_get_an_honest_answer() {
    let words = "--tables 1 --rows 100 --warmup 0 --events 20 --repeats 2";
    assert_eq!(bench(words).run().succeeds().result().trials.len(), 2);
    bench("-f script.sql")
        .run()
        .fails(USAGE, &["cannot run SQL scripts", "pgbench -f"]);
}

#[test]
fn an_option_of_a_benchmark_is_a_key_of_a_study() {
    for (words, key) in [
        ("run studies/quickstart.toml --threads 4", "load.threads"),
        ("plan studies/quickstart.toml --rows=4", "data.rows"),
    ] {
        let done = Program::new().args(words).run();
        done.fails(USAGE, &[&format!("--set {key}=VALUE")]);
    }
}

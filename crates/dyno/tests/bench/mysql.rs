//! `dyno bench` on real servers: what it prepares, runs, prints and leaves.

use std::path::PathBuf;

use crate::common::{Program, Proxy, Served, database, files_below, mariadb, mysql, postgres};
use measure::instance::ServerProcess;
use plan::ReplyTime;
use workload::name::WorkloadName;

const SMALL: &str = "--tables 2 --rows 500 --threads 3 --warmup 0s";

#[test]
fn data_is_loaded_where_it_is_missing_and_kept_where_it_is() {
    let server = mariadb();
    let url = database(&*server, "prepares");
    let bench = |words: &str| {
        let program = Program::bench(&url).args(SMALL).args("--events 10");
        program.args(words).run()
    };
    let nothing = bench("--prepare never").fails(3, &["1146", "--prepare missing"]);
    nothing.tells(&["42S02"]);
    let only = bench("--prepare only").succeeds();
    only.tells(&["loaded 2 tables, 1000 rows"]);
    assert!(!only.out().exists() && only.stdout.is_empty());
    let count =
        "SELECT COUNT(*) FROM prepares.sbtest1 UNION ALL SELECT COUNT(*) FROM prepares.sbtest2";
    assert_eq!(server.sql(count).concat(), ["500", "500"]);
    let again = bench("--prepare only").succeeds();
    again.tells(&["all 2 tables already exist"]);
    server.sql("UPDATE prepares.sbtest1 SET pad = 'mine' WHERE id = 1");
    let missing = bench("--prepare missing").succeeds();
    assert!(!missing.stderr.contains("loaded"), "{}", missing.stderr);
    let mine = "SELECT COUNT(*) FROM prepares.sbtest1 WHERE pad = 'mine'";
    bench("--prepare never --workload oltp_point_select").succeeds();
    assert_eq!(server.sql(mine).concat(), ["1"]);
    let always = bench("--prepare always --workload oltp_point_select").succeeds();
    always.tells(&["loaded 2 tables, 1000 rows"]);
    assert_eq!(server.sql(mine).concat(), ["0"]);
}

#[test]
fn a_result_directory_has_all_files() {
    let server = mariadb();
    let url = database(&*server, "files");
    let done = Program::bench(&url)
        .args(SMALL)
        .args("--time 1s")
        .succeeds();
    let name = |path: &PathBuf| path.strip_prefix(done.out()).unwrap().display().to_string();
    let files: Vec<String> = files_below(&done.out()).iter().map(name).collect();
    let expected = "environment.json report.html report.md result.json results.csv study.toml \
                    trials/001-single/intervals.jsonl trials/001-single/monitors.jsonl \
                    trials/001-single/series.jsonl trials/001-single/trial.json";
    assert_eq!(files.join(" "), expected);
    // The study is the benchmark again, for `dyno run`.
    let text = done.file("study.toml");
    let study = study::Study::parse("study.toml", &text, engine::catalog()).unwrap();
    assert_eq!(study.plan().trials.len(), 1);
}

#[test]
fn replies_are_timed_by_the_kernel_unless_the_program_is_asked_to() {
    let server = mariadb();
    let url = database(&*server, "reply_time");
    let bench = |words: &str| {
        let program = Program::bench(&url).args(SMALL).args("--events 200");
        program.args(words).succeeds()
    };
    let (kernel, program) = (bench(""), bench("--reply-time program"));
    let trial = kernel.trial();
    assert_eq!(trial.setup.reply_time, ReplyTime::Kernel);
    let delay_ms = trial.generator.delay_ms.unwrap();
    assert!(delay_ms.min > 0.0 && delay_ms.mean.value < trial.response_ms.unwrap().max);
    assert_eq!(trial.generator.refused_stamps, 0);
    let mut series = kernel.series().into_iter();
    assert!(series.any(|second| second.delay_ms.is_some()));
    let trial = program.trial();
    assert_eq!(trial.setup.reply_time, ReplyTime::Program);
    assert_eq!(trial.generator.delay_ms, None);
    let [base, new] = [&kernel, &program].map(|done| done.out());
    let compared = Program::new().arg("compare").arg(base).arg(new);
    let told = compared.succeeds().stdout;
    let line = told.lines().find(|line| line.contains("Replies timed by"));
    let line = line.unwrap_or_else(|| panic!("{told}"));
    assert!(line.contains("the kernel") && line.contains("the program"));
}

#[test]
fn every_workload_runs_by_both_protocols() {
    every_workload_runs(&*mariadb());
    every_workload_runs(&*mysql());
    every_workload_runs(&*postgres());
}

fn every_workload_runs(server: &impl Served) {
    // The tables of bulk inserts have other columns.
    let (oltp, bulk) = (database(server, "workloads"), database(server, "bulk"));
    for protocol in ["prepared", "text"] {
        for workload in WorkloadName::ALL {
            let url = match workload {
                WorkloadName::BulkInsert => &bulk,
                _ => &oltp,
            };
            let trial = Program::bench(url)
                .args("--tables 1 --rows 300 --threads 2 --warmup 0s --events 40")
                .args(&format!("--workload {workload} --protocol {protocol}"))
                .succeeds()
                .trial();
            assert_eq!(trial.transactions.count, 40, "{workload} {protocol}");
            assert_eq!(trial.setup.planned.load.workload.value, workload.name());
            assert!(trial.errors.iter().all(|error| error.action == "restarted"));
        }
    }
}

#[test]
fn keys_beyond_the_rows_miss_in_their_share() {
    let server = mariadb();
    let url = database(&*server, "misses");
    let done = Program::bench(&url)
        .args("--tables 1 --rows 1000 --key-range 4000 --distribution uniform --seed 7")
        .args("--workload oltp_point_select --threads 2 --warmup 0s --events 4000 --verbose")
        .succeeds();
    let lookups = done.trial().lookups;
    assert_eq!(lookups.count, 4000);
    // Binomial with p = 3/4: 5 standard deviations are 0.034.
    let share = lookups.missed_share.unwrap();
    assert!((share - 0.75).abs() < 0.034, "{share}");
    done.prints(&["found no row"]);
}

/// A server that dyno did not start, but that runs on this host.
#[test]
fn a_server_of_this_host_is_seen_by_port_and_by_socket() {
    for server in [mariadb(), mysql()] {
        let pid = server.pid().unwrap();
        let by_port = database(&*server, "seen");
        let socket = server.socket().display().to_string();
        let by_socket = format!("mysql://root@localhost/seen?socket={socket}");
        for (url, reply_time) in [
            (by_port, ReplyTime::Kernel),
            (by_socket, ReplyTime::Program),
        ] {
            let done = Program::bench(&url)
                .args(SMALL)
                .args("--think 5ms --time 2s")
                .succeeds();
            let trial = done.trial();
            assert_eq!(trial.setup.reply_time, reply_time, "{url}");
            let process = trial.instances[0].process.clone();
            assert_eq!(process, Some(ServerProcess::Found { pid }), "{url}");
            for metric in ["server.cpu", "server.rss_bytes"] {
                let mean = trial.metrics.get(metric).map(|metric| metric.mean);
                assert!(mean.is_some_and(|mean| mean > 0.0), "{url} {metric}");
            }
            assert!(!done.stdout.contains("not seen"), "{}", done.stdout);
        }
    }
}

/// What holds the port is not the server, and says nothing of it.
#[test]
fn a_server_behind_a_proxy_is_unseen_and_says_why() {
    let server = mariadb();
    database(&*server, "hidden");
    let proxy = Proxy::start(server.port());
    let url = format!("mysql://root@127.0.0.1:{}/hidden", proxy.port());
    let program = Program::bench(&url)
        .args(SMALL)
        .args("--think 5ms --time 2s --verbose");
    let done = program.succeeds();
    let trial = done.trial();
    let Some(ServerProcess::NotFound { reason }) = &trial.instances[0].process else {
        panic!("{:?}", trial.instances[0].process);
    };
    assert!(reason.contains("a proxy or a tunnel"), "{reason}");
    assert!(!trial.metrics.contains_key("server.cpu"));
    done.prints(&["Server: CPU time and memory not measured: process"]);
}

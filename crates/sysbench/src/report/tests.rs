//! Each version's text, written by hand.

use super::*;
use crate::options::{declarations, parse};

/// A run of two threads with sysbench's defaults.
pub(super) fn report(
    dialect: Dialect,
    test: &'static str,
    facts: &[(&'static str, &str)],
) -> Report {
    let mut named = Dialect::NAMED.into_iter();
    let (name, _) = named.find(|(_, known)| *known == dialect).unwrap();
    let words = [format!("--dyno-dialect={name}")];
    let mut line = parse(&words).unwrap();
    let own = if test == "sql" { "oltp" } else { test };
    line.finish(Some(&declarations(dialect, own))).unwrap();
    let defaults = [("threads", "2"), ("num-threads", "2"), ("test", test)];
    let facts = defaults.iter().chain(facts);
    Report {
        dialect,
        values: line.values,
        facts: facts
            .map(|(name, fact)| (*name, (*fact).to_owned()))
            .collect(),
    }
}

const MIB: f64 = 1_048_576.0;

fn counts() -> Vec<(&'static str, f64)> {
    vec![
        ("time_interval", 2.5),
        ("events", 10.0),
        ("reads", 140.0),
        ("writes", 40.0),
        ("other", 20.0),
        ("errors", 1.0),
        ("reconnects", 0.0),
        ("bytes_read", 450.0 * MIB),
        ("bytes_written", 300.0 * MIB),
    ]
}

pub(super) fn totals() -> Vec<(&'static str, f64)> {
    let mut totals = counts();
    totals.extend([
        ("time_total", 2.502_34),
        ("latency_min", 0.000_534),
        ("latency_max", 7.000_004),
        ("latency_pct", 0.002_11),
        ("latency_sum", 12.5),
    ]);
    totals.extend(fairness(&[(4, 6.0), (6, 6.5)]));
    totals
}

pub(super) fn interval() -> Vec<(&'static str, f64)> {
    let mut interval = counts();
    interval.extend([
        ("time_total", 5.000_1),
        ("threads_running", 8.0),
        ("latency_pct", 0.048_344),
    ]);
    interval
}

const OF_1_0: &str = "\nGeneral statistics:
    total time:                          2.5023s
    total number of events:              10

Latency (ms):
         min:                                    0.53
         avg:                                 1250.00
         max:                                 7000.00
         95th percentile:                        2.11
         sum:                                12500.00

Threads fairness:
    events (avg/stddev):           5.0000/1.00
    execution time (avg/stddev):   6.2500/0.25

";
const OF_0_5: &str = "\nGeneral statistics:
    total time:                          2.5000s
    total number of events:              10
    total time taken by event execution: 12.5000s
    response time:
         min:                                  0.53ms
         avg:                               1250.00ms
         max:                               7000.00ms
         approx.  95 percentile:               2.11ms

Threads fairness:
    events (avg/stddev):           5.0000/1.00
    execution time (avg/stddev):   6.2500/0.25

";
const SQL_OF_1_0: &str = "SQL statistics:
    queries performed:
        read:                            140
        write:                           40
        other:                           20
        total:                           200
    transactions:                        10     (4.00 per sec.)
    queries:                             200    (80.00 per sec.)
    ignored errors:                      1      (0.40 per sec.)
    reconnects:                          0      (0.00 per sec.)
";

/// Where 0.4 prints something other than 0.5.
fn of_0_4() -> String {
    let text = OF_0_5.replace("General statistics:", "Test execution summary:");
    let text = text.replace("response time:", "per-request statistics:");
    text.replace("12.5000s", "12.5000")
}

#[track_caller]
fn prints(dialect: Dialect, test: &'static str, own: &str, general: &str) {
    let text = report(dialect, test, &[]).cumulative(&totals());
    assert_eq!(text, format!("{own}{general}"), "{dialect:?} {test}");
}

#[test]
fn version_1_0_reports() {
    let v10 = Dialect::V10;
    prints(v10, "sql", SQL_OF_1_0, OF_1_0);
    for test in ["none", "threads", "mutex"] {
        prints(v10, test, "", OF_1_0);
    }
    prints(
        v10,
        "cpu",
        "CPU speed:\n    events per second:     4.00\n",
        OF_1_0,
    );
    let own = "Total operations: 10 (    4.00 per second)\n\n\
        0.01 MiB transferred (0.00 MiB/sec)\n\n";
    prints(v10, "memory", own, OF_1_0);
    let own = "
File operations:
    reads/s:                      56.00
    writes/s:                     16.00
    fsyncs/s:                     8.00

Throughput:
    read, MiB/s:                  180.00
    written, MiB/s:               120.00
";
    prints(v10, "fileio", own, OF_1_0);
}

#[test]
fn master_reports() {
    let master = Dialect::Master;
    let (_, rest) = OF_1_0.split_once("events:              10\n").unwrap();
    let general = "
Throughput:
    events/s (eps):                      4.0000
    time elapsed:                        2.5023s
    total number of events:              10
";
    prints(master, "sql", SQL_OF_1_0, &format!("{general}{rest}"));
    prints(master, "mutex", "", &format!("{general}{rest}"));
    let own = "
Throughput:
         read:  IOPS=56.00 180.00 MiB/s (188.74 MB/s)
         write: IOPS=16.00 120.00 MiB/s (125.83 MB/s)
         fsync: IOPS=8.00
";
    let (latency, _) = rest.split_once("Threads").unwrap();
    // Its columns are two characters narrower than those of other tests.
    prints(master, "fileio", own, &latency.replace(":  ", ":"));
}

#[test]
fn version_0_5_reports() {
    let v05 = Dialect::V05;
    let own = "OLTP test statistics:
    queries performed:
        read:                            140
        write:                           40
        other:                           20
        total:                           200
    transactions:                        10     (4.00 per sec.)
    read/write requests:                 180    (72.00 per sec.)
    other operations:                    20     (8.00 per sec.)
    ignored errors:                      1      (0.40 per sec.)
    reconnects:                          0      (0.00 per sec.)
";
    prints(v05, "sql", own, OF_0_5);
    prints(v05, "mutex", "", OF_0_5);
}

#[test]
fn version_0_4_reports() {
    let v04 = Dialect::V04;
    let own = "OLTP test statistics:
    queries performed:
        read:                            140
        write:                           40
        other:                           20
        total:                           200
    transactions:                        10     (4.00 per sec.)
    deadlocks:                           1      (0.40 per sec.)
    read/write requests:                 180    (72.00 per sec.)
    other operations:                    20     (8.00 per sec.)
";
    prints(v04, "sql", own, &of_0_4());
    prints(
        v04,
        "cpu",
        "CPU speed:\n    events per second:     4.00\n",
        &of_0_4(),
    );
    let own = "Operations performed:  140 Read, 40 Write, 20 Other = 200 Total\n\
        Read 450Mb  Written 300Mb  Total transferred 750Mb  (300Mb/sec)\n   \
        72.00 Requests/sec executed\n";
    prints(v04, "fileio", own, &of_0_4());
}

#[test]
fn lines_that_depend_on_the_run() {
    let v10 = |facts: &[(&'static str, &str)], stat: &Stat<'_>| {
        report(Dialect::V10, "memory", facts).cumulative(stat)
    };
    let text = v10(&[("percentile", "0")], &totals());
    let line = "         percentile stats:               disabled\n";
    assert!(
        text.contains(line) && !text.contains("th percentile"),
        "{text}"
    );
    let text = v10(&[("memory-oper", "none")], &totals());
    let start = "Total operations: 10 (    4.00 per second)\n\n\nGeneral statistics:\n";
    assert!(text.starts_with(start), "{text}");
    let mut cut = totals();
    cut.push(("unfinished", 3.0));
    let line = "\n\nNumber of unfinished transactions on forced shutdown: 3\n\nGeneral";
    assert!(v10(&[], &cut).contains(line));
    let nothing: Vec<_> = totals().into_iter().map(|(name, _)| (name, 0.0)).collect();
    let text = report(Dialect::V04, "cpu", &[]).cumulative(&nothing);
    assert!(
        text.contains("max:                                  0.00ms\n\n"),
        "{text}"
    );
}

#[test]
fn intervals() {
    let mut with_queue = interval();
    with_queue.extend([("queue_length", 7.0), ("concurrency", 8.0)]);
    for (dialect, test, text) in [
        (
            Dialect::V10,
            "sql",
            "[ 5s ] thds: 8 tps: 4.00 qps: 80.00 (r/w/o: 56.00/16.00/8.00) \
             lat (ms,95%): 48.34 err/s: 0.40 reconn/s: 0.00\n\
             [ 5s ] queue length: 7, concurrency: 8\n",
        ),
        (
            Dialect::Master,
            "cpu",
            "[ 5s ] thds: 8 eps: 4.00 lat (ms,95%): 48.34\n\
             [ 5s ] queue length: 7 concurrency: 8\n",
        ),
        (Dialect::V10, "memory", "[ 5s ] 0.00 MiB/sec\n"),
        (
            Dialect::V10,
            "fileio",
            "[ 5s ] reads: 180.00 MiB/s writes: 120.00 MiB/s fsyncs: 8.00/s \
             latency (ms,95%): 48.344\n",
        ),
        (
            Dialect::V05,
            "sql",
            "[   5s] threads: 8, tps: 4.00, reads: 56.00, writes: 16.00, \
             response time: 48.34ms (95%), errors: 0.40, reconnects:  0.00\n\
             [   5s] queue length: 7, concurrency: 8\n",
        ),
        (Dialect::V05, "cpu", ""),
        (Dialect::V05, "memory", "[ 5s ] 0.00 MiB/sec\n"),
        (
            Dialect::V04,
            "sql",
            "[   5s] Intermediate results: 8 threads, tps: 4.000000, reads/s: 56.000000, \
             writes/s: 16.000000 response time: 48.344000ms (95%)\n",
        ),
    ] {
        let report = report(dialect, test, &[]);
        assert_eq!(report.interval(&with_queue), text, "{dialect:?} {test}");
        let (first, _) = text.split_once("[ 5s ] queue").unwrap_or((text, ""));
        let (first, _) = first.split_once("[   5s] queue").unwrap_or((first, ""));
        assert_eq!(report.interval(&interval()), first);
    }
}

#[test]
fn a_checkpoint_has_the_whole_report() {
    let mut checkpoint = totals();
    checkpoint.push(("checkpoint", 1.0));
    for (dialect, stamp) in [(Dialect::V10, "[ 3s ]"), (Dialect::V05, "[   3s]")] {
        let report = report(dialect, "sql", &[]);
        let expected = format!(
            "{stamp} Checkpoint report:\n{}",
            report.cumulative(&totals())
        );
        assert_eq!(report.cumulative(&checkpoint), expected);
    }
}

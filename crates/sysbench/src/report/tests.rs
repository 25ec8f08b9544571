//! Each version's text, written by hand.

use super::*;

/// A run with sysbench's defaults.
pub(super) fn report(layout: Layout, test: &str, options: &[(&str, &str)]) -> Report {
    let defaults = [
        ("threads", "2"),
        ("events", "0"),
        ("rate", "0"),
        ("warmup-time", "0"),
        ("report-interval", "0"),
        ("report-checkpoints", ""),
        ("debug", "0"),
        ("validate", "0"),
        ("rand-seed", "0"),
        ("init-rng", "0"),
        ("percentile", "95"),
        ("info", "0"),
        ("notes", ""),
        ("cpu-max-prime", "10000"),
        ("memory-block-size", "1024"),
        ("memory-total-size", "107374182400"),
        ("memory-oper", "write"),
        ("memory-scope", "global"),
        ("thread-yields", "1000"),
        ("thread-locks", "8"),
        ("file-num", "128"),
        ("file-block-size", "16384"),
        ("file-total-size", "2147483648"),
        ("file-test-mode", "rndrw"),
        ("file-io-mode", "sync"),
        ("file-extra-flags", ""),
        ("file-fsync-freq", "100"),
        ("file-fsync-all", "0"),
        ("file-fsync-end", "1"),
        ("file-merged-requests", "0"),
        ("file-rw-ratio", "1.5"),
    ];
    let test = [("test", test)];
    let all = defaults.iter().chain(options).chain(&test);
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Report {
        layout,
        options: all.map(owned).collect(),
    }
}

fn counts() -> Counts {
    Counts {
        events: 10,
        reads: 140,
        writes: 40,
        other: 20,
        errors: 1,
        reconnects: 0,
        bytes_read: 450 << 20,
        bytes_written: 300 << 20,
    }
}

pub(super) fn totals() -> Totals {
    Totals {
        time_s: 2.502_34,
        seconds: 2.5,
        counts: counts(),
        latency: Summary {
            min_ms: 0.534,
            avg_ms: 1250.0,
            max_ms: 7000.004,
            percentile_ms: 2.11,
            sum_ms: 12_500.0,
        },
        threads: vec![(4, 6.0), (6, 6.5)],
        unfinished: 0,
    }
}

pub(super) fn interval() -> Interval {
    Interval {
        at_s: 5.000_1,
        seconds: 2.5,
        threads: 8,
        counts: counts(),
        percentile_ms: 48.344,
        queue: None,
    }
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
const OF_0_4: &str = "\nTest execution summary:
    total time:                          2.5000s
    total number of events:              10
    total time taken by event execution: 12.5000
    per-request statistics:
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

#[track_caller]
fn prints(layout: Layout, test: &str, own: &str, general: &str) {
    let text = report(layout, test, &[]).cumulative(&totals());
    assert_eq!(text, format!("{own}{general}"), "{layout:?} {test}");
}

#[test]
fn version_1_0_reports() {
    let v10 = Layout::V10;
    prints(v10, "sql", SQL_OF_1_0, OF_1_0);
    for test in ["none", "threads", "mutex"] {
        prints(v10, test, "", OF_1_0);
    }
    prints(v10, "cpu", "CPU speed:\n    events per second:     4.00\n", OF_1_0);
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
    let master = Layout::Master;
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
    prints(master, "fileio", own, latency);
}

#[test]
fn version_0_5_reports() {
    let v05 = Layout::V05;
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
    prints(v05, "cpu", "", OF_0_5);
    let own = "Operations performed: 10 (    4.00 ops/sec)\n\n\
        0.01 MB transferred (0.00 MB/sec)\n\n";
    prints(v05, "memory", own, OF_0_5);
}

#[test]
fn version_0_4_reports() {
    let v04 = Layout::V04;
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
    prints(v04, "sql", own, OF_0_4);
    let own = "Maximum prime number checked in CPU test: 10000\n\n";
    prints(v04, "cpu", own, OF_0_4);
    let own = "Operations performed:  140 Read, 40 Write, 20 Other = 200 Total\n\
        Read 450Mb  Written 300Mb  Total transferred 750Mb  (300Mb/sec)\n   \
        72.00 Requests/sec executed\n";
    prints(v04, "fileio", own, OF_0_4);
}

#[test]
fn lines_that_depend_on_the_run() {
    let v10 = |options: &[(&str, &str)], totals: &Totals| {
        report(Layout::V10, "memory", options).cumulative(totals)
    };
    let text = v10(&[("percentile", "0")], &totals());
    let line = "         percentile stats:               disabled\n";
    assert!(text.contains(line) && !text.contains("th percentile"), "{text}");
    let text = v10(&[("memory-oper", "none")], &totals());
    let start = "Total operations: 10 (    4.00 per second)\n\n\nGeneral statistics:\n";
    assert!(text.starts_with(start), "{text}");
    let cut = Totals {
        unfinished: 3,
        ..totals()
    };
    let line = "\n\nNumber of unfinished transactions on forced shutdown: 3\n\nGeneral";
    assert!(v10(&[], &cut).contains(line));
    let text = report(Layout::V04, "cpu", &[]).cumulative(&Totals::default());
    assert!(text.contains("max:                                  0.00ms\n\n"), "{text}");
}

#[test]
fn intervals() {
    let with_queue = Interval {
        queue: Some((7, 8)),
        ..interval()
    };
    for (layout, test, text) in [
        (
            Layout::V10,
            "sql",
            "[ 5s ] thds: 8 tps: 4.00 qps: 80.00 (r/w/o: 56.00/16.00/8.00) \
             lat (ms,95%): 48.34 err/s: 0.40 reconn/s: 0.00\n\
             [ 5s ] queue length: 7, concurrency: 8\n",
        ),
        (
            Layout::Master,
            "cpu",
            "[ 5s ] thds: 8 eps: 4.00 lat (ms,95%): 48.34\n\
             [ 5s ] queue length: 7 concurrency: 8\n",
        ),
        (Layout::V10, "memory", "[ 5s ] 0.00 MiB/sec\n"),
        (
            Layout::V10,
            "fileio",
            "[ 5s ] reads: 180.00 MiB/s writes: 120.00 MiB/s fsyncs: 8.00/s \
             latency (ms,95%): 48.344\n",
        ),
        (
            Layout::V05,
            "sql",
            "[   5s] threads: 8, tps: 4.00, reads: 56.00, writes: 16.00, \
             response time: 48.34ms (95%), errors: 0.40, reconnects:  0.00\n\
             [   5s] queue length: 7, concurrency: 8\n",
        ),
        (Layout::V05, "cpu", ""),
        (Layout::V05, "memory", "[   5s] 0.00 MB/sec,\n"),
        (
            Layout::V05,
            "fileio",
            "[   5s] reads: 180.00 MB/s writes: 120.00 MB/s fsyncs: 8.00/s \
             response time: 48.344ms (95%)\n",
        ),
        (
            Layout::V04,
            "sql",
            "[   5s] Intermediate results: 8 threads, tps: 4.000000, reads/s: 56.000000, \
             writes/s: 16.000000 response time: 48.344000ms (95%)\n",
        ),
    ] {
        let report = report(layout, test, &[]);
        assert_eq!(report.interval(&with_queue), text, "{layout:?} {test}");
        let (first, _) = text.split_once("[ 5s ] queue").unwrap_or((text, ""));
        let (first, _) = first.split_once("[   5s] queue").unwrap_or((first, ""));
        assert_eq!(report.interval(&interval()), first);
    }
}

#[test]
fn a_checkpoint_has_the_whole_report() {
    for (layout, stamp) in [(Layout::V10, "[ 3s ]"), (Layout::V05, "[   3s]")] {
        let report = report(layout, "sql", &[]);
        let expected = format!(
            "{stamp} Checkpoint report:\n{}",
            report.cumulative(&totals())
        );
        assert_eq!(report.checkpoint(&totals()), expected);
    }
}

#[test]
fn lines_of_report_csv_and_report_json() {
    let expected = "5,8,4.00,80.00,56.00,16.00,8.00,48.34,0.40,0.00\n";
    assert_eq!(csv(&interval()), expected);
    let object = "
  {
    \"time\":    5,
    \"threads\": 8,
    \"tps\": 4.00,
    \"qps\": {
      \"total\": 80.00,
      \"reads\": 56.00,
      \"writes\": 16.00,
      \"other\": 8.00
    },
    \"latency\": 48.34,
    \"errors\": 0.40,
    \"reconnects\": 0.00
  }";
    let list = json(&interval(), true) + &json(&interval(), false) + JSON_END;
    assert_eq!(list, format!("[{object},{object}\n]\n"));
}

//! What stands before the first report, written by hand.

use super::tests::report;
use crate::options::Dialect;

const RUNNING: &str = "Running the test with following options:\nNumber of threads: 2\n";
const CURRENT_TIME: &str = "Initializing random number generator from current time\n\n\n";

#[test]
fn heads() {
    let head = |dialect, test, facts: &[(&'static str, &str)]| report(dialect, test, facts).head();
    let v10 = Dialect::V10;
    let plain = format!("{RUNNING}{CURRENT_TIME}");
    for test in ["sql", "none", "threads", "mutex"] {
        assert_eq!(head(v10, test, &[]), plain);
    }
    let options = [
        ("warmup-time", "5"),
        ("rate", "100"),
        ("tx-rate", "100"),
        ("report-interval", "1"),
        ("report-checkpoints", "10, 20"),
        ("debug", "1"),
        ("validate", "1"),
        ("rand-seed", "42"),
        ("shutdown", "15"),
    ];
    let full = "Running the test with following options:
Number of threads: 2
Warmup time: 5s
Target transaction rate: 100/sec
Report intermediate results every 1 second(s)
Report checkpoint(s) at 10, 20 seconds
Debug mode enabled.

Validation checks: on.

Initializing random number generator from seed (42).

Forcing shutdown in 15 seconds

";
    assert_eq!(head(Dialect::Master, "sql", &options), full);
    let old = full.replace("Warmup time: 5s\n", "");
    assert_eq!(head(Dialect::V05, "sql", &options), old);
    let timer = "Initializing random number generator from timer.\n\n\n";
    let v04 = head(Dialect::V04, "none", &[("init-rng", "1")]);
    assert_eq!(v04, format!("{RUNNING}{timer}"));
}

#[test]
fn heads_of_tests() {
    let own = |dialect, test| {
        let head = report(dialect, test, &[]).head();
        let start = match dialect {
            Dialect::V04 => format!("{RUNNING}\n"),
            _ => format!("{RUNNING}{CURRENT_TIME}"),
        };
        head.strip_prefix(&start).unwrap().to_owned()
    };
    for dialect in [Dialect::V04, Dialect::V10] {
        assert_eq!(own(dialect, "cpu"), "Prime numbers limit: 10000\n\n");
    }
    let memory = "Running memory speed test with the following options:
  block size: 1KiB
  total size: 102400MiB
  operation: write
  scope: global

";
    assert_eq!(own(Dialect::V10, "memory"), memory);
}

#[test]
fn heads_of_fileio() {
    let v10 = "Extra file open flags: (none)
128 files, 16MiB each
2GiB total file size
Block size 16KiB
Number of IO requests: 0
Read/Write ratio for combined random IO test: 1.50
Periodic FSYNC enabled, calling fsync() each 100 requests.
Calling fsync() at the end of test, Enabled.
Using synchronous I/O mode
Doing random r/w test
";
    let of = |dialect, facts: &[(&'static str, &str)]| report(dialect, "fileio", facts).head();
    let random = [("file-test-mode", "rndrw"), ("open-flags", "(none)")];
    assert_eq!(
        of(Dialect::V10, &random),
        format!("{RUNNING}{CURRENT_TIME}{v10}")
    );
    let options = [
        ("file-test-mode", "seqwr"),
        ("file-io-mode", "mmap"),
        ("open-flags", "sync directio"),
        ("file-fsync-all", "1"),
        ("file-merged-requests", "4"),
        ("validate", "1"),
    ];
    let own = "Extra file open flags: sync directio
128 files, 16MiB each
2GiB total file size
Block size 16KiB
Merging requests up to 64KiB for sequential IO.
Calling fsync() after each write operation.
Using fast mmaped I/O mode
Using checksums validation.
Doing sequential write (creation) test
";
    let text = of(Dialect::V10, &options);
    assert!(text.ends_with(&format!("\n\n{own}")), "{text}");
}

#[test]
fn the_head_of_oltp_in_0_4() {
    for (option, own) in [
        (
            ("oltp-read-only", "1"),
            "Running mixed OLTP test\nDoing read-only test\n",
        ),
        (("oltp-test-mode", "simple"), "Running simple OLTP test\n"),
        (("oltp-test-mode", "sp"), "Running stored procedure test\n"),
    ] {
        let head = report(Dialect::V04, "sql", &[option]).head();
        assert_eq!(head, format!("{RUNNING}\nDoing OLTP test.\n{own}"));
    }
}

#[test]
fn the_program_starts() {
    let lua = "system LuaJIT 2.1.0-beta3";
    let banner = ":  multi-threaded system evaluation benchmark\n\n";
    assert_eq!(
        Dialect::V10.header(lua),
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n"
    );
    assert_eq!(Dialect::V05.header(lua), format!("sysbench 0.5{banner}"));
    assert_eq!(Dialect::V04.header(lua), format!("sysbench 0.4.12{banner}"));
    let started = |dialect, facts: &[(&'static str, &str)]| report(dialect, "sql", facts).started();
    assert_eq!(started(Dialect::V04, &[]), "Threads started!\n");
    assert_eq!(started(Dialect::V10, &[]), "Threads started!\n\n");
    assert_eq!(
        started(Dialect::Master, &[("warmup-time", "5")]),
        "Threads started!\n\nWarming up for 5 seconds...\n\n"
    );
    assert_eq!(Dialect::V04.initializing(), "");
    assert_eq!(
        Dialect::V05.initializing(),
        "Initializing worker threads...\n\n"
    );
}

//! Command lines of every dialect, and what they mean.

use std::time::Duration;

use plan::TlsMode;
use proptest::prelude::*;
use tempfile::NamedTempFile;
use workload::distribution::Distribution;
use workload::session::{FailureKind, SessionError};

use super::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A line up to its test's own options.
fn line(text: &str) -> CommandLine {
    parse(&words(text)).unwrap()
}

/// A line of a test that comes with sysbench.
fn complete(text: &str) -> CommandLine {
    let mut line = line(text);
    let declared = declarations(line.dialect, line.test.as_deref().unwrap());
    line.finish(Some(&declared)).unwrap();
    line
}

fn with_file(text: &str, contents: &str) -> CommandLine {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(&file, contents).unwrap();
    let option = format!("--config-file={}", file.path().display());
    parse(&words(&text.replace("--config-file=x", &option))).unwrap()
}

/// The message of a line that is refused at once, whether it goes to stderr, and the exit code.
fn refused(text: &str) -> (String, bool, u8) {
    seen(parse(&words(text)).err().unwrap())
}

/// The same of a line whose test's options are refused.
fn invalid(text: &str) -> (String, bool, u8) {
    let mut line = line(text);
    let declared = declarations(line.dialect, line.test.as_deref().unwrap());
    seen(line.finish(Some(&declared)).unwrap_err())
}

/// The same of a line whose general values are refused.
fn out_of_range(text: &str) -> (String, bool, u8) {
    seen(General::of(&mut line(text)).unwrap_err())
}

fn seen(error: OptionError) -> (String, bool, u8) {
    (error.message, error.is_stderr, error.exit)
}

fn stderr(message: &str) -> (String, bool, u8) {
    (message.to_owned(), true, 1)
}

fn stdout(message: &str) -> (String, bool, u8) {
    (message.to_owned(), false, 1)
}

fn general(text: &str) -> General {
    General::of(&mut line(text)).unwrap()
}

fn targets(text: &str) -> Targets {
    Targets::of(&line(text), |_| None).unwrap()
}

#[test]
fn options_stand_anywhere() {
    for text in [
        "--threads=4 cpu run",
        "cpu --threads=4 run",
        "cpu run --threads=4",
    ] {
        let line = line(text);
        assert_eq!(line.test.as_deref(), Some("cpu"));
        assert_eq!(line.command.as_deref(), Some("run"));
        assert_eq!(line.values.int("threads"), Ok(4));
        assert_eq!(line.dialect, Dialect::V10);
    }
}

#[test]
fn a_value_follows_an_equals_sign() {
    let apart = parse(&words("--threads 4 cpu run")).err().unwrap();
    assert_eq!(apart.message, "Unrecognized command line argument: run");
    let hint = "hint: a value follows its option after '=', as in --threads=4";
    assert_eq!(apart.hint.as_deref(), Some(hint));

    let found = line("--threads 4 cpu");
    assert_eq!(found.test.as_deref(), Some("4"));
    let message = "FATAL: Cannot find benchmark '4': no such built-in test, file or module";
    assert_eq!(seen(found.unknown_test()), stdout(message));
    assert!(line("--debug cpu run").values.bool("debug"));
}

#[test]
fn a_third_word_is_refused() {
    let message = "Unrecognized command line argument: c";
    assert_eq!(refused("a b c"), stderr(message));
    assert_eq!(refused("--help a b c"), stderr(message));
    let message = "Unrecognized command line argument: -x";
    assert_eq!(refused("a b -x"), stderr(message));
}

#[test]
fn hyphens_and_underscores_are_the_same() {
    assert_eq!(
        line("--report_interval=3 cpu")
            .values
            .int("report_interval"),
        Ok(3)
    );
    assert_eq!(
        complete("oltp_read_only --table-size=7")
            .values
            .int("table_size"),
        Ok(7)
    );
    let case = invalid("cpu --Threads=1 run");
    assert_eq!(case, stderr("invalid option: --Threads=1"));
}

#[test]
fn the_last_value_wins() {
    let line = line("--threads=1 --threads=2 --mysql-host=a,b --mysql-host=,c,,d, cpu");
    assert_eq!(line.values.int("threads"), Ok(2));
    assert_eq!(line.values.list("mysql_host"), ["c", "d"]);
    assert!(
        super::tests::line("--mysql-host cpu")
            .values
            .list("mysql_host")
            .is_empty()
    );
}

#[test]
fn booleans_are_strict() {
    for word in ["", "=", "=on", "=true", "=1"] {
        assert!(
            complete(&format!("--validate{word} cpu run"))
                .values
                .bool("validate")
        );
    }
    for word in ["off", "false", "0"] {
        let line = complete(&format!("fileio --file-fsync-end={word} run"));
        assert!(!line.values.bool("file_fsync_end"));
    }
    for word in ["yes", "no", "OFF", "True"] {
        let option = format!("--debug={word}");
        let message = format!("invalid option: {option}");
        assert_eq!(invalid(&format!("cpu {option} run")), stderr(&message));
    }
    let old = invalid("--test=oltp --oltp-read-only=yes run");
    assert_eq!(old, stderr("invalid option: --oltp-read-only=yes"));
}

#[test]
fn integers_are_checked_when_they_are_read() {
    for text in ["abc", "1.5", "1k", "99999999999"] {
        let line = line(&format!("--report-interval={text} cpu run"));
        let error = line.values.int("report_interval").unwrap_err();
        let message = format!("Invalid value for the 'report_interval' option: '{text}'");
        assert_eq!(seen(error), stderr(&message));
    }
    assert_eq!(line("--events= cpu").values.int("events"), Ok(0));
    assert_eq!(line("--events=-5 cpu").values.int("events"), Ok(-5));
}

#[test]
fn sizes_and_doubles_without_a_meaning_are_0() {
    for (text, bytes) in [
        ("16384", 16_384),
        ("1k", 1 << 10),
        ("2MiB", 2 << 20),
        ("3G", 3 << 30),
        ("1T", 1 << 40),
        ("5X", 0),
        ("1.5K", 0),
        ("", 0),
        ("9999999T", 9_999_999 << 40),
        ("99999999999999999T", u64::MAX),
    ] {
        let line = complete(&format!("memory --memory-total-size={text} run"));
        assert_eq!(line.values.size("memory_total_size"), bytes, "{text}");
    }
    for (text, number) in [
        ("1.5", 1.5),
        ("2x", 0.0),
        ("1e2", 100.0),
        ("", 0.0),
        ("-.5", -0.5),
    ] {
        let line = complete(&format!("fileio --file-rw-ratio={text} run"));
        assert_eq!(line.values.double("file_rw_ratio"), number, "{text}");
    }
}

#[test]
fn leftovers_are_refused_once_the_test_is_known() {
    assert_eq!(
        invalid("cpu --nope=1 run"),
        stderr("invalid option: --nope=1")
    );
    assert_eq!(
        invalid("cpu --file-num=1 run"),
        stderr("invalid option: --file-num=1")
    );

    let mut near = line("cpu --cpu-maxprime=1 run");
    let declared = declarations(near.dialect, "cpu");
    let error = near.finish(Some(&declared)).unwrap_err();
    assert_eq!(
        error.hint.as_deref(),
        Some("hint: did you mean --cpu-max-prime?")
    );
}

#[test]
fn scripts_without_options_take_any_as_text_but_in_master() {
    let mut free = line("a.lua --x=1 --d-x run");
    free.finish(None).unwrap();
    assert_eq!(free.values.text("x"), "1");
    assert_eq!(free.values.kind("d_x"), Some(Kind::String));

    let mut strict = line("a.lua --dyno-dialect=master --x=1 run");
    assert_eq!(
        seen(strict.finish(None).unwrap_err()),
        stderr("invalid option: --x=1")
    );

    let mut typed = line("a.lua --debug=yes run");
    assert_eq!(
        seen(typed.finish(None).unwrap_err()),
        stderr("invalid option: --debug=yes")
    );
}

#[test]
fn scripts_declare_their_options() {
    let declared = [
        OptionDeclaration {
            name: "d-x".to_owned(),
            description: "d".to_owned(),
            kind: Kind::Double,
            default: "5".to_owned(),
        },
        OptionDeclaration {
            name: "use_fk".to_owned(),
            description: "f".to_owned(),
            kind: Kind::Bool,
            default: "on".to_owned(),
        },
    ];
    let mut line = line("tpcc.lua --use-fk=0 run");
    line.finish(Some(&declared)).unwrap();
    assert_eq!(line.values.double("d-x"), 5.0);
    assert!(!line.values.bool("use_fk"));
    let help = test_help("tpcc.lua", &declared);
    let expected = "tpcc.lua options:
  --d-x=N           d [5]
  --use_fk[=on|off] f [on]

";
    assert_eq!(help, expected);
}

#[test]
fn files_are_read_in_place() {
    let file =
        "threads=4\n\nno option\n# events=9\nevents=7 # seven\nmysql-host=a b,'c d' \"e,f\"\n";
    let line = with_file("--threads=1 --config-file=x --events=8 cpu run", file);
    assert_eq!(line.values.int("threads"), Ok(4));
    assert_eq!(line.values.int("events"), Ok(8));
    assert_eq!(line.values.list("mysql_host"), ["a", "b", "c d", "e", "f"]);

    let secret = with_file("--config-file=x cpu run", "mysql-password='a #\"b'\n");
    assert_eq!(secret.values.text("mysql_password"), "a #\"b");
}

#[test]
fn names_in_files_are_not_trimmed() {
    let mut line = with_file("--config-file=x cpu run", "threads = 4\n");
    line.finish(Some(&declarations(Dialect::V10, "cpu")))
        .unwrap();
    assert_eq!(line.values.int("threads"), Ok(1));
    let warning =
        "WARNING: Global option 'threads ' will not be exported, because the type is unknown";
    assert_eq!(line.warnings, [warning]);
}

#[test]
fn files_may_set_the_options_of_tests() {
    let mut line = with_file("--config-file=x fileio run", "file-num=3\n");
    line.finish(Some(&declarations(Dialect::V10, "fileio")))
        .unwrap();
    assert_eq!(line.values.int("file_num"), Ok(3));
}

#[test]
fn a_missing_file_is_told() {
    let line = line("--config-file=/nope cpu run");
    assert_eq!(line.notices, ["/nope: No such file or directory (os error 2)"]);
}

#[test]
fn former_names_count_and_warn() {
    let line = line("--num-threads=4 --max-requests=5 --max-time=6 --tx-rate=7 cpu run");
    let expected = [
        "WARNING: --num-threads is deprecated, use --threads instead",
        "WARNING: --max-requests is deprecated, use --events instead",
        "WARNING: --max-time is deprecated, use --time instead",
        "WARNING: --tx-rate is deprecated, use --rate instead",
    ];
    assert_eq!(line.warnings, expected);
    for (name, value) in [("threads", 4), ("events", 5), ("time", 6), ("rate", 7)] {
        assert_eq!(line.values.int(name), Ok(value));
    }
    let without = super::tests::line("--num-threads=1 --max-time=0 --events=1 --threads=3 cpu");
    assert!(without.warnings.is_empty());
    assert_eq!(without.values.int("threads"), Ok(3));
    assert_eq!(without.values.int("max_requests"), Ok(0));
}

#[test]
fn test_is_a_former_way_to_name_the_test() {
    let line = line("--test=cpu --num-threads=2 run");
    assert_eq!(
        (line.dialect, line.test.as_deref()),
        (Dialect::V10, Some("cpu"))
    );
    assert_eq!(line.command.as_deref(), Some("run"));
    assert_eq!(
        line.notices,
        [
            "WARNING: the --test option is deprecated. You can pass a script name or path on the command line without any options."
        ]
    );
}

#[test]
fn commands_are_checked() {
    let error = |text: &str| seen(line(text).command_of("cpu", &["run"]).unwrap_err());
    let message = "The 'cpu' test requires a command argument. See 'sysbench cpu help'";
    assert_eq!(error("cpu"), stderr(message));
    let message = "'cpu' test does not implement the 'prepare' command.";
    assert_eq!(error("cpu prepare"), stderr(message));
    assert_eq!(error("cpu foo"), stderr("Unknown command: foo"));
    for command in ["run", "help"] {
        let line = line(&format!("cpu {command}"));
        assert_eq!(line.command_of("cpu", &["run"]), Ok(command));
    }
}

#[test]
fn general_values_have_bounds() {
    for (options, message) in [
        ("--threads=0", "FATAL: Invalid value for --threads: 0"),
        ("--threads", "FATAL: Invalid value for --threads: 0"),
        ("--verbosity=9", "FATAL: Invalid value for --verbosity: 9"),
        (
            "--percentile=101",
            "FATAL: Invalid value for --percentile: 101",
        ),
        (
            "--histogram --percentile=0",
            "FATAL: --histogram cannot be used with --percentile=0",
        ),
        (
            "--rand-type=zzz",
            "FATAL: there is no distribution 'zzz'; \
             there are uniform, special, gaussian, pareto and zipfian",
        ),
        (
            "--rand-type=zipfian --rand-zipfian-exp=-1",
            "FATAL: zipfian's exp is -1; it must be from 0 to 100",
        ),
        (
            "--rand-spec-pct=0",
            "FATAL: special's pct is 0; it must be from 1 to 100",
        ),
        (
            "--warmup-time=-1",
            "FATAL: Invalid value for --warmup-time: -1",
        ),
    ] {
        assert_eq!(out_of_range(&format!("{options} cpu run")), stdout(message));
    }
    for (option, name) in [
        ("--forced-shutdown=x", "forced_shutdown"),
        ("--forced-shutdown=x%", "forced_shutdown"),
        ("--report-checkpoints=1,x", "report_checkpoints"),
    ] {
        let message = format!("Invalid value for the '{name}' option: 'x'");
        assert_eq!(out_of_range(&format!("{option} cpu run")), stderr(&message));
    }
}

#[test]
fn general_values_have_defaults() {
    let general = general("cpu run");
    let expected = General {
        threads: 1,
        events: None,
        time: Some(Duration::from_secs(10)),
        warmup: Duration::ZERO,
        forced_shutdown: None,
        rate: None,
        report_interval: None,
        checkpoints: Vec::new(),
        percentile: 95,
        verbosity: 3,
        seed: None,
        distribution: Distribution::SPECIAL,
    };
    assert_eq!(general, expected);
}

#[test]
fn general_values_are_read() {
    let general = general(
        "--threads=8 --events=100 --rate=50 --report-interval=2 --report-checkpoints=20,10 \
         --percentile=99 --histogram --debug --rand-seed=42 --rand-type=pareto --rand-pareto-h=0.3 \
         cpu run",
    );
    assert_eq!(
        (general.threads, general.events, general.rate),
        (8, Some(100), Some(50))
    );
    assert_eq!(general.report_interval, Some(Duration::from_secs(2)));
    assert_eq!(general.checkpoints, [10, 20].map(Duration::from_secs));
    assert_eq!((general.percentile, general.verbosity), (99, 5));
    assert_eq!(general.seed, Some(42));
    assert_eq!(general.distribution, Distribution::Pareto { h: 0.3 });
}

#[test]
fn a_shutdown_is_forced_after_seconds_or_a_part_of_the_time() {
    for (option, millis) in [
        ("", None),
        ("--forced-shutdown=OFF", None),
        ("--forced-shutdown", Some(1_000)),
        ("--forced-shutdown=7", Some(7_000)),
        ("--forced-shutdown=10%", Some(2_000)),
        ("--forced-shutdown=4294967295%", Some(858_993_459_000)),
    ] {
        let general = general(&format!("--time=20 {option} cpu run"));
        assert_eq!(
            general.forced_shutdown,
            millis.map(Duration::from_millis),
            "{option}"
        );
    }
    let endless = "--time=0 --events=1 --forced-shutdown=x cpu run";
    assert_eq!(general(endless).forced_shutdown, None);
}

#[test]
fn a_run_without_limits_is_warned_about() {
    let mut line = line("--time=0 cpu run");
    General::of(&mut line).unwrap();
    let warning = "WARNING: Both event and time limits are disabled, running an endless test";
    assert_eq!(line.warnings, [warning]);
}

#[test]
fn the_dialect_is_told_from_the_words() {
    use Dialect::{Master, V04, V05, V10};
    for (text, dialect) in [
        ("oltp_read_write --tables=2 run", V10),
        ("oltp_read_write --warmup-time=5 run", Master),
        ("oltp_read_write --rand-type=zipfian run", Master),
        ("oltp_read_write --mysql-ssl=REQUIRED run", Master),
        ("oltp_read_write --mysql-ssl=on run", V10),
        ("--test=oltp --num-threads=4 run", V04),
        ("--test=oltp --oltp-tables-count=4 run", V05),
        ("--test=tests/db/oltp.lua --oltp-table-size=4 run", V05),
        ("--test=select.lua --num-threads=4 run", V05),
        ("--test=select.lua --threads=4 run", V10),
        ("--test=select.lua --threads=4 --max-time=5 run", V10),
        (
            "--test=/x/oltp_legacy/oltp.lua --oltp-table-size=4 run",
            V10,
        ),
        ("--test=oltp_read_only --num-threads=4 run", V10),
        ("--test=fileio --num-threads=4 --max-requests=0 run", V10),
        ("--test=fileio --init-rng=on run", V04),
        ("--test=memory --batch run", V05),
        ("cpu --dyno-dialect=master run", Master),
    ] {
        assert_eq!(line(text).dialect, dialect, "{text}");
    }
    let message = "FATAL: Invalid value for --dyno-dialect: 2";
    assert_eq!(refused("cpu --dyno-dialect=2 run"), stdout(message));
}

#[test]
fn only_who_asks_for_master_gets_its_distribution() {
    let guessed = general("oltp_read_write --warmup-time=5 run");
    assert_eq!(guessed.distribution, Distribution::SPECIAL);
    assert_eq!(guessed.warmup, Duration::from_secs(5));
    let typed = general("oltp_read_write --dyno-dialect=master run");
    assert_eq!(typed.distribution, Distribution::Uniform);
    let zipfian = general("oltp_read_write --rand-type=zipfian --rand-zipfian-exp=0.9 run");
    assert_eq!(
        zipfian.distribution,
        Distribution::Zipfian { exponent: 0.9 }
    );
}

#[test]
fn dialect_0_4_names_the_test_by_an_option() {
    let line = complete("run --test=oltp --oltp-read-only");
    assert_eq!(line.dialect, Dialect::V04);
    assert_eq!(
        (line.test.as_deref(), line.command.as_deref()),
        (Some("oltp"), Some("run"))
    );
    let message = "invalid option: --x=1";
    assert_eq!(
        invalid("--test=oltp --oltp-read-only --x=1 run"),
        stderr(message)
    );
    let message = "Unrecognized command line argument: help";
    assert_eq!(refused("--test=oltp run help"), stderr(message));
    let help = (usage(Dialect::V04), false, 0);
    assert_eq!(refused("--test=oltp --help run"), help);
    assert!(help.0.contains("[options]... --test=NAME command\n"));
    let version = ("sysbench 0.4.12".to_owned(), false, 0);
    assert_eq!(refused("--test=oltp --version"), version);
}

#[test]
fn dialect_0_4_has_its_own_defaults() {
    let values = general("--test=oltp run");
    assert_eq!((values.events, values.time), (Some(10_000), None));
    assert_eq!((values.verbosity, values.seed), (4, Some(0)));
    assert_eq!(values.distribution, Distribution::SPECIAL);
    let text = "--test=oltp --init-rng --oltp-dist-type=gaussian --oltp-dist-iter=3 run";
    let values = General::of(&mut complete(text)).unwrap();
    assert_eq!(values.seed, None);
    assert_eq!(values.distribution, Distribution::Gaussian { iter: 3 });
    assert_eq!(
        out_of_range("--test=oltp --percentile=0 run"),
        stdout("FATAL: Invalid value for --percentile: 0")
    );
}

#[test]
fn dialect_0_5_takes_any_option() {
    let line = complete("--test=a/oltp.lua --oltp-tables-count=3 --mine=x --num-threads=2 run");
    assert_eq!(line.dialect, Dialect::V05);
    assert_eq!(line.values.int("oltp_tables_count"), Ok(3));
    assert_eq!(line.values.int("oltp_table_size"), Ok(10_000));
    assert_eq!(line.values.text("mine"), "x");
}

#[test]
fn answers_end_the_run() {
    let help = (usage(Dialect::V10), false, 0);
    assert_eq!(refused("cpu --help run"), help);
    assert!(help.0.contains("\n  --threads=N "));
    assert!(help.0.contains("\n  --mysql-host=[LIST,...] "));
    let version = ("sysbench 1.0.20".to_owned(), false, 0);
    assert_eq!(refused("--version"), version);
    let help = test_help("memory", &declarations(Dialect::V10, "memory"));
    assert!(help.starts_with("memory options:\n  --memory-access-mode=STRING seq or rnd [seq]\n"));
}

/// As the papers print them, and as a PDF has them.
#[test]
fn the_lines_of_papers_are_read() {
    let first = "--test=oltp --mysql-table-engine=innodb --oltp-table-size=1000000 \
                 --mysql-socket=/tmp/a.sock --num-threads=16 --max-time=900 --max-requests=500000 \
                 --oltp-test-mode=complex run";
    for text in [first.to_owned(), first.replace("--", "–")] {
        let mut line = complete(&text);
        assert_eq!(line.dialect, Dialect::V04);
        assert_eq!(line.values.int("oltp_table_size"), Ok(1_000_000));
        assert_eq!(line.values.text("oltp_test_mode"), "complex");
        let general = General::of(&mut line).unwrap();
        assert_eq!((general.threads, general.events), (16, Some(500_000)));
        assert_eq!(general.time, Some(Duration::from_secs(900)));
        let targets = Targets::of(&line, |_| None).unwrap();
        let url = "mysql://sbtest@localhost/sbtest?socket=%2Ftmp%2Fa%2Esock";
        assert_eq!(targets.urls, [url]);
    }
    let merged = first.replace("--mysql-socket", "–mysqlsocket");
    let mut merged = line(&merged);
    let declared = declarations(merged.dialect, "oltp");
    let error = merged.finish(Some(&declared)).unwrap_err();
    assert_eq!(error.message, "invalid option: --mysqlsocket=/tmp/a.sock");
    assert_eq!(
        error.hint.as_deref(),
        Some("hint: did you mean --mysql-socket?")
    );

    let second = "--test=/root/oltp.lua --oltp-tables-count=25 --mysql-port=3501 \
                  --mysql-table-engine=innodb --max-requests=0 --max-time=600 run";
    for text in [second.to_owned(), second.replace("--", "–")] {
        let mut line = complete(&text);
        assert_eq!(line.dialect, Dialect::V05);
        assert_eq!(line.values.int("oltp_tables_count"), Ok(25));
        let general = General::of(&mut line).unwrap();
        assert_eq!(
            (general.events, general.time),
            (None, Some(Duration::from_secs(600)))
        );
        let targets = Targets::of(&line, |_| None).unwrap();
        assert_eq!(targets.urls, ["mysql://sbtest@localhost:3501/sbtest"]);
    }

    let fifth = "--test=oltp --oltp-num-tables=10 --oltp-table-size=250000000 run";
    for text in [fifth.to_owned(), fifth.replace("--", "–")] {
        let line = complete(&text);
        assert_eq!(line.dialect, Dialect::V04);
        assert_eq!(line.values.int("oltp_num_tables"), Ok(10));
        assert_eq!(line.values.int("oltp_table_size"), Ok(250_000_000));
    }
}

#[test]
fn connections_take_every_port_of_a_host_first() {
    let found = targets("--mysql-host=a,::1 --mysql-port=1,2 --mysql-user=u@v --mysql-db=d/e");
    let expected = [
        "mysql://u%40v@a:1/d%2Fe",
        "mysql://u%40v@a:2/d%2Fe",
        "mysql://u%40v@[::1]:1/d%2Fe",
        "mysql://u%40v@[::1]:2/d%2Fe",
    ];
    assert_eq!(found.urls, expected);
    let found = targets("--mysql-host=a --mysql-socket=/x,/y oltp_read_only run");
    let expected = ["%2Fx", "%2Fy"];
    let expected = expected.map(|path| format!("mysql://sbtest@localhost/sbtest?socket={path}"));
    assert_eq!(found.urls, expected);
    assert!(targets("--mysql-host= oltp_read_only run").urls.is_empty());
}

#[test]
fn errors_have_the_words_of_their_driver() {
    let mut error = SessionError::of_script("no".to_owned());
    let [mysql, pgsql] = ["mysql", "pgsql"].map(|name| targets(&format!("--db-driver={name} x")));
    assert_eq!(mysql.fatal(&error), "no");
    error.kind = FailureKind::Refused;
    error.number = Some(1051);
    error.statement = Some("DROP TABLE t".to_owned());
    let expected = "mysql_drv_query() returned error 1051 (no) for query 'DROP TABLE t'";
    assert_eq!(mysql.fatal(&error), expected);
    let expected = "PQexec() failed: 7 no\nFATAL: failed query was: DROP TABLE t";
    assert_eq!(pgsql.fatal(&error), expected);
}

#[test]
fn targets_have_the_options_of_their_driver() {
    let found = targets("oltp_read_only run");
    assert_eq!(
        (found.driver.as_str(), found.user.as_str()),
        ("mysql", "sbtest")
    );
    assert_eq!(found.ignored_errors, ["1213", "1020", "1205"]);
    assert_eq!(found.login.tls_mode, Some(TlsMode::Disable));
    assert!(found.prepares && !found.is_dry_run);

    let found = targets("--db-driver=pgsql --pgsql-user=u --pgsql-port=6 --db-ps-mode=disable x");
    assert_eq!((found.driver.as_str(), found.user.as_str()), ("pgsql", "u"));
    assert_eq!(found.ignored_errors, ["40P01", "23505", "40001"]);
    assert_eq!(found.login.tls_mode, Some(TlsMode::Preferred));
    assert_eq!(found.urls, ["postgres://u@localhost:6/sbtest"]);
    assert!(!found.prepares);

    for (option, mode) in [
        ("--mysql-ssl", TlsMode::Required),
        ("--mysql-ssl=Verify_CA", TlsMode::VerifyCa),
        ("--mysql-ssl=verify_identity", TlsMode::VerifyFull),
        (
            "--db-driver=pgsql --pgsql-sslmode=verify-full",
            TlsMode::VerifyFull,
        ),
        (
            "--db-driver=pgsql --pgsql-sslmode=require",
            TlsMode::Required,
        ),
    ] {
        assert_eq!(
            targets(&format!("{option} x run")).login.tls_mode,
            Some(mode),
            "{option}"
        );
    }
    for (option, error) in [
        (
            "--db-driver=help",
            stdout("FATAL: Invalid value for --db-driver: help"),
        ),
        (
            "--db-ps-mode=x",
            stdout("FATAL: Invalid value for --db-ps-mode: x"),
        ),
        (
            "--mysql-ssl=yes",
            stdout("FATAL: Invalid value for --mysql-ssl: yes"),
        ),
        (
            "--mysql-port=1,x",
            stderr("Invalid value for the 'mysql_port' option: 'x'"),
        ),
    ] {
        let found = Targets::of(&line(&format!("{option} x run")), |_| None);
        assert_eq!(seen(found.err().unwrap()), error);
    }
}

#[test]
fn passwords_stay_out_of_what_is_kept() {
    let line = line("--mysql-password=se&cr='et --x-password=other oltp_read_only run");
    assert_eq!(line.argv[..2], ["--mysql-password=***", "--x-password=***"]);
    let typed = Targets::of(&line, |_| Some("environment".to_owned())).unwrap();
    assert_eq!(typed.password, "se&cr='et");
    let refused = invalid("cpu --x-password=other run");
    assert_eq!(refused, stderr("invalid option: --x-password=***"));
}

#[test]
fn the_environment_has_passwords_that_the_options_do_not_have() {
    for (driver, variable) in [("mysql", "MYSQL_PWD"), ("pgsql", "PGPASSWORD")] {
        let line = line(&format!("--db-driver={driver} x run"));
        let environment = |name: &str| (name == variable).then(|| "secret".to_owned());
        let targets = Targets::of(&line, environment).unwrap();
        assert_eq!(targets.password, "secret");
    }
}

#[test]
fn options_without_effect_are_noted() {
    let line = line("--mysql-compression=on x run");
    assert_eq!(line.notices, ["note: --mysql-compression has no effect"]);
}

/// The tests whose options are in the table.
const TESTS: [&str; 10] = [
    "cpu",
    "memory",
    "threads",
    "mutex",
    "fileio",
    "oltp_read_write",
    "bulk_insert",
    "select_random_points",
    "select_random_ranges",
    "oltp",
];

/// The options that every test has, and those of one.
fn known(dialect: Dialect, test: &str) -> Vec<OptionDeclaration> {
    let common = table::common(dialect)
        .flat_map(|(_, options)| options)
        .cloned();
    common.chain(declarations(dialect, test)).collect()
}

#[test]
fn every_row_of_the_table_is_read() {
    let rows = include_str!("table.txt")
        .lines()
        .filter(|line| !line.starts_with(['#', '[']));
    for row in rows {
        let names = row.split('|').nth(3).unwrap();
        for name in names.split_whitespace() {
            let mut all = Dialect::ALL
                .into_iter()
                .flat_map(|dialect| TESTS.into_iter().flat_map(move |test| known(dialect, test)));
            assert!(all.any(|option| option.name == name), "{row}");
        }
    }
}

#[test]
fn every_option_of_the_table_is_read_back() {
    let names = ["0.4", "0.5", "1.0", "master"];
    for (dialect, dialect_name) in Dialect::ALL.into_iter().zip(names) {
        for test in TESTS {
            let all = known(dialect, test);
            let mut names: Vec<_> = all.iter().map(|one| one.name.as_str()).collect();
            names.sort_unstable();
            assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
            let own = declarations(dialect, test);
            // Those that every test has are read once.
            for option in if test == "cpu" { &all } else { &own } {
                assert!(!option.description.is_empty());
                if ["help", "version", "config-file", "test", "dyno-dialect"].contains(&option.name.as_str())
                {
                    continue;
                }
                let (typed, value) = match option.kind {
                    Kind::Bool => ("on", "on"),
                    Kind::Double => ("0.5", "0.5"),
                    Kind::List => ("3,4", "3,4"),
                    _ => ("7", "7"),
                };
                let name = &option.name;
                let text =
                    format!("--dyno-dialect={dialect_name} --test={test} --{name}={typed} run");
                let text = text.replace("--test=oltp_", "oltp_");
                let mut line = match dialect {
                    Dialect::Master => line(&text.replace("--test=", "")),
                    _ => line(&text),
                };
                line.finish(Some(&own)).unwrap();
                assert_eq!(line.values.text(name), value, "{text}");
            }
        }
    }
}

fn word() -> impl Strategy<Value = String> {
    let all = Dialect::ALL
        .into_iter()
        .flat_map(|dialect| TESTS.into_iter().flat_map(move |test| known(dialect, test)));
    let names: Vec<_> = all.map(|option| option.name).collect();
    let name = prop::sample::select(names);
    let value = prop_oneof![
        Just(String::new()),
        "-?[0-9]{0,20}[kKmMgGtT%.]?",
        "(on|off|all|special|zipfian|pareto|mysql|pgsql|master|0\\.4|0\\.5)",
        ".{0,12}",
    ];
    prop_oneof![
        (name, value).prop_map(|(name, value)| format!("--{name}={value}")),
        "(cpu|oltp|oltp_read_write|run|help|prepare|a\\.lua)",
        ".{0,16}",
        "[-–—]{1,3}[a-z_=-]{0,16}",
    ]
}

proptest! {
    #[test]
    fn no_words_panic(
        mut words in prop::collection::vec(word(), 0..8),
        contents in ".{0,40}(=.{0,20}\n){0,3}",
    ) {
        let file = NamedTempFile::new().unwrap();
        std::fs::write(&file, contents).unwrap();
        words.push(format!("--config-file={}", file.path().display()));
        let Ok(mut line) = parse(&words) else { return Ok(()) };
        prop_assert_eq!(line.argv.len(), words.len());
        let declared = declarations(line.dialect, line.test.as_deref().unwrap_or_default());
        let _ = line.clone().finish(None);
        let _ = line.finish(Some(&declared));
        let _ = General::of(&mut line);
        let _ = Targets::of(&line, |_| None);
        for (name, _) in line.values.names() {
            let _ = (line.values.int(name), line.values.size(name), line.values.double(name));
            let _ = (line.values.list(name), line.values.bool(name));
        }
    }

    #[test]
    fn passwords_are_never_kept(password in "[a-zA-Z0-9&'\"#=@:/ ]{5,20}") {
        let typed = format!("--mysql-password={password}");
        let line = parse(&[typed, "cpu".to_owned()]).unwrap();
        prop_assert!(!line.argv.concat().contains(&password));
        prop_assert_eq!(line.values.text("mysql_password"), password);
    }
}

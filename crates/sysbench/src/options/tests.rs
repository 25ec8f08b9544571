//! Command lines of every dialect, and what they mean.

use std::time::Duration;

use plan::{StatementProtocol, TlsMode};
use proptest::prelude::*;
use tempfile::NamedTempFile;
use workload::distribution::Distribution;
use workload::session::{FailureKind, SessionError};

use super::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A line up to its test's own options.
fn read(text: &str) -> CommandLine {
    parse(&words(text)).unwrap()
}

/// Takes the options of a test that comes with sysbench. Any other is a script without options.
fn finish(line: &mut CommandLine) -> Result<(), OptionError> {
    let declared = declarations(line.dialect, line.test.as_deref().unwrap_or_default());
    line.finish(Some(&declared[..]).filter(|all| !all.is_empty()))
}

fn complete(text: &str) -> CommandLine {
    let mut line = read(text);
    finish(&mut line).unwrap();
    line
}

/// A line with `--config-file=x`, and the contents of that file.
fn with_file(text: &str, contents: &str) -> CommandLine {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(&file, contents).unwrap();
    let option = format!("--config-file={}", file.path().display());
    let mut line = read(&text.replace("--config-file=x", &option));
    finish(&mut line).unwrap();
    line
}

fn general(text: &str) -> General {
    General::of(&mut complete(text)).unwrap()
}

fn targets(text: &str) -> Targets {
    Targets::of(&read(text), |_| None).unwrap()
}

/// Reads all that a run reads, up to the first error.
fn everything(text: &str) -> Result<Targets, OptionError> {
    let mut line = parse(&words(text))?;
    finish(&mut line)?;
    General::of(&mut line)?;
    Targets::of(&line, |_| None)
}

fn refused(text: &str) -> OptionError {
    everything(text).err().unwrap()
}

/// The rows of a table, whose cells stand between bars.
fn rows<const CELLS: usize>(table: &str) -> Vec<[&str; CELLS]> {
    let rows = table.trim().lines();
    let rows = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    rows.map(|cells| cells.try_into().unwrap()).collect()
}

/// How each kind of option reads the value.
fn shown(values: &Values, name: &str) -> String {
    match values.kind(name) {
        Some(Kind::Bool) => values.bool(name).to_string(),
        Some(Kind::Int) => values.int(name).unwrap().to_string(),
        Some(Kind::Size) => values.size(name).to_string(),
        Some(Kind::Double) => values.double(name).to_string(),
        Some(Kind::List) => values.list(name).join(","),
        _ => values.text(name).to_owned(),
    }
}

/// The dialect that a line is written in, the line, and some of its values.
const READ: &str = "
1.0    | --threads=4 cpu run                                      | threads=4
1.0    | cpu --threads=4 run                                      | threads=4
1.0    | cpu run --threads=4                                      | threads=4
1.0    | --debug cpu run                                          | debug=true
1.0    | --report_interval=3 cpu                                  | report-interval=3
1.0    | oltp_read_only --table-size=7                            | table_size=7
1.0    | --threads=1 --threads=2 cpu                              | threads=2
1.0    | --mysql-host=a,b --mysql-host=,c,,d, cpu                 | mysql_host=c,d
1.0    | --mysql-host cpu                                         | mysql_host=
1.0    | --validate= cpu run                                      | validate=true
1.0    | --validate=on cpu run                                    | validate=true
1.0    | --validate=true cpu run                                  | validate=true
1.0    | --validate=1 cpu run                                     | validate=true
1.0    | fileio --file-fsync-end=off run                          | file_fsync_end=false
1.0    | fileio --file-fsync-end=false run                        | file_fsync_end=false
1.0    | fileio --file-fsync-end=0 run                            | file_fsync_end=false
1.0    | --events= cpu                                            | events=0
1.0    | --events=-5 cpu                                          | events=-5
1.0    | memory --memory-total-size=16384 run                     | memory_total_size=16384
1.0    | memory --memory-total-size=1k run                        | memory_total_size=1024
1.0    | memory --memory-total-size=2MiB run                      | memory_total_size=2097152
1.0    | memory --memory-total-size=3G run                        | memory_total_size=3221225472
1.0    | memory --memory-total-size=1T run                        | memory_total_size=1099511627776
1.0    | memory --memory-total-size=5X run                        | memory_total_size=0
1.0    | memory --memory-total-size=1.5K run                      | memory_total_size=0
1.0    | memory --memory-total-size= run                          | memory_total_size=0
1.0    | memory --memory-total-size=9999999T run                  | memory_total_size=10995115178248372224
1.0    | memory --memory-total-size=99999999999999999T run        | memory_total_size=0
1.0    | fileio --file-rw-ratio=1.5 run                           | file_rw_ratio=1.5
1.0    | fileio --file-rw-ratio=2x run                            | file_rw_ratio=0
1.0    | fileio --file-rw-ratio=1e2 run                           | file_rw_ratio=100
1.0    | fileio --file-rw-ratio= run                              | file_rw_ratio=0
1.0    | fileio --file-rw-ratio=-.5 run                           | file_rw_ratio=-0.5
1.0    | a.lua --x=1 --d-x run                                    | x=1 d_x=
1.0    | oltp_read_write --tables=2 run                           | tables=2
1.0    | oltp_read_write --mysql-ssl=on run                       | mysql_ssl=true
1.0    | --test=cpu --num-threads=2 run                           | threads=2
1.0    | --num-threads=1 --max-time=0 --events=1 --threads=3 cpu  | threads=3 max_requests=0
1.0    | --test=select.lua --threads=4 run                        | threads=4
1.0    | --test=select.lua --threads=4 --max-time=5 run           | time=5
1.0    | --test=/x/oltp_legacy/oltp.lua --oltp-table-size=4 run   | oltp_table_size=4
1.0    | --test=oltp_read_only --num-threads=4 run                | threads=4
1.0    | --test=fileio --num-threads=4 --max-requests=0 run       | threads=4 events=0
master | cpu --dyno-dialect=master run                            | rand-type=uniform
master | oltp_read_write --warmup-time=5 run                      | rand-type=special
master | oltp_read_write --rand-type=zipfian run                  | rand-type=zipfian
master | oltp_read_write --mysql-ssl=REQUIRED run                 | mysql_ssl=REQUIRED
0.4    | --test=oltp --num-threads=4 run                          | num-threads=4
0.4    | run --test=oltp --oltp-read-only                         | oltp-read-only=true
0.4    | --test=fileio --init-rng=on run                          | init_rng=true
0.5    | --test=oltp --oltp-tables-count=4 run                    | oltp_tables_count=4
0.5    | --test=tests/db/oltp.lua --oltp-table-size=4 run         | oltp_table_size=4
0.5    | --test=select.lua --num-threads=4 run                    | num-threads=4
0.5    | --test=memory --batch run                                | batch=true
0.5    | --test=a/oltp.lua --oltp-tables-count=3 --mine=x run     | oltp_table_size=10000 mine=x
";

#[test]
fn lines_are_read() {
    for [dialect, text, expected] in rows(READ) {
        let line = complete(text);
        assert_eq!(
            meaning(dialect, &Dialect::NAMED),
            Some(line.dialect),
            "{text}"
        );
        assert_eq!(line.command.as_deref().unwrap_or("run"), "run", "{text}");
        for pair in expected.split(' ') {
            let (name, value) = pair.split_once('=').unwrap();
            assert_eq!(shown(&line.values, name), value, "{text}");
        }
    }
    let line = read("run --test=oltp");
    assert_eq!(line.test.as_deref(), Some("oltp"));
    assert_eq!(read("cpu run").test.as_deref(), Some("cpu"));
    assert_eq!(read("a.lua --x=1").values.kind("x"), None);
    assert_eq!(complete("a.lua --x=1").values.kind("x"), Some(Kind::String));
}

/// Where the error of a line goes, the line, and the error.
const REFUSED: &str = "
stderr | a b c                                   | Unrecognized command line argument: c
stderr | --help a b c                            | Unrecognized command line argument: c
stderr | a b -x                                  | Unrecognized command line argument: -x
stderr | --test=oltp run help                    | Unrecognized command line argument: help
stderr | cpu --Threads=1 run                     | invalid option: --Threads=1
stderr | cpu --debug=yes run                     | invalid option: --debug=yes
stderr | cpu --debug=no run                      | invalid option: --debug=no
stderr | cpu --debug=OFF run                     | invalid option: --debug=OFF
stderr | cpu --debug=True run                    | invalid option: --debug=True
stderr | a.lua --debug=yes run                   | invalid option: --debug=yes
stderr | --test=oltp --oltp-read-only=yes run    | invalid option: --oltp-read-only=yes
stderr | cpu --nope=1 run                        | invalid option: --nope=1
stderr | cpu --file-num=1 run                    | invalid option: --file-num=1
stderr | cpu --x-password=other run              | invalid option: --x-password=***
stderr | a.lua --dyno-dialect=master --x=1 run   | invalid option: --x=1
stderr | --test=oltp --oltp-read-only --x=1 run  | invalid option: --x=1
stderr | --report-interval=abc cpu run           | Invalid value for the 'report_interval' option: 'abc'
stderr | --report-interval=1.5 cpu run           | Invalid value for the 'report_interval' option: '1.5'
stderr | --report-interval=1k cpu run            | Invalid value for the 'report_interval' option: '1k'
stderr | --report-interval=99999999999 cpu run   | Invalid value for the 'report_interval' option: '99999999999'
stderr | --forced-shutdown=x cpu run             | Invalid value for the 'forced_shutdown' option: 'x'
stderr | --forced-shutdown=x% cpu run            | Invalid value for the 'forced_shutdown' option: 'x'
stderr | --report-checkpoints=1,x cpu run        | Invalid value for the 'report_checkpoints' option: 'x'
stderr | --mysql-port=1,x x run                  | Invalid value for the 'mysql_port' option: 'x'
stdout | cpu --dyno-dialect=2 run                | FATAL: Invalid value for --dyno-dialect: 2
stdout | --threads=0 cpu run                     | FATAL: Invalid value for --threads: 0
stdout | --threads cpu run                       | FATAL: Invalid value for --threads: 0
stdout | --verbosity=9 cpu run                   | FATAL: Invalid value for --verbosity: 9
stdout | --percentile=101 cpu run                | FATAL: Invalid value for --percentile: 101
stdout | --test=oltp --percentile=0 run          | FATAL: Invalid value for --percentile: 0
stdout | --histogram --percentile=0 cpu run      | FATAL: --histogram cannot be used with --percentile=0
stdout | --warmup-time=-1 cpu run                | FATAL: Invalid value for --warmup-time: -1
stdout | --rand-type=zzz cpu run                 | FATAL: there is no distribution 'zzz'; there are uniform, special, gaussian, pareto and zipfian
stdout | --rand-type=zipfian --rand-zipfian-exp=-1 cpu run | FATAL: zipfian's exp is -1; it must be from 0 to 100
stdout | --rand-spec-pct=0 cpu run               | FATAL: special's pct is 0; it must be from 1 to 100
stdout | --db-driver=help x run                  | FATAL: Invalid value for --db-driver: help
stdout | --db-ps-mode=x x run                    | FATAL: Invalid value for --db-ps-mode: x
stdout | --mysql-ssl=yes x run                   | FATAL: Invalid value for --mysql-ssl: yes
";

#[test]
fn lines_are_refused() {
    for [stream, text, message] in rows(REFUSED) {
        let error = refused(text);
        assert_eq!(error.message, message, "{text}");
        assert_eq!(
            (error.is_stderr, error.exit),
            (stream == "stderr", 1),
            "{text}"
        );
    }
}

#[test]
fn mistakes_have_hints() {
    for (text, hint) in [
        (
            "--threads 4 cpu run",
            "hint: a value follows its option after '=', as in --threads=4",
        ),
        (
            "cpu --cpu-maxprime=1 run",
            "hint: did you mean --cpu-max-prime?",
        ),
        (
            "–test=oltp –mysqlsocket=/x run",
            "hint: did you mean --mysql-socket?",
        ),
    ] {
        assert_eq!(refused(text).hint.as_deref(), Some(hint));
    }
    let found = read("--threads 4 cpu").unknown_test();
    let message = "FATAL: Cannot find benchmark '4': no such built-in test, file or module";
    assert_eq!((found.message.as_str(), found.is_stderr), (message, false));
}

#[test]
fn scripts_declare_their_options() {
    let declared = [
        ("d-x", "d", Kind::Double, "5"),
        ("use_fk", "f", Kind::Bool, "on"),
    ];
    let declared = declared.map(|(name, description, kind, default)| OptionDeclaration {
        name: name.to_owned(),
        description: description.to_owned(),
        kind,
        default: default.to_owned(),
    });
    let mut line = read("tpcc.lua --use-fk=0 run");
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
    let own = with_file("--config-file=x fileio run", "file-num=3\n");
    assert_eq!(own.values.int("file_num"), Ok(3));

    let not_trimmed = with_file("--config-file=x cpu run", "threads = 4\n");
    assert_eq!(not_trimmed.values.int("threads"), Ok(1));
    let warning =
        "WARNING: Global option 'threads ' will not be exported, because the type is unknown";
    assert_eq!(not_trimmed.warnings, [warning]);
    let missing = read("--config-file=/nope cpu run");
    assert_eq!(
        missing.notices,
        ["/nope: No such file or directory (os error 2)"]
    );
}

#[test]
fn former_names_count_and_warn() {
    let line = read("--num-threads=4 --max-requests=5 --max-time=6 --tx-rate=7 cpu run");
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
    let unchanged = read("--num-threads=1 --max-time=0 --events=1 --threads=3 cpu");
    assert!(unchanged.warnings.is_empty());
    let test = "WARNING: the --test option is deprecated. \
                You can pass a script name or path on the command line without any options.";
    assert_eq!(read("--test=cpu run").notices, [test]);
    let idle = read("--mysql-compression=on x run");
    assert_eq!(idle.notices, ["note: --mysql-compression has no effect"]);
}

#[test]
fn commands_are_checked() {
    for (text, message) in [
        (
            "cpu",
            "The 'cpu' test requires a command argument. See 'sysbench cpu help'",
        ),
        (
            "cpu prepare",
            "'cpu' test does not implement the 'prepare' command.",
        ),
        ("cpu foo", "Unknown command: foo"),
    ] {
        let error = read(text).command_of("cpu", &["run"]).unwrap_err();
        assert_eq!((error.message.as_str(), error.is_stderr), (message, true));
    }
    for command in ["run", "help"] {
        let line = read(&format!("cpu {command}"));
        assert_eq!(line.command_of("cpu", &["run"]), Ok(command));
    }
}

#[test]
fn general_values_are_read() {
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
    assert_eq!(general("cpu run"), expected);
    let text = "--threads=8 --events=100 --rate=50 --report-interval=2 --histogram --debug \
                --report-checkpoints=20,10 --percentile=99 --rand-seed=42 --rand-type=pareto \
                --rand-pareto-h=0.3 cpu run";
    let given = General {
        threads: 8,
        events: Some(100),
        rate: Some(50),
        report_interval: Some(Duration::from_secs(2)),
        checkpoints: [10, 20].map(Duration::from_secs).to_vec(),
        percentile: 99,
        verbosity: 5,
        seed: Some(42),
        distribution: Distribution::Pareto { h: 0.3 },
        ..expected.clone()
    };
    assert_eq!(general(text), given);
    let of_04 = General {
        events: Some(10_000),
        time: None,
        verbosity: 4,
        seed: Some(0),
        ..expected
    };
    assert_eq!(general("--test=oltp run"), of_04);
    let text = "--test=oltp --init-rng --oltp-dist-type=gaussian --oltp-dist-iter=3 run";
    let given = General {
        seed: None,
        distribution: Distribution::Gaussian { iter: 3 },
        ..of_04
    };
    assert_eq!(general(text), given);
}

#[test]
fn only_who_asks_for_master_gets_its_distribution() {
    let zipfian = Distribution::Zipfian { exponent: 0.9 };
    for (options, distribution, warmup_s) in [
        ("--warmup-time=5", Distribution::SPECIAL, 5),
        ("--dyno-dialect=master", Distribution::Uniform, 0),
        ("--rand-type=zipfian --rand-zipfian-exp=0.9", zipfian, 0),
    ] {
        let general = general(&format!("oltp_read_write {options} run"));
        assert_eq!(general.distribution, distribution);
        assert_eq!(general.warmup, Duration::from_secs(warmup_s));
    }
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
        let expected = millis.map(Duration::from_millis);
        assert_eq!(general.forced_shutdown, expected, "{option}");
    }
    let endless = "--time=0 --events=1 --forced-shutdown=x cpu run";
    assert_eq!(general(endless).forced_shutdown, None);
}

#[test]
fn a_run_without_limits_is_warned_about() {
    let mut line = read("--time=0 cpu run");
    General::of(&mut line).unwrap();
    let warning = "WARNING: Both event and time limits are disabled, running an endless test";
    assert_eq!(line.warnings, [warning]);
}

#[test]
fn answers_end_the_run() {
    for (text, answer) in [
        ("cpu --help run", usage(Dialect::V10)),
        ("--test=oltp --help run", usage(Dialect::V04)),
        ("--version", "sysbench 1.0.20".to_owned()),
        ("--test=oltp --version", "sysbench 0.4.12".to_owned()),
    ] {
        let end = refused(text);
        assert_eq!((end.message, end.is_stderr, end.exit), (answer, false, 0));
    }
    assert!(usage(Dialect::V04).contains("[options]... --test=NAME command\n"));
    assert!(usage(Dialect::V10).contains("\n  --threads=N "));
    assert!(usage(Dialect::V10).contains("\n  --mysql-host=[LIST,...] "));
    let help = test_help("memory", &declarations(Dialect::V10, "memory"));
    assert!(help.starts_with("memory options:\n  --memory-access-mode=STRING seq or rnd [seq]\n"));
}

/// As the papers print them, and as a PDF has them.
#[test]
fn the_lines_of_papers_are_read() {
    let first = "--test=oltp --mysql-table-engine=innodb --oltp-table-size=1000000 \
                 --mysql-socket=/tmp/a.sock --num-threads=16 --max-time=900 --max-requests=500000 \
                 --oltp-test-mode=complex run";
    let second = "--test=/root/oltp.lua --oltp-tables-count=25 --mysql-port=3501 \
                  --mysql-table-engine=innodb --max-requests=0 --max-time=600 run";
    let fifth = "--test=oltp --oltp-num-tables=10 --oltp-table-size=250000000 run";
    let socket = "mysql://sbtest@localhost/sbtest?socket=%2Ftmp%2Fa%2Esock";
    let port = "mysql://sbtest@localhost:3501/sbtest";
    for (text, dialect, url, (threads, events, time_s)) in [
        (
            first,
            Dialect::V04,
            Some(socket),
            (16, Some(500_000), Some(900)),
        ),
        (second, Dialect::V05, Some(port), (1, None, Some(600))),
        (fifth, Dialect::V04, None, (1, Some(10_000), None)),
    ] {
        for text in [text.to_owned(), text.replace("--", "–")] {
            let mut line = complete(&text);
            assert_eq!(line.dialect, dialect);
            let general = General::of(&mut line).unwrap();
            assert_eq!((general.threads, general.events), (threads, events));
            assert_eq!(general.time, time_s.map(Duration::from_secs));
            if let Some(url) = url {
                assert_eq!(Targets::of(&line, |_| None).unwrap().urls, [url]);
            }
            for option in text
                .split_whitespace()
                .filter(|word| word.contains("oltp-"))
            {
                let (name, value) = option.split_once('=').unwrap();
                let name = name.trim_start_matches(['-', '–']);
                assert_eq!(line.values.text(name), value);
            }
        }
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
    let found = targets("--db-driver=pgsql --pgsql-host=/run/pg oltp_read_only run");
    assert_eq!(found.urls, ["postgres://sbtest@%2Frun%2Fpg:5432/sbtest"]);
}

#[test]
fn remedies_name_the_options_of_their_driver() {
    let [mysql, pgsql] = ["mysql", "pgsql"].map(|name| targets(&format!("--db-driver={name} x")));
    let refused =
        "check the port (if it listens only on a Unix socket, name the socket in the URL)";
    let expected = "check --mysql-host and --mysql-port (if it listens only on a Unix socket, \
                    name it with --mysql-socket)";
    assert_eq!(mysql.remedy(refused), expected);
    let expected = "check --pgsql-host and --pgsql-port (if it listens only on a Unix socket, \
                    name it with --pgsql-host)";
    assert_eq!(pgsql.remedy(refused), expected);
    assert_eq!(
        mysql.remedy("use --protocol text"),
        "use --db-ps-mode=disable"
    );
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
    assert_eq!(found.protocol, StatementProtocol::Prepared);
    assert!(!found.is_dry_run);
    let found = targets("--db-driver=pgsql --pgsql-user=u --pgsql-port=6 --db-ps-mode=disable x");
    assert_eq!((found.driver.as_str(), found.user.as_str()), ("pgsql", "u"));
    assert_eq!(found.ignored_errors, ["40P01", "23505", "40001"]);
    assert_eq!(found.urls, ["postgres://u@localhost:6/sbtest"]);
    assert_eq!(found.protocol, StatementProtocol::Text);

    for (options, mode) in [
        ("", TlsMode::Disable),
        ("--mysql-ssl", TlsMode::Required),
        ("--mysql-ssl=Verify_CA", TlsMode::VerifyCa),
        ("--mysql-ssl=verify_identity", TlsMode::VerifyFull),
        ("--db-driver=pgsql", TlsMode::Preferred),
        (
            "--db-driver=pgsql --pgsql-sslmode=verify-full",
            TlsMode::VerifyFull,
        ),
        (
            "--db-driver=pgsql --pgsql-sslmode=require",
            TlsMode::Required,
        ),
    ] {
        let login = targets(&format!("{options} x run")).login;
        assert_eq!(login.tls_mode, Some(mode), "{options}");
    }
}

#[test]
fn passwords_come_from_options_or_the_environment() {
    let line = read("--mysql-password=se&cr='et --x-password=other oltp_read_only run");
    assert_eq!(line.argv[..2], ["--mysql-password=***", "--x-password=***"]);
    let typed = Targets::of(&line, |_| Some("environment".to_owned())).unwrap();
    assert_eq!(typed.password, "se&cr='et");
    for (driver, variable) in [("mysql", "MYSQL_PWD"), ("pgsql", "PGPASSWORD")] {
        let line = read(&format!("--db-driver={driver} x run"));
        let environment = |name: &str| (name == variable).then(|| "secret".to_owned());
        let targets = Targets::of(&line, environment).unwrap();
        assert_eq!(targets.password, "secret");
    }
}

/// The tests whose options are in the table.
const TESTS: &str = "cpu memory threads mutex fileio oltp_read_write bulk_insert \
                     select_random_points select_random_ranges oltp";

/// The options that every test has, and those of one.
fn known(dialect: Dialect, test: &str) -> Vec<OptionDeclaration> {
    let common = table::common(dialect).flat_map(|(_, options)| options);
    common.cloned().chain(declarations(dialect, test)).collect()
}

/// The names of all options.
fn names() -> Vec<String> {
    let tests = || TESTS.split(' ');
    let all = Dialect::NAMED.into_iter().flat_map(|(_, dialect)| {
        let options = tests().flat_map(move |test| known(dialect, test));
        options.map(|option| option.name)
    });
    all.collect()
}

#[test]
fn every_row_of_the_table_is_read() {
    let names = names();
    let table = include_str!("table.txt").lines();
    for row in table.filter(|line| !line.starts_with(['#', '['])) {
        let own = row.split('|').nth(3).unwrap();
        for name in own.split_whitespace() {
            assert!(names.iter().any(|known| known == name), "{row}");
        }
    }
}

#[test]
fn every_option_of_the_table_is_read_back() {
    for (dialect_name, dialect) in Dialect::NAMED {
        for test in TESTS.split(' ') {
            let all = known(dialect, test);
            let mut names: Vec<_> = all.iter().map(|one| &one.name).collect();
            names.sort_unstable();
            assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
            let own = declarations(dialect, test);
            // Those that every test has are read once.
            for option in if test == "cpu" { &all } else { &own } {
                assert!(!option.description.is_empty());
                let name = option.name.as_str();
                if ["help", "version", "config-file", "test", "dyno-dialect"].contains(&name) {
                    continue;
                }
                let value = match option.kind {
                    Kind::Bool => "on",
                    Kind::Double => "0.5",
                    Kind::List => "3,4",
                    _ => "7",
                };
                let options = format!("--dyno-dialect={dialect_name} --{name}={value}");
                let mut line = match dialect {
                    Dialect::V04 | Dialect::V05 => read(&format!("{options} --test={test} run")),
                    _ => read(&format!("{options} {test} run")),
                };
                line.finish(Some(&own)).unwrap();
                assert_eq!(line.values.text(name), value, "{options} {test}");
            }
        }
    }
}

fn word() -> impl Strategy<Value = String> {
    let name = prop::sample::select(names());
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

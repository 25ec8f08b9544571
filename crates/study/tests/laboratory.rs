//! What servers, variants, repeats and report tables of a study mean.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use study::{Engine, EngineSpec, Plan, Reset, ServerSpec, Study, Trial};

const SMALLEST: &str = "title = \"t\"\nserver.engine = \"mariadb\"\n";

fn study(text: &str, overrides: &[(&str, &str)]) -> Study {
    let study = Study::parse_with_overrides("s.toml", text, overrides);
    study.map_err(|e| e.to_string()).unwrap()
}

fn plan(text: &str, overrides: &[(&str, &str)]) -> Plan {
    study(text, overrides).plan().unwrap()
}

fn fails(text: &str, overrides: &[(&str, &str)]) -> String {
    let study = Study::parse_with_overrides("s.toml", text, overrides);
    study.unwrap_err().to_string()
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.trials.iter().map(|t| t.label.as_str()).collect()
}

fn engine(trial: &Trial) -> &EngineSpec {
    let ServerSpec::Engine(engine) = &trial.server else {
        panic!("no engine")
    };
    engine
}

fn config(trial: &Trial) -> Vec<(&str, &str)> {
    let config = engine(trial).config.iter();
    config.map(|(n, v)| (n.as_str(), v.as_str())).collect()
}

#[test]
fn every_key_of_a_server_arrives() {
    let text = "title = \"t\"
        [server]\nengine = \"mysql\"\nbasedir = \"/opt/mysql\"\nversion = \"9.7\"\nport = 3501\nreset = \"rebuild\"\ncpus = 1.5\ndirectory = \"/mnt/a b\"
        [server.config]\ninnodb_buffer_pool_size = \"256M\"\ninnodb-flush-log-at-trx-commit = 0x2
        log_bin = false\nsync-binlog = -1\nlong_query_time = 0.50\nsql_mode = \"\"\nskip_name_resolve = true
        validate_password.policy = \"LOW\"
        [topology]\ninstances = 8";
    let plan = plan(text, &[]);
    let spec = engine(&plan.trials[0]);
    assert_eq!((spec.engine, spec.reset), (Engine::MySql, Reset::Rebuild));
    assert_eq!(spec.basedir.as_deref().unwrap(), Path::new("/opt/mysql"));
    assert_eq!(spec.version.as_deref().unwrap(), "9.7");
    assert_eq!(spec.port.as_deref(), Some(&3501));
    assert_eq!(spec.cpus.as_deref(), Some(&1.5));
    assert_eq!(spec.directory.as_deref().unwrap(), Path::new("/mnt/a b"));
    assert_eq!(plan.trials[0].instances, 8);
    assert_eq!(
        config(&plan.trials[0]),
        [
            ("innodb_buffer_pool_size", "256M"),
            ("innodb_flush_log_at_trx_commit", "2"),
            ("log_bin", "OFF"),
            ("long_query_time", "0.5"),
            ("skip_name_resolve", "ON"),
            ("sql_mode", ""),
            ("sync_binlog", "-1"),
            ("validate_password.policy", "LOW"),
        ]
    );
}

#[test]
fn a_version_is_a_prefix_of_components() {
    let plan = plan(SMALLEST, &[("server.version", "10.11")]);
    let spec = engine(&plan.trials[0]);
    for (actual, fits) in [
        ("10.11", true),
        ("10.11.14", true),
        ("10.11.14-MariaDB", true),
        ("10.11-x", true),
        ("10.110", false),
        ("10.1", false),
        ("10", false),
        ("110.11", false),
        ("", false),
    ] {
        assert_eq!(spec.has_version(actual), fits, "{actual}");
    }
    assert!(engine(&self::plan(SMALLEST, &[]).trials[0]).has_version("5.1"));
}

const VARIANTS: &str = r#"
title = "t"

[server]
engine = "mariadb"
config = { innodb_buffer_pool_size = "256M", sync_binlog = 0 }

[load]
rate = 100

[[variant]]
name = "as it is"

[[variant]]
name = "small pool"
server.config.innodb-buffer-pool-size = "64M"
load.rate = 50
"data.rows" = 7

[[variant]]
name = "mine"
server.url = "mysql://h/d"

[sweep]
"load.threads" = [1, 2]
"#;

#[test]
fn variants_are_the_slowest_axis_and_their_values_win() {
    let plan = plan(VARIANTS, &[]);
    assert_eq!(plan.axes, ["variant", "load.threads"]);
    assert_eq!(
        labels(&plan),
        [
            "as it is, threads=1",
            "as it is, threads=2",
            "small pool, threads=1",
            "small pool, threads=2",
            "mine, threads=1",
            "mine, threads=2",
        ]
    );
    let [plain, _, small, .., mine] = plan.trials.as_slice() else {
        panic!("too few")
    };
    assert_eq!(
        config(plain),
        [("innodb_buffer_pool_size", "256M"), ("sync_binlog", "0")]
    );
    assert_eq!(
        config(small),
        [("innodb_buffer_pool_size", "64M"), ("sync_binlog", "0")]
    );
    assert_eq!((plain.data.rows, small.data.rows), (10_000, 7));
    assert_eq!(small.variant.as_deref(), Some("small pool"));
    assert_eq!(
        small.point,
        [
            ("variant".to_owned(), "small pool".to_owned()),
            ("load.threads".to_owned(), "1".to_owned()),
        ]
    );
    assert!(matches!(&mine.server, ServerSpec::Url(url) if url.expose() == "mysql://h/d"));
}

#[test]
fn an_override_speaks_instead_of_variants_too() {
    let same = plan(VARIANTS, &[("data.rows", "9"), ("server.engine", "mysql")]);
    for trial in &same.trials {
        assert_eq!((trial.data.rows, engine(trial).engine), (9, Engine::MySql));
    }
    // Each setting by itself, and all of them.
    let pool = "server.config.innodb-buffer-pool-size";
    let without_url = VARIANTS.replace("server.url = \"mysql://h/d\"", "");
    for trial in plan(&without_url, &[(pool, "1G")]).trials {
        assert_eq!(
            config(&trial),
            [("innodb_buffer_pool_size", "1G"), ("sync_binlog", "0")]
        );
    }
    for trial in plan(&without_url, &[("server.config", "{ log_bin = true }")]).trials {
        assert_eq!(config(&trial), [("log_bin", "ON")]);
    }
    let swept = plan(VARIANTS, &[("sweep.data.rows", "[1, 2, 3]")]);
    assert_eq!(swept.trials.len(), 3 * 3 * 2);
    assert_eq!(swept.axes, ["variant", "load.threads", "data.rows"]);
}

#[test]
fn an_override_can_be_for_one_variant() {
    let plan = plan(
        VARIANTS,
        &[
            ("variant.small pool.name", "a.b"),
            ("variant.small pool.data.rows", "70"),
            (
                "variant.'small pool'.server.config.innodb_buffer_pool_size",
                "1G",
            ),
            ("variant.\"mine\".server.engine", "mysql"),
            ("data.rows", "60"),
        ],
    );
    let [plain, _, small, .., mine] = plan.trials.as_slice() else {
        panic!("too few")
    };
    assert_eq!((plain.data.rows, small.data.rows), (60, 70));
    assert_eq!(small.variant.as_deref(), Some("a.b"));
    assert_eq!(config(small)[0].1, "1G");
    assert_eq!(config(plain)[0].1, "256M");
    assert_eq!(engine(mine).engine, Engine::MySql);

    for (key, value, said) in [
        (
            "variant.large.data.rows",
            "1",
            "has the variants as it is, small pool, mine",
        ),
        ("variant.mine", "1", "write variant.NAME.KEY"),
        ("variant.mine.name", "small pool", "two variants have"),
        ("variant.mine.data.row", "1", "did you mean `data.rows`?"),
        ("variant.mine.load.repeats", "2", "a variant cannot set"),
        (
            "variant.mine.load.threads",
            "2",
            "is swept, and set by a variant too",
        ),
        ("variant.mine.data.rows", "x", "a whole number"),
    ] {
        let error = fails(VARIANTS, &[(key, value)]);
        assert!(error.contains(said) && error.contains("--set"), "{error}");
        assert!(!error.contains("\n\n"), "one fault, told once: {error}");
    }
    let error = fails(SMALLEST, &[("variant.mine.data.rows", "1")]);
    assert!(error.contains("this study has no variants"), "{error}");
    // A longer name is meant before one that it begins with.
    let text = format!("{SMALLEST}[[variant]]\nname = \"a\"\n[[variant]]\nname = \"a.data\"\n");
    let two = self::plan(&text, &[("variant.a.data.data.rows", "5")]);
    assert_eq!(two.trials[1].data.rows, 5);
}

#[test]
fn settings_of_the_server_are_axes() {
    let text = format!(
        "{SMALLEST}server.config.a.b = 1\n[sweep]\nserver.config.innodb_flush-method = [\"fsync\", \"O_DIRECT\"]\n\
         \"server.config.sync_binlog\" = [0, 1]\nserver.reset = [\"copy\", \"none\"]\n"
    );
    let plan = plan(&text, &[]);
    assert_eq!(
        plan.axes,
        [
            "server.config.innodb_flush_method",
            "server.config.sync_binlog",
            "server.reset"
        ]
    );
    assert_eq!(
        labels(&plan)[1],
        "innodb_flush_method=fsync, sync_binlog=0, reset=none"
    );
    assert_eq!(
        config(&plan.trials[7]),
        [
            ("a.b", "1"),
            ("innodb_flush_method", "O_DIRECT"),
            ("sync_binlog", "1")
        ]
    );
}

#[test]
fn what_a_server_may_use_and_where_its_data_lies_are_axes() {
    let text = format!(
        "{SMALLEST}[[variant]]\nname = \"all\"\n[[variant]]\nname = \"half\"\nserver.cpus = 0.5\n\
         [sweep]\nserver.directory = [\"/mnt/a\", \"/mnt/b\"]\n"
    );
    let plan = plan(&text, &[]);
    let specs = plan.trials.iter().map(engine);
    let seen: Vec<_> = specs
        .map(|spec| {
            let directory = spec.directory.as_deref().unwrap();
            (spec.cpus.as_deref().copied(), directory.as_path())
        })
        .collect();
    let wanted = [
        (None, "/mnt/a"),
        (None, "/mnt/b"),
        (Some(0.5), "/mnt/a"),
        (Some(0.5), "/mnt/b"),
    ];
    assert_eq!(seen, wanted.map(|(cpus, path)| (cpus, Path::new(path))));
    assert_eq!(labels(&plan)[3], "half, directory=/mnt/b");
    let both = [("server.cpus", "2"), ("sweep.server.directory", "[\"/c\"]")];
    for trial in self::plan(&text, &both).trials {
        let spec = engine(&trial);
        assert_eq!(spec.cpus.as_deref(), Some(&2.0));
        assert_eq!(spec.directory.as_deref().unwrap(), Path::new("/c"));
    }
    for (key, value, said) in [
        ("server.cpus", "0", "goes from 0.01 to 10000"),
        ("server.cpus", "nan", "out of range"),
        ("server.cpus", "two", "takes a number"),
        ("server.directory", "mnt/a", "not the whole path"),
    ] {
        let error = fails(SMALLEST, &[(key, value)]);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn engines_are_an_axis_and_keys_of_the_one_leave_the_other_alone() {
    let text = "title = \"t\"\nserver.config = { sync_binlog = 0 }\nserver.reset = \"none\"\n\
        sweep.server.engine = [\"sqlite\", \"mariadb\", \"mysql\"]";
    let plan = plan(text, &[]);
    assert_eq!(
        labels(&plan),
        ["engine=sqlite", "engine=mariadb", "engine=mysql"]
    );
    let [sqlite, mariadb, _] = plan.trials.as_slice() else {
        panic!("too few")
    };
    assert!(config(sqlite).is_empty() && engine(sqlite).reset == Reset::Copy);
    assert!(config(mariadb).len() == 1 && engine(mariadb).reset == Reset::None);
}

#[test]
fn repeats_are_blocks() {
    let text =
        format!("{SMALLEST}[load]\nrepeats = 3\n[sweep]\nload.threads = [1, 2, 3, 4, 5, 6]\n");
    let shuffled = plan(&text, &[]);
    assert!(shuffled.order.random);
    assert_eq!((shuffled.repeats, shuffled.trials.len()), (3, 18));
    assert_eq!(shuffled.duration_estimate(), Duration::from_secs(18 * 70));
    let orders: BTreeSet<Vec<u32>> = shuffled
        .trials
        .chunks(6)
        .map(|block| block.iter().map(|t| t.load.threads).collect())
        .collect();
    assert_eq!(orders.len(), 3, "each block has an order of its own");
    for (block, repeat) in shuffled.trials.chunks(6).zip(1..) {
        let all: BTreeSet<_> = block.iter().map(|t| t.load.threads).collect();
        assert_eq!(all, (1..=6).collect());
        assert!(block.iter().all(|t| t.repeat == repeat));
    }
    let numbers: Vec<_> = shuffled.trials.iter().map(|t| t.number).collect();
    assert_eq!(numbers, (1..=18).collect::<Vec<_>>());
    // A seed names an order, in this version and in later ones.
    let first: Vec<_> = shuffled.trials[..6]
        .iter()
        .map(|t| t.load.threads)
        .collect();
    assert_eq!(first, [3, 1, 2, 5, 6, 4]);
    let other = plan(&text, &[("load.order_seed", "2")]);
    assert_ne!(labels(&other), labels(&shuffled));
    assert_eq!(labels(&plan(&text, &[])), labels(&shuffled));

    let written = plan(&text, &[("load.order", "written")]);
    assert_eq!(
        labels(&written)[..2],
        ["threads=1, repeat 1", "threads=2, repeat 1"]
    );
    assert_eq!(labels(&written)[6], "threads=1, repeat 2");
    let once = plan(&text, &[("load.repeats", "1")]);
    assert!(!once.order.random);
    assert_eq!(labels(&once)[..2], ["threads=1", "threads=2"]);
    let random = [("load.repeats", "1"), ("load.order", "random")];
    assert_ne!(labels(&plan(&text, &random))[..], labels(&once)[..]);
    let alone = plan(SMALLEST, &[("load.repeats", "2")]);
    assert_eq!(labels(&alone), ["repeat 1", "repeat 2"]);
}

const TABLES: &str = r#"
title = "t"
server.engine = "mariadb"
[sweep]
"topology.instances" = [1, 2]
server.config.sync-binlog = [0, 1]
[report]
tables = [
    { rows = "topology.instances", columns = ["tps", "cpu.usr"] },
    { rows = "server.config.sync-binlog", columns = ["response_ms.p9"] },
]
"#;

#[test]
fn tables_of_the_report() {
    let study = study(TABLES, &[]);
    let plan = study.plan().unwrap();
    let rows: Vec<_> = plan.tables.iter().map(|t| t.rows.as_str()).collect();
    assert_eq!(rows, ["topology.instances", "server.config.sync_binlog"]);
    assert_eq!(plan.tables[0].columns[0].as_str(), "tps");

    let known = ["tps", "cpu.user", "response_ms.p99"];
    let unknown = |name: &str| {
        let near = study::nearest(name, known).map(|near| format!("did you mean `{near}`?"));
        (!known.contains(&name)).then(|| near.unwrap_or_default())
    };
    let error = study.check_columns(unknown).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error: unknown column `cpu.usr`
 --> s.toml:9:54
  |
9 |     { rows = \"topology.instances\", columns = [\"tps\", \"cpu.usr\"] },
  |                                                      ^^^^^^^^^
  = help: did you mean `cpu.user`?

error: unknown column `response_ms.p9`
  --> s.toml:10:54
   |
10 |     { rows = \"server.config.sync-binlog\", columns = [\"response_ms.p9\"] },
   |                                                      ^^^^^^^^^^^^^^^^
   = help: did you mean `response_ms.p99`?"
    );
    assert!(study.check_columns(|_| None).is_ok());
}

#[test]
fn a_table_keeps_its_rows_when_their_axis_is_overridden() {
    let one = plan(TABLES, &[("topology.instances", "2")]);
    assert_eq!(
        one.axes,
        ["topology.instances", "server.config.sync_binlog"]
    );
    assert_eq!(
        labels(&one),
        ["instances=2, sync_binlog=0", "instances=2, sync_binlog=1"]
    );
    let none = plan(TABLES, &[("report.tables", "[]")]);
    assert!(none.tables.is_empty());
    let other = "[{ rows = \"topology.instances\", columns = [\"errors\"] }]";
    let other = plan(TABLES, &[("report.tables", other)]);
    assert_eq!(other.tables.len(), 1);
    assert_eq!(other.tables[0].columns[0].as_str(), "errors");
    let gone = fails(
        TABLES,
        &[(
            "report.tables",
            "[{ rows = \"load.time\", columns = [\"tps\"] }]",
        )],
    );
    assert!(
        gone.contains("`load.time` is not an axis of this study"),
        "{gone}"
    );
}

#[test]
fn overrides_are_read_as_the_key_wants() {
    let overrides = [
        ("server.config.a", "256M"),
        ("server.config.b", "1"),
        ("server.config.c", "true"),
        ("server.config.d", "2024-01-01"),
        ("server.config.e", "[1]"),
        ("server.version", "10.11"),
        ("monitors.enabled", "false"),
        ("load.preload", "true"),
        ("server.basedir", "/opt/x y"),
    ];
    let plan = plan(SMALLEST, &overrides);
    let trial = &plan.trials[0];
    assert_eq!(
        config(trial),
        [
            ("a", "256M"),
            ("b", "1"),
            ("c", "ON"),
            ("d", "2024-01-01"),
            ("e", "[1]")
        ]
    );
    assert_eq!(engine(trial).version.as_deref().unwrap(), "10.11");
    assert_eq!((trial.monitors, trial.load.preload), (false, true));
    for (key, value, said) in [
        ("server.config.datadir", "/x", "not the study's to make"),
        ("server.config", "x", "takes a table of settings"),
        ("server.confg.x", "1", "did you mean"),
        ("variant", "a", "variants stand in the file"),
        ("variant.name", "a", "this study has no variants"),
        ("sweep.server.config.port", "[1]", "server.port"),
        (
            "monitors.enabled",
            "no",
            "write enabled = true or enabled = false",
        ),
    ] {
        let error = fails(SMALLEST, &[(key, value)]);
        assert!(error.contains(said) && error.contains("--set"), "{error}");
        assert!(!error.contains("\n\n"), "one fault, told once: {error}");
    }
}

#[test]
fn the_text_as_run_tells_studies_apart() {
    let text = format!("{SMALLEST}[sweep]\nload.threads = [1, 2]\n");
    let of = |overrides: &[(&str, &str)]| study(&text, overrides).as_run();
    assert_eq!(of(&[]), text);
    assert_eq!(
        of(&[("load.time", "1s"), ("load.think", "2s")]),
        format!("# --set load.time=1s\n# --set load.think=2s\n{text}")
    );
    // What was typed cannot leave its comment, and a password does not reach it.
    let hostile = of(&[
        ("title", "a\nload.time = 5"),
        ("server.url", "mysql://u:hunter2@h/d"),
    ]);
    assert!(hostile.starts_with("# --set title=a\\nload.time = 5\n# --set server.url="));
    assert!(!hostile.contains("hunter2"));
    assert!(Study::parse("s.toml", &hostile).is_ok());
}

#[test]
fn the_text_as_run_is_read_back_with_its_overrides() {
    let changes = [
        ("load.rate", "60"),
        ("variant.small pool.name", "tiny"),
        ("variant.small pool.server.config.sync_binlog", "1"),
    ];
    let kept = study(VARIANTS, &changes).as_run();
    let read = Study::parse_as_run("s.toml", &kept).unwrap();
    assert_eq!(read.as_run(), kept);
    let trials = |study: &Study| study.plan().unwrap().trials;
    let (read, plan) = (trials(&read), plan(VARIANTS, &changes));
    assert_eq!(labels(&plan)[2], "tiny, threads=1");
    for (one, other) in read.iter().zip(&plan.trials) {
        assert_eq!(one.label, other.label);
        assert_eq!(format!("{:?}", one.load), format!("{:?}", other.load));
    }
    assert_eq!(config(&read[2]), config(&plan.trials[2]));
}

/// Limits that keep a hostile study small.
#[test]
fn everything_is_bounded() {
    let settings = |n: usize| (0..n).map(|i| format!("a{i} = 1\n")).collect::<String>();
    let with = |n| format!("{SMALLEST}[server.config]\n{}", settings(n));
    assert_eq!(plan(&with(100), &[]).trials.len(), 1);
    assert!(fails(&with(101), &[]).contains("at most 100 settings"));
    assert!(fails(&with(100), &[("sweep.server.config.b", "[1]")]).contains("at most 100"));
    let long = "x".repeat(1001);
    assert!(fails(SMALLEST, &[("server.config.a", &long)]).contains("at most 1000 bytes"));
    let long = format!("server.config.{}", "x".repeat(101));
    assert!(fails(SMALLEST, &[(&long, "1")]).contains("at most 100 characters"));
    let variants: String = (0..101)
        .map(|i| format!("[[variant]]\nname = \"{i}\"\n"))
        .collect();
    assert!(fails(&format!("{SMALLEST}{variants}"), &[]).contains("at most 100"));
    let axes: String = (0..21)
        .map(|i| format!("server.config.a{i} = [1]\n"))
        .collect();
    assert!(fails(&format!("{SMALLEST}[sweep]\n{axes}"), &[]).contains("at most 20 axes"));
    let table = "{ rows = \"load.time\", columns = [\"tps\"] },".repeat(21);
    assert!(fails(SMALLEST, &[("report.tables", &format!("[{table}]"))]).contains("at most 20"));
}

//! Variants, and overrides of them.

use crate::common::{SMALLEST, config, engine, labels, plan, study};
use plan::{Point, ServerSpec, Value};
use study::Study;

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
    assert_eq!(small.variant(), Some("small pool"));
    assert_eq!(
        small.point,
        Point::from_iter([
            ("variant", Value::from("small pool")),
            ("load.threads", Value::Integer(1)),
        ])
    );
    assert!(matches!(&mine.server, ServerSpec::Url(url, _) if url.expose() == "mysql://h/d"));
}

#[test]
fn an_override_speaks_instead_of_variants_too() {
    let same = plan(VARIANTS, &[("data.rows", "9"), ("server.engine", "mysql")]);
    for trial in &same.trials {
        assert_eq!(
            (trial.data.rows, &*engine(trial).engine.value),
            (9, "mysql")
        );
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
            ("variant.mine.name", "mine"),
            ("data.rows", "60"),
        ],
    );
    let [plain, _, small, .., mine] = plan.trials.as_slice() else {
        panic!("too few")
    };
    assert_eq!((plain.data.rows, small.data.rows), (60, 70));
    assert_eq!(small.variant(), Some("a.b"));
    assert_eq!(config(small)[0].1, "1G");
    assert_eq!(config(plain)[0].1, "256M");
    assert_eq!(engine(mine).engine.value, "mysql");

    // A longer name is meant before one that it begins with.
    let text = format!("{SMALLEST}[[variant]]\nname = \"a\"\n[[variant]]\nname = \"a.data\"\n");
    let two = self::plan(&text, &[("variant.a.data.data.rows", "5")]);
    assert_eq!(two.trials[1].data.rows, 5);
}

#[test]
fn the_text_as_run_is_read_back_with_its_overrides() {
    let changes = [
        ("load.rate", "60"),
        ("variant.small pool.name", "tiny"),
        ("variant.small pool.server.config.sync_binlog", "1"),
    ];
    let kept = study(VARIANTS, &changes).as_run();
    let read = Study::parse_as_run("s.toml", &kept, engine::catalog()).unwrap();
    assert_eq!(read.as_run(), kept);
    let trials = |study: &Study| study.plan().trials;
    let (read, plan) = (trials(&read), plan(VARIANTS, &changes));
    assert_eq!(labels(&plan)[2], "tiny, threads=1");
    for (one, other) in read.iter().zip(&plan.trials) {
        assert_eq!(one.label, other.label);
        assert_eq!(format!("{:?}", one.load), format!("{:?}", other.load));
    }
    assert_eq!(config(&read[2]), config(&plan.trials[2]));
}

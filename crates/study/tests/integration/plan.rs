//! What a study means.

use std::time::Duration;

use crate::common::{SMALLEST, engine, labels, plan, trial};
use plan::{Arrivals, Data, Order, Pace, Point, Reset, ServerSpec, Transaction};
use serde_json::json;

const QUICKSTART: &str = include_str!("../../../../studies/quickstart.toml");

#[test]
fn quickstart() {
    let plan = plan(QUICKSTART, &[]);
    assert_eq!(
        labels(&plan),
        ["threads=1", "threads=2", "threads=4", "threads=8"]
    );
    assert_eq!(plan.axes, ["load.threads"]);
    let last = &plan.trials[3];
    assert_eq!(last.load.longest(), Some(Duration::from_secs(10)));
    assert_eq!((last.number, last.load.threads), (4, 8));
    assert_eq!(last.point, Point::from_iter([("load.threads", 8)]));
    assert_eq!(engine(last).engine.value, "sqlite");
    assert_eq!(
        (last.data.tables, last.data.rows, last.data.seed),
        (4, 10_000, 42)
    );
}

#[test]
fn the_smallest_study_has_defaults() {
    let plan = plan(SMALLEST, &[]);
    assert_eq!(labels(&plan), ["single"]);
    let trial = &plan.trials[0];
    assert_eq!(trial.data, Data::default());
    assert_eq!(trial.transaction, Transaction::default());
    assert_eq!(trial.load.workload.value, "oltp_read_write");
    assert_eq!(trial.load.distribution.value, "special");
    assert_eq!(
        (trial.load.threads, trial.load.events, trial.load.pace()),
        (1, None, Pace::Closed)
    );
    assert_eq!(trial.load.think, Duration::ZERO);
    assert_eq!((trial.load.preload, trial.load.key_range), (false, None));
    assert_eq!(
        (trial.topology.instances, trial.repeat, trial.monitors),
        (1, 1, true)
    );
    assert_eq!((trial.variant(), engine(trial).reset), (None, Reset::Copy));
    assert_eq!((plan.repeats, plan.order), (1, written(1)));
    assert!(plan.tables.is_empty() && plan.axes.is_empty());
}

#[test]
fn axes_multiply_in_file_order_the_last_fastest() {
    let text = format!(
        "{SMALLEST}[sweep]\n\"load.threads\" = [1, 2]\ndata.rows = [10, 20]\n\"load.think\" = [\"0s\", \"90s\"]\n"
    );
    let plan = plan(&text, &[]);
    assert_eq!(plan.axes, ["load.threads", "data.rows", "load.think"]);
    assert_eq!(plan.trials.len(), 8);
    assert_eq!(
        labels(&plan)[..3],
        [
            "threads=1, rows=10, think=0s",
            "threads=1, rows=10, think=1m30s",
            "threads=1, rows=20, think=0s"
        ]
    );
    assert_eq!(labels(&plan)[7], "threads=2, rows=20, think=1m30s");
    assert!(
        plan.trials
            .iter()
            .enumerate()
            .all(|(i, t)| t.number as usize == i + 1)
    );
}

/// Each key reaches its own field.
#[test]
fn every_key_arrives() {
    let text = "title = \"t\"\ndescription = \"d\"
        [server]\nurl = \"mysql://u:p@h/d\"
        [data]\ntables = 2\nrows = 3\nseed = 18446744073709551615
        auto_inc = false\ncreate_secondary = false\nsecondary = true\nstorage_engine = \"e\"
        [load]\nworkload = \"w\"\nthreads = 0x10\nwarmup = \"2s\"\ntime = \"500ms\"\nevents = 1_000
        rate = 200\narrivals = \"constant\"\ndistribution = \"uniform\"\nthink = \"1ms\"
        preload = true\nkey_range = 80\nrepeats = 2\norder = \"written\"\norder_seed = 5
        protocol = \"text\"
        [transaction]\npoint_selects = 11\nrange_selects = false\nsimple_ranges = 12\nsum_ranges = 13
        order_ranges = 14\ndistinct_ranges = 15\nrange_size = 16\nindex_updates = 17
        non_index_updates = 18\ndelete_inserts = 19\nskip_trx = true\nrandom_points = 20
        number_of_ranges = 21\ndelta = 22
        [monitors]\nenabled = false
        [report]\ndelta_as_in = \"A paper\"";
    let plan = plan(text, &[]);
    let trial = &plan.trials[0];
    assert_eq!(plan.description.as_deref(), Some("d"));
    assert_eq!(plan.delta_as_in.as_deref(), Some("A paper"));
    assert!(matches!(&trial.server, ServerSpec::Url(url, _) if url.expose() == "mysql://u:p@h/d"));
    assert_eq!(
        serde_json::to_value(&trial.data).unwrap(),
        json!({
            "tables": 2, "rows": 3, "seed": u64::MAX, "auto_inc": false, "create_secondary": false,
            "secondary": true, "storage_engine": "e",
        })
    );
    assert_eq!(
        serde_json::to_value(&trial.transaction).unwrap(),
        json!({
            "point_selects": 11, "range_selects": false, "simple_ranges": 12, "sum_ranges": 13,
            "order_ranges": 14, "distinct_ranges": 15, "range_size": 16, "index_updates": 17,
            "non_index_updates": 18, "delete_inserts": 19, "skip_trx": true, "random_points": 20,
            "number_of_ranges": 21, "delta": 22,
        })
    );
    assert_eq!(
        serde_json::to_value(&trial.load).unwrap(),
        json!({
            "workload": "w", "distribution": "uniform", "key_range": 80, "protocol": "text",
            "reply_time": "kernel", "threads": 16, "preload": true, "warmup": "2s", "time": "500ms",
            "options": {}, "variables": {}, "phase": null, "until": null, "find_max": null,
            "events": 1000, "rate": 200.0, "arrivals": "constant",
            "think": "1ms", "think_distribution": "constant",
        })
    );
    assert!(!trial.monitors);
    assert_eq!((plan.repeats, plan.order), (2, written(5)));
}

fn written(seed: u64) -> Order {
    Order {
        random: false,
        seed,
    }
}

#[test]
fn a_rate_alone_is_poisson_and_can_be_swept() {
    let plan = plan(SMALLEST, &[("sweep.load.rate", "[100, 0.5]")]);
    let pace = Pace::Open {
        per_s: 0.5,
        arrivals: Arrivals::Poisson,
    };
    assert_eq!(plan.trials[1].load.pace(), pace);
    assert_eq!(labels(&plan), ["rate=100", "rate=0.5"]);
}

#[test]
fn an_open_loop_has_fewer_users_of_an_engine_in_process() {
    for (server, users) in [
        ("server.engine = 'mariadb'", 64),
        ("server.engine = 'sqlite'", 8),
        ("server.url = 'mysql://bench@127.0.0.1/sbtest'", 64),
    ] {
        let open = format!("title = 't'\n{server}\nload.rate = 100\n");
        assert_eq!(trial(&open, &[]).load.threads, users, "{server}");
    }
}

#[test]
fn overrides_speak_instead_of_the_file() {
    let once = plan(
        QUICKSTART,
        &[("load.threads", "3"), ("load.time", "1m"), ("title", "42")],
    );
    // The axis keeps the one value, so the report's tables keep their rows.
    assert_eq!(labels(&once), ["threads=3"]);
    assert_eq!(
        (once.trials[0].load.threads, once.title.as_str()),
        (3, "42")
    );
    assert_eq!(once.trials[0].load.longest(), Some(Duration::from_secs(60)));
    for name in ["sweep.load.threads", "sweep.\"load.threads\""] {
        assert_eq!(
            labels(&plan(QUICKSTART, &[(name, "[5, 6]")])),
            ["threads=5", "threads=6"]
        );
    }
    let url = trial(QUICKSTART, &[("server.url", "mysql://h/d")]).server;
    assert!(matches!(url, ServerSpec::Url(url, _) if url.expose() == "mysql://h/d"));
    let twice = [("data.rows", "1"), ("data.rows", "2")];
    assert_eq!(trial(QUICKSTART, &twice).data.rows, 2);
}

//! Keys of a server: settings, versions, what it may use; all of them as axes.

use std::path::Path;

use crate::common::{SMALLEST, config, engine, fails, labels, plan, trial};
use plan::{Reset, SiteKind, Trial};
use serde_json::json;

/// The CPUs and the directory of a trial's nodes.
fn placed(trial: &Trial) -> (Option<f64>, Option<&Path>) {
    let node = &trial.topology.node;
    let cpus = node.site.limits.cpus.as_ref().map(|cpus| cpus.value);
    let directory = node.volume.directory.as_ref();
    (cpus, directory.map(|directory| directory.as_path()))
}

#[test]
fn every_key_of_a_server_arrives() {
    let text = "title = \"t\"
        [server]\nengine = \"mysql\"\nbasedir = \"/opt/mysql\"\nversion = \"9.7\"\nport = 3501\nreset = \"rebuild\"
        [site]\ncpus = 1.5\n[volume]\ndirectory = \"/mnt/a b\"
        [server.config]\ninnodb_buffer_pool_size = \"256M\"\ninnodb-flush-log-at-trx-commit = 0x2
        log_bin = false\nsync-binlog = -1\nlong_query_time = 0.50\nsql_mode = \"\"\nskip_name_resolve = true
        validate_password.policy = \"LOW\"
        [topology]\ninstances = 8";
    let trial = trial(text, &[]);
    assert_eq!(
        serde_json::to_value(engine(&trial)).unwrap(),
        json!({
            "engine": "mysql", "basedir": "/opt/mysql", "version": "9.7", "port": 3501,
            "reset": "rebuild", "cold_data": true,
            "config": [
                ["innodb_buffer_pool_size", "256M"], ["innodb_flush_log_at_trx_commit", "2"],
                ["log_bin", "OFF"], ["long_query_time", "0.5"], ["skip_name_resolve", "ON"],
                ["sql_mode", ""], ["sync_binlog", "-1"], ["validate_password.policy", "LOW"],
            ],
        })
    );
    assert_eq!(placed(&trial), (Some(1.5), Some(Path::new("/mnt/a b"))));
    assert_eq!(trial.topology.instances, 8);
}

#[test]
fn a_version_is_a_prefix_of_components() {
    let trial = trial(SMALLEST, &[("server.version", "10.11")]);
    let spec = engine(&trial);
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
    assert!(engine(&self::trial(SMALLEST, &[])).has_version("5.1"));
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
        "{SMALLEST}[[variant]]\nname = \"all\"\n[[variant]]\nname = \"half\"\nsite.cpus = 0.5\n\
         [sweep]\nvolume.directory = [\"/mnt/a\", \"/mnt/b\"]\n"
    );
    let plan = plan(&text, &[]);
    let seen: Vec<_> = plan.trials.iter().map(placed).collect();
    let wanted = [
        (None, "/mnt/a"),
        (None, "/mnt/b"),
        (Some(0.5), "/mnt/a"),
        (Some(0.5), "/mnt/b"),
    ];
    assert_eq!(
        seen,
        wanted.map(|(cpus, path)| (cpus, Some(Path::new(path))))
    );
    assert_eq!(labels(&plan)[3], "half, directory=/mnt/b");
    let both = [("site.cpus", "2"), ("sweep.volume.directory", "[\"/c\"]")];
    for trial in self::plan(&text, &both).trials {
        assert_eq!(placed(&trial), (Some(2.0), Some(Path::new("/c"))));
    }
}

#[test]
fn a_server_that_runs_already_is_a_site_of_its_own() {
    let text = "title = \"t\"\n[[variant]]\nname = \"a\"\nserver.engine = \"mariadb\"\n\
        [[variant]]\nname = \"b\"\nserver.url = \"mysql://u@h/d\"\n\
        [[variant]]\nname = \"c\"\nserver.url = \"mysql://u@h/d\"\nsite.kind = \"url\"\n\
        [[variant]]\nname = \"d\"\nserver.engine = \"sqlite\"\n";
    let plan = plan(text, &[]);
    let kinds = plan
        .trials
        .iter()
        .map(|trial| trial.topology.node.site.kind.value);
    let kinds: Vec<_> = kinds.collect();
    let (process, url) = (SiteKind::Process, SiteKind::Url);
    assert_eq!(kinds, [process, url, url, process]);
}

#[test]
fn limits_make_a_site_limited_and_every_key_of_it_can_be_swept() {
    let site = |trial: &Trial| {
        let site = &trial.topology.node.site;
        let limits = &site.limits;
        let cpuset = limits.cpuset.as_ref().map(|set| set.numbers().to_vec());
        let memory = limits.memory.as_ref().map(|memory| memory.value);
        (site.kind.value, cpuset, memory)
    };
    let of = |sets: &[(&str, &str)]| site(&trial(SMALLEST, sets));
    assert_eq!(of(&[]), (SiteKind::Process, None, None));
    assert_eq!(
        of(&[("site.cpuset", "0"), ("site.memory", "1G")]),
        (SiteKind::Limited, Some(vec![0]), Some(1 << 30))
    );
    let bytes = [("site.memory", "2097152"), ("site.kind", "container")];
    assert_eq!(of(&bytes), (SiteKind::Container, None, Some(2 << 20)));
    let guest = [
        ("site.kind", "vm"),
        ("site.cpus", "2"),
        ("site.memory", "512M"),
    ];
    assert_eq!(of(&guest), (SiteKind::Vm, None, Some(512 << 20)));
    let text = format!(
        "{SMALLEST}[[variant]]\nname = \"one\"\n[[variant]]\nname = \"two\"\nsite.cpus = 2\n\
         [sweep]\nsite.kind = [\"limited\", \"container\"]\nsite.memory = [\"1G\", \"2G\"]\n\
         site.cpuset = [\"0\", \"0-1,3\"]\n"
    );
    let plan = plan(&text, &[]);
    assert_eq!(plan.trials.len(), 16);
    let last = (SiteKind::Container, Some(vec![0, 1, 3]), Some(2 << 30));
    assert_eq!(site(&plan.trials[15]), last);
    assert_eq!(
        labels(&plan)[15],
        "two, kind=container, memory=2G, cpuset=0-1,3"
    );
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
fn settings_under_an_engines_name_replace_the_others() {
    let text = "title = \"t\"\n[server]\nengine = \"mariadb\"\n[server.config]\nport_open = 1\n\
                x.y = 2\n[server.config.postgres]\nwork-mem = \"8MB\"\nx.y = 3\n\
                [[variant]]\nname = \"a\"\nserver.config.z = 4\nserver.config.postgres.w = 5\n\
                [sizes.large]\nserver.config.postgres.work_mem = \"1GB\"\n";
    let of = |overrides: &[(&str, &str)]| {
        let plan = plan(text, overrides);
        let settings = config(&plan.trials[0]).into_iter();
        settings
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&[]), ["port_open=1", "x.y=2", "z=4"]);
    assert_eq!(of(&[("server.engine", "mysql")]), of(&[]));
    let postgres = ("server.engine", "postgres");
    assert_eq!(of(&[postgres]), ["w=5", "work_mem=8MB", "x.y=3"]);
    assert_eq!(
        of(&[postgres, ("sizes", "large")]),
        ["w=5", "work_mem=1GB", "x.y=3"]
    );
    // What one engine reserves is another's to set, or nobody's.
    let reserved = ("server.config.postgres.hba_file", "x");
    assert!(fails(text, &[postgres, reserved]).contains("`hba_file` is reserved"));
    of(&[reserved]);
}

#[test]
fn trials_do_not_differ_only_in_settings_of_another_engine() {
    let sweep = format!("{SMALLEST}[sweep]\n\"server.config.a\" = [1, 2]\n");
    let own = ("server.config.postgres.b", "1");
    plan(&sweep, &[own]);
    let message = fails(&sweep, &[own, ("server.engine", "postgres")]);
    assert!(
        message.contains("`server.config.a` has no effect on `postgres`"),
        "{message}"
    );
    let variants = format!(
        "{SMALLEST}[[variant]]\nname = \"a\"\nserver.config.postgres.b = 1\n\
         [[variant]]\nname = \"b\"\nserver.config.postgres.b = 2\n"
    );
    plan(&variants, &[("server.engine", "postgres")]);
    let message = fails(&variants, &[]);
    assert!(
        message.contains("`server.config.postgres.b` has no effect on `mariadb`"),
        "{message}"
    );
}

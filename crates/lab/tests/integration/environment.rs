//! Settings that a server reports.

use engine::Access;
use testkit::{MariaDb, MySql, Postgres};

fn settings(url: &str) -> Vec<(String, String)> {
    let access = Access {
        user: "root".to_owned(),
        ..Access::default()
    };
    let database = engine::of_url(url).unwrap().open(url, &access, None);
    let database = database.unwrap();
    database.server().unwrap().changed_settings().unwrap()
}

/// Settings that are not the defaults have these values; the others are not told, and no secret is.
fn check(url: &str, changed: &[(&str, &str)], defaults: &[&str]) {
    let settings = settings(url);
    let value = |name: &str| {
        let found = settings.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    for (name, expected) in changed {
        assert_eq!(value(name), Some(*expected), "{name}");
    }
    for name in defaults {
        assert_eq!(value(name), None, "{settings:?}");
    }
    assert!(settings.is_sorted(), "{settings:?}");
    assert!(!format!("{settings:?}").contains("geheim"), "{settings:?}");
}

#[test]
fn settings_that_are_not_default_and_no_secret() {
    let init = "--init-connect=SET @a = 'geheim'";
    let options = [
        "--innodb-buffer-pool-size=64M",
        "--max-connections=77",
        init,
    ];
    let changed = [
        ("innodb_io_capacity", "4242"),
        ("innodb_buffer_pool_size", "67108864"),
        ("max_connections", "77"),
    ];
    for server in [MariaDb::start(&options), MySql::start(&options)] {
        server.sql("SET GLOBAL innodb_io_capacity = 4242");
        let url = server.url("sbtest");
        check(&url, &changed, &["wait_timeout", "port", "datadir"]);
    }
}

#[test]
fn settings_of_postgres_that_are_not_default_and_no_secret() {
    let server = Postgres::start(&[
        "work_mem=8MB",
        "primary_conninfo=host=x password=geheim",
        "max_wal_size=1GB",
    ]);
    server.sql("ALTER DATABASE sbtest SET random_page_cost = 1.1");
    let changed = [
        ("work_mem", "8MB"),
        ("shared_buffers", "16MB"),
        ("random_page_cost", "1.1"),
        ("primary_conninfo", "(hidden)"),
    ];
    let defaults = ["max_wal_size", "port", "application_name", "data_directory"];
    check(&server.url("sbtest"), &changed, &defaults);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let url = "mysql://root@127.0.0.1:1/x";
    let opened = engine::of_url(url)
        .unwrap()
        .open(url, &Access::default(), None);
    let error = opened.unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

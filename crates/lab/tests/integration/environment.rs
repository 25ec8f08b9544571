//! Settings that a server reports.

use engine::Access;
use testkit::{MariaDb, MySql, Postgres, Server};

fn settings(url: &str) -> Vec<(String, String)> {
    let access = Access {
        user: "root".to_owned(),
        ..Access::default()
    };
    let database = engine::of_url(url).unwrap().open(url, &access, None);
    let database = database.unwrap();
    database.server().unwrap().changed_settings().unwrap()
}

fn check(server: &Server) {
    server.sql("SET GLOBAL innodb_io_capacity = 4242");
    let settings = settings(&server.url("sbtest"));
    let value = |name: &str| {
        let found = settings.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!(value("innodb_io_capacity"), Some("4242"));
    assert_eq!(value("innodb_buffer_pool_size"), Some("67108864"));
    assert_eq!(value("max_connections"), Some("77"));
    for default_or_per_server in ["wait_timeout", "port", "datadir"] {
        assert_eq!(value(default_or_per_server), None, "{settings:?}");
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
    check(&MariaDb::start(&options));
    check(&MySql::start(&options));
}

#[test]
fn settings_of_postgres_that_are_not_default_and_no_secret() {
    let server = Postgres::start(&[
        "work_mem=8MB",
        "primary_conninfo=host=x password=geheim",
        "max_wal_size=1GB",
    ]);
    server.sql("ALTER DATABASE sbtest SET random_page_cost = 1.1");
    let settings = settings(&server.url("sbtest"));
    let value = |name: &str| {
        let found = settings.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!(value("work_mem"), Some("8MB"));
    assert_eq!(value("shared_buffers"), Some("16MB"));
    assert_eq!(value("random_page_cost"), Some("1.1"));
    assert_eq!(value("primary_conninfo"), Some("(hidden)"));
    for default in ["max_wal_size", "port", "application_name", "data_directory"] {
        assert_eq!(value(default), None, "{settings:?}");
    }
    assert!(settings.is_sorted(), "{settings:?}");
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

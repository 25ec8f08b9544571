//! What is found of servers is what they say themselves.

use lab::doctor::{Subject, examine};
use lab::{Access, Lab};
use measure::finding::{Finding, Level};
use testkit::{MariaDb, MySql, Postgres, Server};

fn look(url: &str) -> Vec<Finding> {
    let access = Access {
        user: "root".into(),
        ..Access::default()
    };
    let database = Lab::default().open(url, &access).unwrap();
    examine(&Subject {
        servers: &[database],
        ..Subject::host(&host::LOCAL)
    })
}

fn of<'a>(findings: &'a [Finding], id: &str) -> &'a Finding {
    let found = findings.iter().find(|finding| finding.id == id);
    found.unwrap_or_else(|| panic!("{id} is not in {findings:?}"))
}

/// What is told of the server itself, besides what this host has or the load decides.
fn found(findings: &[Finding], server: &Server) -> Vec<(String, Level)> {
    let url = server.url("sbtest");
    let own = findings.iter().filter(|finding| finding.of == url);
    let own = own.filter(|finding| finding.level < Level::Note);
    own.map(|finding| (finding.id.clone(), finding.level))
        .collect()
}

fn names(found: &[(&str, Level)]) -> Vec<(String, Level)> {
    let found = found.iter();
    found
        .map(|(id, level)| ((*id).to_owned(), *level))
        .collect()
}

#[test]
fn a_mariadb_with_bad_settings() {
    let server = MariaDb::start(&[
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-flush-method=fsync",
        "--innodb-doublewrite=OFF",
        "--innodb-buffer-pool-size=16M",
        "--innodb-adaptive-flushing=OFF",
        "--query-cache-type=ON",
        "--slow-query-log=ON",
        "--long-query-time=0",
        "--general-log=ON",
    ]);
    server.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)");
    let findings = look(&server.url("sbtest"));
    let mut found = found(&findings, &server);
    // Whether its disk turns decides these.
    found.retain(|(id, _)| !["io-capacity", "flush-neighbors"].contains(&id.as_str()));
    let expected = [
        ("commit-flush", Level::Severe),
        ("query-cache", Level::Severe),
        ("slow-log", Level::Severe),
        ("general-log", Level::Severe),
        ("flush-method", Level::Warning),
        ("doublewrite", Level::Warning),
        ("buffer-pool-memory", Level::Warning),
        ("log-size", Level::Warning),
        ("adaptive-flushing", Level::Warning),
    ];
    assert_eq!(found, names(&expected), "{findings:#?}");
    assert_eq!(of(&findings, "server-elsewhere").level, Level::Passed);
    assert_eq!(of(&findings, "buffer-pool-data").level, Level::Passed);
    // Its data directory is looked at as a place.
    let data = server.data_dir().display().to_string();
    let of_data = findings.iter().any(|finding| finding.of.starts_with(&data));
    assert!(of_data, "{findings:#?}");
}

#[test]
fn a_mysql_with_bad_settings() {
    let server = MySql::start(&[
        "--innodb-flush-log-at-trx-commit=2",
        "--log-bin=b",
        "--sync-binlog=0",
        "--innodb-buffer-pool-size=2G",
        "--innodb-buffer-pool-instances=4",
        "--innodb-redo-log-capacity=4G",
    ]);
    let findings = look(&server.url("sbtest"));
    let expected = [
        ("commit-flush", Level::Warning),
        ("binlog-sync", Level::Warning),
    ];
    let mut found = found(&findings, &server);
    found.retain(|(id, _)| !["io-capacity", "buffer-pool-memory"].contains(&id.as_str()));
    assert_eq!(found, names(&expected), "{findings:#?}");
    assert_eq!(of(&findings, "buffer-pool-instances").level, Level::Note);
    assert_eq!(of(&findings, "performance-schema").level, Level::Note);
    for id in ["query-cache", "log-size", "flush-method", "doublewrite"] {
        assert_eq!(of(&findings, id).level, Level::Passed, "{id}");
    }
    let remedy = of(&findings, "binlog-sync").remedy.as_deref();
    assert_eq!(remedy, Some("SET GLOBAL sync_binlog = 1;"));
}

/// Settings are for everybody to see; tables are not.
#[test]
fn an_account_without_rights_still_sees_settings() {
    for server in [MariaDb::start(&[]), MySql::start(&[])] {
        server.sql("CREATE USER guest@'%'; CREATE TABLE t (id INT)");
        // Nobody but an administrator reaches a database without a right in it.
        server.sql("CREATE DATABASE bare; GRANT CREATE ON bare.* TO guest@'%'");
        let url = server.url("bare").replace("root@", "guest@");
        let findings = look(&url);
        assert_eq!(of(&findings, "commit-flush").level, Level::Passed);
        let data = of(&findings, "buffer-pool-data");
        assert_eq!(data.level, Level::Unknown);
        assert!(
            data.observed.contains("this account sees no tables"),
            "{}",
            data.observed
        );
        // What no load asks for cannot be compared.
        let limit = of(&findings, "max-connections");
        assert_eq!(limit.level, Level::Unknown, "{limit:?}");
    }
}

#[test]
fn a_postgres_with_bad_settings() {
    let server = Postgres::start(&[
        "synchronous_commit=off",
        "full_page_writes=off",
        "autovacuum=off",
        "log_min_duration_statement=0",
        "shared_preload_libraries=auto_explain",
        "auto_explain.log_min_duration=0",
        "auto_explain.log_analyze=on",
        "default_transaction_isolation=serializable",
        "lock_timeout=1s",
        "max_wal_size=8GB",
    ]);
    server.sql("CREATE TABLE t AS SELECT generate_series(1, 100) AS id");
    let url = server.url("sbtest");
    let findings = look(&url);
    let own = findings.iter().filter(|finding| finding.of == url);
    let bad = own.filter(|finding| finding.level < Level::Note);
    let bad: Vec<_> = bad.map(|f| (f.id.clone(), f.level)).collect();
    let expected = [
        // The kit's.
        ("fsync", Level::Severe),
        ("synchronous-commit", Level::Severe),
        ("statement-logging", Level::Severe),
        ("auto-explain", Level::Severe),
        ("full-page-writes", Level::Warning),
        ("shared-buffers-memory", Level::Warning),
        ("autovacuum", Level::Warning),
        ("transaction-isolation", Level::Warning),
        ("session-timeouts", Level::Warning),
    ];
    assert_eq!(bad, names(&expected), "{findings:#?}");
    for id in [
        "server-elsewhere",
        "shared-buffers-data",
        "max-wal-size",
        "vacuum-running",
        "debug-assertions",
    ] {
        assert_eq!(of(&findings, id).level, Level::Passed, "{id}");
    }
    let remedy = of(&findings, "statement-logging").remedy.as_deref();
    let command = "ALTER SYSTEM SET log_min_duration_statement = '-1'; SELECT pg_reload_conf();";
    assert_eq!(remedy, Some(command));
    // Its data directory is looked at as a place.
    let data = server.data_dir().display().to_string();
    let of_data = findings.iter().any(|finding| finding.of.starts_with(&data));
    assert!(of_data, "{findings:#?}");
}

/// It may not know where the server has its data, so whether it runs here is not known.
#[test]
fn an_account_without_rights_sees_most_settings_of_postgres() {
    let server = Postgres::start(&[]);
    server.sql("CREATE ROLE guest LOGIN");
    let url = server.url("sbtest").replace("root@", "guest@");
    let findings = look(&url);
    assert_eq!(of(&findings, "synchronous-commit").level, Level::Passed);
    assert_eq!(of(&findings, "statement-statistics").level, Level::Unknown);
    let elsewhere = of(&findings, "server-elsewhere");
    assert_eq!(elsewhere.level, Level::Note);
    assert!(
        elsewhere.observed.contains("data_directory"),
        "{elsewhere:?}"
    );
}

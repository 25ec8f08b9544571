//! What is found of servers is what they say themselves.

use lab::doctor::{Subject, examine};
use lab::{Access, Lab};
use measure::finding::{Finding, Level};
use std::path::Path;
use testkit::{MariaDb, MySql, Postgres};

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

/// What is told of a server itself, as `check: Level`, besides what this host has or the load
/// decides.
fn found(findings: &[Finding], url: &str, decided: &[&str]) -> Vec<String> {
    let own = findings.iter().filter(|finding| finding.of == url);
    let own = own.filter(|finding| finding.level < Level::Note);
    let own = own.filter(|finding| !decided.contains(&finding.id.as_str()));
    own.map(|finding| format!("{}: {:?}", finding.id, finding.level))
        .collect()
}

fn assert_passed(findings: &[Finding], ids: &[&str]) {
    for id in ids {
        assert_eq!(of(findings, id).level, Level::Passed, "{id}");
    }
}

/// Its data directory is looked at as a place.
fn assert_is_looked_at(findings: &[Finding], data: &Path) {
    let data = data.display().to_string();
    let of_data = findings.iter().any(|finding| finding.of.starts_with(&data));
    assert!(of_data, "{findings:#?}");
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
    let url = server.url("sbtest");
    let findings = look(&url);
    // Whether its disk turns decides these.
    let found = found(&findings, &url, &["io-capacity", "flush-neighbors"]);
    let expected = [
        "commit-flush: Severe",
        "query-cache: Severe",
        "slow-log: Severe",
        "general-log: Severe",
        "flush-method: Warning",
        "doublewrite: Warning",
        "buffer-pool-memory: Warning",
        "log-size: Warning",
        "adaptive-flushing: Warning",
    ];
    assert_eq!(found, expected, "{findings:#?}");
    assert_passed(&findings, &["server-elsewhere", "buffer-pool-data"]);
    assert_is_looked_at(&findings, &server.data_dir());
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
    let url = server.url("sbtest");
    let findings = look(&url);
    let found = found(&findings, &url, &["io-capacity", "buffer-pool-memory"]);
    let expected = ["commit-flush: Warning", "binlog-sync: Warning"];
    assert_eq!(found, expected, "{findings:#?}");
    assert_eq!(of(&findings, "buffer-pool-instances").level, Level::Note);
    assert_eq!(of(&findings, "performance-schema").level, Level::Note);
    let passed = ["query-cache", "log-size", "flush-method", "doublewrite"];
    assert_passed(&findings, &passed);
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
        let said = "this account sees no tables";
        assert!(data.observed.contains(said), "{}", data.observed);
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
    let expected = [
        // The kit's.
        "fsync: Severe",
        "synchronous-commit: Severe",
        "statement-logging: Severe",
        "auto-explain: Severe",
        "full-page-writes: Warning",
        "shared-buffers-memory: Warning",
        "autovacuum: Warning",
        "transaction-isolation: Warning",
        "session-timeouts: Warning",
    ];
    assert_eq!(found(&findings, &url, &[]), expected, "{findings:#?}");
    assert_passed(&findings, &["server-elsewhere", "shared-buffers-data"]);
    let passed = ["max-wal-size", "vacuum-running", "debug-assertions"];
    assert_passed(&findings, &passed);
    let remedy = of(&findings, "statement-logging").remedy.as_deref();
    let command = "ALTER SYSTEM SET log_min_duration_statement = '-1'; SELECT pg_reload_conf();";
    assert_eq!(remedy, Some(command));
    assert_is_looked_at(&findings, &server.data_dir());
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
    let names_it = elsewhere.observed.contains("data_directory");
    assert!(names_it, "{elsewhere:?}");
}

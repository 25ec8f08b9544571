use measure::finding::Level::{Note, Passed, Severe, Unknown, Warning};
use measure::finding::check::{note, severe, warning};

use crate::POSTGRES;
use crate::checks::judge;
use crate::checks::tests::{assert_levels, observed};
use crate::checks::{Demand, Facts};

fn with(settings: &str) -> Facts {
    crate::checks::tests::with(POSTGRES, settings)
}

#[test]
fn settings_have_levels() {
    assert_levels(
        POSTGRES,
        &[
            ("fsync", "fsync=on", Passed),
            ("fsync", "fsync=off", Severe),
            ("full-page-writes", "full_page_writes=off", Warning),
            ("data-checksums", "data_checksums=on", Note),
            ("wal-sync-method", "wal_sync_method=open_datasync", Note),
            ("synchronous-standbys", "synchronous_standby_names=", Passed),
            (
                "synchronous-standbys",
                "synchronous_standby_names=FIRST 1 (a, b)",
                Note,
            ),
            ("max-wal-size", "max_wal_size=1GB", Warning),
            ("max-wal-size", "max_wal_size=1024", Warning),
            ("max-wal-size", "max_wal_size=2GB", Note),
            ("max-wal-size", "max_wal_size=16GB", Passed),
            ("checkpoint-timeout", "checkpoint_timeout=5min", Passed),
            ("checkpoint-timeout", "checkpoint_timeout=1h", Passed),
            ("checkpoint-timeout", "checkpoint_timeout=30s", Warning),
            ("checkpoint-timeout", "checkpoint_timeout=30", Warning),
            (
                "checkpoint-completion-target",
                "checkpoint_completion_target=0.9",
                Passed,
            ),
            (
                "checkpoint-completion-target",
                "checkpoint_completion_target=0.5",
                Note,
            ),
            ("background-writer", "bgwriter_lru_maxpages=100", Passed),
            ("background-writer", "bgwriter_lru_maxpages=0", Note),
            ("wal-compression", "wal_compression=off", Passed),
            ("wal-compression", "wal_compression=lz4", Note),
            ("wal-level", "wal_level=replica", Passed),
            ("wal-level", "wal_level=logical", Note),
            ("commit-delay", "commit_delay=0", Passed),
            ("commit-delay", "commit_delay=10", Note),
            ("archiving", "archive_mode=off; archive_command=", Passed),
            ("archiving", "archive_mode=on; archive_command=", Warning),
            ("archiving", "archive_mode=on; archive_command=cp", Note),
            ("archiving", "archive_mode=on", Note),
            ("autovacuum", "autovacuum=on; track_counts=on", Passed),
            ("autovacuum", "autovacuum=off; track_counts=on", Warning),
            ("autovacuum", "autovacuum=on; track_counts=off", Warning),
            ("vacuum-running", "pg_stat_progress_vacuum=0", Passed),
            ("vacuum-running", "pg_stat_progress_vacuum=2", Warning),
            (
                "transaction-isolation",
                "default_transaction_isolation=read committed",
                Passed,
            ),
            (
                "transaction-isolation",
                "default_transaction_isolation=serializable",
                Warning,
            ),
            ("session-timeouts", "lock_timeout=0", Passed),
            ("deadlock-timeout", "deadlock_timeout=1s", Note),
            ("deadlock-timeout", "deadlock_timeout=1000", Note),
            ("deadlock-timeout", "deadlock_timeout=1min", Warning),
            ("deadlock-timeout", "deadlock_timeout=100ms", Passed),
            (
                "io-timing",
                "track_io_timing=off; track_wal_io_timing=off",
                Passed,
            ),
            (
                "io-timing",
                "track_io_timing=on; track_wal_io_timing=off",
                Note,
            ),
            (
                "io-timing",
                "track_io_timing=off; track_wal_io_timing=on",
                Note,
            ),
            ("debug-assertions", "debug_assertions=on", Severe),
        ],
    );
}

#[test]
fn commits() {
    for (value, standbys, level) in [
        ("on", "", Passed),
        ("local", "", Passed),
        ("remote_write", "", Passed),
        ("off", "", Severe),
        ("local", "*", Note),
        ("remote_apply", "*", Passed),
    ] {
        let settings = format!("synchronous_commit={value}; synchronous_standby_names={standbys}");
        assert_levels(POSTGRES, &[("synchronous-commit", &settings, level)]);
    }
}

#[test]
fn buffers_against_memory() {
    let with = |size: &str| with(&format!("shared_buffers={size}"));
    let memory = |server: &Facts| observed(server, "shared-buffers-memory");
    // Relative to 16 GiB.
    for (size, servers, level) in [
        ("4GB", 1, Passed),
        ("6GB", 1, Passed),
        ("7GB", 1, Warning),
        ("13GB", 1, Severe),
        ("1GB", 1, Note),
        ("128MB", 1, Warning),
        ("1GB", 4, Passed),
        ("2GB", 8, Severe),
    ] {
        let servers = Facts {
            servers,
            ..with(size)
        };
        assert_eq!(memory(&servers).level(), level, "{size}");
    }
    let mut small = with("16384");
    (small.planned, small.chosen) = (true, ["shared_buffers".to_owned()].into());
    let expected = note("shared_buffers: 128.0 MiB, 0 % of 16.0 GiB of memory");
    assert_eq!(memory(&small), expected.with("NEEDED", "\"4096MB\""));
    for (size, level) in [("4GB", Unknown), ("128MB", Warning)] {
        let memory_bytes = None;
        let far = Facts {
            memory_bytes,
            ..with(size)
        };
        assert_eq!(memory(&far).level(), level, "{size}");
    }
}

#[test]
fn buffers_against_data() {
    let mut server = with("shared_buffers=1GB");
    server.data_bytes = Some(2 << 30);
    let expected = note("shared_buffers: 1.0 GiB, data of 2.0 GiB");
    let expected = expected.with("NEEDED", "2560MB");
    assert_eq!(observed(&server, "shared-buffers-data"), expected);
}

#[test]
fn huge_pages_matter_with_large_buffers() {
    for (buffers, wanted, level) in [
        ("128MB", "off", Passed),
        ("32GB", "on", Passed),
        ("32GB", "off", Warning),
        ("32GB", "try", Unknown),
        ("32GB", "try; huge_pages_status=on", Passed),
        ("32GB", "try; huge_pages_status=off", Warning),
    ] {
        let settings = format!("shared_buffers={buffers}; huge_pages={wanted}");
        assert_levels(POSTGRES, &[("server-huge-pages", &settings, level)]);
    }
}

#[test]
fn the_cost_of_a_random_page_depends_on_the_disk() {
    for (cost, turning_disk, level) in [
        ("4", Some(false), Note),
        ("1.1", Some(false), Passed),
        ("4", Some(true), Passed),
        ("4", None, Unknown),
    ] {
        let server = Facts {
            turning_disk,
            ..with(&format!("random_page_cost={cost}"))
        };
        assert_eq!(
            observed(&server, "random-page-cost").level(),
            level,
            "{cost}"
        );
    }
}

#[test]
fn connections_compared_with_a_load() {
    let judge = |users: Option<u64>| {
        let limits =
            "max_connections=100; superuser_reserved_connections=3; reserved_connections=0";
        let mut server = with(limits);
        server.demand = users.map(|users| Demand {
            users,
            ..Demand::default()
        });
        observed(&server, "session-limit")
    };
    assert_eq!(judge(None).level(), Unknown);
    assert_eq!(judge(Some(95)).level(), Passed);
    let words = "max_connections: 100, of which 3 are reserved; the load needs 98";
    assert_eq!(judge(Some(96)), severe(words).with("NEEDED", 101));
}

#[test]
fn the_remedy_names_the_setting_that_is_wrong() {
    let server = with("statement_timeout=0; lock_timeout=1s");
    let expected = warning("lock_timeout: 1s").with("TIMEOUT", "lock_timeout");
    assert_eq!(observed(&server, "session-timeouts"), expected);
    let server = with("log_statement=all; log_min_duration_statement=-1");
    let all = severe("log_statement: all").with("SETTING", "log_statement");
    let all = all.with("USUAL", "none");
    assert_eq!(observed(&server, "statement-logging"), all);
}

#[test]
fn logs_of_statements() {
    let quiet = "log_statement=none; log_min_duration_statement=-1; log_duration=off; \
                 log_min_duration_sample=-1; log_statement_sample_rate=1; \
                 log_transaction_sample_rate=0";
    for (setting, level) in [
        ("log_statement=ddl", Passed),
        ("log_statement=all", Severe),
        ("log_min_duration_statement=0", Severe),
        ("log_min_duration_statement=1s", Note),
        ("log_duration=on", Severe),
        ("log_min_duration_sample=0", Warning),
        ("log_transaction_sample_rate=0.1", Warning),
    ] {
        let settings = format!("{quiet}; {setting}");
        assert_levels(POSTGRES, &[("statement-logging", &settings, level)]);
    }
}

#[test]
fn libraries_that_watch_statements() {
    const EXPLAIN: &str = "pg_stat_statements, auto_explain; auto_explain.log_min_duration";
    for (id, libraries, level) in [
        (
            "statement-statistics",
            "pg_stat_statements, auto_explain",
            Note,
        ),
        ("statement-statistics", "", Passed),
        ("auto-explain", "", Passed),
        (
            "auto-explain",
            &format!("{EXPLAIN}=-1; auto_explain.log_analyze=on"),
            Passed,
        ),
        (
            "auto-explain",
            &format!("{EXPLAIN}=1s; auto_explain.log_analyze=on"),
            Severe,
        ),
        (
            "auto-explain",
            &format!("{EXPLAIN}=1s; auto_explain.log_analyze=off"),
            Note,
        ),
    ] {
        let settings = format!("session_preload_libraries=; shared_preload_libraries={libraries}");
        assert_levels(POSTGRES, &[(id, &settings, level)]);
    }
    // The account does not see all libraries.
    assert_levels(
        POSTGRES,
        &[("statement-statistics", "shared_preload_libraries=", Unknown)],
    );
}

#[test]
fn the_remedy_depends_on_where_settings_are() {
    let mut server = with("synchronous_commit=off; max_wal_size=1GB");
    let remedy = |server: &Facts, id: &str| {
        let mut findings = judge(server).into_iter();
        findings
            .find(|finding| finding.id == id)
            .unwrap()
            .remedy
            .unwrap()
    };
    assert_eq!(
        remedy(&server, "synchronous-commit"),
        "ALTER SYSTEM SET synchronous_commit = 'on'; SELECT pg_reload_conf();"
    );
    assert_eq!(
        remedy(&server, "max-wal-size"),
        "ALTER SYSTEM SET max_wal_size = '4096MB'; SELECT pg_reload_conf();"
    );
    server.planned = true;
    assert_eq!(
        remedy(&server, "max-wal-size"),
        "server.config.max_wal_size = \"4096MB\" in the study"
    );
}

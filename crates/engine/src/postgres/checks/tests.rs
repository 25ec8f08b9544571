use measure::finding::Level::{Note, Passed, Severe, Unknown, Warning};
use measure::finding::check::{note, severe, warning};

use crate::POSTGRES;
use crate::checks::judge;
use crate::checks::tests::{assert_levels, assert_shares, observed};
use crate::checks::{Demand, Facts};

fn with(settings: &str) -> Facts {
    crate::checks::tests::with(POSTGRES, settings)
}

#[test]
fn settings_have_levels() {
    assert_levels(
        POSTGRES,
        "
        fsync: fsync=on -> Passed
        fsync: fsync=off -> Severe
        full-page-writes: full_page_writes=off -> Warning
        data-checksums: data_checksums=on -> Note
        wal-sync-method: wal_sync_method=open_datasync -> Note
        synchronous-standbys: synchronous_standby_names= -> Passed
        synchronous-standbys: synchronous_standby_names=FIRST 1 (a, b) -> Note
        max-wal-size: max_wal_size=1GB -> Warning
        max-wal-size: max_wal_size=1024 -> Warning
        max-wal-size: max_wal_size=2GB -> Note
        max-wal-size: max_wal_size=16GB -> Passed
        checkpoint-timeout: checkpoint_timeout=5min -> Passed
        checkpoint-timeout: checkpoint_timeout=1h -> Passed
        checkpoint-timeout: checkpoint_timeout=30s -> Warning
        checkpoint-timeout: checkpoint_timeout=30 -> Warning
        checkpoint-completion-target: checkpoint_completion_target=0.9 -> Passed
        checkpoint-completion-target: checkpoint_completion_target=0.5 -> Note
        background-writer: bgwriter_lru_maxpages=100 -> Passed
        background-writer: bgwriter_lru_maxpages=0 -> Note
        wal-compression: wal_compression=off -> Passed
        wal-compression: wal_compression=lz4 -> Note
        wal-level: wal_level=replica -> Passed
        wal-level: wal_level=logical -> Note
        commit-delay: commit_delay=0 -> Passed
        commit-delay: commit_delay=10 -> Note
        archiving: archive_mode=off; archive_command= -> Passed
        archiving: archive_mode=on; archive_command= -> Warning
        archiving: archive_mode=on; archive_command=cp -> Note
        archiving: archive_mode=on -> Note
        autovacuum: autovacuum=on; track_counts=on -> Passed
        autovacuum: autovacuum=off; track_counts=on -> Warning
        autovacuum: autovacuum=on; track_counts=off -> Warning
        vacuum-running: pg_stat_progress_vacuum=0 -> Passed
        vacuum-running: pg_stat_progress_vacuum=2 -> Warning
        transaction-isolation: default_transaction_isolation=read committed -> Passed
        transaction-isolation: default_transaction_isolation=serializable -> Warning
        session-timeouts: lock_timeout=0 -> Passed
        deadlock-timeout: deadlock_timeout=1s -> Note
        deadlock-timeout: deadlock_timeout=1000 -> Note
        deadlock-timeout: deadlock_timeout=1min -> Warning
        deadlock-timeout: deadlock_timeout=100ms -> Passed
        io-timing: track_io_timing=off; track_wal_io_timing=off -> Passed
        io-timing: track_io_timing=on; track_wal_io_timing=off -> Note
        io-timing: track_io_timing=off; track_wal_io_timing=on -> Note
        debug-assertions: debug_assertions=on -> Severe
        synchronous-commit: synchronous_commit=on; synchronous_standby_names= -> Passed
        synchronous-commit: synchronous_commit=local; synchronous_standby_names= -> Passed
        synchronous-commit: synchronous_commit=remote_write; synchronous_standby_names= -> Passed
        synchronous-commit: synchronous_commit=off; synchronous_standby_names= -> Severe
        synchronous-commit: synchronous_commit=local; synchronous_standby_names=* -> Note
        synchronous-commit: synchronous_commit=remote_apply; synchronous_standby_names=* -> Passed
        server-huge-pages: shared_buffers=128MB; huge_pages=off -> Passed
        server-huge-pages: shared_buffers=32GB; huge_pages=on -> Passed
        server-huge-pages: shared_buffers=32GB; huge_pages=off -> Warning
        server-huge-pages: shared_buffers=32GB; huge_pages=try -> Unknown
        server-huge-pages: shared_buffers=32GB; huge_pages=try; huge_pages_status=on -> Passed
        server-huge-pages: shared_buffers=32GB; huge_pages=try; huge_pages_status=off -> Warning
        ",
    );
}

#[test]
fn buffers_against_memory() {
    let check = ["shared-buffers-memory", "shared_buffers"];
    let rows = [
        ("4GB 6GB", 1, Passed),
        ("7GB 128MB", 1, Warning),
        ("13GB", 1, Severe),
        ("1GB", 1, Note),
        ("1GB", 4, Passed),
        ("2GB", 8, Severe),
    ];
    assert_shares(POSTGRES, check, &rows, ["4GB", "128MB"]);
    let mut small = with("shared_buffers=16384");
    (small.planned, small.chosen) = (true, ["shared_buffers".to_owned()].into());
    let expected = note("shared_buffers: 128.0 MiB, 0 % of 16.0 GiB of memory");
    let found = observed(&small, check[0]);
    assert_eq!(found, expected.with("NEEDED", "\"4096MB\""));
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
fn the_cost_of_a_random_page_depends_on_the_disk() {
    for (cost, turning_disk, level) in [
        ("4", Some(false), Note),
        ("1.1", Some(false), Passed),
        ("4", Some(true), Passed),
        ("4", None, Unknown),
    ] {
        let mut server = with(&format!("random_page_cost={cost}"));
        server.turning_disk = turning_disk;
        let observed = observed(&server, "random-page-cost");
        assert_eq!(observed.level(), level, "{cost}");
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
    for row in [
        "log_statement=ddl -> Passed",
        "log_statement=all -> Severe",
        "log_min_duration_statement=0 -> Severe",
        "log_min_duration_statement=1s -> Note",
        "log_duration=on -> Severe",
        "log_min_duration_sample=0 -> Warning",
        "log_transaction_sample_rate=0.1 -> Warning",
    ] {
        assert_levels(POSTGRES, &format!("statement-logging: {quiet}; {row}"));
    }
}

#[test]
fn libraries_that_watch_statements() {
    let explain = "pg_stat_statements, auto_explain; auto_explain.log_min_duration";
    for (id, row) in [
        (
            "statement-statistics",
            "pg_stat_statements, auto_explain -> Note",
        ),
        ("statement-statistics", "-> Passed"),
        ("auto-explain", "-> Passed"),
        (
            "auto-explain",
            &format!("{explain}=-1; auto_explain.log_analyze=on -> Passed"),
        ),
        (
            "auto-explain",
            &format!("{explain}=1s; auto_explain.log_analyze=on -> Severe"),
        ),
        (
            "auto-explain",
            &format!("{explain}=1s; auto_explain.log_analyze=off -> Note"),
        ),
    ] {
        let libraries = "session_preload_libraries=; shared_preload_libraries=";
        assert_levels(POSTGRES, &format!("{id}: {libraries}{row}"));
    }
    // The account does not see all libraries.
    let some = "statement-statistics: shared_preload_libraries= -> Unknown";
    assert_levels(POSTGRES, some);
}

#[test]
fn the_remedy_depends_on_where_settings_are() {
    let mut server = with("synchronous_commit=off; max_wal_size=1GB");
    let remedy = |server: &Facts, id: &str| {
        let mut findings = judge(server).into_iter();
        let found = findings.find(|finding| finding.id == id);
        found.unwrap().remedy.unwrap()
    };
    let system = |set: &str| format!("ALTER SYSTEM SET {set}; SELECT pg_reload_conf();");
    let commit = remedy(&server, "synchronous-commit");
    assert_eq!(commit, system("synchronous_commit = 'on'"));
    let size = remedy(&server, "max-wal-size");
    assert_eq!(size, system("max_wal_size = '4096MB'"));
    server.planned = true;
    let in_study = "server.config.max_wal_size = \"4096MB\" in the study";
    assert_eq!(remedy(&server, "max-wal-size"), in_study);
}

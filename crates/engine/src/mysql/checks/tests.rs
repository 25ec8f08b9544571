use measure::finding::Level::{self, Note, Passed, Severe, Unknown, Warning};
use measure::finding::check::{note, warning};

use crate::checks::judge;
use crate::checks::tests::{assert_levels, assert_shares, observed, with};
use crate::checks::{Demand, Facts};
use crate::{MARIADB, MYSQL};

#[test]
fn settings_have_levels() {
    assert_levels(
        MARIADB,
        "
        commit-flush: innodb_flush_log_at_trx_commit=0 -> Severe
        commit-flush: innodb_flush_log_at_trx_commit=1 -> Passed
        commit-flush: innodb_flush_log_at_trx_commit=2 -> Warning
        commit-flush: innodb_flush_log_at_trx_commit=3 -> Passed
        binlog-sync: log_bin=OFF; sync_binlog=0 -> Passed
        binlog-sync: log_bin=ON; sync_binlog=0 -> Warning
        binlog-sync: log_bin=ON; sync_binlog=1 -> Passed
        binlog-sync: log_bin=1; sync_binlog=100 -> Warning
        binlog-sync: log_bin=binlog; sync_binlog=0 -> Warning
        binlog-sync: log_bin=ON -> Unknown
        flush-method: innodb_flush_method=O_DIRECT -> Passed
        flush-method: innodb_flush_method=fsync -> Warning
        flush-method: innodb_flush_method=nosync -> Severe
        flush-method: innodb_data_file_buffering=OFF -> Passed
        flush-method: innodb_data_file_buffering=ON -> Warning
        doublewrite: innodb_doublewrite=ON -> Passed
        doublewrite: innodb_doublewrite=DETECT_ONLY -> Warning
        doublewrite: innodb_doublewrite=OFF -> Warning
        log-size: innodb_log_file_size=96M -> Warning
        log-size: innodb_log_file_size=512M -> Note
        log-size: innodb_log_file_size=1G -> Passed
        log-size: innodb_log_file_size=512M; innodb_log_files_in_group=2 -> Note
        log-size: innodb_log_file_size=48M; innodb_redo_log_capacity=2G -> Warning
        adaptive-flushing: innodb_adaptive_flushing=ON -> Passed
        adaptive-flushing: innodb_adaptive_flushing=OFF -> Warning
        file-per-table: innodb_file_per_table=ON -> Passed
        file-per-table: innodb_file_per_table=OFF -> Note
        performance-schema: performance_schema=ON -> Note
        performance-schema: performance_schema=OFF -> Passed
        query-cache: query_cache_type=OFF; query_cache_size=1048576 -> Passed
        query-cache: query_cache_type=ON; query_cache_size=1048576 -> Severe
        query-cache: query_cache_type=DEMAND; query_cache_size=1 -> Severe
        query-cache: query_cache_type=ON; query_cache_size=0 -> Passed
        query-cache:  -> Unknown
        slow-log: slow_query_log=OFF; long_query_time=0.000000 -> Passed
        slow-log: slow_query_log=ON; long_query_time=10.000000 -> Warning
        slow-log: slow_query_log=ON; long_query_time=0.100000 -> Severe
        general-log: general_log=ON -> Severe
        general-log: general_log=OFF -> Passed
        buffer-pool-instances: innodb_buffer_pool_size=512M -> Passed
        ",
    );
    assert_levels(
        MYSQL,
        "
        buffer-pool-instances: innodb_buffer_pool_size=50G; innodb_buffer_pool_instances=8 -> Passed
        buffer-pool-instances: innodb_buffer_pool_size=512M; innodb_buffer_pool_instances=1 -> Passed
        buffer-pool-instances: innodb_buffer_pool_size=1G; innodb_buffer_pool_instances=8 -> Note
        buffer-pool-instances: innodb_buffer_pool_size=8G; innodb_buffer_pool_instances=1 -> Note
        ",
    );
    let redo = "
        log-size: innodb_log_file_size=48M; innodb_redo_log_capacity=2G -> Passed
        log-size: innodb_log_file_size=512M; innodb_log_files_in_group=2 -> Passed";
    assert_levels(MYSQL, redo);
    assert_levels(MYSQL, "query-cache: -> Passed");
}

#[test]
fn the_remedy_names_the_size_of_the_log_of_this_engine() {
    let small = with(MYSQL, "innodb_redo_log_capacity=104857600");
    let expected = warning("innodb_redo_log_capacity: 100.0 MiB");
    let expected = expected.with("LOG_SIZE", "innodb_redo_log_capacity");
    assert_eq!(observed(&small, "log-size"), expected);
}

#[test]
fn spinning_disks_need_other_settings() {
    let judged = |turning_disk, capacity, neighbors, threads| {
        let mut server = with(
            MARIADB,
            &format!(
                "innodb_io_capacity={capacity}; innodb_flush_neighbors={neighbors}; \
                 innodb_read_io_threads={threads}; innodb_write_io_threads=16"
            ),
        );
        server.turning_disk = turning_disk;
        ["io-capacity", "flush-neighbors", "io-threads"].map(|id| observed(&server, id).level())
    };
    assert_eq!(judged(Some(false), 200, 1, 4), [Warning, Warning, Note]);
    assert_eq!(judged(Some(false), 10000, 0, 16), [Passed; 3]);
    assert_eq!(judged(Some(true), 200, 1, 4), [Passed; 3]);
    assert_eq!(judged(Some(true), 10000, 0, 4), [Warning, Passed, Passed]);
    assert_eq!(judged(None, 200, 1, 4), [Note; 3]);
}

#[test]
fn a_pool_against_memory() {
    let check = ["buffer-pool-memory", "innodb_buffer_pool_size"];
    let rows = [
        ("12G 8G", 1, Passed),
        ("13G 128M 16M", 1, Warning),
        ("15G 17G", 1, Severe),
        ("1G", 1, Note),
        ("1536M", 8, Passed),
        ("2G", 8, Severe),
    ];
    assert_shares(MYSQL, check, &rows, ["12G", "134217728"]);
    let mut small = with(MYSQL, "innodb_buffer_pool_size=16M");
    (small.planned, small.chosen) = (true, ["innodb_buffer_pool_size".to_owned()].into());
    let expected = note("innodb_buffer_pool_size: 16.0 MiB, 0 % of 16.0 GiB of memory");
    let found = observed(&small, check[0]);
    assert_eq!(found, expected.with("NEEDED", "\"12288M\""));
}

#[test]
fn a_pool_against_data() {
    let mut server = with(MYSQL, "innodb_buffer_pool_size=1G");
    assert_eq!(observed(&server, "buffer-pool-data").level(), Unknown);
    server.data_bytes = Some(2 << 30);
    let expected = note("innodb_buffer_pool_size: 1.0 GiB, data of 2.0 GiB");
    let expected = expected.with("NEEDED", 5_u64 << 29);
    assert_eq!(observed(&server, "buffer-pool-data"), expected);
    // Data to be loaded takes precedence over existing data.
    server.demand = Some(Demand {
        data_bytes: 1 << 20,
        ..Demand::default()
    });
    assert_eq!(observed(&server, "buffer-pool-data").level(), Passed);
}

fn against_load(demand: Option<Demand>, of_account: u64) -> [Level; 4] {
    let limits = "max_connections=151; max_prepared_stmt_count=16382; table_open_cache=2000; \
                  open_files_limit=1024; max_user_connections=";
    let mut server = with(MYSQL, &format!("{limits}{of_account}"));
    server.demand = demand;
    let [statements, tables] = ["max-prepared-statements", "table-cache"];
    let ids = ["max-connections", statements, tables, "server-open-files"];
    ids.map(|id| observed(&server, id).level())
}

#[test]
fn limits_against_a_load() {
    let load = |users: u64, tables: u64| {
        Some(Demand {
            users,
            tables,
            open_tables: users * tables,
            prepared: users * (tables * 9 + 2),
            ..Demand::default()
        })
    };
    for (demand, of_account, levels) in [
        (None, 0, [Unknown; 4]),
        (load(16, 25), 0, [Passed; 4]),
        (load(150, 4), 0, [Severe, Passed, Passed, Passed]),
        // 18,560 statements.
        (load(64, 32), 0, [Passed, Severe, Warning, Passed]),
        (load(10, 1000), 0, [Passed, Severe, Warning, Severe]),
        // An account may have its own limit.
        (load(16, 1), 10, [Severe, Passed, Passed, Passed]),
    ] {
        assert_eq!(against_load(demand, of_account), levels);
    }
}

#[test]
fn the_remedy_depends_on_where_settings_are() {
    let mut server = with(MARIADB, "innodb_flush_log_at_trx_commit=0");
    let find = |server: &Facts| {
        let mut findings = judge(server).into_iter();
        let found = findings.find(|finding| finding.id == "commit-flush");
        found.map(|found| (found.level, found.remedy)).unwrap()
    };
    let remedy = "SET GLOBAL innodb_flush_log_at_trx_commit = 1;".to_owned();
    assert_eq!(find(&server), (Severe, Some(remedy)));
    server.planned = true;
    let remedy = "server.config.innodb_flush_log_at_trx_commit = 1 in the study".to_owned();
    assert_eq!(find(&server), (Severe, Some(remedy)));
    server
        .varied
        .insert("innodb_flush_log_at_trx_commit".into());
    assert_eq!(find(&server), (Note, None));
}

//! Each dialect's statements and tables, compared with those of sysbench 1.0.20's scripts
//! (`oltp_common.lua` and the scripts that use it).

use client::mysql::DIALECT as MYSQL;
use client::postgres::DIALECT as POSTGRES;
use client::sqlite::DIALECT as SQLITE;
use workload::built_in::BuiltIn;
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::{Dialect, drop_table};
use workload::virtual_user::Workload;

const ALL: [&Dialect; 3] = [&MYSQL, &SQLITE, &POSTGRES];

/// `stmt_defs` of the script. `%u` is the table; its PostgreSQL driver numbers the
/// placeholders.
const POINT_SELECTS: &str = "SELECT c FROM sbtest%u WHERE id=?";
const SIMPLE_RANGES: &str = "SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ?";
const SUM_RANGES: &str = "SELECT SUM(k) FROM sbtest%u WHERE id BETWEEN ? AND ?";
const ORDER_RANGES: &str = "SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c";
const DISTINCT_RANGES: &str = "SELECT DISTINCT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c";
const INDEX_UPDATES: &str = "UPDATE sbtest%u SET k=k+1 WHERE id=?";
const NON_INDEX_UPDATES: &str = "UPDATE sbtest%u SET c=? WHERE id=?";
const DELETES: &str = "DELETE FROM sbtest%u WHERE id=?";
const INSERTS: &str = "INSERT INTO sbtest%u (id, k, c, pad) VALUES (?, ?, ?, ?)";

const READS: [&str; 5] = [
    POINT_SELECTS,
    SIMPLE_RANGES,
    SUM_RANGES,
    ORDER_RANGES,
    DISTINCT_RANGES,
];
const WRITES: [&str; 4] = [INDEX_UPDATES, NON_INDEX_UPDATES, DELETES, INSERTS];

/// What the scripts prepare, in the order in which their transactions run it.
fn prepared(name: WorkloadName) -> Vec<&'static str> {
    let transaction = |statements: &[&[&'static str]]| {
        let between = statements.concat();
        [&["BEGIN"], between.as_slice(), &["COMMIT"]].concat()
    };
    match name {
        WorkloadName::OltpReadWrite => transaction(&[&READS, &WRITES]),
        WorkloadName::OltpReadOnly => transaction(&[&READS]),
        WorkloadName::OltpWriteOnly => transaction(&[&WRITES]),
        WorkloadName::OltpPointSelect => vec![POINT_SELECTS],
        WorkloadName::OltpUpdateIndex => vec![INDEX_UPDATES],
        WorkloadName::OltpUpdateNonIndex => vec![NON_INDEX_UPDATES],
        WorkloadName::OltpDelete => vec![DELETES],
        WorkloadName::SelectRandomPoints => {
            vec!["SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"]
        }
        WorkloadName::SelectRandomRanges => vec![
            "SELECT count(k) FROM sbtest1 WHERE \
             k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR \
             k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR \
             k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR \
             k BETWEEN ? AND ?",
        ],
        // Text with the values in it.
        WorkloadName::OltpInsert | WorkloadName::BulkInsert => Vec::new(),
    }
}

/// As sysbench's PostgreSQL driver does it.
fn numbered(sql: &str) -> String {
    let mut number = 0;
    let text = sql.chars().map(|character| match character {
        '?' => {
            number += 1;
            format!("${number}")
        }
        other => other.to_string(),
    });
    text.collect()
}

fn statements(name: WorkloadName, options: &Options, dialect: &Dialect) -> Vec<String> {
    let workload = BuiltIn::new(name, options, dialect, 1, 1).unwrap();
    let statements = workload.catalog().statements.iter();
    statements.map(|statement| statement.sql.clone()).collect()
}

#[test]
fn statements_are_those_of_sysbench() {
    for name in WorkloadName::ALL {
        if name == WorkloadName::OltpInsert {
            continue;
        }
        let sysbench = prepared(name).into_iter();
        let sysbench: Vec<String> = sysbench.map(|sql| sql.replace("%u", "1")).collect();
        let options = Options::default();
        let of = |dialect| statements(name, &options, dialect);
        assert_eq!(of(&MYSQL), sysbench);
        let numbered: Vec<_> = sysbench.iter().map(|sql| numbered(sql)).collect();
        assert_eq!(of(&POSTGRES), numbered);
        let sqlite = of(&SQLITE).into_iter();
        let begin = |sql: String| sql.replace("BEGIN IMMEDIATE", "BEGIN");
        assert!(sqlite.map(begin).eq(sysbench));
    }
}

#[test]
fn each_table_has_its_statements_in_order() {
    let mut options = Options::default();
    options.data.tables = 3;
    let name = WorkloadName::OltpUpdateNonIndex;
    let expected = [1, 2, 3].map(|table| format!("UPDATE sbtest{table} SET c=$1 WHERE id=$2"));
    assert_eq!(statements(name, &options, &POSTGRES), expected);
}

#[test]
fn the_server_gives_new_ids_as_with_sysbench() {
    let mut options = Options::default();
    let into = |columns: &str| format!("INSERT INTO sbtest1 {columns}");
    let by_server = into("(id, k, c, pad) VALUES (0, ?, ?, ?)");
    assert_eq!(insert(&options, &MYSQL), by_server);
    let by_sequence = into("(k, c, pad) VALUES ($1, $2, $3)");
    assert_eq!(insert(&options, &POSTGRES), by_sequence);
    let by_row = into("(k, c, pad) VALUES (?, ?, ?)");
    assert_eq!(insert(&options, &SQLITE), by_row);
    options.data.auto_inc = false;
    assert_eq!(insert(&options, &MYSQL), INSERTS.replace("%u", "1"));
    let ours = into("(id, k, c, pad) VALUES ($1, $2, $3, $4)");
    assert_eq!(insert(&options, &POSTGRES), ours);
    assert_eq!(insert(&options, &SQLITE), INSERTS.replace("%u", "1"));
    options.data.auto_inc = true;
    options.data.secondary = true;
    assert!(insert(&options, &SQLITE).contains("SELECT COALESCE(MAX(id),0)+1 FROM sbtest1"));
}

/// The table that `create_table` of the script makes, with spaces for line breaks.
fn sysbench_table(id: &str, key: &str, engine: &str) -> String {
    format!(
        "CREATE TABLE sbtest3 ( id {id}, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL{key} ){engine}"
    )
}

fn on_one_line(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn table(dialect: &Dialect, options: &Options) -> String {
    let spec = WorkloadName::OltpReadWrite.table_spec(options, 1);
    on_one_line(&spec.create(dialect, 3))
}

fn finish(dialect: &Dialect, options: &Options) -> Vec<String> {
    let spec = WorkloadName::OltpReadWrite.table_spec(options, 1);
    spec.finish(dialect, 3)
}

#[test]
fn tables_are_those_of_sysbench() {
    let options = Options::default();
    let engine = " /*! ENGINE = innodb */";
    let primary = ", PRIMARY KEY (id)";
    let id = "INTEGER NOT NULL AUTO_INCREMENT";
    let mysqls = sysbench_table(id, primary, engine);
    assert_eq!(table(&MYSQL, &options), mysqls);
    assert_eq!(table(&POSTGRES, &options), sysbench_table("SERIAL", "", ""));
    let index = "CREATE INDEX k_3 ON sbtest3(k)";
    for dialect in [&MYSQL, &SQLITE] {
        assert_eq!(finish(dialect, &options), [index]);
    }
    // It has the name that it would have in the table's definition.
    let primary = "ALTER TABLE sbtest3 ADD PRIMARY KEY (id)";
    assert_eq!(finish(&POSTGRES, &options)[..2], [primary, index]);
    assert_eq!(drop_table(3), "DROP TABLE IF EXISTS sbtest3");
    let bulk = WorkloadName::BulkInsert.table_spec(&options, 1);
    for dialect in ALL {
        let create = "CREATE TABLE IF NOT EXISTS sbtest3 \
                      ( id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id) )";
        assert_eq!(on_one_line(&bulk.create(dialect, 3)), create);
        assert!(bulk.finish(dialect, 3).is_empty() && bulk.rows == 0);
    }
}

/// Rows are loaded with their ids, which a sequence does not see.
#[test]
fn a_sequence_goes_on_after_the_loaded_rows() {
    let mut options = Options::default();
    let set = "SELECT setval(pg_get_serial_sequence('sbtest3', 'id'), 10000)";
    assert_eq!(finish(&POSTGRES, &options)[2..], [set]);
    options.data.auto_inc = false;
    assert_eq!(finish(&POSTGRES, &options).len(), 2);
}

#[test]
fn options_change_keys_and_indexes() {
    let mut options = Options::default();
    options.data.secondary = true;
    options.data.auto_inc = false;
    options.data.create_secondary = false;
    options.data.storage_engine = Some("myisam".to_owned());
    let (id, engine) = ("INTEGER NOT NULL", " /*! ENGINE = myisam */");
    let mysqls = sysbench_table(id, ", KEY xid (id)", engine);
    assert_eq!(table(&MYSQL, &options), mysqls);
    assert!(finish(&MYSQL, &options).is_empty());
    for dialect in [&SQLITE, &POSTGRES] {
        assert_eq!(table(dialect, &options), sysbench_table(id, "", ""));
        let index = "CREATE INDEX xid_3 ON sbtest3(id)";
        assert_eq!(finish(dialect, &options), [index]);
    }
}

fn insert(options: &Options, dialect: &Dialect) -> String {
    statements(WorkloadName::OltpInsert, options, dialect).concat()
}

#[test]
fn sqlite_takes_the_lock_at_the_start_of_a_transaction_that_writes() {
    let begin = |name, options: &Options, dialect| statements(name, options, dialect).remove(0);
    let (read, write) = (WorkloadName::OltpReadOnly, WorkloadName::OltpReadWrite);
    let options = Options::default();
    assert_eq!(begin(write, &options, &SQLITE), "BEGIN IMMEDIATE");
    assert_eq!(begin(read, &options, &SQLITE), "BEGIN");
    assert_eq!(begin(write, &options, &MYSQL), "BEGIN");
    let mut reads_only = options;
    reads_only.transaction.index_updates = 0;
    reads_only.transaction.non_index_updates = 0;
    reads_only.transaction.delete_inserts = 0;
    assert_eq!(begin(write, &reads_only, &SQLITE), "BEGIN");
}

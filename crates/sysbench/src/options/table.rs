//! Every option, by group and dialect.

use super::dialect::Dialect;
use super::values::Declaration;
use super::values::Kind::{self, Bool, Double, File, Int, List, Size, String as Text};

/// Options that differ only in their names: in which dialects they exist, the names with blanks
/// between them, their kind, default and help.
type Row = (u8, &'static str, Kind, &'static str, &'static str);
type Group = (&'static str, &'static [Row]);

const V04: u8 = Dialect::V04.bit();
const V05: u8 = Dialect::V05.bit();
const V10: u8 = Dialect::V10.bit();
const MASTER: u8 = Dialect::Master.bit();
const OLD: u8 = V04 | V05;
const LUA: u8 = V05 | NEW;
const NEW: u8 = V10 | MASTER;
const ALL: u8 = OLD | NEW;
const WITHOUT_EFFECT: &str = "Options without effect";

/// The options that every test has, by group.
pub(crate) fn groups(
    dialect: Dialect,
) -> impl Iterator<Item = (&'static str, Vec<Declaration<'static>>)> {
    let groups = COMMON.iter();
    groups.map(move |(title, rows)| (*title, of(rows, dialect).collect::<Vec<_>>()))
}

/// Whether an option, with `_` for `-` in its name, does more than being read.
pub(crate) fn has_effect(name: &str) -> bool {
    let groups = COMMON.iter().filter(|(title, _)| *title == WITHOUT_EFFECT);
    let mut rows = groups.flat_map(|(_, rows)| *rows);
    !rows.any(|row| row.1.replace('-', "_") == name)
}

/// The options of a test that comes with sysbench, by its name or path, in order of name. Empty if
/// it declares none in this dialect.
pub fn declarations(dialect: Dialect, test: &str) -> Vec<Declaration<'static>> {
    let file = test.rsplit('/').next().unwrap_or(test);
    let name = file.strip_suffix(".lua").unwrap_or(file);
    let is_oltp = name.starts_with("oltp_") || name.starts_with("select_random_");
    let groups = TESTS.iter().filter(|(group, _)| match *group {
        "oltp_common" => is_oltp,
        group => group == name,
    });
    let mut found: Vec<_> = groups.flat_map(|(_, rows)| of(rows, dialect)).collect();
    found.sort_unstable_by_key(|option| option.name);
    found
}

fn of(rows: &'static [Row], dialect: Dialect) -> impl Iterator<Item = Declaration<'static>> {
    let spoken = rows.iter().filter(move |row| row.0 & dialect.bit() != 0);
    spoken.flat_map(|&(_, names, kind, default, help)| {
        names.split(' ').map(move |name| Declaration {
            name,
            kind,
            default,
            help,
        })
    })
}

#[rustfmt::skip] // A line for each.
const COMMON: &[Group] = &[
    ("General options", &[
        (NEW, "threads", Int, "1", "number of virtual users"),
        (NEW, "events", Int, "0", "end after this many events; 0: no limit"),
        (NEW, "time", Int, "10", "end after this many seconds; 0: no limit"),
        (MASTER, "warmup-time", Int, "0", "seconds before the statistics begin"),
        (ALL, "forced-shutdown", Text, "off", "wait this long after the time limit: seconds, N% or off"),
        (MASTER, "thread-init-timeout", Int, "30", "seconds that the users have to get ready"),
        (NEW, "rate", Int, "0", "events that arrive in a second; 0: no schedule"),
        (ALL, "report-interval", Int, "0", "seconds between intermediate reports; 0: none"),
        (ALL, "report-checkpoints", List, "", "seconds at which to report all and start over"),
        (ALL, "debug", Bool, "off", "report more details"),
        (ALL, "validate", Bool, "off", "verify data that was read, where a test can"),
        (ALL, "help", Bool, "off", "print this text"),
        (ALL, "version", Bool, "off", "print the version"),
        (LUA, "config-file", File, "", "read options from a file"),
        (OLD | V10, "test", Text, "", "name of the test, or path of a script"),
        (OLD | V10, "tx-rate", Int, "0", "former name of --rate"),
        (OLD, "max-requests", Int, "10000", "end after this many events; 0: no limit"),
        (V10, "max-requests", Int, "0", "former name of --events"),
        (OLD | V10, "max-time", Int, "0", "former name of --time"),
        (OLD | V10, "num-threads", Int, "1", "former name of --threads"),
        (V04, "seed-rng", Int, "0", "seed of the random numbers; 0: see --init-rng"),
        (V04, "init-rng", Bool, "off", "seed the random numbers from the time"),
    ]),
    ("Pseudo-Random Numbers Generator options", &[
        (V05 | V10, "rand-type", Text, "special", "uniform, gaussian, special or pareto"),
        (MASTER, "rand-type", Text, "uniform", "uniform, gaussian, special, pareto or zipfian"),
        (LUA, "rand-spec-iter", Int, "12", "draws whose mean is a gaussian or special value"),
        (LUA, "rand-spec-pct", Int, "1", "percent of the values that are special"),
        (LUA, "rand-spec-res", Int, "75", "percent of the draws that are special"),
        (LUA, "rand-seed", Int, "0", "seed of the random numbers; 0: from the time"),
        (LUA, "rand-pareto-h", Double, "0.2", "parameter h of pareto"),
        (MASTER, "rand-zipfian-exp", Double, "0.8", "exponent of zipfian"),
    ]),
    ("Log options", &[
        (V04, "verbosity", Int, "4", "0 (fatal errors) to 5 (debug)"),
        (LUA, "verbosity", Int, "3", "0 (fatal errors) to 5 (debug)"),
        (ALL, "percentile", Int, "95", "percentile of the latency; from 1.0 on, 0 turns it off"),
        (NEW, "histogram", Bool, "off", "print a histogram of the latency"),
    ]),
    ("General database options", &[
        (ALL, "db-driver", Text, "mysql", "mysql or pgsql"),
        (ALL, "db-ps-mode", Text, "auto", "prepared statements: auto or disable"),
    ]),
    ("mysql options", &[
        (ALL, "mysql-host", List, "localhost", "hosts, which connections take in turn"),
        (ALL, "mysql-port", List, "3306", "ports, all of them on every host"),
        (ALL, "mysql-socket", List, "", "Unix sockets, in place of hosts and ports"),
        (ALL, "mysql-user", Text, "sbtest", "user"),
        (ALL, "mysql-password", Text, "", "password; MYSQL_PWD and --config-file are safer"),
        (ALL, "mysql-db", Text, "sbtest", "database"),
        (OLD | V10, "mysql-ssl", Bool, "off", "require TLS"),
        (MASTER, "mysql-ssl", Text, "disabled", "disabled, preferred, required, verify_ca or verify_identity"),
        (MASTER, "mysql-ssl-ca mysql-ssl-cert mysql-ssl-key", Text, "", "file for TLS (PEM)"),
        (LUA, "mysql-debug", Bool, "off", "as --verbosity=5"),
        (ALL, "mysql-ignore-errors", List, "1213,1020,1205", "errors that do not end the run, or all"),
        (LUA, "mysql-dry-run", Bool, "off", "connect to no server; every statement succeeds"),
        (OLD, "mysql-table-engine", Text, "innodb", "storage engine"),
        (V04, "mysql-table-type", Text, "", "former name of --mysql-table-engine"),
        (OLD, "mysql-engine-trx", Text, "auto", "whether the storage engine has transactions: yes, no or auto"),
        (OLD, "myisam-max-rows", Int, "1000000", "MAX_ROWS of MyISAM tables"),
        (OLD, "mysql-create-options", Text, "", "end of CREATE TABLE"),
    ]),
    ("pgsql options", &[
        (ALL, "pgsql-host", Text, "localhost", "host"),
        (ALL, "pgsql-port", Int, "5432", "port"),
        (ALL, "pgsql-user", Text, "sbtest", "user"),
        (ALL, "pgsql-password", Text, "", "password; PGPASSWORD and --config-file are safer"),
        (ALL, "pgsql-db", Text, "sbtest", "database"),
        (MASTER, "pgsql-sslmode", Text, "prefer", "disable, allow, prefer, require, verify-ca or verify-full"),
    ]),
    ("dyno options", &[
        (ALL, "dyno-out", Text, "", "directory for the results"),
        (ALL, "dyno-dialect", Text, "", "sysbench to follow: 0.4, 0.5, 1.0 or master"),
    ]),
    (WITHOUT_EFFECT, &[
        (ALL, "thread-stack-size", Size, "64K", "size of a stack"),
        (V04, "tx-jitter", Int, "0", "deviation of --tx-rate"),
        (V05, "rand-init", Bool, "off", "the random numbers are always seeded"),
        (MASTER, "luajit-cmd", Text, "", "command for LuaJIT"),
        (OLD, "batch", Bool, "off", "intermediate statistics for programs"),
        (OLD, "batch-delay", Int, "300", "seconds between intermediate statistics"),
        (ALL, "db-debug", Bool, "off", "details of the database driver"),
        (NEW, "mysql-ssl-cipher", Text, "", "cipher for TLS"),
        (NEW, "mysql-compression", Bool, "off", "compression of the protocol"),
        (MASTER, "mysql-compression-algorithms", Text, "zlib", "compression of the protocol"),
    ]),
];

/// The options of tests. Those of `oltp` are the built-in test's of 0.4 and of its fork, and those
/// of 0.5's oltp.lua.
#[rustfmt::skip]
const TESTS: &[Group] = &[
    ("cpu", &[
        (ALL, "cpu-max-prime", Int, "10000", "test the numbers up to this"),
    ]),
    ("memory", &[
        (ALL, "memory-block-size", Size, "1K", "bytes that an event covers"),
        (ALL, "memory-total-size", Size, "100G", "bytes in all"),
        (ALL, "memory-scope", Text, "global", "a block for all threads or one for each: global or local"),
        (ALL, "memory-hugetlb", Bool, "off", "use huge pages"),
        (ALL, "memory-oper", Text, "write", "read, write or none"),
        (ALL, "memory-access-mode", Text, "seq", "seq or rnd"),
    ]),
    ("threads", &[
        (ALL, "thread-yields", Int, "1000", "yields in an event"),
        (ALL, "thread-locks", Int, "8", "mutexes"),
    ]),
    ("mutex", &[
        (ALL, "mutex-num", Int, "4096", "mutexes"),
        (ALL, "mutex-locks", Int, "50000", "locks that each thread takes"),
        (ALL, "mutex-loops", Int, "10000", "empty loops before each lock"),
    ]),
    ("fileio", &[
        (ALL, "file-num", Int, "128", "files"),
        (ALL, "file-block-size", Size, "16384", "bytes of a read or write"),
        (ALL, "file-total-size", Size, "2G", "bytes of all files"),
        (ALL, "file-test-mode", Text, "", "seqwr, seqrewr, seqrd, rndrd, rndwr or rndrw"),
        (ALL, "file-io-mode", Text, "sync", "sync, async or mmap"),
        (ALL, "file-async-backlog", Int, "128", "requests in flight in each thread (async)"),
        (ALL, "file-extra-flags", List, "", "flags for opening the files: sync, dsync, direct"),
        (ALL, "file-fsync-freq", Int, "100", "requests before each fsync of all files; 0: none"),
        (ALL, "file-fsync-all", Bool, "off", "fsync after every write"),
        (ALL, "file-fsync-end", Bool, "on", "fsync at the end"),
        (ALL, "file-fsync-mode", Text, "fsync", "fsync or fdatasync"),
        (ALL, "file-merged-requests", Int, "0", "blocks of a sequential request; 0: one"),
        (ALL, "file-rw-ratio", Double, "1.5", "reads for each write (rndrw)"),
    ]),
    ("oltp_common", &[
        (NEW, "auto_inc", Bool, "on", "let the server generate ids"),
        (NEW, "create_secondary", Bool, "on", "create an index on k"),
        (MASTER, "create_table_options", Text, "", "end of CREATE TABLE"),
        (NEW, "delete_inserts", Int, "1", "pairs of DELETE and INSERT in a transaction"),
        (NEW, "point_selects", Int, "10", "statements in a transaction"),
        (NEW, "index_updates non_index_updates", Int, "1", "statements in a transaction"),
        (NEW, "distinct_ranges order_ranges simple_ranges sum_ranges", Int, "1", "statements in a transaction"),
        (NEW, "mysql_storage_engine", Text, "innodb", "storage engine of MySQL"),
        (NEW, "pgsql_variant", Text, "", "redshift, or empty"),
        (NEW, "range_selects", Bool, "on", "whether to read ranges"),
        (NEW, "range_size", Int, "100", "rows in a range"),
        (MASTER, "reconnect", Int, "0", "events between new connections; 0: never"),
        (NEW, "secondary", Bool, "off", "index the ids in place of a primary key"),
        (NEW, "skip_trx", Bool, "off", "leave out BEGIN and COMMIT"),
        (NEW, "table_size", Int, "10000", "rows in a table"),
        (NEW, "tables", Int, "1", "tables"),
    ]),
    ("select_random_points", &[
        (NEW, "random_points", Int, "10", "points in a statement"),
    ]),
    ("select_random_ranges", &[
        (NEW, "delta", Int, "5", "values in a range"),
        (NEW, "number_of_ranges", Int, "10", "ranges in a statement"),
    ]),
    ("oltp", &[
        (OLD, "oltp-table-size", Int, "10000", "rows in a table"),
        (OLD, "oltp-range-size", Int, "100", "rows in a range"),
        (OLD, "oltp-point-selects", Int, "10", "statements in a transaction"),
        (OLD, "oltp-simple-ranges oltp-sum-ranges oltp-order-ranges oltp-distinct-ranges", Int, "1", "statements in a transaction"),
        (OLD, "oltp-index-updates oltp-non-index-updates", Int, "1", "statements in a transaction"),
        (OLD, "oltp-read-only", Bool, "off", "leave out writes"),
        (OLD, "oltp-skip-trx", Bool, "off", "leave out BEGIN and COMMIT"),
        (OLD, "oltp-auto-inc", Bool, "on", "let the server generate ids"),
        (OLD, "oltp-secondary", Bool, "off", "index the ids in place of a primary key"),
        (V04, "oltp-test-mode", Text, "complex", "simple, complex, nontrx or sp"),
        (V04, "oltp-reconnect-mode", Text, "session", "a connection for each session, transaction or query, or random"),
        (V04, "oltp-reconnect", Bool, "off", "connect again for each transaction (0.4.8)"),
        (V04, "oltp-sp-name", Text, "", "stored procedure to call (sp)"),
        (V04, "oltp-nontrx-mode", Text, "select", "select, update_key, update_nokey, insert or delete"),
        (V04, "oltp-connect-delay", Int, "10000", "microseconds to wait after connecting"),
        (V04, "oltp-user-delay-min oltp-user-delay-max", Int, "0", "microseconds to wait before a statement"),
        (V04, "oltp-table-name", Text, "sbtest", "table"),
        (V04, "oltp-dist-type", Text, "special", "uniform, gaussian or special"),
        (V04, "oltp-dist-iter", Int, "12", "draws whose mean is a gaussian or special value"),
        (V04, "oltp-dist-pct", Int, "1", "percent of the values that are special"),
        (V04, "oltp-dist-res", Int, "75", "percent of the draws that are special"),
        (V04, "oltp-num-tables", Int, "1", "tables (fork)"),
        (V04, "oltp-num-partitions oltp-use-in-statement", Int, "0", "option of the fork"),
        (V04, "oltp-use-range oltp-avoid-deadlocks oltp-use-filter", Bool, "off", "option of the fork"),
        (V04, "oltp-point-select-mysql-handler oltp-point-select-all-cols oltp-use-ndb-disk-data", Bool, "off", "option of the fork"),
        (V04, "oltp-table-comment-string", Text, "", "option of the fork"),
        (V05, "oltp-tables-count", Int, "1", "tables"),
        (V05, "oltp-delete-inserts", Int, "1", "pairs of DELETE and INSERT in a transaction"),
        (V05, "oltp-range-selects", Bool, "on", "whether to read ranges"),
        (V05, "oltp-write-only", Bool, "off", "leave out reads"),
        (V05, "oltp-create-secondary", Bool, "on", "create an index on k"),
        (V05, "mysql-table-options", Text, "", "end of CREATE TABLE"),
        (V05, "pgsql_variant", Text, "", "redshift, or empty"),
    ]),
];

//! The one list of keys, with their ranges, defaults and documentation.

use std::time::Duration;

use super::make::{
    bench, bench_as, count, fixed, key, needs, option, optional, running, span, started, word, work,
};
use super::{FIND_MAX_MEAN, FIND_MAX_P95, FIND_MAX_P99, Key, Kind, Needs, THREADS, Work};
use crate::{Arrivals, Protocol, ReplyTime, Reset, ThinkDistribution, TlsMode};

const DAY: Duration = Duration::from_secs(86_400);
const ZERO: Duration = Duration::ZERO;
const MONTH: Duration = Duration::from_secs(30 * 86_400);
const HOUR: Duration = Duration::from_secs(3600);
const MILLISECOND: Duration = Duration::from_millis(1);
const MICROSECOND: Duration = Duration::from_micros(1);
const NAME: Kind = Kind::Text { max_chars: 100 };
/// The most rows, and the most that one statement may span: ids are 32-bit signed integers.
const MAX_ROWS: u64 = i32::MAX as u64;
/// How often a transaction may repeat a statement.
const TIMES: Kind = count(0, 10_000);

/// Sections in the order of the reference page, with what they are about.
pub static SECTIONS: &[(&str, &str)] = &[
    (
        "server",
        "What is measured: `engine` or `url`, exactly one of the two. `basedir`, `version`, `port`, `cpus`, `directory`, `reset` and `config` apply to a server process that dyno starts, the others to a server that is already running.",
    ),
    ("data", "What each server holds before each trial."),
    ("load", "What virtual users do to it, and how often."),
    (
        "transaction",
        "What one transaction of the workload holds, in sysbench's terms; a workload ignores what it does not use.",
    ),
    (
        "topology",
        "How many servers are measured at once, and whether they replicate.",
    ),
    ("monitors", "What is monitored during the load."),
    (
        "report",
        "What the report shows in addition to its standard content.",
    ),
];

/// Every key, in the order of the reference page.
#[rustfmt::skip]
pub static KEYS: &[Key] = &[
    fixed(Key { required: true, ..optional("title", Kind::Text { max_chars: 200 },
        "The question of the study in one line; the heading of its report.") }),
    fixed(optional("description", Kind::Text { max_chars: 10_000 },
        "Why the study was made and how to read it.")),

    optional("server.engine", Kind::Engine,
        "The engine to start for the study and stop afterward; one that runs in process gets a temporary database."),
    optional("server.url", Kind::Url,
        "Address of a server that is already running: `scheme://user:password@host:port/database`; a password is never stored or shown."),
    started(optional("server.basedir", Kind::Path,
        "Directory that contains the server's programs, such as `/opt/server-9.7`. Default: PATH and the usual places.")),
    started(optional("server.version", Kind::Version,
        "Version that the server must have, as far as it is written: `\"10.11\"` accepts 10.11.14, but not 10.1 or 10.12.")),
    started(optional("server.port", count(1024, 65_535),
        "Port of the first instance; the others take the ports that follow. Default: any free ports.")),
    started(optional("server.cpus", Kind::Number { min: 0.01, max: 10_000.0 },
        "CPUs that each server may use, such as `1.5`: a quota of CPU time that the kernel enforces over each tenth of a second (a control group of its own; needs root, or a group that root delegated). Default: no limit.")),
    started(optional("server.directory", Kind::Path,
        "Directory on the disk to be tested, such as `/mnt/nvme`: each server's data is in a new directory below it, which is removed with the server; nothing else in it is touched. Default: dyno's cache. Prepared data is kept in the cache in any case, and copied.")),
    started(key("server.reset", Kind::Choice(Reset::WORDS), "\"copy\"",
        "How a trial gets its data: `copy` (each starts from its own copy of a data directory that is prepared once and kept for later studies), `rebuild` (each prepares its own, which takes the full time) or `none` (each continues with what the trial before it left, so trials are not independent; one that needs other data, or follows one in which a server died, starts from a copy).")),
    started(key("server.cold_data", Kind::Boolean, "true",
        "Whether a trial's new data is written to disk and dropped from the page cache before the servers start on it, so that no trial begins while the kernel is still writing it. With `false` the servers start at once, on what the copy left in memory.")),
    started(optional("server.config", Kind::Settings,
        "Settings of the server's own option file: `config = { max_connections = 500 }`, or one on each line under `[server.config]`. Each is a key of its own: `server.config.max_connections`. Settings under an engine's name (`[server.config.ENGINE]`) are for that engine only, in place of the others.")),

    running(bench_as("tls-mode", "How much TLS. One of disable; preferred (if the server offers it; not verified); required (or no connection; not verified); verify-ca (from a trusted authority); verify-full (and made out to the server's name). [default: preferred; verify-full with --tls-ca]",
        optional("server.tls.mode", Kind::Choice(TlsMode::WORDS),
        "How much TLS, as `--tls-mode`: `disable`, `preferred` (if the server offers it; its certificate is not verified), `required` (or no connection; not verified), `verify-ca` (from a trusted authority) or `verify-full` (and made out to the server's name). Default: `verify-full` with `tls.ca`, else `preferred`."))),
    running(bench_as("", "File of trusted authorities (PEM) instead of the system's.", optional("server.tls.ca", Kind::Path,
        "File of trusted authorities (PEM) instead of the system's, as `--tls-ca`."))),
    running(bench_as("", "The client's certificate (PEM).", optional("server.tls.cert", Kind::Path,
        "The client's certificate (PEM), as `--tls-cert`; with `tls.key`."))),
    running(bench_as("", "The key of the client's certificate (PEM).", optional("server.tls.key", Kind::Path,
        "The key of the client's certificate (PEM), as `--tls-key`."))),
    running(bench_as("", "Accept any public key that the server presents, to send it the password. caching_sha2_password and sha256_password require the password itself at an account's first login. Without this option, it is sent only over a Unix socket, over TLS with a verified certificate, or encrypted with the key in --server-public-key-path. Unlike the server's own client, dyno does not consider unverified TLS safe.",
        key("server.get_server_public_key", Kind::Boolean, "false",
        "As `--get-server-public-key`: accepts any public key that the server presents, to send it the password for `caching_sha2_password` or `sha256_password`."))),
    running(bench_as("", "File with the server's RSA public key (PEM), to encrypt the password without TLS.", optional("server.server_public_key_path", Kind::Path,
        "File with the server's RSA public key (PEM), as `--server-public-key-path`: encrypts the password for those plugins without TLS."))),
    running(bench_as("", "Send the password in clear text without verifying the server.",
        key("server.enable_cleartext_plugin", Kind::Boolean, "false",
        "As `--enable-cleartext-plugin`: sends the password in clear text without verifying the server."))),

    work(bench(key("data.tables", count(1, 100_000), "1", "Number of tables: `sbtest1`, `sbtest2`…"))),
    work(bench(key("data.rows", count(1, MAX_ROWS), "10_000", "Rows in each table."))),
    bench(key("data.seed", count(0, u64::MAX), "1", "Seed of every random choice: the same seed, the same rows and statements.")),
    option(key("data.auto_inc", Kind::Boolean, "true", "Whether the server numbers new rows; otherwise virtual users do.")),
    option(key("data.create_secondary", Kind::Boolean, "true", "Whether column `k` is indexed.")),
    option(key("data.secondary", Kind::Boolean, "false", "A secondary index on `id` in place of the primary key.")),
    option(optional("data.storage_engine", Kind::Name { max_chars: 64 }, "Storage engine of new tables, on a server that has several. Default: its transactional one.")),

    work(bench(key("load.workload", NAME, "\"oltp_read_write\"", "What one transaction does."))),
    bench_as("", "Virtual users, each with one connection; several numbers (1,4,16) run one after the other.",
        key(THREADS, count(1, 100_000), "1", "Virtual users of each server: connections, each waiting for every reply.")),
    key("load.preload", Kind::Boolean, "false",
        "Whether every table and index is read once in full before the warm-up, so that the server has in memory what fits. No transaction of the workload runs meanwhile."),
    bench_as("", "Load before the measurement, shown but not counted.",
        key("load.warmup", span(ZERO, DAY), "\"10s\"", "Load before the measurement; not counted.")),
    bench_as("", "Length of the measurement (20, 30s, 5m, 1h30m): with --until-ci its minimum, with --find-max that of each step. 0 is no limit, for --events.",
        key("load.time", span(ZERO, MONTH), "\"60s\"", "Length of the measurement; with `until.ci` its minimum, with `find_max` that of each step. `\"0s\"` is no limit, for `events`.")),
    bench_as("", "End once the result is precise: when half of the 95 % confidence interval of the mean throughput is, two checks in a row, no more than this share of it, like 2%, and the run is steady. Not before --time nor 20s, and not after --max-time.",
        fixed(optional("load.until.ci", Kind::Percent { min: 0.1, max: 50.0 },
        "Ends the measurement once it is precise: as soon as half of the 95 % confidence interval of the mean throughput is no more than this share of it, not before `time` and not after `until.max`. Written as `until = { ci = \"2%\", max = \"30m\" }`."))),
    bench_as("max-time", "Longest measurement with --until-ci.",
        fixed(needs(Needs::Until, key("load.until.max", span(MILLISECOND, MONTH), "\"30m\"",
        "Longest measurement with `until.ci`, even if the precision is not reached.")))),
    bench_as("p99", "With --find-max: 99 % of the response times are at most this, like 20ms.",
        fixed(optional(FIND_MAX_P99, span(MICROSECOND, HOUR),
        "Makes each point a search for the highest rate of Poisson arrivals at which 99 % of the response times are at most this: `find_max = { p99 = \"20ms\" }`."))),
    bench_as("p95", "The same for 95 % of the response times.",
        fixed(optional(FIND_MAX_P95, span(MICROSECOND, HOUR),
        "The same for 95 % of the response times; a search has one limit."))),
    bench_as("mean", "The same for the mean response time.",
        fixed(optional(FIND_MAX_MEAN, span(MICROSECOND, HOUR),
        "The same for the mean response time."))),
    bench_as("", "End after this many transactions, if --time has not ended the measurement before. 0 is no limit.",
        optional("load.events", count(1, 1_000_000_000_000),
        "Ends the measurement after this many transactions, if `time` has not ended it before.")),
    Key { work: Some(Work::Presence), ..bench_as("", "Open loop: this many transactions arrive each second, whether or not a virtual user is free.",
        optional("load.rate", Kind::Number { min: 0.001, max: 10_000_000.0 },
        "Transactions that arrive per second, whether or not a virtual user is free (open loop). Without it each virtual user starts its next transaction when the last one ends (closed loop).")) },
    work(bench_as("", "How the arrivals of --rate are spaced: at random, like independent users, or evenly.",
        needs(Needs::Rate, key("load.arrivals", Kind::Choice(Arrivals::WORDS), "\"poisson\"",
        "How arrivals of the open loop are spaced: `poisson` (random, like independent users) or `constant`. Needs `rate`.")))),
    work(bench_as("", "How rows are chosen: uniform, special, gaussian, pareto, zipfian; with parameters like special:pct=1,res=75 or zipfian:exp=0.99.",
        key("load.distribution", NAME, "\"special\"", "How transactions choose their rows."))),
    work(bench_as("", "Highest key that transactions choose; more than --rows makes lookups miss. [default: --rows]",
        optional("load.key_range", count(1, MAX_ROWS),
        "Highest key that transactions choose; default: `data.rows`. More than that makes lookups miss, less makes some of the rows hot."))),
    work(bench_as("", "Prepared statements, or the whole text each time.",
        key("load.protocol", Kind::Choice(Protocol::WORDS), "\"prepared\"",
        "How statements are sent: `prepared` (once for each connection, then by number) or as `text` each time."))),
    bench_as("", "When a reply counts as received: when it arrived, as the kernel stamped it (over TCP), or when dyno has read it.",
        key("load.reply_time", Kind::Choice(ReplyTime::WORDS), "\"kernel\"",
        "When a reply counts as received: `kernel` (when its last bytes reached this host, as the kernel stamped them; over TCP, with or without TLS) or `program` (when dyno has read them, as other load generators do; always so over a Unix socket and for an engine in process).")),
    work(bench(key("load.think", span(ZERO, DAY), "\"0s\"", "Pause of a virtual user after each transaction."))),
    work(bench(key("load.think_distribution", Kind::Choice(ThinkDistribution::WORDS), "\"constant\"",
        "How those pauses are distributed around `think`, their mean: `constant`, `uniform` (from zero to twice the mean) or `exponential` (memoryless, like independent people)."))),
    fixed(key("load.repeats", count(1, 1000), "1",
        "How many trials each point of the study has. Every point runs once before any runs again.")),
    fixed(optional("load.order", Kind::Choice(&["random", "written"]),
        "Order of the trials: `written` (as in the file) or `random` (shuffled in each block of repeats, and balanced over the blocks, so that a slow drift of the host affects all points alike). Default: `random` with `repeats` above 1, else `written`.")),
    fixed(key("load.order_seed", count(0, u64::MAX), "1",
        "Seed of the random order: the same seed, the same order.")),

    option(key("transaction.point_selects", TIMES, "10", "`SELECT`s of one row.")),
    option(key("transaction.range_selects", Kind::Boolean, "true", "Whether there are the four kinds of range `SELECT` at all.")),
    option(key("transaction.simple_ranges", TIMES, "1", "Plain range `SELECT`s.")),
    option(key("transaction.sum_ranges", TIMES, "1", "Range `SELECT`s with `SUM()`.")),
    option(key("transaction.order_ranges", TIMES, "1", "Range `SELECT`s with `ORDER BY`.")),
    option(key("transaction.distinct_ranges", TIMES, "1", "Range `SELECT`s with `DISTINCT`.")),
    option(key("transaction.range_size", count(1, MAX_ROWS), "100", "Rows of a range `SELECT`.")),
    option(key("transaction.index_updates", TIMES, "1", "`UPDATE`s of the indexed column.")),
    option(key("transaction.non_index_updates", TIMES, "1", "`UPDATE`s of another column.")),
    option(key("transaction.delete_inserts", TIMES, "1", "Pairs of `DELETE` and `INSERT`.")),
    option(key("transaction.skip_trx", Kind::Boolean, "false", "No `BEGIN` and `COMMIT`: each statement is its own transaction.")),
    option(key("transaction.random_points", count(1, 10_000), "10", "Keys of a `select_random_points`.")),
    option(key("transaction.number_of_ranges", count(1, 10_000), "10", "Ranges of a `select_random_ranges`.")),
    option(key("transaction.delta", count(0, MAX_ROWS), "5", "Width of a range of `select_random_ranges`.")),

    key("topology.instances", count(1, 64), "1",
        "Servers or clusters that run at once, each with its own data and its own load; all loads begin together."),
    started(optional("topology.cluster", Kind::Cluster,
        "How the servers of each instance replicate; the load goes to the primary. Default: a single server.")),
    needs(Needs::Cluster, key("topology.members", count(1, 9), "3",
        "Servers of each cluster, the primary included.")),

    key("monitors.enabled", Kind::Boolean, "true",
        "Whether host and servers are sampled each second. `false` measures what monitoring costs."),

    fixed(optional("report.tables", Kind::Tables,
        "Tables in a paper's own shape: `[{ rows = \"load.threads\", columns = [\"tps\", \"response_ms.p99\"] }]`.")),
    fixed(optional("report.delta_as_in", NAME,
        "Title of a paper whose sign convention comparisons of variants also show: its `delta %` is the change with the opposite sign, so that lost throughput is positive.")),
];

/// The name of a variant: not a key of the study, but read like one.
pub static VARIANT_NAME: Key = word("variant.name", 60);

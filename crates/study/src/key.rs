//! The one table of keys: reading, checking, overriding, sweeping, suggesting
//! and documenting all walk it.

use std::borrow::Cow;
use std::time::Duration;

use crate::error::Fault;
use crate::setting;

/// One key of a study file.
#[derive(Debug)]
pub(crate) struct Key {
    /// Dotted name, as in an axis or an override.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// As typed in TOML. `None`: required, or off when absent (see `doc`).
    pub(crate) default: Option<&'static str>,
    pub(crate) required: bool,
    /// Whether trials may differ in it.
    pub(crate) axis: bool,
    pub(crate) needs: Needs,
    pub(crate) doc: &'static str,
}

/// What a key takes.
#[derive(Debug)]
pub(crate) enum Kind {
    Text {
        max_chars: usize,
    },
    /// A text that stands in labels: without control characters.
    Name {
        max_chars: usize,
    },
    Choice(&'static [&'static str]),
    Url,
    Path,
    /// The leading components of a version.
    Version,
    Boolean,
    Integer {
        min: u64,
        max: u64,
    },
    Number {
        min: f64,
        max: f64,
    },
    Duration {
        min: Duration,
        max: Duration,
    },
    /// A share, typed as `2%`; the range is in percent.
    Percent {
        min: f64,
        max: f64,
    },
    /// Free settings of the server, each a key of its own below this one.
    Settings,
    /// The tables of the report.
    Tables,
}

/// What must be in the study for a key to have an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// A server that dyno starts as a process.
    StartedServer,
    /// A server that runs already.
    RunningServer,
    /// An open loop.
    Rate,
    /// A trial that ends when it is sure.
    Until,
}

/// Sections in the order of the reference page.
pub(crate) static SECTIONS: &[(&str, &str)] = &[
    (
        "server",
        "What is measured: `engine` or `url`, exactly one of the two. `basedir`, `version`, `port`, `cpus`, `directory`, `reset` and `config` are for a `mariadb` or `mysql` that dyno starts, the others for a server that runs already.",
    ),
    ("data", "What each server holds before each trial."),
    ("load", "What virtual users do to it, and how often."),
    (
        "transaction",
        "What one transaction of the workload holds, in sysbench's words; a workload takes what it has use for.",
    ),
    ("topology", "How many servers are measured at once."),
    ("monitors", "What is watched beside the load."),
    (
        "report",
        "What the report shows besides what it always shows.",
    ),
];

/// The section whose keys are names of other keys.
pub(crate) const SWEEP: &str = "sweep";
/// The section of named sizes, one of which an override may choose.
pub(crate) const SIZES: &str = "sizes";
/// The section whose keys are columns of report tables…
pub(crate) const THRESHOLDS: &str = "thresholds";
/// …and its one key that is none.
pub(crate) const BASELINE: &str = "baseline";
/// The list of named alternatives; also the name of their axis.
pub(crate) const VARIANT: &str = "variant";

const DAY: Duration = Duration::from_secs(86_400);
const ZERO: Duration = Duration::ZERO;
const MONTH: Duration = Duration::from_secs(30 * 86_400);
const HOUR: Duration = Duration::from_secs(3600);
const MILLISECOND: Duration = Duration::from_millis(1);
const MICROSECOND: Duration = Duration::from_micros(1);
const NAME: Kind = Kind::Text { max_chars: 100 };
/// The highest number that a row may have.
const MAX_ROWS: u64 = 10_000_000_000;
/// The rows that one statement may span: ids are 32-bit signed integers in MySQL.
const MAX_SPAN: u64 = i32::MAX as u64;
/// How often a transaction may repeat a statement.
const TIMES: Kind = count(0, 10_000);

const fn key(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        default: Some(default),
        required: false,
        axis: true,
        needs: Needs::Nothing,
        doc,
    }
}

const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key {
        default: None,
        ..key(name, kind, "", doc)
    }
}

/// The same in every trial.
const fn fixed(key: Key) -> Key {
    Key { axis: false, ..key }
}

/// Only for a server that dyno starts as a process.
const fn started(key: Key) -> Key {
    Key {
        needs: Needs::StartedServer,
        ..key
    }
}

/// Only for a server that runs already.
const fn running(key: Key) -> Key {
    Key {
        needs: Needs::RunningServer,
        ..key
    }
}

const fn count(min: u64, max: u64) -> Kind {
    Kind::Integer { min, max }
}

const fn span(min: Duration, max: Duration) -> Kind {
    Kind::Duration { min, max }
}

/// Every key, in the order of the reference page.
#[rustfmt::skip]
pub(crate) static KEYS: &[Key] = &[
    fixed(Key { required: true, ..optional("title", Kind::Text { max_chars: 200 },
        "The question of the study in one line; the heading of its report.") }),
    fixed(optional("description", Kind::Text { max_chars: 10_000 },
        "Why the study is made and how to read it.")),

    optional("server.engine", Kind::Choice(&["sqlite", "mariadb", "mysql"]),
        "The engine that is started for the study and ended with it; `sqlite` runs in process on a temporary database."),
    optional("server.url", Kind::Url,
        "Address of a server that runs already, such as `mysql://user:password@host:3306/database` (`mariadb://` means the same); a password is never stored or shown."),
    started(optional("server.basedir", Kind::Path,
        "Directory below which the server's programs are, such as `/opt/mysql-9.7`. Without it they are looked for on PATH and in the usual places.")),
    started(optional("server.version", Kind::Version,
        "Version that the server must have, as far as it is written: `\"10.11\"` takes 10.11.14, but not 10.1 or 10.12.")),
    started(optional("server.port", count(1024, 65_535),
        "Port of the first instance; the others take the ones that follow. Without it any free ports are taken.")),
    started(optional("server.cpus", Kind::Number { min: 0.01, max: 10_000.0 },
        "CPUs that each server may use, such as `1.5`: a quota of CPU time that the kernel enforces over each tenth of a second (a control group of its own; needs root, or a group that root gave away). Without it a server may use all.")),
    started(optional("server.directory", Kind::Path,
        "Directory on the disk to be tested, such as `/mnt/nvme`: each server's data lies in a new directory below it, which goes with the server; nothing else in it is touched. Without it data lies in dyno's cache. Prepared data is kept in the cache in any case, and copied.")),
    started(key("server.reset", Kind::Choice(&["copy", "rebuild", "none"]), "\"copy\"",
        "How a trial gets its data: `copy` (each starts from its own copy of a data directory that is prepared once and kept for later studies), `rebuild` (each prepares its own, which takes the full time) or `none` (each goes on with what the trial before it left, so trials are not independent; one that needs other data, or comes after one in which a server died, begins with a copy).")),
    started(key("server.cold_data", Kind::Boolean, "true",
        "Whether a trial's new data is written to disk and dropped from the page cache before the servers start on it, so that no trial begins while the kernel still writes it. With `false` the servers start at once, on what the copy left in memory.")),
    started(optional("server.config", Kind::Settings,
        "Settings of the server's own option file: `config = { innodb_buffer_pool_size = \"256M\" }`, or one on each line under `[server.config]`. Each is a key of its own: `server.config.innodb_buffer_pool_size`.")),

    running(optional("server.tls.mode", Kind::Choice(&["disable", "preferred", "required", "verify-ca", "verify-full"]),
        "How much TLS, as `--tls-mode`: `disable`, `preferred` (if the server offers it; its certificate is not verified), `required` (or no connection; not verified), `verify-ca` (from a trusted authority) or `verify-full` (and made out to the server's name). Without it `verify-full` when `tls.ca` is given, else `preferred`.")),
    running(optional("server.tls.ca", Kind::Path,
        "File of trusted authorities (PEM) instead of the system's, as `--tls-ca`.")),
    running(optional("server.tls.cert", Kind::Path,
        "The client's certificate (PEM), as `--tls-cert`; with `tls.key`.")),
    running(optional("server.tls.key", Kind::Path,
        "The key of the client's certificate (PEM), as `--tls-key`.")),
    running(key("server.get_server_public_key", Kind::Boolean, "false",
        "As `--get-server-public-key`: accepts any public key that the server presents, to send it the password for `caching_sha2_password` or `sha256_password`.")),
    running(optional("server.server_public_key_path", Kind::Path,
        "File with the server's RSA public key (PEM), as `--server-public-key-path`: encrypts the password for those plugins without TLS.")),
    running(key("server.enable_cleartext_plugin", Kind::Boolean, "false",
        "As `--enable-cleartext-plugin`: sends the password in clear text (`mysql_clear_password`) without verifying the server.")),

    key("data.tables", count(1, 10_000), "1", "Number of tables."),
    key("data.rows", count(1, MAX_ROWS), "10_000", "Rows in each table."),
    key("data.seed", count(0, u64::MAX), "1", "Seed of every random choice: the same seed, the same rows and statements."),
    key("data.auto_inc", Kind::Boolean, "true", "Whether the server numbers new rows; else the users do."),
    key("data.create_secondary", Kind::Boolean, "true", "Whether column `k` is indexed."),
    key("data.secondary", Kind::Boolean, "false", "A secondary index on `id` in place of the primary key."),
    key("data.storage_engine", Kind::Name { max_chars: 64 }, "\"innodb\"", "Storage engine of the tables; SQLite has none to choose."),

    key("load.workload", NAME, "\"oltp_read_write\"", "What one transaction does."),
    key("load.threads", count(1, 100_000), "1", "Virtual users of each server: connections, each waiting for every reply."),
    key("load.preload", Kind::Boolean, "false",
        "Whether every table and index is read once in full before the warm-up, so that the server has in memory what fits. No transaction of the workload runs meanwhile."),
    key("load.warmup", span(ZERO, DAY), "\"10s\"", "Load before the measurement; not counted."),
    key("load.time", span(MILLISECOND, MONTH), "\"60s\"", "Length of the measurement; with `until.ci` the least length, with `find_max` that of each step."),
    fixed(optional("load.until.ci", Kind::Percent { min: 0.1, max: 50.0 },
        "Ends the measurement when it is sure: as soon as half of the 95 % interval of the mean throughput is no more than this share of it, not before `time` and not after `until.max`. Written as `until = { ci = \"2%\", max = \"30m\" }`.")),
    fixed(Key { needs: Needs::Until, ..key("load.until.max", span(MILLISECOND, MONTH), "\"30m\"",
        "Longest measurement with `until.ci`, however unsure it is then.") }),
    fixed(optional("load.find_max.p99", span(MICROSECOND, HOUR),
        "Makes each point a search for the highest rate of Poisson arrivals at which 99 % of the response times are no longer than this: `find_max = { p99 = \"20ms\" }`.")),
    fixed(optional("load.find_max.p95", span(MICROSECOND, HOUR),
        "The same for 95 % of the response times; a search has one limit.")),
    fixed(optional("load.find_max.mean", span(MICROSECOND, HOUR),
        "The same for the mean response time.")),
    optional("load.events", count(1, 1_000_000_000_000),
        "Ends the measurement after this many transactions, if `time` has not ended it before."),
    optional("load.rate", Kind::Number { min: 0.001, max: 10_000_000.0 },
        "Transactions that arrive per second, whether or not a virtual user is free (open loop). Without it each virtual user starts its next transaction when the last one ends (closed loop)."),
    Key { needs: Needs::Rate, ..optional("load.arrivals", Kind::Choice(&["poisson", "constant"]),
        "How arrivals of the open loop are spaced: `poisson` (random, like independent users; used when only `rate` is given) or `constant`. Needs `rate`.") },
    key("load.distribution", NAME, "\"special\"", "How transactions choose their rows."),
    optional("load.key_range", count(1, MAX_ROWS),
        "Highest key that transactions choose; without it that is `data.rows`. More than there are rows makes lookups miss, less makes a part of the rows hot."),
    key("load.protocol", Kind::Choice(&["prepared", "text"]), "\"prepared\"",
        "How statements are sent: `prepared` (once for each connection, then by number) or as `text` each time."),
    key("load.reply_time", Kind::Choice(&["kernel", "program"]), "\"kernel\"",
        "When a reply counts as there: `kernel` (when its last bytes reached this host, as the kernel stamped them; over TCP, with or without TLS) or `program` (when dyno has read them, as other load generators do; so always over a Unix socket and with SQLite)."),
    key("load.think", span(ZERO, DAY), "\"0s\"", "Pause of a virtual user after each transaction."),
    fixed(key("load.repeats", count(1, 1000), "1",
        "How many trials each point of the study has. Every point runs once before any runs again.")),
    fixed(optional("load.order", Kind::Choice(&["random", "written"]),
        "Order of the trials: `written` (as the file has them) or `random` (shuffled in each block of repeats, and balanced over the blocks, so that a slow change of the host affects all points alike). Without it `random` when `repeats` is more than 1, else `written`.")),
    fixed(key("load.order_seed", count(0, u64::MAX), "1",
        "Seed of the random order: the same seed, the same order.")),

    key("transaction.point_selects", TIMES, "10", "`SELECT`s of one row."),
    key("transaction.range_selects", Kind::Boolean, "true", "Whether there are the four range `SELECT`s that follow at all."),
    key("transaction.simple_ranges", TIMES, "1", "Plain range `SELECT`s."),
    key("transaction.sum_ranges", TIMES, "1", "Range `SELECT`s with `SUM()`."),
    key("transaction.order_ranges", TIMES, "1", "Range `SELECT`s with `ORDER BY`."),
    key("transaction.distinct_ranges", TIMES, "1", "Range `SELECT`s with `DISTINCT`."),
    key("transaction.range_size", count(1, MAX_SPAN), "100", "Rows of a range `SELECT`."),
    key("transaction.index_updates", TIMES, "1", "`UPDATE`s of the indexed column."),
    key("transaction.non_index_updates", TIMES, "1", "`UPDATE`s of another column."),
    key("transaction.delete_inserts", TIMES, "1", "Pairs of `DELETE` and `INSERT`."),
    key("transaction.skip_trx", Kind::Boolean, "false", "No `BEGIN` and `COMMIT`: each statement is its own transaction."),
    key("transaction.random_points", count(1, 10_000), "10", "Keys of a `select_random_points`."),
    key("transaction.number_of_ranges", count(1, 10_000), "10", "Ranges of a `select_random_ranges`."),
    key("transaction.delta", count(0, MAX_SPAN), "5", "Width of a range of `select_random_ranges`."),

    key("topology.instances", count(1, 64), "1",
        "Servers that run at once, each with its own data and its own load; all loads begin together."),

    key("monitors.enabled", Kind::Boolean, "true",
        "Whether host and servers are watched each second. `false` measures what watching costs."),

    fixed(optional("report.tables", Kind::Tables,
        "Tables in a paper's own shape: `[{ rows = \"load.threads\", columns = [\"tps\", \"response_ms.p99\"] }]`.")),
    fixed(optional("report.delta_as_in", NAME,
        "Title of a paper whose sign convention comparisons of variants show as well: its `delta %` is the change with the opposite sign, so that lost throughput is above 0.")),
];

/// The name of a variant: no key of the study, but read like one.
pub(crate) static VARIANT_NAME: Key = word("variant.name", 60);

/// A name that must be given, and is no key of the study.
pub(crate) const fn word(name: &'static str, max_chars: usize) -> Key {
    Key {
        required: true,
        ..fixed(optional(name, Kind::Name { max_chars }, ""))
    }
}

/// A key by the name that it has in a study: one of the table, or one of the
/// many settings that `server.config` stands for.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) key: &'static Key,
    full: Cow<'static, str>,
}

impl Name {
    /// `None` if there is no such key; a fault if it is a setting that a study
    /// cannot have.
    pub(crate) fn find(full: &str) -> Result<Option<Self>, Fault> {
        let mut keys = KEYS.iter();
        if let Some(key) = keys.find(|k| k.name == full) {
            return Ok(Some(Self::of(key)));
        }
        let mut families = KEYS.iter().filter(|k| matches!(k.kind, Kind::Settings));
        let member =
            families.find_map(|k| Some((k, full.strip_prefix(k.name)?.strip_prefix('.')?)));
        let Some((key, setting)) = member else {
            return Ok(None);
        };
        let full = Cow::Owned(format!("{}.{}", key.name, setting::name(setting)?));
        Ok(Some(Self { key, full }))
    }

    pub(crate) fn of(key: &'static Key) -> Self {
        Self {
            key,
            full: Cow::Borrowed(key.name),
        }
    }

    /// The dotted name.
    pub(crate) fn full(&self) -> &str {
        &self.full
    }

    /// `threads` of `load.threads`; of a setting the name that the server knows.
    pub(crate) fn short(&self) -> &str {
        self.setting().unwrap_or_else(|| last(&self.full))
    }

    /// The name that the server knows, if this is one of its settings.
    pub(crate) fn setting(&self) -> Option<&str> {
        self.full.strip_prefix(self.key.name)?.strip_prefix('.')
    }
}

pub(crate) fn is_section(name: &str) -> bool {
    SECTIONS.iter().any(|(section, _)| *section == name)
}

impl Key {
    /// `load` of `load.threads`; empty for a key at the top.
    pub(crate) fn section(&self) -> &'static str {
        self.name.split_once('.').map_or("", |(section, _)| section)
    }

    /// `threads` of `load.threads`, `until.ci` of `load.until.ci`.
    pub(crate) fn last(&self) -> &'static str {
        last(self.name)
    }
}

/// The part of a dotted name behind its section.
pub(crate) fn last(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, last)| last)
}

/// Whether a name is what several keys begin with, such as `load.until`.
pub(crate) fn is_group(name: &str) -> bool {
    let mut keys = KEYS.iter().filter_map(|k| k.name.strip_prefix(name));
    keys.any(|rest| rest.starts_with('.'))
}

//! The table of habits.

use super::Meaning::{Address, Instead, Same};
use super::Tool::{K6, Pgbench, Sysbench};
use super::{Habit, Meaning, Tool};

const fn habit(tool: Tool, typed: &'static str, default: &'static str, meaning: Meaning) -> Habit {
    Habit {
        tool,
        typed,
        default,
        meaning,
    }
}

const EVERY_SECOND: &str =
    "dyno bench prints a line every second; leave it out (--quiet turns the lines off)";
const PERCENTILES: &str = "every result has the percentiles from 50 to 99.9; to require a limit, write for example --threshold 'p99 < 20'";
const ALWAYS_STORED: &str =
    "every result keeps the histograms of each second, and its report shows them; leave it out";
const DISTRIBUTION: &str = "a parameter of a distribution follows its name: --distribution special:pct=1,res=75, zipfian:exp=0.99 or pareto:h=0.2";
const VERBOSITY: &str = "write --quiet or --verbose";
const SCHEME: &str = "the address names the driver: mysql://…, mariadb://… or sqlite:…";
const NOT_THERE: &str = "dyno has no such option; leave it out";
const TLS: &str = "TLS has its own options; see --tls-mode in dyno bench --help";
const PREPARE: &str =
    "dyno bench loads missing tables itself; --prepare only loads them and does not run";
const RUN: &str = "dyno bench prepares, warms up and runs in one command; leave `run` out";
const CLEANUP: &str = "dyno never drops tables after a run; --prepare always loads them anew, and DROP DATABASE removes them";
const RUNTIME_END: &str =
    "a run ends on transaction boundaries, at most 5 s after its time; leave it out";

/// sysbench's options in the order of its own help, then those of pgbench and k6.
pub(super) const HABITS: &[Habit] = &[
    habit(Sysbench, "--threads", "1", Same("threads")),
    habit(Sysbench, "--num-threads", "1", Same("threads")),
    habit(Sysbench, "--events", "0", Same("events")),
    habit(Sysbench, "--max-requests", "0", Same("events")),
    habit(Sysbench, "--time", "10", Same("time")),
    habit(Sysbench, "--warmup-time", "0", Same("warmup")),
    habit(Sysbench, "--forced-shutdown", "off", Instead(RUNTIME_END)),
    habit(Sysbench, "--thread-stack-size", "64K", Instead(NOT_THERE)),
    habit(Sysbench, "--thread-init-timeout", "30", Instead(NOT_THERE)),
    habit(Sysbench, "--rate", "0", Same("rate")),
    habit(Sysbench, "--tx-rate", "0", Same("rate")),
    habit(Sysbench, "--report-interval", "0", Instead(EVERY_SECOND)),
    habit(Sysbench, "--report-checkpoints", "", Instead(EVERY_SECOND)),
    habit(Sysbench, "--debug", "off", Instead(VERBOSITY)),
    habit(Sysbench, "--verbosity", "3", Instead(VERBOSITY)),
    habit(Sysbench, "--validate", "off", Instead(NOT_THERE)),
    habit(
        Sysbench,
        "--config-file",
        "",
        Instead("settings in a file are a study: dyno run STUDY; docs/study.md has its keys"),
    ),
    habit(Sysbench, "--rand-type", "special", Same("distribution")),
    habit(Sysbench, "--rand-seed", "0", Same("seed")),
    habit(Sysbench, "--rand-spec-iter", "12", Instead(DISTRIBUTION)),
    habit(Sysbench, "--rand-spec-pct", "1", Instead(DISTRIBUTION)),
    habit(Sysbench, "--rand-spec-res", "75", Instead(DISTRIBUTION)),
    habit(Sysbench, "--rand-pareto-h", "0.2", Instead(DISTRIBUTION)),
    habit(Sysbench, "--rand-zipfian-exp", "0.8", Instead(DISTRIBUTION)),
    habit(Sysbench, "--percentile", "95", Instead(PERCENTILES)),
    habit(Sysbench, "--histogram", "off", Instead(ALWAYS_STORED)),
    habit(Sysbench, "--db-driver", "mysql", Instead(SCHEME)),
    habit(
        Sysbench,
        "--db-ps-mode",
        "auto",
        Instead("`disable` is --protocol text; prepared statements are the default"),
    ),
    habit(Sysbench, "--mysql-host", "localhost", Address),
    habit(Sysbench, "--mysql-port", "3306", Address),
    habit(Sysbench, "--mysql-socket", "", Address),
    habit(Sysbench, "--mysql-user", "sbtest", Address),
    habit(Sysbench, "--mysql-password", "", Address),
    habit(Sysbench, "--mysql-db", "sbtest", Address),
    habit(Sysbench, "--host", "", Address),
    habit(Sysbench, "--port", "", Address),
    habit(Sysbench, "--socket", "", Address),
    habit(Sysbench, "--user", "", Address),
    habit(Sysbench, "--password", "", Address),
    habit(Sysbench, "--db", "", Address),
    habit(Sysbench, "--mysql-ssl", "off", Instead(TLS)),
    habit(Sysbench, "--mysql-compression", "off", Instead(NOT_THERE)),
    habit(
        Sysbench,
        "--mysql-ignore-errors",
        "1213,1020,1205",
        Same("ignore-errors"),
    ),
    habit(Sysbench, "--reconnect", "0", Instead(NOT_THERE)),
    habit(Sysbench, "--tables", "1", Same("tables")),
    habit(Sysbench, "--table-size", "10000", Same("rows")),
    habit(
        Sysbench,
        "--mysql-storage-engine",
        "innodb",
        Same("storage-engine"),
    ),
    habit(Sysbench, "--point-selects", "10", Same("point-selects")),
    habit(Sysbench, "--simple-ranges", "1", Same("simple-ranges")),
    habit(Sysbench, "--sum-ranges", "1", Same("sum-ranges")),
    habit(Sysbench, "--order-ranges", "1", Same("order-ranges")),
    habit(Sysbench, "--distinct-ranges", "1", Same("distinct-ranges")),
    habit(Sysbench, "--range-selects", "on", Same("range-selects")),
    habit(Sysbench, "--range-size", "100", Same("range-size")),
    habit(Sysbench, "--index-updates", "1", Same("index-updates")),
    habit(
        Sysbench,
        "--non-index-updates",
        "1",
        Same("non-index-updates"),
    ),
    habit(Sysbench, "--delete-inserts", "1", Same("delete-inserts")),
    habit(Sysbench, "--skip-trx", "off", Same("skip-trx")),
    habit(Sysbench, "--secondary", "off", Same("secondary")),
    habit(
        Sysbench,
        "--create-secondary",
        "on",
        Same("create-secondary"),
    ),
    habit(Sysbench, "--auto-inc", "on", Same("auto-inc")),
    habit(Sysbench, "prepare", "", Instead(PREPARE)),
    habit(Sysbench, "run", "", Instead(RUN)),
    habit(Sysbench, "cleanup", "", Instead(CLEANUP)),
    habit(Pgbench, "-c", "1", Same("threads")),
    habit(Pgbench, "--client", "1", Same("threads")),
    habit(Pgbench, "-j", "1", Same("workers")),
    habit(Pgbench, "--jobs", "1", Same("workers")),
    habit(Pgbench, "-T", "", Same("time")),
    habit(Pgbench, "-R", "", Same("rate")),
    habit(
        Pgbench,
        "-t",
        "10",
        Instead(
            "pgbench counts the transactions of each client, dyno those of all users together: --events, with clients times that number",
        ),
    ),
    habit(
        Pgbench,
        "--transactions",
        "10",
        Instead(
            "pgbench counts the transactions of each client, dyno those of all users together: --events, with clients times that number",
        ),
    ),
    habit(
        Pgbench,
        "-s",
        "1",
        Instead(
            "the size of the data is --tables and --rows; a scale of 1 is 100,000 rows of pgbench_accounts",
        ),
    ),
    habit(
        Pgbench,
        "--scale",
        "1",
        Instead(
            "the size of the data is --tables and --rows; a scale of 1 is 100,000 rows of pgbench_accounts",
        ),
    ),
    habit(Pgbench, "-P", "", Instead(EVERY_SECOND)),
    habit(Pgbench, "--progress", "", Instead(EVERY_SECOND)),
    habit(
        Pgbench,
        "-M",
        "simple",
        Instead("`simple` is --protocol text, `prepared` is --protocol prepared, dyno's default"),
    ),
    habit(
        Pgbench,
        "-r",
        "",
        Instead("every result has the times of each kind of statement; leave it out"),
    ),
    habit(
        Pgbench,
        "-l",
        "",
        Instead("every result keeps each second in its directory; --out names the directory"),
    ),
    habit(Pgbench, "-n", "", Instead(NOT_THERE)),
    habit(Pgbench, "-i", "", Instead(PREPARE)),
    habit(Pgbench, "--initialize", "", Instead(PREPARE)),
    habit(
        Pgbench,
        "-S",
        "",
        Instead("write --workload oltp_point_select"),
    ),
    habit(
        Pgbench,
        "-N",
        "",
        Instead("write --workload oltp_update_non_index"),
    ),
    habit(
        Pgbench,
        "-b",
        "tpcb-like",
        Instead("write --workload; dyno bench --help lists the workloads"),
    ),
    habit(Pgbench, "-U", "", Address),
    habit(Pgbench, "-p", "5432", Address),
    habit(K6, "--vus", "1", Same("threads")),
    habit(K6, "-u", "1", Instead("write --threads")),
    habit(K6, "--duration", "", Same("time")),
    habit(K6, "-d", "", Instead("write --time")),
    habit(K6, "--iterations", "", Same("events")),
    habit(K6, "-i", "", Instead("write --events")),
    habit(
        K6,
        "--rps",
        "",
        Instead(
            "k6 limits the requests of a closed loop; an open loop, in which so many transactions arrive whether a user is free or not, is --rate",
        ),
    ),
    habit(
        K6,
        "--stage",
        "",
        Instead(
            "dyno bench has one load for its whole length; a study sweeps over several: docs/study.md",
        ),
    ),
    habit(
        K6,
        "-s",
        "",
        Instead(
            "dyno bench has one load for its whole length; a study sweeps over several: docs/study.md",
        ),
    ),
];

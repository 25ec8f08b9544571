//! The one list of keys, with their ranges, defaults and documentation.

use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

use super::definition::{Key, Kind, Needs, Work};
use super::make::{
    bench, bench_as, count, fixed, key, needs, option, optional, running, span, started, word, work,
};
use super::{CHAOS, COMPARE, LEDGER_RATE, THREADS, volume};
use crate::{
    Alternate, Arrivals, ClusterProfile, Durability, Follow, MAX_AGENTS, Network, ReplyTime, Reset,
    Runtime, SiteKind, StatementProtocol, ThinkDistribution, TlsMode,
};

const DAY: Duration = Duration::from_secs(86_400);
const ZERO: Duration = Duration::ZERO;
const MONTH: Duration = Duration::from_secs(30 * 86_400);
const HOUR: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);
const MICROSECOND: Duration = Duration::from_micros(1);
const NAME: Kind = Kind::Text { max_chars: 100 };
/// A name, or the path of a script.
const PATH: Kind = Kind::Name { max_chars: 1000 };
/// The most rows, and the most that one statement may span: ids are 32-bit signed integers.
const MAX_ROWS: u64 = i32::MAX as u64;
/// How often a transaction may repeat a statement.
const TIMES: Kind = count(0, 10_000);

/// Sections in the order in which messages list them.
#[rustfmt::skip]
pub static SECTIONS: &[&str] = &[
    "server", "site", "volume", "log_volume", "data", "load", "transaction", "topology", "ledger",
    "chaos", "compare", "monitors", "report",
];

/// Every key, in the order of the reference page within each section.
pub static KEYS: LazyLock<Vec<Key>> =
    LazyLock::new(|| [GENERAL, volume::DATA, volume::LOG].concat());

#[rustfmt::skip]
const GENERAL: &[Key] = &[
    fixed(Key { required: true, ..optional("title", Kind::Text { max_chars: 200 },
        "The question of the study in one line; the heading of its report.") }),
    fixed(optional("description", Kind::Text { max_chars: 10_000 },
        "Why the study was made and how to read it.")),

    optional("server.engine", Kind::Engine,
        "The engine to start for the study and stop afterward. An engine that runs in process gets a temporary database."),
    optional("server.url", Kind::Url,
        "Address of a server that is already running: `scheme://user@host:port/database`. A password in it is never stored or shown; prefer `DYNO_PASSWORD`."),
    started(optional("server.basedir", Kind::Path,
        "Directory that contains the server's programs, such as `/opt/server-9.7`. Default: PATH and the usual places.")),
    started(optional("server.version", Kind::Version,
        "Required version, to the given precision: `\"10.11\"` accepts 10.11.14, but not 10.1 or 10.12.")),
    started(optional("server.port", count(1024, 65_535),
        "Port of the first instance; the others use the ports after it. Default: any free ports.")),
    started(key("server.reset", Kind::Choice(Reset::WORDS), "\"copy\"",
        "How a trial gets its data: `copy` (a copy of a data directory that is prepared once and kept for later studies), `rebuild` (prepared anew for each trial), or `none` (the data as the previous trial left it, so trials are not independent; a trial that needs other data, or follows the death of a server, starts from a copy).")),
    started(key("server.cold_data", Kind::Boolean, "true",
        "Whether new data is dropped from the page cache before the servers start. With `false`, they start with the data that copying left there. Either way it is written to disk first, so that the kernel is not still writing it during the trial.")),
    started(optional("server.config", Kind::Settings,
        "Settings for the server's configuration file: `config = { max_connections = 500 }`, or one per line under `[server.config]`. Each is a key of its own, such as `server.config.max_connections`. Settings under an engine's name (`[server.config.ENGINE]`) apply to that engine only, and replace the others.")),

    running(bench_as("tls-mode", "Whether to use TLS. One of disable; preferred (if the server offers it; certificate not verified); required (certificate not verified); verify-ca (certificate from a trusted authority); verify-full (and issued for the server's host name). [default: preferred; verify-full with --tls-ca]",
        optional("server.tls.mode", Kind::Choice(TlsMode::WORDS),
        "Whether to use TLS, as `--tls-mode`: `disable`, `preferred` (if the server offers it; certificate not verified), `required` (certificate not verified), `verify-ca` (certificate from a trusted authority), or `verify-full` (and issued for the server's host name). Default: `verify-full` with `tls.ca`, else `preferred`."))),
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

    started(optional("site.kind", Kind::Choice(SiteKind::WORDS),
        "`process` (a process of this host, without limits), `limited` (in control groups with the limits below), `container` (with a root directory and namespaces of its own, and the limits below), `vm` (in a guest of QEMU on this host), `ssh` (a process of another host, in control groups if it has limits; with `hosts`, `process` and `limited` are the same), or `url` (a server that is already running). Default: `url` with `server.url`, `ssh` if there is a host, `limited` if there is a limit, else `process`.")),
    started(key("site.runtime", Kind::Choice(Runtime::WORDS), "\"auto\"",
        "What sets up containers: `podman`, `docker`, `namespaces` (dyno itself, with util-linux), or `auto` (the first of these that works on this host).")),
    started(optional("site.cpus", Kind::Number { min: 0.01, max: 10_000.0 },
        "CPUs that each server may use, such as `1.5`: a quota of CPU time that the kernel enforces in each tenth of a second. Needs root, or a control group that root delegated. Default: no limit. In a guest, its number of CPUs; default: as many as this host has.")),
    started(optional("site.cpuset", Kind::CpuSet,
        "CPUs on which each server runs, or the guest of each server, by their numbers. All servers share them. Except for guests, needs root, or a control group that root delegated. Default: all.")),
    started(optional("site.memory", Kind::Bytes { min: 1 << 20, max: 1 << 44 },
        "Memory of each server, such as `\"512M\"`, its page cache included. It has no swap space. Needs root, or a control group that root delegated. Default: no limit. In a guest, the memory that it has; default: `\"1G\"`.")),

    started(optional("site.hosts", Kind::Hosts,
        "Hosts on which servers run, as ssh knows them: `hosts = [\"db1\", \"me@db2\"]`. Instances and the members of clusters are dealt out over them in turn. dyno logs in with keys only, and each host's key must be known. The server's program must be installed there as on this host; nothing of dyno needs to be.")),
    started(optional("site.host", Kind::Hosts,
        "The only host, as in `hosts`; or `[[site.host]]` for each, with its `address`, and what differs there: `cpus` in place of `site.cpus`, `device` in place of `volume.device`.")),
    needs(Needs::Hosts, optional("site.allow_reboot", Kind::Hosts,
        "Those of the hosts that a `reboot` fault may restart: `allow_reboot = [\"db2\"]`. Whatever runs there is lost, as in a power failure. Default: none.")),
    needs(Needs::Hosts, optional("site.ssh_config", Kind::Path,
        "ssh's configuration file for the hosts. Default: the user's.")),
    needs(Needs::Hosts, key("site.directory", Kind::Path, "\"/var/tmp\"",
        "Directory on each host below which dyno stores the servers' data and files, which it removes at the end, and `dyno-cache`, whose templates of data it keeps.")),

    option(key("data.tables", count(1, 100_000), "1", "Number of tables: `sbtest1`, `sbtest2`…")),
    option(key("data.rows", count(1, MAX_ROWS), "10_000", "Rows in each table.")),
    bench(key("data.seed", count(0, u64::MAX), "1", "Seed of all random choices. The same seed yields the same rows and statements.")),
    option(key("data.auto_inc", Kind::Boolean, "true", "Whether the server generates the ids of new rows; otherwise, virtual users do.")),
    option(key("data.create_secondary", Kind::Boolean, "true", "Whether column `k` is indexed.")),
    option(key("data.secondary", Kind::Boolean, "false", "A secondary index on `id` in place of the primary key.")),
    option(optional("data.storage_engine", Kind::Name { max_chars: 64 }, "Storage engine of new tables, if the server has several. Default: its transactional one.")),

    work(bench_as("", "What one transaction does: the name of a workload, or the path of a script in Lua (FILE.lua).",
        key("load.workload", PATH, "\"oltp_read_write\"", "What one transaction does: the name of a workload, or the path of a [script in Lua](scripts.md), which ends in `.lua`."))),
    bench_as("", "Several workloads at once, on the same tables, with weights (oltp_read_only:3,oltp_insert:1) or with rates (oltp_read_only:300/s,oltp_insert:20/s), in place of --workload.",
        optional("load.mix", Kind::Mix, "Several workloads at once, in place of `workload`: `[[load.mix]]` with `workload` and a `weight` or a `rate`, or their text. See [mixes](#mixes).")),
    bench_as("", "Scripts of pgbench in place of --workload: files, tpcb-like, simple-update, or select-only, with weights such as own.sql@3. May be repeated.",
        optional("load.script", Kind::Scripts, "[Scripts of pgbench](scripts.md#scripts-of-pgbench) in place of `workload`: files, `tpcb-like`, `simple-update`, or `select-only`. Each transaction is one of them, in proportion to their weights. Paths are relative to the study file.")),
    needs(Needs::Script, work(bench_as("script-option", "An option of a script in Lua, or scale of pgbench's. May be repeated.",
        optional("load.options", Kind::Options, "Options that a script in Lua declares, or `scale` for the tables of pgbench: `[load.options]`, with a line for each.")))),
    needs(Needs::Script, work(bench_as("define", "A variable of pgbench's scripts. May be repeated.",
        optional("load.variables", Kind::Options, "Variables of pgbench's scripts: `[load.variables]`, with a line for each.")))),
    bench_as("", "Virtual users, each with its own connection. Several numbers (1,4,16) run one after the other. [default: 1; with --rate or --find-max as many as needed, up to 64, or 8 of an engine in process]",
        key(THREADS, count(1, 100_000), "1", "Virtual users of each server. Each has a connection, and waits for every reply. With `rate` or `find_max`, the default is 64, or 8 of an engine in process, of which only those that are needed work at any time.")),
    needs(Needs::Tables, key("load.preload", Kind::Boolean, "false",
        "Whether all tables and indexes are read once before the warm-up, so that the server has as much as possible in memory. No transaction of the workload runs meanwhile.")),
    bench_as("", "Length of the load before the measurement, which is shown but not counted.",
        key("load.warmup", span(ZERO, DAY), "\"10s\"", "Length of the load before the measurement, which is not counted.")),
    bench_as("", "Length of the measurement (20, 30s, 5m, 1h30m); with --until-ci, its minimum; with --find-max, that of each step. 0 means no limit, for use with --events.",
        key("load.time", span(ZERO, MONTH), "\"60s\"", "Length of the measurement; with `until.ci`, its minimum; with `find_max`, that of each step. `\"0s\"` means no limit, for use with `events`.")),
    work(bench_as("phases", "In place of --time and --rate or --threads: phases of whole seconds with a rate (60s 200/s, ramp: 30s 200..1000/s), or with a number of active virtual users (30s 8 threads, 30s 1..64 threads).",
        optional("load.phase", Kind::Phases, "Phases of the measurement, in place of `time`, and of `rate` or `threads`: `[[load.phase]]` with `time` and a `rate` or `threads`, or their text. See [phases](#phases)."))),
    needs(Needs::Phases, key("load.phases.repeat", count(1, 200), "1",
        "How often the list of phases is repeated.")),
    bench_as("", "End at a target precision: when, at two consecutive checks, half of the 95 % confidence interval of the mean throughput is at most this share of the mean, such as 2%, and the load is steady. Not before --time or 20s, and not after --max-time.",
        fixed(optional("load.until.ci", Kind::Percent { min: 0.1, max: 50.0 },
        "Ends the measurement at a target precision: when half of the 95 % confidence interval of the mean throughput is at most this share of the mean, but not before 240 s or `time`, and not after `until.max`. Written as `until = { ci = \"2%\", max = \"30m\" }`."))),
    bench_as("max-time", "Maximum length of the measurement with --until-ci.",
        fixed(needs(Needs::Until, key("load.until.max", span(MILLISECOND, MONTH), "\"30m\"",
        "Maximum length of the measurement with `until.ci`.")))),
    bench_as("p99", "With --find-max: limit for 99 % of the response times, such as 20ms (or 20).",
        fixed(optional("load.find_max.p99", span(MICROSECOND, HOUR),
        "Makes each point a search for the highest rate of Poisson arrivals at which 99 % of the response times are within this limit: `find_max = { p99 = \"20ms\" }`."))),
    bench_as("p95", "The same for 95 % of the response times.",
        fixed(optional("load.find_max.p95", span(MICROSECOND, HOUR),
        "The same for 95 % of the response times; a search has one limit."))),
    bench_as("mean", "The same for the mean response time.",
        fixed(optional("load.find_max.mean", span(MICROSECOND, HOUR),
        "The same for the mean response time."))),
    bench_as("", "End after this many transactions, if --time has not ended the measurement before. 0 means no limit.",
        optional("load.events", count(1, 1_000_000_000_000),
        "Ends the measurement after this many transactions, if `time` has not ended it before.")),
    Key { work: Some(Work::Presence), ..bench_as("", "Open loop: this many transactions arrive each second, whether or not a virtual user is free. 0 means no open loop.",
        optional("load.rate", Kind::Number { min: 0.001, max: 10_000_000.0 },
        "Transactions that arrive per second, whether or not a virtual user is free (open loop). Without it, each virtual user starts its next transaction when the previous one ends (closed loop).")) },
    work(bench_as("", "How the arrivals of --rate are spaced: at random, like independent users, or evenly.",
        needs(Needs::Rate, key("load.arrivals", Kind::Choice(Arrivals::WORDS), "\"poisson\"",
        "How the arrivals of an open loop are spaced: `poisson` (random, like independent users) or `constant`. Requires `rate`.")))),
    work(bench_as("", "How rows are chosen: uniform, special, gaussian, pareto, or zipfian, with optional parameters such as special:pct=1,res=75 or zipfian:exp=0.99.",
        key("load.distribution", NAME, "\"special\"", "How transactions choose their rows."))),
    needs(Needs::Tables, work(bench_as("", "Highest key that transactions choose. More than --rows makes lookups miss. [default: --rows]",
        optional("load.key_range", count(1, MAX_ROWS),
        "Highest key that transactions choose. A higher value makes lookups miss; a lower one restricts transactions to part of the rows. Default: `data.rows`.")))),
    work(bench_as("", "Prepared statements, or their full text each time.",
        key("load.protocol", Kind::Choice(StatementProtocol::WORDS), "\"prepared\"",
        "How statements are sent: `prepared` (once per connection) or as `text` each time."))),
    bench_as("", "When a reply has arrived: when the kernel stamped it (over TCP), or when dyno has read it.",
        key("load.reply_time", Kind::Choice(ReplyTime::WORDS), "\"kernel\"",
        "When a reply has arrived: `kernel` (when its last bytes reached this host, as stamped by the kernel; over TCP, with or without TLS) or `program` (when dyno has read them, as other load generators do; always used for Unix sockets and engines that run in process).")),
    work(bench(key("load.think", span(ZERO, DAY), "\"0s\"", "Pause of a virtual user after each transaction."))),
    work(bench(key("load.think_distribution", Kind::Choice(ThinkDistribution::WORDS), "\"constant\"",
        "How these pauses are distributed, with the mean `think`: `constant`, `uniform` (from zero to twice the mean), or `exponential` (like independent people)."))),
    optional("load.from", Kind::Labels,
        "Machines that the load comes from, by the labels of their agents, in place of this one. See [many machines](fleet.md)."),
    optional("load.agents", count(1, MAX_AGENTS as u64),
        "The same by their number, whichever agents are free."),
    fixed(needs(Needs::Fleet, optional("load.nats", Kind::Url,
        "Address of the nats-server that connects the agents: `nats://host:4222`, or `tls://…`. Default: one that dyno starts for the study."))),
    fixed(needs(Needs::Fleet, optional("load.nats_listen", Kind::Listen,
        "Address and port at which that server listens. One that other machines reach needs TLS. Default: a free port of 127.0.0.1."))),
    bench(fixed(key("load.repeats", count(1, 1000), "1",
        "Number of trials of each point. Every point runs once before any point runs again."))),
    fixed(optional("load.order", Kind::Choice(&["random", "written"]),
        "Order of the trials: `written` (as in the file) or `random` (shuffled within each block of repeats, and balanced over the blocks, so that a slow change of the host affects all points alike). Default: `random` if `repeats` is above 1, else `written`.")),
    fixed(key("load.order_seed", count(0, u64::MAX), "1",
        "Seed of the random order. The same seed yields the same order.")),

    option(key("transaction.point_selects", TIMES, "10", "`SELECT`s of one row.")),
    option(key("transaction.range_selects", Kind::Boolean, "true", "Whether transactions contain range `SELECT`s.")),
    option(key("transaction.simple_ranges", TIMES, "1", "Plain range `SELECT`s.")),
    option(key("transaction.sum_ranges", TIMES, "1", "Range `SELECT`s with `SUM()`.")),
    option(key("transaction.order_ranges", TIMES, "1", "Range `SELECT`s with `ORDER BY`.")),
    option(key("transaction.distinct_ranges", TIMES, "1", "Range `SELECT`s with `DISTINCT`.")),
    option(key("transaction.range_size", count(1, MAX_ROWS), "100", "Rows that a range `SELECT` covers.")),
    option(key("transaction.index_updates", TIMES, "1", "`UPDATE`s of the indexed column.")),
    option(key("transaction.non_index_updates", TIMES, "1", "`UPDATE`s of another column.")),
    option(key("transaction.delete_inserts", TIMES, "1", "Pairs of a `DELETE` and an `INSERT`.")),
    option(key("transaction.skip_trx", Kind::Boolean, "false", "Omits `BEGIN` and `COMMIT`, so that each statement is its own transaction.")),
    option(key("transaction.random_points", count(1, 10_000), "10", "Keys in a statement of `select_random_points`.")),
    option(key("transaction.number_of_ranges", count(1, 10_000), "10", "Ranges in a statement of `select_random_ranges`.")),
    option(key("transaction.delta", count(0, MAX_ROWS), "5", "Width of these ranges.")),

    key("topology.instances", count(1, 64), "1",
        "Servers or clusters that run at the same time, each with its own data and its own load. All loads begin together."),
    needs(Needs::Hosts, optional("topology.instances_on", Kind::Hosts,
        "Which of the hosts in `site.hosts` each instance runs on, with all of its members: `instances_on = [\"db1\", \"db1\", \"db2\"]`. More instances than names take them in turn. Default: every server is on the next host.")),
    started(optional("topology.cluster", Kind::Cluster,
        "How the servers of each instance replicate; the load goes to the primary. Default: a single server.")),
    needs(Needs::Cluster, key("topology.members", count(1, 9), "3",
        "Servers of each cluster, including the primary.")),
    needs(Needs::Hosts, optional("topology.members_on", Kind::Hosts,
        "Which of the hosts in `site.hosts` each member of a cluster runs on, the first primary first: `members_on = [\"db1\", \"db2\", \"db3\"]`. More members than names take them in turn. Default: every server is on the next host.")),
    needs(Needs::Manager, key("topology.ttl", span(Duration::from_secs(5), HOUR), "\"30s\"",
        "How long a cluster manager waits for a primary that does not answer before it makes another server the primary. The intervals of its checks follow from it. Only for clusters with a manager.")),
    needs(Needs::Members, bench_as("", "Which member of a cluster virtual users connect to, for a URL with several hosts: the one that accepts writes, wherever it moves; any, in turn; hosts, the next one in the list once one fails; or fixed, the first one.",
        key("topology.follow", Kind::Choice(Follow::WORDS), "\"primary\"",
        "Which members virtual users connect to: `primary` (the one that accepts writes, wherever it moves), `any` (all in turn), `hosts` (as an application with a list of hosts: one until it fails or refuses a write, then the next), or `fixed` (the first one, whatever happens to it). For a cluster, or a `server.url` with several hosts."))),
    needs(Needs::Cluster, optional("topology.failover", span(ZERO, HOUR),
        "For a cluster that does not elect a primary: how long after the primary was lost dyno promotes a replica, as an operator would. Default: never.")),
    needs(Needs::Cluster, key("topology.durability", Kind::Choice(Durability::WORDS), "\"default\"",
        "How durable a commit is when it is acknowledged: as the `default` of the server's settings has it, or `equal`: on disk, on every member that acknowledges it, as far as the kind of cluster can. Settings under `server.config` go first.")),
    needs(Needs::Cluster, key("topology.profile", Kind::Choice(ClusterProfile::WORDS), "\"default\"",
        "Other settings of the servers: their `default`, or `tuned`: what a production system would have (parallel appliers, larger caches, shorter timeouts). Settings under `server.config` go first.")),
    needs(Needs::Cluster, key("topology.network", Kind::Choice(Network::WORDS), "\"loopback\"",
        "How members reach each other: `loopback` (all on this host's loopback interface) or `namespaces` (each in a network namespace with an address of its own, so that links between members can be cut; needs root). Members on other hosts have their host's address either way.")),

    needs(Needs::Process, optional(LEDGER_RATE, Kind::Number { min: 0.0, max: 10_000.0 },
        "Transfers per second of each instance; 0 means no ledger. Default: 50 in a study with `[ledger]` or `[chaos]`.")),
    needs(Needs::Ledger, key("ledger.replica_reads", Kind::Number { min: 0.0, max: 10_000.0 }, "0",
        "Reads per second of each instance, from its members in turn, which measure how stale they are.")),

    started(optional(CHAOS, Kind::Faults,
        "What may happen: `\"any\"`, or a list such as `[\"kill\", \"pause\"]`. `any` is every kind of fault that the servers of a trial can have, except `command`, `scrub`, and faults of devices.")),
    needs(Needs::Chaos, key("chaos.rate", Kind::Frequency, "\"1 per 30s\"",
        "How often, on average. A fault begins only after the previous one was healed and the servers had 5 s to recover, so there may be fewer.")),
    needs(Needs::Chaos, key("chaos.seed", count(0, u64::MAX), "1",
        "Seed of the schedule. The same seed yields the same faults; each repeat has a seed of its own, which follows from this one.")),

    fixed(optional(COMPARE, count(1, 100),
        "Maximum number of starts of the servers; the variants are compared until the difference from the first one is decided. Each start is a repeat of the trials, so `load.repeats` is not used. Default: 20 in a study with `[compare]`. At least 2, except for servers that are already running (`server.url`): they have 1, in turns.")),
    fixed(needs(Needs::Compare, key("compare.budget", span(SECOND, MONTH), "\"30m\"",
        "Time for a point, including set-up, after which no further start of it begins. Before the run, `starts` is reduced to what this time is estimated to allow. A resumed run has the full time again."))),
    fixed(needs(Needs::Compare, key("compare.alternate", Kind::Choice(Alternate::WORDS), "\"auto\"",
        "Whether the servers of all variants run at once and take turns, so that a slowdown of the host affects all of them: `always`, `never` (one trial after the other), or `auto` (turns if they are possible and the transactions of all points only read, because writes leave work that is done later, in another variant's turn). `dyno plan` and `dyno run` show which, and why."))),
    fixed(needs(Needs::Compare, key("compare.block", span(Duration::from_millis(200), HOUR), "\"1s\"",
        "Mean length of a turn. Make it at least ten times as long as a transaction takes: one that does not end within a turn is not counted. Turns vary by a fifth, so that nothing periodic on the host favors a variant."))),
    fixed(needs(Needs::Compare, key("compare.pause", Kind::Boolean, "false",
        "Whether servers are frozen (SIGSTOP) while they wait for their turn, so that their background work takes nothing from the others. They then do that work in their own turns, and the counters of a frozen server cannot be read."))),

    key("monitors.enabled", Kind::Boolean, "true",
        "Whether host and servers are sampled once per second. Use `false` to measure the cost of monitoring."),

    fixed(optional("report.tables", Kind::Tables,
        "Additional tables: `[{ rows = \"load.threads\", columns = [\"tps\", \"response_ms.p99\"] }]`.")),
    fixed(optional("report.delta_as_in", NAME,
        "Title of a paper whose sign convention comparisons of variants also show: its `delta %` is the change with the opposite sign, so lower throughput is positive.")),
];

/// The name of a variant: not a key of the study, but read like one.
pub static VARIANT_NAME: Key = word("variant.name", 60);

impl Key {
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }
}

/// The default of the key of this name, for a field of the same name.
pub(crate) fn default<T: FromStr + Default>(name: &str) -> T {
    let text = Key::find(name).and_then(Key::plain_default);
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Whether several keys begin with this name, as with `load.until`.
pub fn is_group(name: &str) -> bool {
    let mut keys = KEYS.iter().filter_map(|k| k.name.strip_prefix(name));
    keys.any(|rest| rest.starts_with('.'))
}

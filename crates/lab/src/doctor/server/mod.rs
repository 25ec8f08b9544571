//! A server's settings, whether it runs or is only planned.

mod connections;
pub(super) mod defaults;
mod durability;
mod overhead;
mod pool;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use measure::finding::{Finding, Level};

use super::asked::Asked;
use super::check::{self, About, Check, Mend, Seen};
use crate::servers::Engine;
use measure::bytes::parse_bytes;

/// What is known of a server.
#[derive(Debug, Clone)]
pub(super) struct Server {
    /// Its URL without the password, or which of a study's servers it is.
    pub(super) name: String,
    pub(super) engine: Engine,
    /// In numbers, `10.11.14`.
    pub(super) version: String,
    pub(super) settings: Result<BTreeMap<String, String>, String>,
    /// Settings that the study makes.
    pub(super) chosen: BTreeSet<String>,
    /// Settings of which the study's servers have different values.
    pub(super) varied: BTreeSet<String>,
    /// Whether it is only planned.
    pub(super) planned: bool,
    /// Memory of its host; `None` when that is another one.
    pub(super) memory_bytes: Option<u64>,
    /// Servers of the same kind on its host at once.
    pub(super) servers: u64,
    /// Of its tables and indexes, in bytes.
    pub(super) data_bytes: Option<u64>,
    /// Whether its disk turns, where that is known.
    pub(super) turning_disk: Option<bool>,
    pub(super) asked: Option<Asked>,
}

/// Every check of a server, in the order of the reference page.
pub(super) fn checks() -> impl Iterator<Item = &'static Check<Server>> {
    let families = [
        HOST,
        durability::CHECKS,
        pool::CHECKS,
        write::CHECKS,
        connections::CHECKS,
        overhead::CHECKS,
    ];
    families.into_iter().flatten()
}

/// Every setting that a judge looks at, and those that say where the server is.
pub(super) const WANTED: [&str; 31] = [
    "datadir",
    "general_log",
    "hostname",
    "innodb_adaptive_flushing",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_size",
    "innodb_data_file_buffering",
    "innodb_doublewrite",
    "innodb_file_per_table",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_io_capacity",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_read_io_threads",
    "innodb_redo_log_capacity",
    "innodb_write_io_threads",
    "log_bin",
    "long_query_time",
    "max_connections",
    "max_prepared_stmt_count",
    "max_user_connections",
    "open_files_limit",
    "performance_schema",
    "query_cache_size",
    "query_cache_type",
    "slow_query_log",
    "sync_binlog",
    "table_open_cache",
    "version",
];

const HOST: &[Check<Server>] = &[Check {
    about: About {
        id: "server-elsewhere",
        worst: Level::Note,
        why: "From here only its settings are seen: its CPUs, memory and disks need a look, too.",
        source: "OLTP Linux on ESX 3.5 (AnandTech) (client and servers on hosts of their own)",
        mend: Mend::Words("run dyno doctor on that host"),
    },
    judge: elsewhere,
}];

fn elsewhere(server: &Server) -> Seen {
    match (&server.settings, server.memory_bytes) {
        (Err(why), _) => Seen::unseen(why),
        (_, Some(_)) => Seen::passed("hostname: it runs on this host"),
        (_, None) => Seen::note(format!(
            "hostname: it runs on {}",
            server.text("hostname").unwrap_or("another host")
        )),
    }
}

/// Judges a server. What the study varies on purpose is no fault of it.
pub(super) fn judge(server: &Server) -> Vec<Finding> {
    let run_one = |check: &'static Check<Server>| {
        let mend = |mend| server.mend(mend);
        let mut findings = check::run(std::slice::from_ref(check), server, &server.name, mend);
        for finding in &mut findings {
            if finding.level < Level::Note && server.is_varied(check.about.mend) {
                finding.level = Level::Note;
                finding.seen.push_str(", which the study varies");
                finding.mend = None;
            }
        }
        findings
    };
    checks().flat_map(run_one).collect()
}

impl Server {
    /// A setting's value, in the server's words.
    fn text(&self, name: &str) -> Option<&str> {
        let settings = self.settings.as_ref().ok()?;
        settings.get(name).map(String::as_str)
    }

    /// A number or a size.
    fn number(&self, name: &str) -> Option<u64> {
        let text = self.text(name)?;
        // A setting such as long_query_time is a fraction.
        parse_bytes(text).or_else(|| text.split_once('.')?.0.parse().ok())
    }

    /// A switch.
    fn is_on(&self, name: &str) -> Option<bool> {
        match self.text(name)?.to_ascii_uppercase().as_str() {
            "ON" | "1" | "TRUE" | "YES" => Some(true),
            "OFF" | "0" | "FALSE" | "NO" => Some(false),
            _ => None,
        }
    }

    /// Why a setting's value is not known.
    fn unseen(&self, name: &str) -> Seen {
        match (&self.settings, self.planned) {
            (Err(why), _) => Seen::unseen(why),
            (Ok(_), true) => Seen::unseen(format!(
                "{name}: the study leaves it to {} {}, which was not asked",
                self.engine, self.version
            )),
            (Ok(_), false) => Seen::unseen(format!(
                "{name}: {} {} does not tell this account of it, or has no such setting",
                self.engine, self.version
            )),
        }
    }

    /// Whether its version is at least this.
    fn is_since(&self, major: u64, minor: u64) -> bool {
        Self::version_is_since(&self.version, major, minor)
    }

    fn version_is_since(version: &str, major: u64, minor: u64) -> bool {
        let mut numbers = version.split('.').map_while(|part| part.parse().ok());
        let version: (u64, u64) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        version >= (major, minor)
    }

    /// A size as this server's settings are written.
    fn size(&self, bytes: u64) -> String {
        match self.planned {
            true => format!("\"{}M\"", bytes >> 20),
            false => bytes.to_string(),
        }
    }

    fn is_varied(&self, mend: Mend) -> bool {
        matches!(mend, Mend::Setting { name, .. } if self.varied.contains(name))
    }

    /// What to do with this server.
    fn mend(&self, mend: Mend) -> Option<String> {
        let Mend::Setting { name, value, live } = mend else {
            return check::on_host(mend);
        };
        Some(match (self.planned, live) {
            (true, _) => format!("server.config.{name} = {} in the study", toml(value)),
            (false, true) => format!("SET GLOBAL {name} = {value};"),
            (false, false) => {
                format!("{name} = {value} below [mysqld] in its option file, then restart it")
            }
        })
    }
}

/// A value as a study has it: words are quoted, placeholders are numbers.
fn toml(value: &str) -> String {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    match is_number || value == "NEEDED" {
        true => value.to_owned(),
        false => format!("\"{value}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server with these settings on this host, whose memory is 16 GiB.
    pub(super) fn with(engine: Engine, settings: &[(&str, &str)]) -> Server {
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Server {
            name: "mysql://root@127.0.0.1:3306/sbtest".into(),
            engine,
            version: match engine {
                Engine::MariaDb => "10.11.14".into(),
                Engine::MySql => "9.7.0".into(),
            },
            settings: Ok(settings.collect()),
            chosen: BTreeSet::new(),
            varied: BTreeSet::new(),
            planned: false,
            memory_bytes: Some(16 << 30),
            servers: 1,
            data_bytes: None,
            turning_disk: None,
            asked: None,
        }
    }

    pub(super) fn level(judge: fn(&Server) -> Seen, settings: &[(&str, &str)]) -> Level {
        judge(&with(Engine::MariaDb, settings)).level()
    }

    #[test]
    fn a_server_that_says_nothing_passes_nothing() {
        let silent = with(Engine::MySql, &[]);
        let refused = Server {
            settings: Err("Access denied".into()),
            ..silent.clone()
        };
        for check in checks() {
            let level = (check.judge)(&silent).level();
            let is_fixed = ["server-elsewhere", "query-cache"].contains(&check.about.id);
            assert!(level == Level::Unseen || is_fixed, "{}", check.about.id);
            let level = (check.judge)(&refused).level();
            assert_eq!(level, Level::Unseen, "{}", check.about.id);
        }
    }

    #[test]
    fn what_mends_a_server_depends_on_where_its_settings_are() {
        let mut server = with(Engine::MariaDb, &[("innodb_flush_log_at_trx_commit", "0")]);
        let find = |server: &Server| {
            let mut findings = judge(server).into_iter();
            findings
                .find(|finding| finding.id == "commit-flush")
                .unwrap()
        };
        let finding = find(&server);
        assert_eq!(finding.level, Level::Spoils);
        let mend = finding.mend.as_deref();
        assert_eq!(mend, Some("SET GLOBAL innodb_flush_log_at_trx_commit = 1;"));
        server.planned = true;
        let mend = find(&server).mend;
        let words = "server.config.innodb_flush_log_at_trx_commit = 1 in the study";
        assert_eq!(mend.as_deref(), Some(words));
        server
            .varied
            .insert("innodb_flush_log_at_trx_commit".into());
        let meant = find(&server);
        assert_eq!((meant.level, meant.mend), (Level::Note, None));
    }

    #[test]
    fn another_host_needs_a_look_of_its_own() {
        let mut server = with(Engine::MySql, &[("hostname", "db1")]);
        server.memory_bytes = None;
        assert_eq!(elsewhere(&server), Seen::note("hostname: it runs on db1"));
    }

    #[test]
    fn values_are_read_as_servers_write_them() {
        let server = with(
            Engine::MariaDb,
            &[("a", "128M"), ("b", "10.000000"), ("c", "Off"), ("d", "x")],
        );
        assert_eq!(server.number("a"), Some(128 << 20));
        assert_eq!(server.number("b"), Some(10));
        assert_eq!(server.is_on("c"), Some(false));
        assert_eq!((server.number("d"), server.is_on("d")), (None, None));
        assert!(server.is_since(10, 6) && !server.is_since(11, 0));
    }
}

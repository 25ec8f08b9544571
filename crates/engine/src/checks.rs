//! Checks on the settings of servers: facts, and what all engines share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use measure::finding::check::{self, About, Check, Observed, Remedy};
use measure::finding::{Finding, Level};
use plan::parse_bytes;

use crate::server::Server;
use crate::version;

/// What a load needs from one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demand {
    /// Connections.
    pub users: u64,
    pub tables: u64,
    /// Tables that all connections together have open at once.
    pub open_tables: u64,
    /// Statements that all connections together have prepared at once.
    pub prepared: u64,
    /// Size of the rows with their index, in bytes.
    pub data_bytes: u64,
}

/// What the checks know about a server.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Its URL without the password, or which of a study's servers it is.
    pub name: String,
    pub engine: &'static dyn Server,
    /// Its version number, `10.11.14`.
    pub version: String,
    /// Its settings by name, or why they could not be read.
    pub settings: Result<BTreeMap<String, String>, String>,
    /// Settings that the study sets.
    pub chosen: BTreeSet<String>,
    /// Settings that the study varies among its servers.
    pub varied: BTreeSet<String>,
    /// Whether it is only planned.
    pub planned: bool,
    /// Its data directory, if it runs on this host.
    pub data_dir: Option<PathBuf>,
    /// Why it is taken to run on another host; `None`: it runs on this one.
    pub elsewhere: Option<String>,
    /// Memory of its host; `None` if that is another host.
    pub memory_bytes: Option<u64>,
    /// Number of such servers that run on its host at the same time.
    pub servers: u64,
    /// Size of its tables and indexes, in bytes.
    pub data_bytes: Option<u64>,
    /// Whether its disk is a spinning one, if known.
    pub turning_disk: Option<bool>,
    /// What the load needs from it.
    pub demand: Option<Demand>,
}

pub(crate) const ELSEWHERE: &[Check<Facts>] = &[Check {
    about: About {
        id: "server-elsewhere",
        worst: Level::Note,
        why: "From this host, only the server's settings can be checked, not its CPUs, memory, and disks.",
        source: "AnandTech article (client and servers on hosts of their own)",
        remedy: Remedy::Words("run dyno doctor on that host"),
    },
    judge: elsewhere,
}];

fn elsewhere(server: &Facts) -> Observed {
    match (&server.settings, &server.elsewhere) {
        (Err(why), _) => Observed::unknown(why),
        (Ok(_), None) => Observed::passed("it runs on this host"),
        (Ok(_), Some(why)) => Observed::note(why),
    }
}

/// Runs the checks on a server. A setting that the study varies is noted at most.
pub fn judge(server: &Facts) -> Vec<Finding> {
    let run_one = |check: &'static Check<Facts>| {
        let remedy = |remedy| server.remedy(remedy);
        let mut findings = check::run(std::slice::from_ref(check), server, &server.name, remedy);
        for finding in &mut findings {
            if finding.level < Level::Note && server.is_varied(check.about.remedy) {
                finding.level = Level::Note;
                finding.observed.push_str(" (varied by the study)");
                finding.remedy = None;
            }
        }
        findings
    };
    let checks = server.engine.checks().into_iter();
    checks.flat_map(run_one).collect()
}

impl Facts {
    /// A setting's value, as the server reports it.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let settings = self.settings.as_ref().ok()?;
        settings.get(name).map(String::as_str)
    }

    /// A number or a size.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        let text = self.text(name)?;
        // A setting such as long_query_time is a fraction.
        parse_bytes(text).or_else(|| text.split_once('.')?.0.parse().ok())
    }

    /// A switch.
    pub(crate) fn is_on(&self, name: &str) -> Option<bool> {
        match self.text(name)?.to_ascii_uppercase().as_str() {
            "ON" | "1" | "TRUE" | "YES" => Some(true),
            "OFF" | "0" | "FALSE" | "NO" => Some(false),
            _ => None,
        }
    }

    /// Why a setting's value is unknown.
    pub(crate) fn unknown(&self, name: &str) -> Observed {
        match (&self.settings, self.planned) {
            (Err(why), _) => Observed::unknown(why),
            (Ok(_), true) => Observed::unknown(format!(
                "{name}: not set in the study, and the default of {} {} is unknown",
                self.engine, self.version
            )),
            (Ok(_), false) => Observed::unknown(format!(
                "{name}: not a setting of {} {}, or not visible to this account",
                self.engine, self.version
            )),
        }
    }

    /// Whether its version is at least this.
    pub(crate) fn is_since(&self, major: u64, minor: u64) -> bool {
        version::is_since(&self.version, major, minor)
    }

    /// A size as written in this server's settings.
    pub(crate) fn size(&self, bytes: u64) -> String {
        match self.planned {
            true => format!("\"{}M\"", bytes >> 20),
            false => bytes.to_string(),
        }
    }

    fn is_varied(&self, remedy: Remedy) -> bool {
        matches!(remedy, Remedy::Setting { name, .. } if self.varied.contains(name))
    }

    /// How to fix this server.
    fn remedy(&self, remedy: Remedy) -> Option<String> {
        let Remedy::Setting { name, value, live } = remedy else {
            return check::on_host(remedy);
        };
        Some(match self.planned {
            true => format!("server.config.{name} = {} in the study", toml(value)),
            false => self.engine.set_command(name, value, live),
        })
    }
}

/// Judges a setting by its value.
pub(crate) fn valued(server: &Facts, name: &str, level: impl Fn(&str) -> Level) -> Observed {
    let Some(value) = server.text(name) else {
        return server.unknown(name);
    };
    let observed = format!("{name}: {value}");
    match level(value) {
        Level::Passed => Observed::passed(observed),
        level => Observed::found(level, observed),
    }
}

/// Judges a switch: `level` if it is not in the position `good`.
pub(crate) fn switched(server: &Facts, name: &str, good: bool, level: Level) -> Observed {
    match server.is_on(name) {
        None => server.unknown(name),
        Some(on) => valued(
            server,
            name,
            |_| if on == good { Level::Passed } else { level },
        ),
    }
}

/// A value in a study's syntax: words are quoted, placeholders stand for numbers.
fn toml(value: &str) -> String {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    match is_number || value == "NEEDED" {
        true => value.to_owned(),
        false => format!("\"{value}\""),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{MARIADB, MYSQL, POSTGRES};

    /// A server with these settings on this host, which has 16 GiB of memory.
    pub(crate) fn with(engine: &'static dyn Server, settings: &[(&str, &str)]) -> Facts {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Facts {
            name: format!("{}://root@127.0.0.1/sbtest", engine.scheme()),
            engine,
            version: match engine.name() {
                "mariadb" => "10.11.14".into(),
                "mysql" => "9.7.0".into(),
                _ => "15.10".into(),
            },
            settings: Ok(settings.iter().map(owned).collect()),
            chosen: BTreeSet::new(),
            varied: BTreeSet::new(),
            planned: false,
            data_dir: None,
            elsewhere: None,
            memory_bytes: Some(16 << 30),
            servers: 1,
            data_bytes: None,
            turning_disk: None,
            demand: None,
        }
    }

    #[test]
    fn without_settings_no_check_passes() {
        for engine in [MARIADB, MYSQL, POSTGRES] {
            let silent = with(engine, &[]);
            let refused = Facts {
                settings: Err("Access denied".into()),
                ..silent.clone()
            };
            for check in engine.checks() {
                let id = check.about.id;
                let level = (check.judge)(&silent).level();
                let is_fixed = ["server-elsewhere", "query-cache"].contains(&id);
                assert!(level == Level::Unknown || is_fixed, "{id}");
                assert_eq!((check.judge)(&refused).level(), Level::Unknown, "{id}");
            }
        }
    }

    #[test]
    fn a_server_on_another_host_is_noted() {
        let mut server = with(MYSQL, &[]);
        assert_eq!((ELSEWHERE[0].judge)(&server).level(), Level::Passed);
        server.elsewhere = Some("it runs on db1".into());
        let observed = (ELSEWHERE[0].judge)(&server);
        assert_eq!(observed, Observed::note("it runs on db1"));
    }

    #[test]
    fn values_are_read_as_servers_write_them() {
        let server = with(
            MARIADB,
            &[("a", "128M"), ("b", "10.000000"), ("c", "Off"), ("d", "x")],
        );
        assert_eq!(server.number("a"), Some(128 << 20));
        assert_eq!(server.number("b"), Some(10));
        assert_eq!(server.is_on("c"), Some(false));
        assert_eq!((server.number("d"), server.is_on("d")), (None, None));
        assert!(server.is_since(10, 6) && !server.is_since(11, 0));
    }
}

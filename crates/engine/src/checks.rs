//! Checks on the settings of servers: facts, and what the checks of all engines share.

mod buffers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use measure::checks;
use measure::finding::check::{Check, Judged, Observed, Remedy, graded, note, passed, unknown};
use measure::finding::{Finding, Level};
use plan::parse_bytes;

use crate::server::Server;
use crate::version;

pub(crate) use buffers::DEFAULT_BYTES;

/// What a load needs from one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demand {
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
    /// The URL without the password, or which of a study's servers it is.
    pub name: String,
    pub engine: &'static dyn Server,
    /// Version number, for example `10.11.14`.
    pub version: String,
    /// Settings by name, or why they could not be read.
    pub settings: Result<BTreeMap<String, String>, String>,
    /// Settings that the study sets.
    pub chosen: BTreeSet<String>,
    /// Settings that the study varies among its servers.
    pub varied: BTreeSet<String>,
    /// Whether the server is only planned.
    pub planned: bool,
    /// The data directory, if the server runs on this host.
    pub data_dir: Option<PathBuf>,
    /// Why the server seems to run on another host; `None` if it runs on this one.
    pub elsewhere: Option<String>,
    /// Memory of the server's host; `None` if that is another host.
    pub memory_bytes: Option<u64>,
    /// Number of such servers that run on the host at the same time.
    pub servers: u64,
    /// Size of tables and indexes, in bytes.
    pub data_bytes: Option<u64>,
    /// Whether the data is on a spinning disk; `None` if unknown.
    pub turning_disk: Option<bool>,
    pub demand: Option<Demand>,
}

pub(crate) const ELSEWHERE: &[Check<Facts>] = checks! { server:
    "server-elsewhere", Note => elsewhere(server),
        why: "From this host, only the server's settings can be checked, not its CPUs, memory, and disks.",
        source: "AnandTech article (client and servers on hosts of their own)",
        remedy: Words("run dyno doctor on that host");
};

fn elsewhere(server: &Facts) -> Observed {
    match (&server.settings, &server.elsewhere) {
        (Err(why), _) => unknown(why),
        (Ok(_), None) => passed("it runs on this host"),
        (Ok(_), Some(why)) => note(why),
    }
}

/// Runs the checks on a server. A setting that the study varies is a note at most.
pub fn judge(server: &Facts) -> Vec<Finding> {
    let run_one = |check: &'static Check<Facts>| {
        let mut finding = check.finding(server, &server.name, |remedy| server.remedy(remedy));
        if finding.level < Level::Note && server.is_varied(check.about.remedy) {
            finding.level = Level::Note;
            finding.observed.push_str(" (varied by the study)");
            finding.remedy = None;
        }
        finding
    };
    server.engine.checks().map(run_one).collect()
}

/// The errors say why a setting is unknown.
impl Facts {
    /// A setting's value, as the server reports it.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Observed> {
        let value = self.settings.as_ref().ok().and_then(|all| all.get(name));
        value.map(String::as_str).ok_or_else(|| self.unknown(name))
    }

    pub(crate) fn parsed<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Observed> {
        parse(self.text(name)?).ok_or_else(|| self.unknown(name))
    }

    /// A number or a size.
    pub(crate) fn number(&self, name: &str) -> Result<u64, Observed> {
        // Settings such as long_query_time may be fractions.
        self.parsed(name, |text| {
            parse_bytes(text).or_else(|| text.split_once('.')?.0.parse().ok())
        })
    }

    /// A switch.
    pub(crate) fn is_on(&self, name: &str) -> Result<bool, Observed> {
        self.parsed(name, |text| match text.to_ascii_uppercase().as_str() {
            "ON" | "1" | "TRUE" | "YES" => Some(true),
            "OFF" | "0" | "FALSE" | "NO" => Some(false),
            _ => None,
        })
    }

    pub(crate) fn unknown(&self, name: &str) -> Observed {
        let server = format!("{} {}", self.engine, self.version);
        unknown(match &self.settings {
            Err(why) => why.clone(),
            Ok(_) if self.planned => {
                format!("{name}: not set in the study, and the default of {server} is unknown")
            }
            Ok(_) => format!("{name}: not a setting of {server}, or not visible to this account"),
        })
    }

    /// Grades a setting by its value.
    pub(crate) fn graded(&self, name: &str, level: impl FnOnce(&str) -> Level) -> Judged {
        let value = self.text(name)?;
        Ok(graded(level(value), format!("{name}: {value}")))
    }

    /// Grades a switch that should be `good`.
    pub(crate) fn switch(&self, name: &str, good: bool, level: Level) -> Judged {
        let on = self.is_on(name)?;
        self.graded(name, |_| level.when(on != good))
    }

    /// Grades a setting that should have one of these values.
    pub(crate) fn should_be(&self, name: &str, usual: &[&str], level: Level) -> Judged {
        self.graded(name, |value| {
            level.when(!usual.iter().any(|usual| usual.eq_ignore_ascii_case(value)))
        })
    }

    /// Whether the version is at least `major.minor`.
    pub(crate) fn is_since(&self, major: u64, minor: u64) -> bool {
        version::is_since(&self.version, major, minor)
    }

    fn is_varied(&self, remedy: Remedy) -> bool {
        matches!(remedy, Remedy::Live(name, _) | Remedy::Restart(name, _) if self.varied.contains(name))
    }

    /// How to apply a remedy to this server.
    fn remedy(&self, remedy: Remedy) -> Option<String> {
        let (name, value, live) = match remedy {
            Remedy::Live(name, value) => (name, value, true),
            Remedy::Restart(name, value) => (name, value, false),
            _ => return remedy.on_host(),
        };
        Some(match self.planned {
            true => format!("server.config.{name} = {} in the study", toml(value)),
            false => (self.engine.traits().set_command)(name, value, live),
        })
    }
}

/// A value in the syntax of a study: words are quoted, and placeholders stand for numbers.
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

    /// A server on this host, which has 16 GiB of memory, with settings such as `fsync=on; b=2`.
    pub(crate) fn with(engine: &'static dyn Server, settings: &str) -> Facts {
        let settings = settings.split("; ").filter_map(|one| one.split_once('='));
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Facts {
            name: format!("{}://root@127.0.0.1/sbtest", engine.scheme()),
            engine,
            version: match engine.name() {
                "mariadb" => "10.11.14".into(),
                "mysql" => "9.7.0".into(),
                _ => "15.10".into(),
            },
            settings: Ok(settings.map(owned).collect()),
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

    /// The outcome of the check `id`.
    pub(crate) fn observed(server: &Facts, id: &str) -> Observed {
        let mut checks = server.engine.checks();
        let check = checks.find(|check| check.about.id == id).unwrap();
        (check.judge)(server)
    }

    /// Each row has a check, settings, and the level that they get: `fsync: fsync=off -> Severe`.
    #[track_caller]
    pub(crate) fn assert_levels(engine: &'static dyn Server, rows: &str) {
        for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let (id, rest) = row.split_once(": ").unwrap();
            let (settings, level) = rest.split_once("-> ").unwrap();
            let observed = observed(&with(engine, settings.trim_end()), id);
            assert_eq!(
                format!("{:?}", observed.level()),
                level,
                "{row}: {observed:?}"
            );
        }
    }

    #[test]
    fn without_settings_no_check_passes() {
        for engine in [MARIADB, MYSQL, POSTGRES] {
            let silent = with(engine, "");
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
        let mut server = with(MYSQL, "");
        assert_eq!((ELSEWHERE[0].judge)(&server).level(), Level::Passed);
        server.elsewhere = Some("it runs on db1".into());
        let observed = (ELSEWHERE[0].judge)(&server);
        assert_eq!(observed, note("it runs on db1"));
    }

    #[test]
    fn values_are_read_as_servers_write_them() {
        let server = with(MARIADB, "a=128M; b=10.000000; c=Off; d=x");
        assert_eq!(server.number("a"), Ok(128 << 20));
        assert_eq!(server.number("b"), Ok(10));
        assert_eq!(server.is_on("c"), Ok(false));
        assert!(server.number("d").is_err() && server.is_on("d").is_err());
        assert!(server.is_since(10, 6) && !server.is_since(11, 0));
    }
}

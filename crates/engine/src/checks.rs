//! Checks on the settings of servers: facts, and what the checks of all engines share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use measure::checks;
use measure::finding::check::{
    Check, Judged, Observed, Remedy, graded, note, passed, unknown, warning,
};
use measure::finding::{Finding, Level};
use plan::{StaticSettings, parse_bytes, shown_bytes};

use crate::server::Server;
use crate::settings::switch;
use crate::version;

/// The default size of a server's buffers, in all engines.
pub(crate) const DEFAULT_BYTES: u64 = 128 << 20;
/// Connections of dyno besides the load's: for monitors, and for reading the settings.
pub(crate) const OWN_CONNECTIONS: u64 = 2;

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

/// Defaults of settings since a version; later ones replace earlier ones.
pub type Defaults = &'static [((u64, u64), StaticSettings)];

/// The defaults of a version; none if they are not known.
pub(crate) fn defaults_of(
    defaults: Defaults,
    version: &str,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let known = defaults.iter();
    let known = known.filter(move |((major, minor), _)| version::is_since(version, *major, *minor));
    known.flat_map(|(_, settings)| settings.iter().copied())
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

    pub(crate) fn is_on(&self, name: &str) -> Result<bool, Observed> {
        self.parsed(name, switch)
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

    /// Grades a size by the share of the host's memory, in %, that all servers take.
    pub(crate) fn share_of_memory(&self, name: &str, bytes: u64, percents: [u64; 3]) -> Observed {
        let [least, good, most] = percents;
        // A small size that the study sets is deliberate.
        let is_default = bytes <= DEFAULT_BYTES && !self.chosen.contains(name);
        let (size, servers) = (shown_bytes(bytes), self.servers.max(1));
        let Some(memory) = self.memory_bytes else {
            let observed = format!("{name}: {size}");
            return match is_default {
                true => warning(observed),
                false => unknown(format!("{observed}; the memory of its host is unknown")),
            };
        };
        let percent = bytes.saturating_mul(servers) / (memory / 100).max(1);
        let level = match percent {
            _ if percent > most => Level::Severe,
            _ if percent > good => Level::Warning,
            _ if percent >= least => Level::Passed,
            _ if is_default => Level::Warning,
            _ => Level::Note,
        };
        let each = match servers {
            1 => size,
            _ => format!("{size} for each of {servers} servers"),
        };
        let memory = shown_bytes(memory);
        graded(
            level,
            format!("{name}: {each}, {percent} % of {memory} of memory"),
        )
    }

    /// Notes data that does not fit; `written` formats a size as the server's settings do.
    pub(crate) fn room_for_data(
        &self,
        name: &str,
        bytes: u64,
        written: fn(&Self, u64) -> String,
    ) -> Observed {
        let size = shown_bytes(bytes);
        let loaded = self.demand.map(|demand| demand.data_bytes);
        let Some(data) = loaded.or(self.data_bytes).filter(|bytes| *bytes > 0) else {
            return unknown(format!(
                "{name}: {size}; this account sees no tables to compare it with"
            ));
        };
        let needed = (data + data / 4).next_multiple_of(DEFAULT_BYTES);
        let observed = format!("{name}: {size}, data of {}", shown_bytes(data));
        graded(Level::Note.when(data > bytes), observed).with("NEEDED", written(self, needed))
    }

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

    /// Each row has sizes of the setting `name`, the number of servers, and the level that the check
    /// `id` gives them on a host with 16 GiB.
    #[track_caller]
    pub(crate) fn assert_shares(
        engine: &'static dyn Server,
        [id, name]: [&str; 2],
        rows: &[(&str, u64, Level)],
        on_unknown_host: [&str; 2],
    ) {
        let with = |size: &str| with(engine, &format!("{name}={size}"));
        for (sizes, servers, level) in rows {
            for size in sizes.split(' ') {
                let mut facts = with(size);
                facts.servers = *servers;
                assert_eq!(observed(&facts, id).level(), *level, "{size}");
            }
        }
        for (size, level) in on_unknown_host.iter().zip([Level::Unknown, Level::Warning]) {
            let mut far = with(size);
            far.memory_bytes = None;
            assert_eq!(observed(&far, id).level(), level, "{size}");
        }
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
    fn later_defaults_replace_earlier_ones() {
        let known = |server: &'static dyn Server, version: &str| {
            let defaults = defaults_of(server.traits().defaults, version);
            defaults.collect::<BTreeMap<_, _>>()
        };
        for (server, old) in [(MARIADB, "10.5.9"), (MYSQL, ""), (POSTGRES, "12.22")] {
            assert!(known(server, old).is_empty(), "{old}");
        }
        let newest = known(POSTGRES, "18.1");
        assert_eq!(newest["data_checksums"], "on");
        assert_eq!(newest["checkpoint_completion_target"], "0.9");
    }

    #[test]
    fn a_planned_primary_is_judged_by_the_settings_of_its_cluster() {
        let standbys = "synchronous-standbys";
        for (engine, kind, members, id, level) in [
            (MARIADB, "asynchronous", 2, "binlog-sync", Level::Warning),
            (MARIADB, "galera", 3, "binlog-sync", Level::Passed),
            (POSTGRES, "asynchronous", 2, standbys, Level::Passed),
            (POSTGRES, "synchronous", 2, standbys, Level::Note),
            (POSTGRES, "patroni", 3, standbys, Level::Passed),
            (POSTGRES, "patroni-synchronous", 3, standbys, Level::Note),
            (POSTGRES, "patroni-synchronous", 1, standbys, Level::Passed),
        ] {
            let replication = engine.replicates_as(kind).unwrap();
            let config = replication.checked_settings(members);
            let mut server = with(engine, "");
            server.settings = Ok(engine.planned_settings("99.0", 1, &config));
            assert_eq!(observed(&server, id).level(), level, "{kind}: {id}");
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

//! libpq's connection parameters: from a URL, a service file, or the environment.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use percent_encoding::{percent_decode_str, utf8_percent_encode};

use crate::endpoint::{IN_QUERY, RESERVED};

/// The schemes of a URL that names a server; both mean the same.
pub const SCHEMES: [&str; 2] = ["postgres", "postgresql"];
/// libpq's parameters that dyno knows, each with its environment variable, and whether it affects
/// the session on any server.
const KNOWN: [(&str, &str, bool); 14] = [
    ("application_name", "PGAPPNAME", true),
    ("channel_binding", "PGCHANNELBINDING", true),
    ("dbname", "PGDATABASE", false),
    ("host", "PGHOST", false),
    ("options", "PGOPTIONS", true),
    ("passfile", "PGPASSFILE", false),
    (PASSWORD, "PGPASSWORD", false),
    ("port", "PGPORT", false),
    ("service", "PGSERVICE", false),
    ("sslcert", "PGSSLCERT", true),
    ("sslkey", "PGSSLKEY", true),
    ("sslmode", "PGSSLMODE", true),
    ("sslrootcert", "PGSSLROOTCERT", true),
    ("user", "PGUSER", false),
];
const PASSWORD: &str = "password";
const SYSTEM_SERVICE_FILE: &str = "/etc/postgresql-common/pg_service.conf";
const LIMIT_BYTES: u64 = 1 << 20;

#[derive(Default)]
pub(super) struct Parameters(BTreeMap<&'static str, String>);

impl Parameters {
    /// Parses `postgres://user:password@host:port/database?name=value&…`, of which everything
    /// after the scheme may be missing.
    pub(super) fn from_url(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url
            .split_once("://")
            .ok_or("the scheme is followed by two slashes")?;
        if !SCHEMES.contains(&scheme) {
            return Err(format!("{scheme:?} is neither postgres: nor postgresql:"));
        }
        let (main, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = main.split_once('/').unwrap_or((main, ""));
        if rest.contains('#') || database.contains('@') {
            return Err(RESERVED.to_owned());
        }
        let (account, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = account.split_once(':').unwrap_or((account, ""));
        let (host, port) = split_port(place)?;
        let mut parameters = Self::default();
        for (name, value) in [
            ("user", user),
            (PASSWORD, password),
            ("host", host),
            ("port", port),
            ("dbname", database),
        ] {
            parameters.put(name, value)?;
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if name == PASSWORD {
                return Err(
                    "write the password in front of the host: postgres://user:password@host"
                        .to_owned(),
                );
            }
            parameters.put(name, value)?;
        }
        Ok(parameters)
    }

    /// Sets a parameter of the URL, unless the value is empty.
    fn put(&mut self, name: &str, value: &str) -> Result<(), String> {
        let known = known(name)?;
        let decoded = percent_decode_str(value).decode_utf8();
        let decoded = decoded.map_err(|_| format!("the URL's {name} is not UTF-8"))?;
        if decoded.contains('\0') {
            return Err(format!("the URL's {name} has a zero byte"));
        }
        if !decoded.is_empty() {
            self.0.insert(known, decoded.into_owned());
        }
        Ok(())
    }

    /// Adds what is missing from the service that the URL or the environment names.
    pub(super) fn add_service(
        &mut self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), String> {
        let named = self.get("service").map(str::to_owned);
        let Some(service) = named.or_else(|| variable("PGSERVICE")) else {
            return Ok(());
        };
        for file in service_files(variable) {
            let Some(section) = section(&file, &service)? else {
                continue;
            };
            for (name, value) in section {
                let known = known(&name).map_err(|why| format!("{}: {why}", file.display()))?;
                self.0.entry(known).or_insert(value);
            }
            return Ok(());
        }
        Err(format!(
            "the service {service:?} is not defined in ~/.pg_service.conf, the file that PGSERVICEFILE names, or pg_service.conf"
        ))
    }

    /// Adds what is missing from the environment.
    pub(super) fn add_environment(&mut self, variable: &dyn Fn(&str) -> Option<String>) {
        for (name, variable_name, _) in KNOWN {
            if let Some(value) = variable(variable_name).filter(|value| !value.is_empty()) {
                self.0.entry(name).or_insert(value);
            }
        }
    }

    /// Sets a parameter that is missing.
    pub(super) fn add(&mut self, name: &'static str, value: &str) {
        self.0.entry(name).or_insert_with(|| value.to_owned());
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The query of a URL for equal sessions.
    pub(super) fn query(&self) -> String {
        let of_session = KNOWN.iter().filter(|(.., of_session)| *of_session);
        let given = of_session.filter_map(|(name, ..)| Some((name, self.get(name)?)));
        let pairs =
            given.map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, &IN_QUERY)));
        pairs.collect::<Vec<_>>().join("&")
    }

    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }
}

fn known(name: &str) -> Result<&'static str, String> {
    let found = KNOWN.iter().find(|(known, ..)| *known == name);
    found.map(|(known, ..)| *known).ok_or_else(|| {
        let names = KNOWN.map(|(known, ..)| known).join(", ");
        format!("the parameter {name:?} is unknown; known are {names}")
    })
}

/// `host`, `host:port`, `[::1]`, `[::1]:port`; either part may be empty.
fn split_port(place: &str) -> Result<(&str, &str), String> {
    if let Some(bracketed) = place.strip_prefix('[') {
        let (host, rest) = bracketed.split_once(']').ok_or("the host lacks its ']'")?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, port)),
            None if rest.is_empty() => Ok((host, "")),
            None => Err("only a port may follow the host's ']'".to_owned()),
        };
    }
    if place.contains(',') {
        return Err("the URL names several hosts; name one".to_owned());
    }
    Ok(place.split_once(':').unwrap_or((place, "")))
}

fn service_files(variable: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let own = variable("PGSERVICEFILE").map(PathBuf::from);
    let own = own.or_else(|| Some(Path::new(&variable("HOME")?).join(".pg_service.conf")));
    let of_system = variable("PGSYSCONFDIR").map(|dir| Path::new(&dir).join("pg_service.conf"));
    let of_system = of_system.unwrap_or_else(|| SYSTEM_SERVICE_FILE.into());
    own.into_iter().chain([of_system]).collect()
}

type Section = Vec<(String, String)>;

/// The lines `name=value` below `[service]`; `None` if there is no such file or service.
fn section(path: &Path, service: &str) -> Result<Option<Section>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut text = String::new();
    file.take(LIMIT_BYTES)
        .read_to_string(&mut text)
        .map_err(failed)?;
    let header = format!("[{service}]");
    let lines = text.lines().map(str::trim);
    let mut below = lines.skip_while(|line| *line != header);
    if below.next().is_none() {
        return Ok(None);
    }
    let pairs = below
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pairs = pairs.map(|line| match line.split_once('=') {
        Some((name, value)) => Ok((name.trim_end().to_owned(), value.trim_start().to_owned())),
        None => Err(format!("{}: {line:?} is not name=value", path.display())),
    });
    pairs.collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All parameters in the order of their names.
    fn all(url: &str) -> String {
        let parameters = Parameters::from_url(url).unwrap().0.into_iter();
        let pairs: Vec<_> = parameters
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join(" ")
    }

    #[test]
    fn every_part_of_a_url_may_be_missing() {
        for (url, parameters) in [
            ("postgres://", ""),
            ("postgresql://h", "host=h"),
            ("postgres:///d", "dbname=d"),
            ("postgres://u@", "user=u"),
            ("postgres://u@/d?host=/run/x", "dbname=d host=/run/x user=u"),
            (
                "postgres://u:p@h:1/d",
                "dbname=d host=h password=p port=1 user=u",
            ),
            ("postgres://[::1]:1/d", "dbname=d host=::1 port=1"),
            ("postgres://[fe80::1%25eth0]", "host=fe80::1%eth0"),
            ("postgres://:5433", "port=5433"),
            ("postgres://%2Frun%2Fpg/d", "dbname=d host=/run/pg"),
            ("postgres://a%40b:p%3Aw@h", "host=h password=p:w user=a@b"),
            ("postgres://u:p@w@h", "host=h password=p@w user=u"),
            (
                "postgres://h/d?sslmode=require&port=7",
                "dbname=d host=h port=7 sslmode=require",
            ),
        ] {
            assert_eq!(all(url), parameters, "{url}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_url_is_named() {
        for (url, wanted) in [
            ("h", "two slashes"),
            ("mysql://h", "neither"),
            ("postgres://u:a/b@h/d", "%2F"),
            ("postgres://u:a#b@h/d", "%23"),
            ("postgres://h?sslmod=x", "sslmod"),
            ("postgres://h?password=x", "in front of the host"),
            ("postgres://h1,h2/d", "several hosts"),
            ("postgres://[::1/d", "]"),
            ("postgres://[::1]x/d", "port"),
            ("postgres://u:%00@h", "zero byte"),
            ("postgres://u:%ff@h", "UTF-8"),
        ] {
            let why = Parameters::from_url(url).err().unwrap();
            assert!(why.contains(wanted), "{url}: {why}");
        }
    }

    #[test]
    fn services_and_the_environment_fill_what_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("services");
        let text = "# ours\n[other]\nhost=wrong\n\n[mine]\n# here\nhost = of-service\nport=7\nuser=s\n[more]\nport=8\n";
        std::fs::write(&file, text).unwrap();
        let environment = |name: &str| {
            Some(match name {
                "PGSERVICEFILE" => file.display().to_string(),
                "PGUSER" => "of-environment".to_owned(),
                "PGDATABASE" => "e".to_owned(),
                "PGHOST" => String::new(),
                _ => return None,
            })
        };
        let mut parameters = Parameters::from_url("postgres://:9/?service=mine").unwrap();
        parameters.add_service(&environment).unwrap();
        parameters.add_environment(&environment);
        let of = |name| parameters.get(name);
        assert_eq!(of("host"), Some("of-service"));
        assert_eq!(of("port"), Some("9"));
        assert_eq!(of("user"), Some("s"));
        assert_eq!(of("dbname"), Some("e"));
        let mut unknown = Parameters::from_url("postgres://?service=none").unwrap();
        assert!(
            unknown
                .add_service(&environment)
                .unwrap_err()
                .contains("none")
        );
    }
}

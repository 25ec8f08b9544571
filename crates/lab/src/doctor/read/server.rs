//! Settings of servers: asked of one that runs, worked out for one that is planned.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use client::mysql::{Connection, Error, Target};
use client::reactor::{Reactor, timeout};
use plan::EngineSpec;

use super::place;
use crate::database::Database;
use crate::doctor::asked::Asked;
use crate::doctor::server::{Server, WANTED, defaults};
use crate::kernel;
use crate::monitors::memory::field_bytes;
use crate::server_process::is_own;
use crate::servers::{Engine, Installed, allowed_connections, plain_name};

/// How long a server may take to answer.
const LIMIT: Duration = Duration::from_secs(3);
/// Most of a value that is kept, in characters.
const MAX_VALUE_CHARS: usize = 200;

/// What a server says of itself.
struct Said {
    settings: BTreeMap<String, String>,
    data_bytes: Option<u64>,
}

/// A server that runs. What it does not tell is said by the checks.
pub(in crate::doctor) fn running(database: &Database, asked: Option<Asked>) -> Option<Server> {
    let Database::Mysql { target, engine, .. } = database else {
        return None;
    };
    let (name, version) = engine.split_once(' ').unwrap_or((engine, ""));
    let said = ask(target);
    let here = said
        .as_ref()
        .is_ok_and(|said| is_here(target, &said.settings));
    let data_dir = said.as_ref().ok().and_then(|said| data_dir(&said.settings));
    let turning_disk = data_dir.filter(|_| here).and_then(|dir| place::turns(&dir));
    let data_bytes = said.as_ref().ok().and_then(|said| said.data_bytes);
    Some(Server {
        name: target.shown(),
        engine: match name {
            "MariaDB" => Engine::MariaDb,
            _ => Engine::MySql,
        },
        version: version.to_owned(),
        settings: said.map(|said| said.settings),
        chosen: BTreeSet::new(),
        varied: BTreeSet::new(),
        planned: false,
        memory_bytes: here.then(memory_bytes).flatten(),
        servers: 1,
        data_bytes,
        turning_disk,
        asked,
    })
}

/// Where a running server's data is, if that is on this host.
pub(in crate::doctor) fn data_dir_here(server: &Server) -> Option<PathBuf> {
    let settings = server.settings.as_ref().ok()?;
    data_dir(settings).filter(|_| !server.planned && server.memory_bytes.is_some())
}

fn data_dir(settings: &BTreeMap<String, String>) -> Option<PathBuf> {
    settings.get("datadir").map(PathBuf::from)
}

/// Whether a server is reached at an address of this host and has its name: a container has
/// one of its own, a clone of this machine the same.
fn is_here(target: &Target, settings: &BTreeMap<String, String>) -> bool {
    let name = rustix::system::uname();
    settings.get("hostname").map(String::as_bytes) == Some(name.nodename().to_bytes())
        && target
            .addresses()
            .iter()
            .all(|address| is_own(address.ip()))
}

fn memory_bytes() -> Option<u64> {
    field_bytes(&kernel::text("/proc/meminfo")?, "MemTotal")
}

fn ask(target: &Arc<Target>) -> Result<Said, String> {
    let reactor = Reactor::new().map_err(|error| error.to_string())?;
    match reactor.block_on(timeout(LIMIT, answers(target))) {
        Err(error) => Err(format!("cannot ask the server: {error}")),
        Ok(Err(_)) => Err(format!("the server gave no answer within {LIMIT:?}")),
        Ok(Ok(answer)) => answer.map_err(|error| error.to_string()),
    }
}

async fn answers(target: &Target) -> Result<Said, Error> {
    let mut connection = Connection::open(target).await?;
    let names = WANTED.join("', '");
    let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('{names}')");
    let settings = connection.rows(&sql).await?;
    // An account that may not see the tables still has settings to look at.
    let sql = "SELECT SUM(data_length + index_length) FROM information_schema.tables \
               WHERE table_schema = DATABASE()";
    let data = connection.rows(sql).await.unwrap_or_default();
    connection.close().await;
    let settings = settings.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        let (name, value) = (cells.next()??, cells.next()??);
        let value = value.chars().take(MAX_VALUE_CHARS).collect();
        Some((name.to_ascii_lowercase(), value))
    });
    let data = data.into_iter().flatten().flatten().next();
    Ok(Said {
        settings: settings.take(WANTED.len()).collect(),
        data_bytes: data.and_then(|bytes| bytes.parse().ok()),
    })
}

/// A server that a study is going to start: its settings, then dyno's, then the defaults
/// of its version.
pub(in crate::doctor) fn planned(
    name: String,
    spec: &EngineSpec,
    installed: &Result<Installed, String>,
    asked: Asked,
    disk: Option<PathBuf>,
) -> Server {
    let engine = match spec.engine {
        plan::Engine::MySql => Engine::MySql,
        plan::Engine::MariaDb | plan::Engine::Sqlite => Engine::MariaDb,
    };
    let version = installed.as_ref().map_or("", |found| &found.version);
    Server {
        name,
        engine,
        version: version.to_owned(),
        settings: match installed {
            Ok(_) => Ok(settings(engine, version, spec, &asked)),
            Err(why) => Err(why.clone()),
        },
        chosen: of_study(spec).map(|(name, _)| name).collect(),
        varied: BTreeSet::new(),
        planned: true,
        memory_bytes: memory_bytes(),
        servers: asked.private_servers,
        data_bytes: None,
        turning_disk: disk.and_then(|disk| place::turns(&disk)),
        asked: Some(asked),
    }
}

fn settings(
    engine: Engine,
    version: &str,
    spec: &EngineSpec,
    asked: &Asked,
) -> BTreeMap<String, String> {
    let defaults = defaults::of(engine, version).iter();
    let mut settings: BTreeMap<String, String> = defaults
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let users = u32::try_from(asked.users).unwrap_or(u32::MAX);
    let connections = allowed_connections(users).to_string();
    settings.insert("max_connections".to_owned(), connections);
    settings.extend(of_study(spec));
    settings
}

/// The settings that a study makes, as the server names them.
pub(in crate::doctor) fn of_study(spec: &EngineSpec) -> impl Iterator<Item = (String, String)> {
    spec.config.iter().map(|(name, value)| {
        let name = plain_name(name);
        match name.strip_prefix("skip_") {
            Some(switch) => (switch.to_owned(), "OFF".to_owned()),
            None => (name, value.value.clone()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::mysql::TlsOptions;

    #[test]
    fn a_host_of_the_same_name_is_another_one_at_another_address() {
        let name = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        let here = |url: &str, name: &str| {
            let target = Target::parse(url, None, "root", &TlsOptions::default()).unwrap();
            let settings = [("hostname".to_owned(), name.to_owned())];
            is_here(&target, &BTreeMap::from(settings))
        };
        assert!(here("mysql://127.0.0.1/x", &name));
        assert!(here("mysql://localhost/x?socket=/tmp/s.sock", &name));
        // An address for documentation (RFC 5737), which no host has.
        assert!(!here("mysql://192.0.2.1/x", &name));
        assert!(!here("mysql://127.0.0.1/x", "elsewhere"));
    }
}

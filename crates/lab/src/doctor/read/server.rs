//! What is known of servers: asked of one that runs, worked out for one that is planned.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use engine::checks::{Demand, Facts};
use engine::{Installed, Server};
use host::{Files, Memory, Place};

use crate::Database;
use crate::doctor::asked::Asked;
use crate::server_process::is_own;

/// A server that runs. What it does not tell is said by the checks.
pub(in crate::doctor) fn running(
    files: &dyn Files,
    database: &Database,
    asked: Option<Asked>,
) -> Option<Facts> {
    let said = database.ask()?;
    let here = said
        .as_ref()
        .is_ok_and(|said| is_here(&database.addresses(), &said.settings));
    let data_dir = said.as_ref().ok().and_then(|said| data_dir(&said.settings));
    let turning_disk = data_dir
        .filter(|_| here)
        .and_then(|dir| is_rotational(files, &dir));
    let data_bytes = said.as_ref().ok().and_then(|said| said.data_bytes);
    Some(Facts {
        name: database.shown(),
        engine: database.engine().server()?,
        version: database.version().to_owned(),
        settings: said.map(|said| said.settings),
        chosen: BTreeSet::new(),
        varied: BTreeSet::new(),
        planned: false,
        memory_bytes: here.then(|| memory_bytes(files)).flatten(),
        servers: 1,
        data_bytes,
        turning_disk,
        demand: asked.map(demand),
    })
}

fn demand(asked: Asked) -> Demand {
    Demand {
        users: asked.users,
        tables: asked.tables,
        open_tables: asked.open_tables,
        prepared: asked.prepared,
        data_bytes: asked.data_bytes,
    }
}

/// Where a running server's data is, if that is on this host.
pub(in crate::doctor) fn data_dir_here(server: &Facts) -> Option<PathBuf> {
    let settings = server.settings.as_ref().ok()?;
    data_dir(settings).filter(|_| !server.planned && server.memory_bytes.is_some())
}

fn data_dir(settings: &BTreeMap<String, String>) -> Option<PathBuf> {
    settings.get("datadir").map(PathBuf::from)
}

/// Whether a server is reached at an address of this host and has its name: a container has
/// one of its own, a clone of this machine the same.
fn is_here(addresses: &[SocketAddr], settings: &BTreeMap<String, String>) -> bool {
    let name = rustix::system::uname();
    settings.get("hostname").map(String::as_bytes) == Some(name.nodename().to_bytes())
        && addresses.iter().all(|address| is_own(address.ip()))
}

fn memory_bytes(files: &dyn Files) -> Option<u64> {
    Memory::read(files).total_bytes
}

fn is_rotational(files: &dyn Files, dir: &Path) -> Option<bool> {
    Place::read(files, dir).is_rotational()
}

/// A server that a study is going to start: its settings, then dyno's, then the defaults
/// of its version.
pub(in crate::doctor) fn planned(
    files: &dyn Files,
    name: String,
    engine: &'static dyn Server,
    config: &[(String, String)],
    installed: &Result<Installed, String>,
    asked: Asked,
    disk: Option<PathBuf>,
) -> Facts {
    let version = installed.as_ref().map_or("", |found| &found.version);
    let users = u32::try_from(asked.users).unwrap_or(u32::MAX);
    let chosen = engine.chosen_settings(config).into_iter();
    Facts {
        name,
        engine,
        version: version.to_owned(),
        settings: match installed {
            Ok(_) => Ok(engine.planned_settings(version, users, config)),
            Err(why) => Err(why.clone()),
        },
        chosen: chosen.map(|(name, _)| name).collect(),
        varied: BTreeSet::new(),
        planned: true,
        memory_bytes: memory_bytes(files),
        servers: asked.private_servers,
        data_bytes: None,
        turning_disk: disk.and_then(|disk| is_rotational(files, &disk)),
        demand: Some(demand(asked)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_of_the_same_name_is_another_one_at_another_address() {
        let name = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        let here = |address: &str, name: &str| {
            let addresses: Vec<SocketAddr> = address.parse().into_iter().collect();
            let settings = [("hostname".to_owned(), name.to_owned())];
            is_here(&addresses, &BTreeMap::from(settings))
        };
        assert!(here("127.0.0.1:3306", &name));
        // A Unix socket.
        assert!(here("", &name));
        // An address for documentation (RFC 5737), which no host has.
        assert!(!here("192.0.2.1:3306", &name));
        assert!(!here("127.0.0.1:3306", "elsewhere"));
    }
}

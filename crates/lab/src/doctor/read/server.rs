//! What is known of servers: asked of one that runs, worked out for one that is planned.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use engine::checks::{Demand, Facts};
use engine::{Installed, Server, ServerReport};
use host::{Files, Memory, Place};

use crate::Database;
use crate::doctor::asked::Asked;
use crate::server_process::{self, is_own};

/// A server that runs. What it does not tell is said by the checks.
pub(in crate::doctor) fn running(
    files: &dyn Files,
    database: &Database,
    asked: Option<Asked>,
) -> Option<Facts> {
    let (said, settings) = match database.ask()? {
        Ok(said) => (said.clone(), Ok(said.settings)),
        Err(why) => (ServerReport::default(), Err(why)),
    };
    let elsewhere = elsewhere(files, database, said.host_name.as_deref());
    let is_here = elsewhere.is_none() && settings.is_ok();
    let data_dir = said.data_dir.filter(|_| is_here);
    Some(Facts {
        name: database.shown(),
        engine: database.engine().server()?,
        version: database.version().to_owned(),
        settings,
        chosen: BTreeSet::new(),
        varied: BTreeSet::new(),
        planned: false,
        turning_disk: data_dir
            .as_deref()
            .and_then(|dir| is_rotational(files, dir)),
        data_dir,
        elsewhere,
        memory_bytes: is_here.then(|| memory_bytes(files)).flatten(),
        servers: 1,
        data_bytes: said.data_bytes,
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

/// Why a server is not known to run on this host. One that does not know its host's name is found
/// by its process.
fn elsewhere(files: &dyn Files, database: &Database, host_name: Option<&str>) -> Option<String> {
    let addresses = database.addresses();
    match host_name {
        Some(name) if is_here(&addresses, name) => None,
        Some(name) => Some(format!("it runs on {name}")),
        None => server_process::find(files, &**database).err(),
    }
}

/// Whether a server is reached at an address of this host and has its name: a container has
/// one of its own, a clone of this machine the same.
fn is_here(addresses: &[SocketAddr], host_name: &str) -> bool {
    let name = rustix::system::uname();
    host_name.as_bytes() == name.nodename().to_bytes()
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
        data_dir: None,
        elsewhere: None,
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
            is_here(&addresses, name)
        };
        assert!(here("127.0.0.1:3306", &name));
        // A Unix socket.
        assert!(here("", &name));
        // An address for documentation (RFC 5737), which no host has.
        assert!(!here("192.0.2.1:3306", &name));
        assert!(!here("127.0.0.1:3306", "elsewhere"));
    }
}

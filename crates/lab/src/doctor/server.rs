//! The facts about servers: read from running servers, derived for planned ones.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use engine::ServerReport;
use engine::checks::Facts as ServerFacts;
use host::{Files, Memory, Storage};
use plan::EngineSpec;

use super::Subject;
use super::requirements::Requirements;
use crate::Database;
use crate::server_process::{self, is_own};
use crate::trial::{Target, Trial};

/// A server that trials are going to start, and the first of these trials.
struct PlannedServer<'a> {
    spec: &'a EngineSpec,
    trial: &'a Trial,
    required: Requirements,
}

/// The given servers and those of the trials, without duplicates.
pub(super) fn all(subject: &Subject<'_>) -> Vec<ServerFacts> {
    let mut given: BTreeMap<String, (&Database, Option<Requirements>)> = BTreeMap::new();
    for database in subject.servers {
        given.insert(database.shown(), (database, None));
    }
    let mut planned: Vec<PlannedServer<'_>> = Vec::new();
    for trial in subject.trials_there() {
        let required = Requirements::of(trial, trial.is_elsewhere());
        match &trial.target {
            // Without monitors, dyno sends nothing to the server except the load.
            Target::Given(_) if !trial.planned.monitors => {}
            Target::Given(database) => {
                let (_, known) = given.entry(database.shown()).or_insert((database, None));
                *known = Some(known.map_or(required, |known| known.max(required)));
            }
            Target::Private(spec) => add_planned(&mut planned, spec, trial, required),
            Target::Temporary(_) => {}
        }
    }
    let running = given
        .into_values()
        .filter_map(|(database, required)| running(subject.files, database, required));
    let all = running.chain(planned_servers(subject.files, &planned));
    all.map(|server| match subject.elsewhere {
        Some(host) => ServerFacts {
            name: format!("{} on {host}", server.name),
            ..server
        },
        None => server,
    })
    .collect()
}

fn add_planned<'a>(
    planned: &mut Vec<PlannedServer<'a>>,
    spec: &'a EngineSpec,
    trial: &'a Trial,
    required: Requirements,
) {
    let node = &trial.planned.topology.node;
    let is_same = |known: &&mut PlannedServer<'_>| {
        known.spec == spec
            && known.trial.planned.topology.node == *node
            && cluster(known.trial) == cluster(trial)
    };
    match planned.iter_mut().find(is_same) {
        Some(known) => known.required = known.required.max(required),
        None => planned.push(PlannedServer {
            spec,
            trial,
            required,
        }),
    }
}

/// Kind and size of the cluster that the trial's servers form, if any.
fn cluster(trial: &Trial) -> Option<(&str, u32)> {
    let cluster = trial.planned.topology.cluster.as_ref()?;
    Some((cluster.kind.as_str(), cluster.members))
}

/// Checks report which of its settings could not be read.
fn running(
    files: &dyn Files,
    database: &Database,
    required: Option<Requirements>,
) -> Option<ServerFacts> {
    let (said, settings) = match database.server()?.report() {
        Ok(said) => (said.clone(), Ok(said.settings)),
        Err(why) => (ServerReport::default(), Err(why)),
    };
    let elsewhere = elsewhere(files, database, said.host_name.as_deref());
    let is_here = elsewhere.is_none() && settings.is_ok();
    let data_dir = said.data_dir.filter(|_| is_here);
    Some(ServerFacts {
        name: database.shown(),
        engine: database.engine().server()?,
        version: database.version().to_owned(),
        settings,
        chosen: BTreeSet::new(),
        varied: BTreeSet::new(),
        planned: false,
        turning_disk: is_rotational(files, data_dir.as_deref()),
        data_dir,
        elsewhere,
        memory_bytes: is_here.then(|| Memory::read(files).total_bytes).flatten(),
        servers: 1,
        data_bytes: said.data_bytes,
        demand: required.map(|required| required.server),
    })
}

/// Why a server is not known to run on this host; `None` if it does. A server that does not report
/// a host name is identified by its process.
fn elsewhere(files: &dyn Files, database: &Database, host_name: Option<&str>) -> Option<String> {
    let server = database.server();
    let addresses = server.map_or_else(Vec::new, |server| server.addresses());
    match host_name {
        Some(name) if is_here(&addresses, name) => None,
        Some(name) => Some(format!("it runs on {name}")),
        None => server_process::find(files, &**database).err(),
    }
}

/// Whether a server has an address and the name of this host. Neither is sufficient: a container
/// has its own host name, and a clone of this machine has the same one.
fn is_here(addresses: &[SocketAddr], host_name: &str) -> bool {
    let name = rustix::system::uname();
    host_name.as_bytes() == name.nodename().to_bytes()
        && addresses.iter().all(|address| is_own(address.ip()))
}

fn is_rotational(files: &dyn Files, dir: Option<&Path>) -> Option<bool> {
    Storage::read(files, dir?).is_rotational()
}

/// In descending precedence, settings come from the study, the cluster, dyno, and the defaults of
/// the server's version.
fn planned_servers(files: &dyn Files, planned: &[PlannedServer<'_>]) -> Vec<ServerFacts> {
    let mut versions = BTreeMap::new();
    let varied = varied(planned);
    let facts = planned.iter().filter_map(|server| {
        let (spec, required) = (server.spec, server.required);
        let engine = crate::spec::engine_of(spec).ok()?;
        let basedir = spec.basedir.as_ref().map(|basedir| &basedir.value);
        let wanted = spec.version.as_ref().map(|version| version.as_str());
        let version = versions.entry((spec.engine.as_str(), basedir, wanted));
        let version = version.or_insert_with(|| {
            let installed = crate::spec::installed(spec);
            let version = installed.map(|installed| installed.version);
            version.map_err(|failure| failure.message)
        });
        let of_cluster = cluster(server.trial).and_then(|(kind, members)| {
            let replication = engine.replicates_as(kind)?;
            Some(replication.checked_settings(members))
        });
        let config = crate::spec::config(spec);
        let all = [of_cluster.unwrap_or_default(), config.clone()].concat();
        let users = u32::try_from(required.server.users).unwrap_or(u32::MAX);
        let settings = |version: &String| engine.planned_settings(version, users, &all);
        let chosen = engine.chosen_settings(&config).into_iter();
        Some(ServerFacts {
            name: match planned.len() {
                1 => spec.engine.value.clone(),
                _ => format!("{} of {}", spec.engine.value, server.trial.planned.label),
            },
            engine,
            version: version.clone().unwrap_or_default(),
            settings: version.as_ref().map(settings).map_err(Clone::clone),
            chosen: chosen.map(|(name, _)| name).collect(),
            varied: varied.clone(),
            planned: true,
            data_dir: None,
            elsewhere: None,
            memory_bytes: Memory::read(files).total_bytes,
            servers: required.private_servers,
            data_bytes: None,
            turning_disk: is_rotational(files, server.trial.data_directory().as_deref()),
            demand: Some(required.server),
        })
    });
    facts.collect()
}

/// Settings whose values differ among the planned servers, because of an axis or of variants.
fn varied(planned: &[PlannedServer<'_>]) -> BTreeSet<String> {
    let of = |server: &PlannedServer<'_>| -> BTreeMap<String, String> {
        let engine = crate::spec::engine_of(server.spec).ok();
        let chosen = engine.map(|engine| engine.chosen_settings(&crate::spec::config(server.spec)));
        chosen.into_iter().flatten().collect()
    };
    let all: Vec<BTreeMap<String, String>> = planned.iter().map(of).collect();
    let names = all.iter().flat_map(|settings| settings.keys());
    let differs = |name: &&String| {
        let mut values = all.iter().map(|settings| settings.get(*name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    names.filter(differs).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_host_name_at_a_foreign_address_is_another_host() {
        let name = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        let here = |address: &str, name: &str| {
            let addresses: Vec<SocketAddr> = address.parse().into_iter().collect();
            is_here(&addresses, name)
        };
        assert!(here("127.0.0.1:3306", &name));
        assert!(here("", &name));
        // An address reserved for documentation (RFC 5737).
        assert!(!here("192.0.2.1:3306", &name));
        assert!(!here("127.0.0.1:3306", "elsewhere"));
    }
}

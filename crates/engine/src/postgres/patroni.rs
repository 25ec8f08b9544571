//! PostgreSQL under Patroni: a cluster manager beside each server starts it, as the primary while
//! the manager holds the leader's key in etcd, and as a standby otherwise.
//!
//! All members are copies of one prepared data directory. Patroni rewinds a member that has
//! diverged from the primary (`pg_rewind`).

use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use plan::{ClusterTraits, Conduct, Configured, Detector, Failure, Quorum};
use serde_json::{Map, Value, json};

use super::configuration::{HBA_FILE, IDENT_FILE, REPLICATION_ROLE, SUPERUSER, access_files};
use super::settings::decides_format;
use super::streaming;
use super::streaming::{AWAITED, acknowledged};
use crate::certificate::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE};
use crate::http;
use crate::launch::{Invocation, ServerFile};
use crate::program::{bad_program, helper};
use crate::replication::{
    ClusterLayout, ClusterManager, ManagedServer, Manager, Member, OwnedSettings, Replication,
    ReplicationTraits, Service, Switchover, member_name, settings,
};
use crate::settings::{HIDDEN, Settings, allowed_connections};

const HOW_TO_INSTALL: &str = "install Debian's packages patroni, etcd-server, and python3-psycopg2, or run \
     scripts/install-servers.sh patroni";
/// Patroni's configuration file. JSON is valid YAML.
const CONFIG_FILE: &str = "patroni.yml";
/// Seconds between Patroni's checks while the cluster forms.
const FORMING_LOOP_WAIT_S: u64 = 1;
/// How long Patroni may take to answer a request, for example to switch over, which it completes
/// before it answers.
const REQUEST_LIMIT: Duration = Duration::from_secs(120);
/// How long Patroni may take to choose a synchronous standby, and how often it is asked.
const STANDBY_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Newer versions of Patroni raise a lower `ttl` to this many seconds.
const MIN_TTL_S: u64 = 20;
/// The role that Patroni's REST API reports for a synchronous standby.
const SYNCHRONOUS_STANDBY: &str = "sync_standby";
/// How far, in bytes, a standby that succeeds the primary may be behind the primary's last known
/// position: Patroni's default.
const MAX_LAG_BYTES: u32 = 1 << 20;
/// The programs of PostgreSQL that Patroni runs.
const PROGRAMS: [&str; 6] = [
    "postgres",
    "pg_ctl",
    "pg_controldata",
    "pg_isready",
    "pg_rewind",
    "pg_basebackup",
];
/// Functions that `pg_rewind` calls on the primary.
const REWIND_RIGHTS: [&str; 4] = [
    "pg_ls_dir(text, boolean, boolean)",
    "pg_stat_file(text, boolean)",
    "pg_read_binary_file(text)",
    "pg_read_binary_file(text, bigint, bigint, boolean)",
];
/// Log messages of servers that refuse a login. The first member's manager tries the replication
/// account before it exists.
const REFUSALS: [&str; 3] = [
    "no pg_hba.conf entry for",
    "password authentication failed for user \"dyno\"",
    "Peer authentication failed for user",
];

#[derive(Debug)]
pub(super) enum Patroni {
    /// A commit waits for no standby: Patroni's default.
    Asynchronous,
    /// With `synchronous_mode`: a commit waits for the standby that Patroni chose, while there is
    /// one.
    Synchronous,
}

impl Replication for Patroni {
    fn traits(&'static self) -> ReplicationTraits {
        let (name, acknowledged): (_, fn(&Configured<'_>) -> String) = match self {
            Self::Asynchronous => ("patroni", |config| acknowledged(config, None)),
            Self::Synchronous => ("patroni-synchronous", |config| {
                acknowledged(config, Some("a standby, if there is one"))
            }),
        };
        let conduct = Conduct {
            detector: |config| Some(detector(config.ttl)),
            ..streaming::conduct(acknowledged)
        };
        let cluster = ClusterTraits {
            elects: true,
            has_manager: true,
            has_coordinator: true,
            // Without a standby, commits wait for none, even with `synchronous_mode`.
            ..ClusterTraits::new(name, Quorum::One, conduct)
        };
        ReplicationTraits {
            // Patroni's REST API.
            group_ports: 1,
            // etcd's ports for clients, for its own members, and for health checks.
            service_ports: 3,
            switchover: Some(self),
            manager: Some(self),
            ..ReplicationTraits::new(cluster, &streaming::QUESTIONS, &REFUSALS)
        }
    }

    /// Patroni writes the settings of replication.
    fn settings(&self, _: &ClusterLayout, _: u32) -> OwnedSettings {
        Vec::new()
    }

    fn checked_settings(&self, members: u32) -> OwnedSettings {
        let awaits = matches!(self, Self::Synchronous) && members > 1;
        let standby = awaits.then(|| (AWAITED, "a standby that Patroni chooses".to_owned()));
        settings(standby, &[])
    }

    fn data_files(&self, _: &ClusterLayout, _: u32) -> Vec<ServerFile> {
        Vec::new()
    }

    /// The first primary creates the account that standbys log in to and that is used for
    /// rewinding, and the slots that Patroni would create a little later: a standby that finds no
    /// slot waits for 5 s.
    fn join(&self, member: &Member<'_>) -> Result<(), Failure> {
        if member.number != 1 {
            return Ok(());
        }
        let grant =
            |function| format!("GRANT EXECUTE ON FUNCTION {function} TO {REPLICATION_ROLE}");
        let slot = |number| {
            let name = member_name(number);
            format!("SELECT pg_create_physical_replication_slot('{name}', true)")
        };
        let grants = REWIND_RIGHTS.iter().map(grant);
        let slots = (2..=member.cluster.count()).map(slot);
        streaming::create_roles(member, grants.chain(slots))
    }

    /// From now on, the managers check as rarely as the study wants, and drop the slots of members
    /// that are gone.
    fn complete(&self, member: &Member<'_>) -> Result<(), Failure> {
        if matches!(self, Self::Synchronous) && member.cluster.count() > 1 {
            wait_for_synchronous_standby(member)?;
        }
        let wanted = json!({"loop_wait": loop_wait_s(member.cluster.ttl), "ignore_slots": null});
        request(member, ("PATCH", "/config"), &wanted)
    }
}

impl ClusterManager for Patroni {
    fn process_file(&self) -> &'static str {
        "postmaster.pid"
    }

    /// Whoever can write to etcd decides which commands the servers run, so it admits only clients
    /// with the certificate's key. Its health is no secret.
    fn services(
        &self,
        cluster: &ClusterLayout,
        dir: &Path,
        own: &Path,
    ) -> Result<Vec<Service>, Failure> {
        let &[client, peer, health] = cluster.services.as_slice() else {
            let message = "etcd needs three ports".to_owned();
            return Err(Failure::internal(message));
        };
        let name = member_name(1);
        let (client_url, peer_url) = (format!("https://{client}"), format!("https://{peer}"));
        let health_url = format!("http://{health}");
        let cluster_option = format!("{name}={peer_url}");
        let data = own.join("etcd").display().to_string();
        let in_dir = |name: &str| dir.join(name).display().to_string();
        let authority_file = in_dir(AUTHORITY_FILE);
        let (certificate_file, key_file) = (in_dir(CERTIFICATE_FILE), in_dir(KEY_FILE));
        let options = [
            ("name", name.as_str()),
            ("data-dir", &data),
            ("listen-client-urls", &client_url),
            ("advertise-client-urls", &client_url),
            ("listen-peer-urls", &peer_url),
            ("initial-advertise-peer-urls", &peer_url),
            ("initial-cluster", &cluster_option),
            ("listen-metrics-urls", &health_url),
            ("client-cert-auth", "true"),
            ("trusted-ca-file", &authority_file),
            ("cert-file", &certificate_file),
            ("key-file", &key_file),
            ("peer-client-cert-auth", "true"),
            ("peer-trusted-ca-file", &authority_file),
            ("peer-cert-file", &certificate_file),
            ("peer-key-file", &key_file),
            ("log-level", "warn"),
        ];
        let arguments = options.map(|(option, value)| format!("--{option}={value}"));
        Ok(vec![Service {
            name: "etcd",
            invocation: Invocation::new(helper("etcd", HOW_TO_INSTALL)?, arguments),
            files: cluster.certificate.files().into(),
            address: health,
            health: Some(("/health", "true")),
        }])
    }

    fn manager(
        &self,
        cluster: &ClusterLayout,
        number: u32,
        server: &ManagedServer<'_>,
    ) -> Result<Manager, Failure> {
        let patroni = helper("patroni", HOW_TO_INSTALL)?;
        let config = |password: &str| {
            let mut config = configuration(cluster, number, server, password);
            config["bootstrap"]["dcs"]["synchronous_mode"] =
                matches!(self, Self::Synchronous).into();
            format!("{config:#}\n")
        };
        // From other members, the account also rewinds.
        let address = server.paths.address;
        let rewind = format!(
            "host {SUPERUSER} {REPLICATION_ROLE} {} scram-sha-256\n",
            address.trunc()
        );
        let access = access_files(address, server.account, &rewind);
        let identity = cluster.certificate.files();
        let programs = PROGRAMS.iter().map(|name| wrapper(name, server));
        let programs = programs.collect::<Result<Vec<_>, _>>()?;
        let file = ServerFile {
            kept: Some(config(HIDDEN)),
            ..ServerFile::new(CONFIG_FILE, config(&cluster.password))
        };
        let files = std::iter::once(file).chain(access).chain(identity);
        let config = server.paths.dir.join(CONFIG_FILE);
        Ok(Manager {
            invocation: Invocation::new(patroni, [config]),
            files: files.chain(programs).collect(),
        })
    }
}

impl Switchover for Patroni {
    /// The standby that commits wait for: Patroni refuses all others.
    fn successor(&self, member: &Member<'_>) -> Result<Option<u32>, Failure> {
        match self {
            Self::Asynchronous => Ok(None),
            Self::Synchronous => wait_for_synchronous_standby(member).map(Some),
        }
    }

    fn switch_over(&self, member: &Member<'_>, to: u32) -> Result<(), Failure> {
        let wanted = json!({"leader": member_name(member.number), "candidate": member_name(to)});
        request(member, ("POST", "/switchover"), &wanted)
    }
}

/// Sends a request to a member's manager, which may take `limit` to answer.
fn ask(
    member: &Member<'_>,
    request: (&str, &str),
    json: &str,
    limit: Duration,
) -> io::Result<http::Reply> {
    let address = member.cluster.group_address(member.number, 0);
    let certificate = &member.cluster.certificate;
    http::send(address, request, certificate, json, limit)
}

fn request(
    member: &Member<'_>,
    (method, path): (&str, &str),
    wanted: &Value,
) -> Result<(), Failure> {
    let reply = ask(member, (method, path), &wanted.to_string(), REQUEST_LIMIT);
    let words = match reply {
        Ok(reply) if reply.is_success() => return Ok(()),
        Ok(reply) => format!("{} ({})", reply.body.trim(), reply.status),
        Err(error) => error.to_string(),
    };
    Err(Failure::server(format!(
        "{method} {path} failed at the cluster manager of {}: {words}",
        member.login.server
    )))
}

/// Waits until the primary's manager has chosen the standby that commits wait for. Before that, no
/// other member would succeed the primary.
fn wait_for_synchronous_standby(member: &Member<'_>) -> Result<u32, Failure> {
    let deadline = Instant::now() + STANDBY_LIMIT;
    loop {
        if let Some(number) = synchronous_standby(member) {
            return Ok(number);
        }
        if Instant::now() > deadline {
            let message = format!(
                "the cluster manager of {} chose no synchronous standby within {} s",
                member.login.server,
                STANDBY_LIMIT.as_secs()
            );
            return Err(Failure::server(message));
        }
        sleep(POLL_INTERVAL);
    }
}

/// `None` if the primary's manager has not chosen one.
fn synchronous_standby(member: &Member<'_>) -> Option<u32> {
    let asked = ask(member, ("GET", "/cluster"), "", http::ANSWER_LIMIT);
    let cluster: Value = serde_json::from_str(&asked.ok()?.body).ok()?;
    let mut members = cluster["members"].as_array()?.iter();
    let standby = members.find(|one| one["role"] == SYNCHRONOUS_STANDBY)?;
    let mut numbers = 1..=member.cluster.count();
    numbers.find(|number| standby["name"] == member_name(*number))
}

/// Seconds between the checks of managers.
fn loop_wait_s(ttl: Duration) -> u64 {
    ttl.as_secs() / 3
}

/// A manager restarts its own server, and loses the leader's key only when it ends itself.
fn detector(ttl: Duration) -> Detector {
    let (loop_wait_s, ttl_s) = (loop_wait_s(ttl), ttl.as_secs());
    let raised = match ttl_s {
        ..MIN_TTL_S => format!(" ({MIN_TTL_S} s in newer versions of Patroni)"),
        _ => String::new(),
    };
    Detector {
        text: format!(
            "Patroni: a server within loop_wait {loop_wait_s} s, a server and its Patroni after \
             ttl {ttl_s} s{raised}"
        ),
        within: ttl.saturating_add(Duration::from_secs(loop_wait_s)),
    }
}

/// Patroni's configuration of one member.
fn configuration(
    cluster: &ClusterLayout,
    number: u32,
    server: &ManagedServer<'_>,
    password: &str,
) -> Value {
    let paths = server.paths;
    let in_dir = |name: &str| paths.dir.join(name).display().to_string();
    let own = cluster.client_address(number).to_string();
    let api = cluster.group_address(number, 0).to_string();
    let account = json!({
        "username": REPLICATION_ROLE,
        "password": password,
        "sslmode": "verify-ca",
        "sslrootcert": in_dir(AUTHORITY_FILE),
    });
    json!({
        "scope": "dyno",
        "name": member_name(number),
        "restapi": {
            "listen": &api,
            "connect_address": &api,
            "cafile": in_dir(AUTHORITY_FILE),
            "certfile": in_dir(CERTIFICATE_FILE),
            "keyfile": in_dir(KEY_FILE),
            "verify_client": "required",
        },
        "etcd3": {
            "hosts": cluster.services[0].to_string(),
            "protocol": "https",
            "cacert": in_dir(AUTHORITY_FILE),
            "cert": in_dir(CERTIFICATE_FILE),
            "key": in_dir(KEY_FILE),
        },
        "bootstrap": {"dcs": dynamic_configuration(cluster.ttl, paths.connections, server.config)},
        "postgresql": {
            "listen": &own,
            "connect_address": &own,
            "data_dir": paths.data.display().to_string(),
            "bin_dir": paths.dir.display().to_string(),
            "custom_conf": paths.config().display().to_string(),
            "pgpass": paths.own.join("pgpass").display().to_string(),
            "use_unix_socket": true,
            "authentication": {
                "superuser": {"username": SUPERUSER},
                "replication": &account,
                "rewind": &account,
            },
            "parameters": {
                "hba_file": in_dir(HBA_FILE),
                "ident_file": in_dir(IDENT_FILE),
                "ssl": "on",
                "ssl_cert_file": in_dir(CERTIFICATE_FILE),
                "ssl_key_file": in_dir(KEY_FILE),
                "unix_socket_directories": paths.own.display().to_string(),
            },
            "basebackup": [{"checkpoint": "fast"}],
        },
        "watchdog": {"mode": "off"},
    })
}

/// The configuration that all members share, which the first one stores in etcd. `max_connections`
/// and some other settings can only be set here.
fn dynamic_configuration(ttl: Duration, connections: u32, config: &Settings) -> Value {
    let own = [
        (
            "max_connections".to_owned(),
            allowed_connections(connections).to_string(),
        ),
        ("max_wal_senders".to_owned(), "10".to_owned()),
    ];
    let study = config.iter().filter(|(name, _)| !decides_format(name));
    let parameters = own.iter().chain(study);
    let parameters: Map<String, Value> = parameters
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone().into()))
        .collect();
    let ttl_s = ttl.as_secs();
    json!({
        "ttl": ttl_s,
        "loop_wait": FORMING_LOOP_WAIT_S,
        // Patroni requires loop_wait + 2 * retry_timeout <= ttl.
        "retry_timeout": (ttl_s - loop_wait_s(ttl)) / 2,
        "maximum_lag_on_failover": MAX_LAG_BYTES,
        // The first primary must not drop the slots of members that have yet to start.
        "ignore_slots": [{"type": "physical"}],
        "postgresql": {"use_pg_rewind": true, "use_slots": true, "parameters": parameters},
    })
}

/// A script that runs one of PostgreSQL's programs. It makes the server's configuration file its
/// standard input, which identifies its processes like those that the laboratory starts; Patroni
/// would give it /dev/null.
fn wrapper(name: &'static str, server: &ManagedServer<'_>) -> Result<ServerFile, Failure> {
    // Distributions link to the server from elsewhere, but not to all other programs.
    let postgres = server.program.canonicalize();
    let postgres = postgres.unwrap_or_else(|_| server.program.to_owned());
    let program = postgres.with_file_name(name);
    if !program.is_file() {
        return Err(bad_program(&postgres, &format!("its {name} is missing")));
    }
    let program = quoted(&program);
    let config = quoted(&server.paths.config());
    let serve = match name {
        "postgres" => {
            format!("case $1 in -D) exec {program} \"$@\" <{config} ;; esac\n")
        }
        _ => String::new(),
    };
    let script = format!("#!/bin/sh\n{serve}exec {program} \"$@\"\n");
    Ok(ServerFile {
        is_executable: true,
        ..ServerFile::new(name, script)
    })
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

//! MariaDB's Galera cluster: every member accepts writes, and the members agree on the order of
//! transactions before they commit.
//!
//! All members are copies of one prepared data directory, so the first start needs no data
//! transfer: each member is told that it has the state that the cluster has just before it joins. A
//! member that was away gets what it missed from another member's cache (IST) or, if the cache no
//! longer has it, all data by rsync (SST). Members admit only holders of the cluster's key; SST
//! goes through stunnel, which does the same.

use std::path::Path;
use std::time::Duration;

use client::mysql::Mysql;
use plan::{ClusterTraits, Conduct, Configured, Detector, Failure, Quorum, StaticSettings};

use super::account::{DENIED, TLS_SETTINGS, strangers};
use super::acknowledged::{MARIADB_ENGINE_LOG, written};
use super::group_replication::uuid;
use super::settings::{PROVIDER, PROVIDER_OPTIONS};
use crate::certificate::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE};
use crate::launch::ServerFile;
use crate::program::helper;
use crate::remote::Rows;
use crate::replication::{
    Bootstrap, ClusterLayout, Member, OwnedSettings, Questions, Replication, ReplicationTraits,
    Role, View, cell, member_name, settings,
};

/// Where packages install Galera's library, for 10.11 and later.
const LIBRARIES: [&str; 3] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
];
/// Log messages about refused logins and about servers without the cluster's key. They also report
/// members that cannot be reached, with other reasons.
const REFUSALS: [&str; 6] = [
    DENIED,
    "Failed to establish connection: unexpected eof",
    "Failed to establish connection: tlsv1 alert",
    "Failed to establish connection: certificate",
    "Failed to establish connection: peer did not return a certificate",
    "Failed to establish connection: wrong version number",
];
const HOW_TO_INSTALL: &str =
    "install Debian's package stunnel4, or run scripts/install-servers.sh mariadb";
const STATE_FILE: &str = "grastate.dat";
/// In that file: the position is unknown, as after a crash.
const UNKNOWN: i64 = -1;
/// What precedes the position in the output of [`Galera::recovery`].
const RECOVERED: &str = "WSREP: Recovered position:";
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_status', \
     'wsrep_cluster_size', 'wsrep_local_state_comment', 'wsrep_ready', 'wsrep_incoming_addresses')";
/// The last transaction that a member has applied, and how many more it has received.
const RECEIVED: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_last_committed', \
     'wsrep_local_recv_queue')";
/// Makes a member that is in no cluster a cluster of its own.
const BEGIN: &str = "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'";
/// Settings of every member; Galera requires the last two.
const SETTINGS: StaticSettings = &[
    ("wsrep_on", "ON"),
    ("wsrep_sst_method", "rsync"),
    ("binlog_format", "ROW"),
    ("innodb_autoinc_lock_mode", "2"),
];

#[derive(Debug)]
pub(super) struct Galera;

impl Replication for Galera {
    fn traits(&'static self) -> ReplicationTraits {
        let cluster = ClusterTraits {
            elects: true,
            ..ClusterTraits::new("galera", Quorum::Majority, CONDUCT)
        };
        ReplicationTraits {
            has_many_primaries: true,
            // For the group, IST, and SST.
            group_ports: 3,
            recovery: Some(&["--wsrep-recover"]),
            bootstrap: Some(self),
            ..ReplicationTraits::new(cluster, &QUESTIONS, &REFUSALS)
        }
    }

    fn settings(&self, cluster: &ClusterLayout, number: u32) -> OwnedSettings {
        let at = |group_port| cluster.group_address(number, group_port).to_string();
        let own = [
            ("server_id", number.to_string()),
            (PROVIDER, library().to_owned()),
            ("wsrep_cluster_name", cluster.id.clone()),
            // The first member finds no other and forms a cluster.
            ("wsrep_cluster_address", peers(cluster, number == 1)),
            ("wsrep_node_name", member_name(number)),
            ("wsrep_node_address", at(0)),
            (
                "wsrep_node_incoming_address",
                cluster.client_address(number).to_string(),
            ),
            ("wsrep_sst_receive_address", at(2)),
            // Without the addresses, it would listen on all addresses of the host. A restarted
            // member would look for those that it knew before, which delays it in a group that was
            // bootstrapped again.
            (
                PROVIDER_OPTIONS,
                format!(
                    "gmcast.listen_addr=ssl://{}; ist.recv_addr={}; pc.recovery=FALSE; \
                     socket.ssl=YES; socket.ssl_ca={AUTHORITY_FILE}; \
                     socket.ssl_cert={CERTIFICATE_FILE}; socket.ssl_key={KEY_FILE}",
                    at(0),
                    at(1)
                ),
            ),
        ];
        settings(own, &[SETTINGS, TLS_SETTINGS])
    }

    fn data_files(&self, cluster: &ClusterLayout, number: u32) -> Vec<ServerFile> {
        // Each join of a member takes the next number in the cluster's order.
        let joins = number.saturating_sub(1);
        let state = state_file(cluster, joins.into(), number == 1);
        let identity = cluster.certificate.files();
        identity.into_iter().chain([state]).collect()
    }

    fn restart_settings(
        &self,
        cluster: &ClusterLayout,
        printed: &str,
        bootstraps: bool,
    ) -> OwnedSettings {
        let position = position(printed).map(|found| ("wsrep_start_position", found.to_owned()));
        let own = [("wsrep_cluster_address", peers(cluster, bootstraps))];
        settings(own.into_iter().chain(position), &[])
    }

    /// The server has joined already, but without stunnel it could not return.
    fn join(&self, _: &Member<'_>) -> Result<(), Failure> {
        helper("stunnel", HOW_TO_INSTALL).map(drop)
    }
}

static QUESTIONS: Questions = Questions {
    view_query: STATUS,
    view: |rows| {
        let size = status(rows, "wsrep_cluster_size");
        let addresses = status(rows, "wsrep_incoming_addresses");
        View {
            state: state_of(rows),
            others: format!("{size}: {addresses}"),
        }
    },
    state: |member| Ok(state_of(&member.rows::<Mysql>(STATUS)?)),
    strangers: |member| {
        let rows = member.rows::<Mysql>(STATUS)?;
        let members = status(&rows, "wsrep_incoming_addresses").split(',');
        // A member that has left its cluster lists none.
        let members = members.filter(|address| !address.is_empty());
        let members = member.cluster.strangers(members);
        Ok(members.chain(strangers(member)?).collect())
    },
};

impl Bootstrap for Galera {
    fn received(&self, member: &Member<'_>) -> Result<u64, Failure> {
        let counts = member.rows::<Mysql>(RECEIVED)?;
        let counts = counts.iter().filter_map(|row| cell(row, 1).parse().ok());
        Ok(counts.fold(0, u64::saturating_add))
    }

    fn group_size(&self, member: &Member<'_>) -> Result<Option<u32>, Failure> {
        let rows = member.rows::<Mysql>(STATUS)?;
        let size = status(&rows, "wsrep_cluster_size").parse().ok();
        Ok(size.filter(|_| is_in_primary_component(&rows)))
    }

    fn recovered(&self, printed: &str) -> u64 {
        let number = position(printed).and_then(|found| found.rsplit_once(':'));
        number
            .and_then(|(_, number)| number.parse().ok())
            .unwrap_or(0)
    }

    fn data_files(&self, cluster: &ClusterLayout) -> Vec<ServerFile> {
        vec![state_file(cluster, UNKNOWN, true)]
    }

    fn begin(&self, member: &Member<'_>) -> Result<(), Failure> {
        member.run::<Mysql>(&[BEGIN.to_owned()])
    }
}

/// The members that certify a transaction hold it in memory, whatever their settings.
const CONDUCT: Conduct = Conduct {
    detector: |config| Some(detector(config)),
    acknowledged: |config| {
        let own = written(config, &[MARIADB_ENGINE_LOG], "the member written to");
        match config.members {
            1 => own,
            _ => format!("{own}, memory of the others"),
        }
    },
    durable: &[("innodb_flush_log_at_trx_commit", "1")],
    tuned: &[
        ("wsrep_slave_threads", "4"),
        ("innodb_buffer_pool_size", "256M"),
    ],
};

/// The other members expel a silent one once all of them suspect it, and at the latest once it is
/// inactive.
fn detector(config: &Configured<'_>) -> Detector {
    let options = config.value(PROVIDER_OPTIONS, "").to_ascii_uppercase();
    let timeout = |name: &str, default: &str| {
        let values = options.split(';').filter_map(|one| one.split_once('='));
        let mut of_name = values.filter(|(known, _)| known.trim().eq_ignore_ascii_case(name));
        let last = of_name.next_back();
        last.map_or(default, |(_, value)| value.trim()).to_owned()
    };
    let suspect = timeout("evs.suspect_timeout", "PT5S");
    let inactive = timeout("evs.inactive_timeout", "PT15S");
    Detector {
        within: period(&suspect).unwrap_or(Duration::MAX),
        text: format!(
            "the members: evs.suspect_timeout {suspect}, evs.inactive_timeout {inactive}"
        ),
    }
}

/// A duration in Galera's format, for example `PT1M2.5S`.
fn period(text: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    for part in text
        .strip_prefix("PT")?
        .split_inclusive(char::is_alphabetic)
    {
        let (number, unit) = part.split_at_checked(part.len().checked_sub(1)?)?;
        let unit_s = match unit {
            "H" => 3600.0,
            "M" => 60.0,
            "S" => 1.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * unit_s;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// The state file of a member that has the cluster's state up to transaction `last`.
fn state_file(cluster: &ClusterLayout, last: i64, may_bootstrap: bool) -> ServerFile {
    let text = format!(
        "# GALERA saved state\nversion: 2.1\nuuid:    {}\nseqno:   {last}\nsafe_to_bootstrap: {}\n",
        uuid(&cluster.id),
        u8::from(may_bootstrap),
    );
    ServerFile::new(STATE_FILE, text)
}

fn position(printed: &str) -> Option<&str> {
    let mut lines = printed.lines().rev();
    lines.find_map(|line| Some(line.split_once(RECOVERED)?.1.trim()))
}

/// Whether a member belongs to the part of its cluster that has the majority.
fn is_in_primary_component(rows: &Rows) -> bool {
    status(rows, "wsrep_cluster_status") == "Primary"
}

/// A member that sends or receives a copy of the data accepts no writes meanwhile.
fn state_of(rows: &Rows) -> Role {
    let is = |name, value| status(rows, name) == value;
    let accepts_writes = is_in_primary_component(rows)
        && is("wsrep_local_state_comment", "Synced")
        && is("wsrep_ready", "ON");
    match accepts_writes {
        true => Role::Primary,
        false => Role::Detached,
    }
}

fn status<'a>(rows: &'a Rows, name: &str) -> &'a str {
    let row = rows.iter().find(|row| cell(row, 0) == name);
    row.map_or("", |row| cell(row, 1))
}

/// The members that a member connects to. If `is_new`, it forms a cluster of its own.
fn peers(cluster: &ClusterLayout, is_new: bool) -> String {
    let members = cluster.group_addresses().map(|address| address.to_string());
    let members: Vec<String> = members.filter(|_| !is_new).collect();
    format!("gcomm://{}", members.join(","))
}

fn library() -> &'static str {
    let mut known = LIBRARIES.into_iter();
    let found = known.find(|path| Path::new(path).exists());
    found.unwrap_or(LIBRARIES[0])
}

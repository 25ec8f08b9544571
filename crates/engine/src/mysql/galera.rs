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

use plan::{Conduct, Configured, Detector};

use super::acknowledged::{MARIADB_ENGINE_LOG, written};
use super::group_replication::uuid;
use super::log_dialect::MARIADB;
use super::member::{DENIED, TLS_SETTINGS, rows, run, strangers};
use crate::certificate::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE};
use crate::failure::Failure;
use crate::manager::program;
use crate::replication::{
    Bootstrap, Formation, Member, MemberAddress, Replication, Role, View, cell, member_name,
};
use crate::server::ServerFile;

/// The setting with Galera's library.
pub(super) const PROVIDER: &str = "wsrep_provider";
/// The setting with the options of Galera's library.
pub(super) const PROVIDER_OPTIONS: &str = "wsrep_provider_options";
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
/// The file in which a member records its state.
const STATE_FILE: &str = "grastate.dat";
/// In that file: the position is unknown, as after a crash.
const UNKNOWN: i64 = -1;
/// What precedes the position in the output of [`Galera::recovery`].
const RECOVERED: &str = "WSREP: Recovered position:";
/// The state of a member.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_status', \
     'wsrep_cluster_size', 'wsrep_local_state_comment', 'wsrep_ready', 'wsrep_incoming_addresses')";
/// The last transaction that a member has applied, and how many more it has received.
const RECEIVED: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_last_committed', \
     'wsrep_local_recv_queue')";
/// Makes a member that is in no cluster a cluster of its own.
const BEGIN: &str = "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'";
/// Settings of every member; Galera requires the last two.
const SETTINGS: [(&str, &str); 4] = [
    ("wsrep_on", "ON"),
    ("wsrep_sst_method", "rsync"),
    ("binlog_format", "ROW"),
    ("innodb_autoinc_lock_mode", "2"),
];

#[derive(Debug)]
pub(super) struct Galera;

impl Replication for Galera {
    fn name(&self) -> &'static str {
        "galera"
    }

    fn settings(&self, cluster: &Formation, number: u32) -> Vec<(String, String)> {
        let member = cluster.member(number);
        let at = |group_port| member.and_then(|member| address(member, group_port));
        let at = |group_port| at(group_port).unwrap_or_default();
        let client = cluster.client_address(number);
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
                client.map_or_else(String::new, |client| client.to_string()),
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
        let all = SETTINGS.into_iter().chain(TLS_SETTINGS);
        let all = all.map(|(name, value)| (name, value.to_owned()));
        let all = own.into_iter().chain(all);
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The members that certify a transaction hold it in memory, whatever their settings.
    fn conduct(&self) -> Conduct {
        Conduct {
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
        }
    }

    fn data_files(&self, cluster: &Formation, number: u32) -> Vec<ServerFile> {
        // Each join of a member takes the next number in the cluster's order.
        let joins = number.saturating_sub(1);
        let state = state_file(cluster, joins.into(), number == 1);
        cluster
            .certificate
            .files()
            .into_iter()
            .chain([state])
            .collect()
    }

    fn recovery(&self) -> Option<&'static [&'static str]> {
        Some(&["--wsrep-recover"])
    }

    fn restart_settings(
        &self,
        cluster: &Formation,
        printed: &str,
        bootstraps: bool,
    ) -> Vec<(String, String)> {
        let position = position(printed).map(|found| ("wsrep_start_position", found.to_owned()));
        let settings = [("wsrep_cluster_address", peers(cluster, bootstraps))];
        let settings = settings.into_iter().chain(position);
        settings
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// The server has joined already, but without stunnel it could not return.
    fn join(&self, _: &Member<'_>) -> Result<(), Failure> {
        program("stunnel", HOW_TO_INSTALL).map(drop)
    }

    fn bootstrap(&self) -> Option<&'static dyn Bootstrap> {
        Some(&Self)
    }

    fn received(&self, member: &Member<'_>) -> Result<u64, Failure> {
        let counts = rows(member, RECEIVED)?;
        let counts = counts.iter().filter_map(|row| cell(row, 1).parse().ok());
        Ok(counts.fold(0, u64::saturating_add))
    }

    fn elects(&self) -> bool {
        true
    }

    fn has_many_primaries(&self) -> bool {
        true
    }

    /// For the group, IST, and SST.
    fn group_ports(&self) -> usize {
        3
    }

    fn view_query(&self) -> &'static str {
        STATUS
    }

    fn view(&self, rows: &[Vec<Option<String>>]) -> View {
        let size = status(rows, "wsrep_cluster_size");
        let addresses = status(rows, "wsrep_incoming_addresses");
        View {
            state: state_of(rows),
            others: format!("{size}: {addresses}"),
        }
    }

    fn strangers(&self, member: &Member<'_>) -> Result<Vec<String>, Failure> {
        let status = rows(member, STATUS)?;
        let members = self::status(&status, "wsrep_incoming_addresses").split(',');
        let others = members.filter(|address| !member.cluster.has_member_at(address));
        let others = others.map(|address| format!("a member at {address:?}"));
        let sessions = strangers(member, MARIADB.replicas)?;
        Ok(others.chain(sessions).collect())
    }

    fn refusals(&self) -> &'static [&'static str] {
        &REFUSALS
    }

    fn state(&self, member: &Member<'_>) -> Result<Role, Failure> {
        Ok(state_of(&rows(member, STATUS)?))
    }
}

impl Bootstrap for Galera {
    fn group_size(&self, member: &Member<'_>) -> Result<Option<u32>, Failure> {
        let rows = rows(member, STATUS)?;
        let size = status(&rows, "wsrep_cluster_size").parse().ok();
        Ok(size.filter(|_| is_in_primary_component(&rows)))
    }

    fn recovered(&self, printed: &str) -> u64 {
        let number = position(printed).and_then(|found| found.rsplit_once(':'));
        number
            .and_then(|(_, number)| number.parse().ok())
            .unwrap_or(0)
    }

    fn data_files(&self, cluster: &Formation) -> Vec<ServerFile> {
        vec![state_file(cluster, UNKNOWN, true)]
    }

    fn begin(&self, member: &Member<'_>) -> Result<(), Failure> {
        run(member, &[BEGIN.to_owned()])
    }
}

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
fn state_file(cluster: &Formation, last: i64, may_bootstrap: bool) -> ServerFile {
    let text = format!(
        "# GALERA saved state\nversion: 2.1\nuuid:    {}\nseqno:   {last}\nsafe_to_bootstrap: {}\n",
        uuid(&cluster.id),
        u8::from(may_bootstrap),
    );
    ServerFile {
        name: STATE_FILE,
        text,
        is_temporary: false,
    }
}

/// The last position that a member's program printed.
fn position(printed: &str) -> Option<&str> {
    let mut lines = printed.lines().rev();
    lines.find_map(|line| Some(line.split_once(RECOVERED)?.1.trim()))
}

/// Whether a member belongs to the part of its cluster that has the majority.
fn is_in_primary_component(rows: &[Vec<Option<String>>]) -> bool {
    status(rows, "wsrep_cluster_status") == "Primary"
}

/// A member that sends or receives a copy of the data accepts no writes meanwhile.
fn state_of(rows: &[Vec<Option<String>>]) -> Role {
    let is = |name, value| status(rows, name) == value;
    let accepts_writes = is_in_primary_component(rows)
        && is("wsrep_local_state_comment", "Synced")
        && is("wsrep_ready", "ON");
    match accepts_writes {
        true => Role::Primary,
        false => Role::Detached,
    }
}

/// A status variable in an answer to [`STATUS`].
fn status<'a>(rows: &'a [Vec<Option<String>>], name: &str) -> &'a str {
    let row = rows.iter().find(|row| cell(row, 0) == name);
    row.map_or("", |row| cell(row, 1))
}

/// The members that a member connects to. If `is_new`, it forms a cluster of its own.
fn peers(cluster: &Formation, is_new: bool) -> String {
    let members = cluster.group_addresses().map(|address| address.to_string());
    let members: Vec<String> = members.filter(|_| !is_new).collect();
    format!("gcomm://{}", members.join(","))
}

fn address(member: &MemberAddress, group_port: usize) -> Option<String> {
    let port = member.group_ports.get(group_port)?;
    Some(format!("{}:{port}", member.ip))
}

/// The path of Galera's library.
fn library() -> &'static str {
    let mut known = LIBRARIES.into_iter();
    let found = known.find(|path| Path::new(path).exists());
    found.unwrap_or(LIBRARIES[0])
}

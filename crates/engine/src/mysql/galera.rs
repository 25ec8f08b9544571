//! MariaDB's Galera cluster: every member accepts writes, and the members agree on the order of
//! transactions before they commit.
//!
//! All members are copies of one prepared data directory, so the first start needs no transfer of
//! data: each member is told that it has the cluster's state of just before it joins. A member that
//! was away gets what it missed from another one's cache (IST) or, if the cache no longer has it,
//! all of the data by rsync (SST).

use std::path::Path;

use super::group_replication::uuid;
use super::member::rows;
use crate::error::EngineError;
use crate::replication::{
    Formation, MemberAddress, MemberState, Recovery, Replication, View, cell, member_name,
};
use crate::server::{Login, ServerFile};

/// The setting with the options of Galera's library.
pub(super) const PROVIDER_OPTIONS: &str = "wsrep_provider_options";
/// Where packages install Galera's library, for 10.11 and its successors.
const LIBRARIES: [&str; 3] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
];
/// The file in which a member notes its state.
const STATE_FILE: &str = "grastate.dat";
/// Its line, when the member was the last one of its cluster.
const IS_LAST: &str = "safe_to_bootstrap: 1";
/// What precedes the position in the output of [`Galera::recovery`].
const RECOVERED: &str = "WSREP: Recovered position:";
/// The state of a member.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_status', \
     'wsrep_cluster_size', 'wsrep_local_state_comment', 'wsrep_ready', 'wsrep_incoming_addresses')";
/// What every member's configuration has; Galera requires both.
const SETTINGS: [(&str, &str); 5] = [
    ("wsrep_on", "ON"),
    ("wsrep_cluster_name", "dyno"),
    ("wsrep_sst_method", "rsync"),
    ("binlog_format", "ROW"),
    ("innodb_autoinc_lock_mode", "2"),
];

/// Galera, the library that makes MariaDB's servers a cluster.
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
            ("wsrep_provider", library().to_owned()),
            // The first member finds nobody, and is a cluster.
            ("wsrep_cluster_address", peers(cluster, number == 1)),
            ("wsrep_node_name", member_name(number)),
            ("wsrep_node_address", at(0)),
            (
                "wsrep_node_incoming_address",
                client.map_or_else(String::new, |client| client.to_string()),
            ),
            ("wsrep_sst_receive_address", at(2)),
            // Without these, it would listen on all addresses of the host.
            (
                PROVIDER_OPTIONS,
                format!(
                    "gmcast.listen_addr=tcp://{}; ist.recv_addr={}",
                    at(0),
                    at(1)
                ),
            ),
        ];
        let all = SETTINGS.map(|(name, value)| (name, value.to_owned()));
        let all = own.into_iter().chain(all);
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn data_files(&self, cluster: &Formation, number: u32) -> Vec<ServerFile> {
        // Each join of a member takes the next number in the cluster's order.
        let text = format!(
            "# GALERA saved state\nversion: 2.1\nuuid:    {}\nseqno:   {}\nsafe_to_bootstrap: {}\n",
            uuid(&cluster.id),
            number.saturating_sub(1),
            u8::from(number == 1),
        );
        vec![ServerFile {
            name: STATE_FILE,
            text,
            is_temporary: false,
        }]
    }

    fn recovery(&self) -> Option<Recovery> {
        Some(Recovery {
            arguments: &["--wsrep-recover"],
            state_file: STATE_FILE,
        })
    }

    fn restart_settings(
        &self,
        cluster: &Formation,
        printed: &str,
        state: &str,
    ) -> Vec<(String, String)> {
        let is_last = state.lines().any(|line| line.trim() == IS_LAST);
        let mut lines = printed.lines().rev();
        let position = lines.find_map(|line| Some(line.split_once(RECOVERED)?.1.trim()));
        let position = position.map(|position| ("wsrep_start_position", position.to_owned()));
        let settings = [("wsrep_cluster_address", peers(cluster, is_last))];
        let settings = settings.into_iter().chain(position);
        settings
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    fn join(&self, _: &Formation, _: u32, _: &Login<'_>) -> Result<(), EngineError> {
        Ok(())
    }

    fn elects(&self) -> bool {
        true
    }

    fn has_many_primaries(&self) -> bool {
        true
    }

    /// For the group, for IST, and for SST.
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

    fn state(&self, login: &Login<'_>) -> Result<MemberState, EngineError> {
        Ok(state_of(&rows(login, STATUS)?))
    }
}

/// A member that gives or gets a copy of the data accepts no writes for that time.
fn state_of(rows: &[Vec<Option<String>>]) -> MemberState {
    let is = |name, value| status(rows, name) == value;
    let accepts_writes = is("wsrep_cluster_status", "Primary")
        && is("wsrep_local_state_comment", "Synced")
        && is("wsrep_ready", "ON");
    match accepts_writes {
        true => MemberState::Primary,
        false => MemberState::Detached,
    }
}

/// A status variable in the answer to [`STATUS`].
fn status<'a>(rows: &'a [Vec<Option<String>>], name: &str) -> &'a str {
    let row = rows.iter().find(|row| cell(row, 0) == name);
    row.map_or("", |row| cell(row, 1))
}

/// Where a member looks for the others; `is_new`: it is a cluster by itself.
fn peers(cluster: &Formation, is_new: bool) -> String {
    let members = cluster.group_addresses().map(|address| address.to_string());
    let members: Vec<String> = members.filter(|_| !is_new).collect();
    format!("gcomm://{}", members.join(","))
}

fn address(member: &MemberAddress, group_port: usize) -> Option<String> {
    let port = member.group_ports.get(group_port)?;
    Some(format!("{}:{port}", member.ip))
}

/// Where Galera's library is.
fn library() -> &'static str {
    let mut known = LIBRARIES.into_iter();
    let found = known.find(|path| Path::new(path).exists());
    found.unwrap_or(LIBRARIES[0])
}

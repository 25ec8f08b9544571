//! MySQL's Group Replication with a single primary: the members agree on the order of transactions
//! before they commit, and elect another primary when theirs is gone.

use std::time::Duration;

use client::mysql::{Connection, Mysql};
use plan::{ClusterTraits, Conduct, Configured, Detector, Failure, Quorum, StaticSettings};

use super::account::{ACCOUNT, DENIED, TLS_SETTINGS, create_account, strangers};
use super::acknowledged::{DURABLE, MYSQL_LOGS, PRIMARY, written};
use super::gtid;
use super::log_dialect::LOG_REFUSALS;
use crate::certificate::AUTHORITY_FILE;
use crate::remote::{Rows, first_cell};
use crate::replication::{
    Bootstrap, ClusterLayout, Member, MemberAddress, OwnedSettings, Questions, Replication,
    ReplicationTraits, Role, Switchover, View, cell, settings, text,
};

/// The privileges of the replication account.
const RIGHTS: &str = "REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM";
/// For each member: whether it is the one that is asked, its role, its state, and its port.
const VIEW: &str = "SELECT member_id = @@server_uuid, member_role, member_state, member_port \
     FROM performance_schema.replication_group_members ORDER BY member_port";
/// The client address of each member; a server that is in no group has a row without one.
const MEMBERS: &str = "SELECT CONCAT(member_host, ':', member_port) \
     FROM performance_schema.replication_group_members WHERE member_port IS NOT NULL";
/// The transactions that a member has applied, and those that it has only received.
const RECEIVED: &str = "SELECT @@global.gtid_executed, GTID_SUBTRACT((SELECT received_transaction_set \
     FROM performance_schema.replication_connection_status \
     WHERE channel_name = 'group_replication_applier'), @@global.gtid_executed)";
/// How long a suspected member may stay.
const EXPEL_TIMEOUT: &str = "group_replication_member_expel_timeout";
/// When a silent member is suspected, and how often suspicions are checked; neither can be
/// configured.
const SUSPECTED_AFTER: Duration = Duration::from_secs(5);
const CHECKED_EVERY: Duration = Duration::from_secs(15);
/// What a transaction waits for.
const CONSISTENCY: &str = "group_replication_consistency";
const STOP: &str = "STOP GROUP_REPLICATION";
/// The settings of every member. Members connect to each other's server ports with a server account,
/// the default of InnoDB Cluster since 8.0.30, so that refused logins are in the error log; XCom's
/// own port does not log them. The message cache of each member, 1 GiB by default, has its minimum
/// size, 128 MiB.
const SETTINGS: StaticSettings = &[
    LOG_REFUSALS,
    ("log_bin", "binlog"),
    ("relay_log", "relay"),
    ("gtid_mode", "ON"),
    ("enforce_gtid_consistency", "ON"),
    ("plugin_load_add", "group_replication.so"),
    ("group_replication_communication_stack", "MYSQL"),
    ("group_replication_start_on_boot", "OFF"),
    ("group_replication_bootstrap_group", "OFF"),
    ("group_replication_ssl_mode", "VERIFY_CA"),
    ("group_replication_recovery_use_ssl", "ON"),
    ("group_replication_recovery_ssl_ca", AUTHORITY_FILE),
    ("group_replication_recovery_ssl_verify_server_cert", "ON"),
    ("group_replication_message_cache_size", "134217728"),
];

#[derive(Debug)]
pub(super) struct GroupReplication;

impl Replication for GroupReplication {
    fn traits(&'static self) -> ReplicationTraits {
        let cluster = ClusterTraits {
            elects: true,
            ..ClusterTraits::new("group-replication", Quorum::Majority, CONDUCT)
        };
        ReplicationTraits {
            bootstrap: Some(self),
            switchover: Some(self),
            ..ReplicationTraits::new(cluster, &QUESTIONS, &[DENIED])
        }
    }

    fn settings(&self, cluster: &ClusterLayout, number: u32) -> OwnedSettings {
        // Other members reach a member at its address for clients.
        let address = |number| cluster.client_address(number).to_string();
        let seeds: Vec<String> = (1..=cluster.count()).map(address).collect();
        let own = [
            ("report_host", cluster.member(number).ip.to_string()),
            ("server_id", number.to_string()),
            ("group_replication_group_name", uuid(&cluster.id)),
            ("group_replication_local_address", address(number)),
            ("group_replication_group_seeds", seeds.join(",")),
        ];
        settings(own, &[SETTINGS, TLS_SETTINGS])
    }

    fn checked_settings(&self, _: u32) -> OwnedSettings {
        settings([], &[SETTINGS])
    }

    fn join(&self, member: &Member<'_>) -> Result<(), Failure> {
        member.run::<Mysql>(&create_account(member.cluster, RIGHTS))?;
        start(member, member.number == 1)
    }

    fn rejoin(&self, member: &Member<'_>) -> Result<(), Failure> {
        match self.group_size(member)? {
            // This member bootstrapped the group.
            Some(_) => Ok(()),
            None => start(member, false),
        }
    }

    /// A shutdown under load hangs (seen in 9.7): transactions that wait for certification do not
    /// learn that the member has left.
    fn leave(&self, member: &Member<'_>) -> Result<(), Failure> {
        member.rows::<Mysql>(STOP).map(drop)
    }
}

static QUESTIONS: Questions = Questions {
    view_query: VIEW,
    view: |rows| View {
        state: state_of(rows),
        others: text(rows),
    },
    state: |member| Ok(state_of(&member.rows::<Mysql>(VIEW)?)),
    strangers: |member| {
        let members = member.rows::<Mysql>(MEMBERS)?;
        let members = members.iter().map(|row| cell(row, 0));
        let members = member.cluster.strangers(members);
        Ok(members.chain(strangers(member)?).collect())
    },
};

fn state_of(view: &Rows) -> Role {
    match own(view) {
        _ if !is_in_majority(view) => Role::Detached,
        Some(("PRIMARY", "ONLINE")) => Role::Primary,
        Some(("SECONDARY", "ONLINE")) => Role::Replica,
        _ => Role::Detached,
    }
}

impl Switchover for GroupReplication {
    fn switch_over(&self, member: &Member<'_>, to: u32) -> Result<(), Failure> {
        let MemberAddress { ip, port, .. } = member.cluster.member(to);
        let switched = member.administer(async |connection: &mut Connection| {
            let id = format!(
                "SELECT member_id FROM performance_schema.replication_group_members \
                 WHERE member_host = '{ip}' AND member_port = {port}"
            );
            let id = first_cell(connection.rows(&id).await?).unwrap_or_default();
            let switch = format!("SELECT group_replication_set_as_primary('{id}')");
            connection.rows(&switch).await
        })?;
        switched.map(drop).map_err(|error| {
            let message = format!("{} cannot switch over: {error}", member.login.server);
            Failure::server(message)
        })
    }
}

const CONDUCT: Conduct = Conduct {
    detector: |config| Some(detector(config)),
    acknowledged,
    durable: DURABLE,
    tuned: &[
        ("replica_parallel_workers", "4"),
        ("innodb_buffer_pool_size", "256M"),
    ],
};

/// A silent member is suspected, and expelled at the next check after the suspicion has expired.
fn detector(config: &Configured<'_>) -> Detector {
    let timeout = config.value(EXPEL_TIMEOUT, "5");
    let timeout_s = timeout.parse().map_or(Duration::MAX, Duration::from_secs);
    Detector {
        text: format!(
            "the members: suspected after {} s, expelled after {EXPEL_TIMEOUT} = {timeout} s, \
             checked every {} s",
            SUSPECTED_AFTER.as_secs(),
            CHECKED_EVERY.as_secs()
        ),
        within: timeout_s.saturating_add(SUSPECTED_AFTER + CHECKED_EVERY),
    }
}

/// The majority that agrees on a transaction holds it in memory, unless the primary waits for more.
fn acknowledged(config: &Configured<'_>) -> String {
    let primary = written(config, &MYSQL_LOGS, PRIMARY);
    let consistency = config.value(CONSISTENCY, "");
    match consistency.as_str() {
        _ if config.members < 2 => primary,
        "after" | "before_and_after" => {
            format!("{primary}, prepared by all others ({CONSISTENCY} = {consistency})")
        }
        _ => format!("{primary}, memory of a majority"),
    }
}

impl Bootstrap for GroupReplication {
    fn received(&self, member: &Member<'_>) -> Result<u64, Failure> {
        Ok(gtid::count_of_all(&member.rows::<Mysql>(RECEIVED)?))
    }

    fn group_size(&self, member: &Member<'_>) -> Result<Option<u32>, Failure> {
        let view = member.rows::<Mysql>(VIEW)?;
        let size = u32::try_from(view.len()).ok();
        Ok(size.filter(|_| is_in_majority(&view)))
    }

    fn begin(&self, member: &Member<'_>) -> Result<(), Failure> {
        let view = member.rows::<Mysql>(VIEW)?;
        let state = own(&view).map(|(_, state)| state);
        match state {
            Some("ONLINE" | "RECOVERING") => leave_others(member),
            _ => start(member, true),
        }
    }
}

/// Role and state of the member that was asked.
fn own(view: &Rows) -> Option<(&str, &str)> {
    let own = view.iter().find(|row| cell(row, 0) == "1");
    own.map(|row| (cell(row, 1), cell(row, 2)))
}

/// Whether a member belongs to a group whose majority it reaches.
fn is_in_majority(view: &Rows) -> bool {
    let is_connected = |row: &&Vec<_>| ["ONLINE", "RECOVERING"].contains(&cell(row, 2));
    let is_member = view
        .iter()
        .filter(is_connected)
        .any(|row| cell(row, 0) == "1");
    is_member && 2 * view.iter().filter(is_connected).count() > view.len()
}

/// Makes a member that lost the majority continue without the other members.
fn leave_others(member: &Member<'_>) -> Result<(), Failure> {
    let own = member.cluster.client_address(member.number).to_string();
    let force = |members| format!("SET GLOBAL group_replication_force_members = '{members}'");
    member.run::<Mysql>(&[force(own), force(String::new())])
}

/// Starts group replication, which a server refuses while it is in an error: one that was expelled, or that found
/// nobody to catch up from. A start that failed may have left the server about to bootstrap a group.
fn start(member: &Member<'_>, is_new: bool) -> Result<(), Failure> {
    let bootstrap =
        |is_new: bool| format!("SET GLOBAL group_replication_bootstrap_group = {is_new}");
    let start = format!(
        "START GROUP_REPLICATION USER = '{ACCOUNT}', PASSWORD = '{}'",
        member.cluster.password
    );
    member.run::<Mysql>(&[STOP.to_owned(), bootstrap(is_new), start, bootstrap(false)])
}

/// Formats 32 hexadecimal digits as a UUID.
pub(super) fn uuid(digits: &str) -> String {
    let part = |from, to| digits.get(from..to).unwrap_or_default();
    [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)]
        .map(|(from, to)| part(from, to))
        .join("-")
}

//! Probes the members of a cluster: who accepts writes, which virtual users follow, and how members
//! behave around faults.
//!
//! Each member has a thread that probes it: seldom while the primary is known and answers, at once
//! when a user loses its connection or a fault is requested, and otherwise every 10 ms. The threads
//! probe in parallel, so that finding the next primary takes no measurable time.

mod decision;
mod member;
mod prober;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::replication::Role;

use crate::failure::{canceled, unless_canceled};
use crate::{Cluster, Failure, Instance, Rig, Run, Trial};

pub(crate) use member::{MemberProbe, view_of};
use member::{create_table, drop_table};
pub(crate) use prober::Probers;

/// How long a cluster may be without a primary before the load, and how often members are asked.
const FIND_LIMIT: Duration = Duration::from_secs(30);
const FIND_INTERVAL: Duration = Duration::from_millis(10);
/// How long replicas may take to receive the tables of a load, and how often dyno asks.
const TABLES_LIMIT: Duration = Duration::from_secs(600);
const TABLES_INTERVAL: Duration = Duration::from_millis(100);

/// Finds the primary of each cluster, and creates the table that probes write to.
pub(crate) fn prepare(trial: &Trial, rig: &Rig, run: &mut Run<'_>) -> Result<(), Failure> {
    for Instance { cluster, .. } in &rig.instances {
        if cluster.is_replicated() {
            find_primary(cluster, run.interrupted)?;
            create_table(cluster).map_err(|error| unprepared(&error))?;
        } else if trial.has_faults()
            && let Err(error) = create_table(cluster)
        {
            run.observer.note(&format!(
                "recovery is measured without writes of its own: cannot create a table: {error}"
            ));
        }
    }
    Ok(())
}

/// Drops the table of probes from servers that dyno did not start.
pub(crate) fn clean_up(trial: &Trial, rig: &Rig) {
    for Instance { cluster, .. } in &rig.instances {
        if cluster.is_started() || !(cluster.is_replicated() || trial.has_faults()) {
            continue;
        }
        // Without a primary, the table stays; it is small, and the next load replaces it.
        if let Ok(primaries) = primaries(cluster) {
            let _ = drop_table(&cluster.members()[primaries[0]]);
        }
    }
}

fn unprepared(error: &dyn fmt::Display) -> Failure {
    let message = format!("cannot follow the primary of the cluster: {error}");
    Failure::server(message)
}

/// Finds the member that claims to be the primary, within 30 s. If several do, the previous
/// primary remains.
pub(crate) fn find_primary(cluster: &Cluster, interrupted: &AtomicBool) -> Result<(), Failure> {
    let deadline = Instant::now() + FIND_LIMIT;
    loop {
        match primaries(cluster) {
            Ok(primaries) => {
                cluster.set_many_primaries(primaries.len() > 1);
                cluster.set_primary(primaries[0]);
                return Ok(());
            }
            Err(_) if interrupted.load(Ordering::Relaxed) => return Err(canceled()),
            Err(_) if Instant::now() < deadline => sleep(FIND_INTERVAL),
            Err(why) => return Err(unprepared(&why)),
        }
    }
}

/// The indexes of the members that claim to be the primary, the previous one first; at least one.
/// Otherwise, why there is none.
fn primaries(cluster: &Cluster) -> Result<Vec<usize>, String> {
    let (mut primaries, mut errors) = (Vec::new(), Vec::new());
    for (index, member) in cluster.members().iter().enumerate() {
        match view_of(cluster, member) {
            Ok(view) if view.state == Role::Primary => primaries.push(index),
            Ok(_) => {}
            Err(error) => errors.push(format!("server {}: {error}", member.number)),
        }
    }
    primaries.sort_by_key(|index| *index != cluster.primary_index());
    match errors.as_slice() {
        _ if !primaries.is_empty() => Ok(primaries),
        [] => Err("no member says that it is the primary".to_owned()),
        errors => Err(errors.join("; ")),
    }
}

/// Waits at most 10 minutes until every member has the primary's tables.
pub(crate) fn wait_for_tables(cluster: &Cluster, run: &Run<'_>) -> Result<(), Failure> {
    let deadline = Instant::now() + TABLES_LIMIT;
    let wanted = cluster.primary().database.checksum()?;
    for member in cluster.members() {
        let checksum = || member.database.checksum();
        while !checksum().is_ok_and(|checksum| checksum == wanted) {
            unless_canceled(run.interrupted)?;
            if Instant::now() > deadline {
                let number = member.number;
                let message = format!("server {number} does not have the tables of the primary");
                let remedy = "check whether it replicates, and its lag";
                return Err(Failure::server(message).remedy(remedy));
            }
            sleep(TABLES_INTERVAL);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

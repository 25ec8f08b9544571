//! What faults of links have in common.

use std::time::Instant;

use super::nodes;
use crate::broken_links::{BrokenLinks, no_links};
use crate::cluster::Member;
use crate::failure::Failure;
use crate::instance::Instance;

/// Whether the members of an instance have links that can be broken.
pub(super) fn check(instance: &Instance) -> Result<(), Failure> {
    let members = nodes(instance)?.members();
    if members.len() < 2 {
        let message = "a single server has no links with other members";
        return Err(Failure::server(message));
    }
    exist(members)
}

/// Whether members have a network of their own.
pub(super) fn exist(members: &[Member]) -> Result<(), Failure> {
    match members.iter().all(|member| member.site.links().is_some()) {
        true => Ok(()),
        false => Err(no_links()),
    }
}

/// Repairs links that are broken; returns when they worked again.
pub(super) fn repair(broken: &mut Option<BrokenLinks>) -> Result<Instant, Failure> {
    broken
        .take()
        .map_or_else(|| Ok(Instant::now()), BrokenLinks::heal)
}

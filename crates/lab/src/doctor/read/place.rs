//! A directory, and the disks under it.

use std::path::Path;

use super::{entries, name};
use crate::doctor::place::{Assembled, Place};
use crate::fingerprint::place as described;
use crate::kernel;
use crate::monitors::device;

/// What is under `path`, or where it would be; `needed_bytes` is what the load puts there.
pub(in crate::doctor) fn read(path: &Path, needed_bytes: u64) -> Place {
    let described = described::describe(&[path]).pop().unwrap_or_default();
    let names = described.disks.iter().map(|disk| disk.name.clone());
    let names: Vec<String> = names.collect();
    let room = described::existing(path).and_then(|path| rustix::fs::statvfs(path).ok());
    let bytes = |blocks: fn(&rustix::fs::StatVfs) -> u64| {
        let room = room.as_ref()?;
        Some(blocks(room).saturating_mul(room.f_frsize))
    };
    Place {
        system_disks: device::disks_under(Path::new("/")),
        free_bytes: bytes(|room| room.f_bavail),
        total_bytes: bytes(|room| room.f_blocks),
        needed_bytes,
        queues: names.iter().filter_map(|disk| queue(disk)).collect(),
        assembled: names.iter().filter_map(|disk| assembled(disk)).collect(),
        described,
    }
}

/// How many requests a disk takes at once: what its driver says, else what the kernel queues.
fn queue(disk: &str) -> Option<(String, u64)> {
    let number = |file: &str| kernel::number(format!("/sys/block/{disk}/{file}"));
    let depth = number("device/queue_depth").or_else(|| number("queue/nr_requests"))?;
    Some((disk.to_owned(), depth))
}

/// What the kernel makes of other disks.
fn assembled(disk: &str) -> Option<Assembled> {
    let parts = entries(format!("/sys/block/{disk}/slaves"));
    let level = kernel::line(format!("/sys/block/{disk}/md/level"));
    if parts.is_empty() && level.is_none() {
        return None;
    }
    let parts: Vec<&str> = parts.iter().filter_map(|part| name(part)).collect();
    let action = kernel::line(format!("/sys/block/{disk}/md/sync_action"));
    Some(Assembled {
        name: disk.to_owned(),
        level: format!(
            "{} of {}",
            level.as_deref().unwrap_or("volume"),
            parts.join(", ")
        ),
        degraded: kernel::number(format!("/sys/block/{disk}/md/degraded")).unwrap_or(0),
        action: action.filter(|action| action != "idle"),
    })
}

/// Whether the disks under a directory turn, if all of them know.
pub(in crate::doctor) fn turns(path: &Path) -> Option<bool> {
    let place = described::describe(&[path]).pop()?;
    let mut known = place.disks.iter().map(|disk| disk.rotational);
    let first = known.next()??;
    known.all(|other| other == Some(first)).then_some(first)
}

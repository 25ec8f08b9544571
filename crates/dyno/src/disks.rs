//! The disk space that a study needs on the disk of the cache and on the disks that it names.

use std::path::{Path, PathBuf};

use host::{LOCAL, Space};
use lab::needs::{self, Needs};
use lab::{Trial, shown_bytes};
use plan::{Span, Volume};

use crate::failure::Failure;

/// The maximum space that trials need on a disk at the same time.
pub(crate) struct DiskDemand {
    path: PathBuf,
    space: Space,
    pub(crate) needed_bytes: u64,
    /// The most that sparse files of loop devices may grow to, which is part of it.
    loop_bytes: u64,
    /// Its location in the study; `None` for the disk of the cache.
    span: Option<Span>,
}

/// Disk space that a trial uses on one disk.
struct Stored {
    /// The index of the disk.
    at: usize,
    bytes: u64,
    /// Whether the space belongs to sparse files behind loop devices.
    is_loop: bool,
}

/// The demand on the disk of the cache, which comes first, and on the other disks. For a file system
/// in memory, the data of a trial is added to the memory that the trial needs. `together` has,
/// for each trial, the indexes of all trials that run concurrently with it, itself included.
pub(crate) fn demands(
    cache: &Path,
    trials: &[Trial],
    together: &[Vec<usize>],
    needs: &mut [Needs],
) -> Result<Vec<DiskDemand>, Failure> {
    let mut demands = vec![DiskDemand {
        path: cache.to_owned(),
        space: needs::space(&LOCAL, cache)?,
        needed_bytes: 0,
        loop_bytes: 0,
        span: None,
    }];
    let mut stored = Vec::new();
    for (trial, needs) in trials.iter().zip(&mut *needs) {
        stored.push(stored_by(trial, needs, &mut demands)?);
    }
    let mut cache_bytes = 0;
    for (needs, together) in needs.iter().zip(together) {
        cache_bytes += needs.template_bytes;
        for (at, demand) in demands.iter_mut().enumerate() {
            let mut bytes = if at == 0 { cache_bytes } else { 0 };
            let mut loop_bytes = 0;
            let stored = together.iter().flat_map(|index| &stored[*index]);
            for one in stored.filter(|one| one.at == at) {
                bytes += one.bytes;
                loop_bytes += if one.is_loop { one.bytes } else { 0 };
            }
            demand.needed_bytes = demand.needed_bytes.max(bytes);
            demand.loop_bytes = demand.loop_bytes.max(loop_bytes);
        }
    }
    Ok(demands)
}

fn stored_by(
    trial: &Trial,
    needs: &mut Needs,
    demands: &mut Vec<DiskDemand>,
) -> Result<Vec<Stored>, Failure> {
    let (node, nodes) = (&trial.planned.topology.node, trial.planned.topology.nodes());
    if trial.is_elsewhere() {
        return Ok(Vec::new());
    }
    let mut stored = Vec::new();
    for (volume, bytes) in needs.on_volumes(node, nodes, nodes)? {
        let at = place_of(volume, demands)?;
        if demands[at].space.is_memory {
            needs.memory_bytes += bytes;
        }
        stored.push(Stored {
            at,
            bytes,
            is_loop: volume.file_system.is_some(),
        });
    }
    Ok(stored)
}

/// The index of the disk with a volume, which is added to the list if it is new.
fn place_of(volume: &Volume, demands: &mut Vec<DiskDemand>) -> Result<usize, Failure> {
    let Some(directory) = &volume.directory else {
        return Ok(0);
    };
    let space = needs::space(&LOCAL, &directory.value)?;
    let is_same = |known: &DiskDemand| known.space.device == space.device;
    let known = demands.iter().position(is_same);
    Ok(known.unwrap_or_else(|| {
        demands.push(DiskDemand {
            path: directory.value.clone(),
            space,
            needed_bytes: 0,
            loop_bytes: 0,
            span: Some(directory.span),
        });
        demands.len() - 1
    }))
}

impl DiskDemand {
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.needed_bytes <= self.space.free_bytes {
            return Ok(());
        }
        let shortage = format!(
            "{} of disk space{}{}; only {} is available",
            shown_bytes(self.needed_bytes),
            self.place(),
            self.sparse(),
            shown_bytes(self.space.free_bytes)
        );
        let other = match self.span {
            Some(_) => "volume.directory",
            None => "DYNO_CACHE_DIR",
        };
        let failure = Failure::usage(format!("the study needs {shortage}"));
        let less = match self.loop_bytes {
            0 => "fewer rows or instances",
            _ => "a smaller device_size, fewer rows, or fewer instances",
        };
        let failure = failure.remedy(format!(
            "use {less}, free some disk space, or choose another disk with {other}"
        ));
        Err(match self.span {
            Some(span) => failure.span(span),
            None => failure,
        })
    }

    /// Its line in the plan.
    pub(crate) fn line(&self) -> String {
        format!(
            "disk:   up to {}{}{}, {} available\n",
            shown_bytes(self.needed_bytes),
            self.place(),
            self.sparse(),
            shown_bytes(self.space.free_bytes)
        )
    }

    fn sparse(&self) -> String {
        match self.loop_bytes {
            0 => String::new(),
            bytes => format!(
                " (sparse files of loop devices may grow to {})",
                shown_bytes(bytes)
            ),
        }
    }

    fn place(&self) -> String {
        match self.span {
            Some(_) => format!(" in {}", self.path.display()),
            None => String::new(),
        }
    }
}

//! Removes what killed runs left behind: first their processes, then their directories and
//! everything that they created elsewhere.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::journal::{self, Journal, Undo};
use super::lock::Lock;
use super::{
    Cleaned, LOCK, Leftover, Unmounted, mounted, outside, remote, root, run_dir, scheduler,
    survivors, trust,
};
use crate::account::Account;
use crate::failure::Failure;
use crate::tree;

/// The directories of dead runs, each with the lock that is held until it is removed, and the
/// directories that stay.
type Found = (Vec<(PathBuf, Lock)>, Vec<Leftover>);

/// Claims every run directory of this host that no live process holds; also returns those that are
/// named like a run's and are not certain to be a dead run's. Meanwhile, the caller prevents the
/// creation of new ones.
pub(super) fn claim(root: &Path) -> Result<Found, Failure> {
    let run = root.join(root::RUN);
    let (mut found, mut left) = (Vec::new(), Vec::new());
    let entries = match fs::read_dir(&run) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((found, left)),
        entries => entries.map_err(Failure::at("read", &run))?,
    };
    for entry in entries {
        let entry = entry.map_err(Failure::at("read", &run))?;
        if !entry.file_name().to_str().is_some_and(run_dir::is_name) {
            continue;
        }
        let dir = entry.path();
        match try_claim(&dir) {
            Ok(Some(lock)) => found.push((dir, lock)),
            Ok(None) => {}
            Err(failure) => left.push(Leftover { path: dir, failure }),
        }
    }
    Ok((found, left))
}

fn try_claim(dir: &Path) -> Result<Option<Lock>, Failure> {
    let meta = fs::symlink_metadata(dir).map_err(Failure::at("inspect", dir))?;
    if !meta.is_dir() || trust::check_owner(meta.uid()).is_err() {
        return Ok(None);
    }
    run_dir::check_host(dir)?;
    if let Some(lock) = Lock::try_existing(&dir.join(LOCK))? {
        return Ok(Some(lock));
    }
    // The run may have died before it created its lock. If it created anything else, it stays.
    let entries = fs::read_dir(dir).map_err(Failure::at("read", dir))?;
    if entries
        .flatten()
        .all(|entry| entry.file_name() == run_dir::HOST)
    {
        let _ = fs::remove_file(dir.join(run_dir::HOST));
        let _ = fs::remove_dir(dir);
    }
    Ok(None)
}

/// Takes over the run directory of a process that ended with its host; `None` if it is gone.
pub(super) fn take_over(
    root: &Path,
    name: &str,
    account: &Account,
) -> Result<Option<(PathBuf, Lock)>, Failure> {
    let run = root.join(root::RUN).join(name);
    if !run_dir::is_name(name) || !run.exists() {
        return Ok(None);
    }
    let Some(lock) = try_claim(&run)? else {
        let why = format!(
            "{} is in use: the host has not restarted yet",
            run.display()
        );
        return Err(Failure::server(why));
    };
    end_processes(&run, account)?;
    run_dir::record_host(&run).map(|()| Some((run, lock)))
}

/// Kills the processes of a dead run, and removes their shared memory; returns how many there were.
fn end_processes(run: &Path, account: &Account) -> Result<u32, Failure> {
    let ended = survivors::end(run, account)?;
    let entries = fs::read_dir(run).map_err(Failure::at("read", run))?;
    for entry in entries.flatten() {
        survivors::remove_shared_memory(&entry.path(), account);
    }
    Ok(ended)
}

/// Kills the processes of dead runs and removes their directories. Reports what it cannot remove.
pub(super) fn remove(root: &Path, (found, left): Found, account: &Account) -> Cleaned {
    let mut cleaned = Cleaned {
        left,
        ..Cleaned::default()
    };
    for (path, _lock) in found {
        if let Err(failure) = remove_run(root, &path, account, &mut cleaned) {
            cleaned.left.push(Leftover { path, failure });
        }
    }
    cleaned
}

/// Kills the processes of a run whose lock the caller holds, and removes its directory, except its
/// journal while a disk that it names is not mounted. Removes nothing while a process of the run
/// remains.
pub(super) fn remove_run(
    root: &Path,
    dir: &Path,
    account: &Account,
    cleaned: &mut Cleaned,
) -> Result<(), Failure> {
    cleaned.processes += end_processes(dir, account)?;
    let undone = undo_steps(dir);
    let ended = mounted::end_below(dir);
    let undone = undone?;
    ended?;
    let inside_bytes = tree::used_bytes(dir);
    remove_content(root, dir, undone.unmounted.is_empty())?;
    cleaned.bytes += undone.bytes + inside_bytes;
    cleaned.run_dirs += u32::from(undone.unmounted.is_empty());
    cleaned.unmounted.extend(undone.unmounted);
    Ok(())
}

/// Undoes the steps of a run's journal, the last one first. One failure does not keep the others
/// from being undone; returns the first. Counts only what was outside the run directory.
pub fn undo_steps(run: &Path) -> Result<Cleaned, Failure> {
    let mut undone = Cleaned::default();
    let mut failed = Ok(());
    let steps = journal::remaining(run)?;
    let journal = (!steps.is_empty())
        .then(|| Journal::open(run))
        .transpose()?;
    for (number, undo) in steps.iter().rev() {
        match undo_step(run, *number, undo, &mut undone) {
            Ok(true) => journal.iter().for_each(|journal| journal.done(*number)),
            Ok(false) => {}
            Err(error) => failed = failed.and(Err(error)),
        }
    }
    failed.map(|()| undone)
}

/// Returns false for a step that remains, and one that is not this run's: what it names stays.
fn undo_step(run: &Path, number: u32, undo: &Undo, undone: &mut Cleaned) -> Result<bool, Failure> {
    let name = format!("{}{number}", outside::own_prefix(run));
    let is_own = |path: &Path| path.is_absolute() && path.file_name() == Some(name.as_ref());
    match undo {
        Undo::Remove(target) if is_own(&target.path) => {
            let bytes = match target.kind {
                journal::Kind::Directory => tree::used_bytes(&target.path),
                _ => 0,
            };
            let is_gone = outside::remove(target)?;
            match is_gone {
                true => undone.bytes += bytes,
                false => undone.unmounted.push(Unmounted {
                    path: target.path.clone(),
                    run: run.to_owned(),
                }),
            }
            Ok(is_gone)
        }
        Undo::RemoveRemote { to, dir } if is_own(dir) => remote::remove(to, dir).map(|()| true),
        Undo::Remove(_) | Undo::RemoveRemote { .. } => Ok(false),
        Undo::RestoreSchedulers(before) => scheduler::put_back(before).map(|()| true),
    }
}

/// Removes the lock last, while nobody searches for dead runs, so that nobody finds a directory
/// without one.
fn remove_content(root: &Path, dir: &Path, is_undone: bool) -> Result<(), Failure> {
    let lasting = [LOCK, run_dir::HOST, journal::FILE].map(|name| dir.join(name));
    for entry in fs::read_dir(dir).map_err(Failure::at("read", dir))? {
        let entry = entry.map_err(Failure::at("read", dir))?;
        let path = entry.path();
        if lasting.contains(&path) {
            continue;
        }
        let kind = entry.file_type().map_err(Failure::at("inspect", &path))?;
        match kind.is_dir() {
            true => tree::remove(&path)?,
            false => fs::remove_file(&path).map_err(Failure::at("remove", &path))?,
        }
    }
    if is_undone {
        let _whole = Lock::exclusive(&root.join(LOCK))?;
        tree::remove(dir)?;
    }
    Ok(())
}

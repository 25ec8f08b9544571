//! Removes what dynos that were killed left behind: first their processes, then
//! their directories and what they made elsewhere.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::error::LabError;
use crate::home::Cleaned;
use crate::home::lock::Lock;
use crate::home::outside::{self, Unseen};
use crate::process::LOOK;

/// How long a process may take to go after SIGKILL; it may be writing to a slow disk.
const GONE_LIMIT: Duration = Duration::from_secs(30);

/// How many looks in a row must find no process.
const EMPTY_LOOKS: u32 = 4;

/// A dead dyno's run directory, which nobody else sweeps now.
#[derive(Debug)]
pub(crate) struct Dead {
    dir: PathBuf,
    /// Held until the directory is removed.
    _lock: Lock,
}

/// Takes every run directory that no living dyno holds. The caller keeps others from
/// making new ones meanwhile.
pub(crate) fn claim(root: &Path) -> Result<Vec<Dead>, LabError> {
    let run = root.join("run");
    let mut dead = Vec::new();
    for entry in fs::read_dir(&run).map_err(LabError::at("read", &run))? {
        let dir = entry.map_err(LabError::at("read", &run))?.path();
        if !dir.is_dir() || dir.is_symlink() {
            continue;
        }
        if let Some(lock) = Lock::try_exclusive(&dir.join("lock"))? {
            dead.push(Dead { dir, _lock: lock });
        }
    }
    Ok(dead)
}

/// Ends the processes of dead dynos and removes their directories.
pub(crate) fn remove(root: &Path, dead: Vec<Dead>) -> Result<Cleaned, LabError> {
    let mut cleaned = Cleaned::default();
    for Dead { dir, _lock } in dead {
        cleaned.processes += end_processes(&dir)?;
        cleaned.bytes += outside::remove_all(&dir)?.bytes + used_bytes(&dir);
        let unseen = remove_run_dir(root, &dir)?;
        cleaned.run_dirs += u32::from(unseen.is_empty());
        cleaned.unseen.extend(unseen);
    }
    Ok(cleaned)
}

/// Removes a run directory whose lock the caller holds, unless it notes directories on
/// disks that are not there: then those notes stay, and are given. Its lock goes last and
/// while nobody looks for dead dynos, or somebody would find a directory without one.
pub(crate) fn remove_run_dir(root: &Path, dir: &Path) -> Result<Vec<Unseen>, LabError> {
    let unseen = outside::remove_all(dir)?.unseen;
    let lock = dir.join("lock");
    for entry in fs::read_dir(dir).map_err(LabError::at("read", dir))? {
        let path = entry.map_err(LabError::at("read", dir))?.path();
        if path == lock || unseen.iter().any(|unseen| unseen.link == path) {
            continue;
        }
        let removed = if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.map_err(LabError::at("remove", &path))?;
    }
    if unseen.is_empty() {
        let _whole = Lock::exclusive(&root.join("lock"))?;
        fs::remove_dir_all(dir).map_err(LabError::at("remove", dir))?;
    }
    Ok(unseen)
}

/// What a file or a directory takes on the disk.
pub(crate) fn used_bytes(path: &Path) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return 0;
    };
    let below = if meta.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| used_bytes(&entry.path())).sum()
    } else {
        0
    };
    below + meta.blocks() * 512
}

/// Kills every process that was started on this directory, and waits until all are gone.
fn end_processes(dir: &Path) -> Result<u32, LabError> {
    let deadline = Instant::now() + GONE_LIMIT;
    let mut ended = BTreeSet::new();
    let mut empty_looks = 0;
    // A process shows no arguments for a moment while it becomes another program, and one
    // that was killed may have been just about to start another one: so look again.
    while empty_looks < EMPTY_LOOKS {
        let found = processes_of(dir);
        empty_looks = if found.is_empty() { empty_looks + 1 } else { 0 };
        for (pid, handle) in found {
            let undead = |why: String| LabError::Undead { pid, why };
            match pidfd_send_signal(&handle, Signal::KILL) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => ended.insert(pid),
                Err(error) => return Err(undead(error.to_string())),
            };
            if Instant::now() > deadline {
                let limit_s = GONE_LIMIT.as_secs();
                return Err(undead(format!(
                    "it is still there {limit_s} s after SIGKILL"
                )));
            }
        }
        sleep(LOOK);
    }
    Ok(u32::try_from(ended.len()).unwrap_or(u32::MAX))
}

/// The processes started on this directory, each with a handle that stays with it
/// even if its number goes to another process.
fn processes_of(dir: &Path) -> Vec<(u32, OwnedFd)> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != own && is_started_on(*pid, dir))
        .filter_map(|pid| {
            let raw = Pid::from_raw(i32::try_from(pid).ok()?)?;
            let handle = pidfd_open(raw, PidfdFlags::empty()).ok()?;
            // Looked at again, for the number may have changed hands before the handle was there.
            is_started_on(pid, dir).then_some((pid, handle))
        })
        .collect()
}

fn is_started_on(pid: u32, dir: &Path) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    names_option_below(&arguments, dir)
}

/// Whether an option `--name=PATH` names something below `dir`, as every program does
/// that dyno starts; somebody's editor that has a file there open does not.
fn names_option_below(cmdline: &[u8], dir: &Path) -> bool {
    let mut below = dir.as_os_str().as_bytes().to_vec();
    below.push(b'/');
    cmdline.split(|byte| *byte == 0).any(|argument| {
        let mut halves = argument.splitn(2, |byte| *byte == b'=');
        halves.next().is_some_and(|name| name.starts_with(b"--"))
            && halves.next().is_some_and(|path| path.starts_with(&below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_below_the_directory_tell_a_process() {
        let is = |cmdline: &[u8]| names_option_below(cmdline, Path::new("/c/run/ab"));
        assert!(is(
            b"/usr/sbin/mariadbd\0--defaults-file=/c/run/ab/s1.cnf\0"
        ));
        assert!(is(b"sh\0--datadir=/c/run/ab/s1/data\0--x\0"));
        assert!(!is(
            b"/usr/sbin/mariadbd\0--defaults-file=/c/run/abc/s1.cnf\0"
        ));
        assert!(!is(b"less\0/c/run/ab/s1/error.log\0"));
        assert!(!is(b"mysqld\0--datadir=/data/c/run/ab/s1\0"));
        assert!(!is(b""));
    }

    #[test]
    fn a_process_on_the_directory_is_ended_and_others_are_not() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let sleeper = |dir: &Path| {
            let mut command = std::process::Command::new("sh");
            let option = format!("--datadir={}/data", dir.display());
            command.args(["-c", "read line", "sh", &option]);
            command.stdin(std::process::Stdio::piped()).spawn().unwrap()
        };
        let (mut one, mut two) = (sleeper(dir.path()), sleeper(other.path()));
        // It reads from here until it is ended.
        let _input = one.stdin.take();
        let reaper = std::thread::spawn(move || one.wait().unwrap());
        // The shell's arguments are there once it runs.
        let deadline = Instant::now() + Duration::from_secs(60);
        while processes_of(dir.path()).is_empty() && Instant::now() < deadline {
            sleep(LOOK);
        }
        assert_eq!(end_processes(dir.path()).unwrap(), 1);
        assert!(!reaper.join().unwrap().success());
        assert!(two.try_wait().unwrap().is_none());
        two.kill().unwrap();
        two.wait().unwrap();
    }

    #[test]
    fn what_a_directory_takes_is_what_its_files_take() {
        let dir = tempfile::tempdir().unwrap();
        let empty = used_bytes(dir.path());
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/b"), vec![1; 100_000]).unwrap();
        let sparse = fs::File::create(dir.path().join("hole")).unwrap();
        sparse.set_len(1 << 30).unwrap();
        let used = used_bytes(dir.path()) - empty;
        assert!((100_000..1 << 20).contains(&used), "{used}");
    }
}

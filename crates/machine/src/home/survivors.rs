//! Kills processes that outlived their run, and no others, and removes their shared memory.
//!
//! The kernel kills a run's servers with dyno, except child processes of servers. Each program has
//! its run directory in its environment, and a server has its configuration file as its standard
//! input; child processes inherit both, and some overwrite the environment to change their title.
//! Either one, together with the owner, proves to which run
//! a process belongs. Without that proof, a process of the same user whose command line names the
//! directory is never killed, and the directory stays.
//!
//! A System V segment outlives the processes that use it, and a host allows a few thousand. A
//! server's directory records its process ID: a segment was the server's if that process created
//! it, it belongs to the servers' account, and no process has it attached.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

use crate::account::Account;
use crate::failure::Failure;
use crate::process::{self, NEVER, POLL_INTERVAL, TOOL_LIMIT};

/// The environment variable that holds a program's run directory.
pub(crate) const RUN_DIR: &str = "DYNO_RUN_DIR";
/// The environment variable that names the file on a program's standard input; in a container of
/// docker, the input itself is a pipe.
pub(crate) const INPUT: &str = "DYNO_INPUT";
/// How long a process may take to end after SIGKILL; it may be writing to a slow disk.
const GONE_LIMIT: Duration = Duration::from_secs(30);
/// How many consecutive searches must find no process: during exec, a process briefly shows neither
/// environment nor arguments, and a killed process may just have started another.
const EMPTY_SEARCHES: u32 = 4;

/// The kernel's list of segments.
const SEGMENTS: &str = "/proc/sysvipc/shm";
/// Removes a segment; doing so directly would require `unsafe` code.
const IPCRM: &str = "ipcrm";
/// The file in a server's directory that holds its process ID.
pub(crate) const PROCESS: &str = "process";

const UNPROVEN: &str = "its command line names the directory, but dyno cannot tell whether it started \
                        that process, and does not kill it";

/// The processes that are related to a run.
#[derive(Default)]
struct Found {
    /// With a handle each, which stays valid even if the process ID is reused.
    own: Vec<(u32, OwnedFd)>,
    /// A process that may be using the directory.
    unproven: Option<u32>,
}

/// The relation of a process to a run directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    None,
    /// The run started the process.
    Own,
    /// The process has the same user, and its command line names the directory as a server's would,
    /// but nothing proves that the run started it.
    Unproven,
}

/// Kills all processes of a server's directory, and removes their shared memory.
pub fn end_server(dir: &Path, account: &Account) -> Result<(), Failure> {
    let ended = end(dir, account).map(drop);
    remove_shared_memory(dir, account);
    ended
}

/// Kills every process that was started for this run directory, or for a server's directory in it,
/// and waits until all are gone. Returns how many there were.
pub(crate) fn end(run: &Path, account: &Account) -> Result<u32, Failure> {
    let deadline = Instant::now() + GONE_LIMIT;
    let mut ended = BTreeSet::new();
    let mut empty_searches = 0;
    loop {
        let Found { own, unproven } = find(run, account)?;
        empty_searches = if own.is_empty() {
            empty_searches + 1
        } else {
            0
        };
        // A process that cannot be killed must not keep the others alive.
        let mut failed = Ok(());
        for (pid, handle) in own {
            failed = failed.and(signal(pid, &handle));
            ended.insert(pid);
            if Instant::now() > deadline {
                let limit_s = GONE_LIMIT.as_secs();
                let why = format!("it still exists {limit_s} s after SIGKILL");
                failed = failed.and(Err(still_running(pid, why)));
            }
        }
        failed?;
        if empty_searches == EMPTY_SEARCHES {
            return match unproven {
                None => Ok(u32::try_from(ended.len()).unwrap_or(u32::MAX)),
                Some(pid) => Err(still_running(pid, UNPROVEN.to_owned())),
            };
        }
        sleep(POLL_INTERVAL);
    }
}

/// Whether a process was started for this directory and is still running.
pub fn is_of(pid: u32, dir: &Path, account: &Account) -> bool {
    matches!(relation(pid, dir, account), Ok(Relation::Own))
}

fn signal(pid: u32, handle: &OwnedFd) -> Result<(), Failure> {
    match pidfd_send_signal(handle, Signal::KILL) {
        // The process has ended in the meantime.
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(still_running(pid, format!("it cannot be killed: {error}"))),
    }
}

fn still_running(pid: u32, why: String) -> Failure {
    Failure::server(format!("process {pid} still uses it: {why}"))
        .remedy("end it, then run dyno clean")
}

fn find(run: &Path, account: &Account) -> Result<Found, Failure> {
    let proc = Path::new("/proc");
    let mut found = Found::default();
    for entry in fs::read_dir(proc).map_err(Failure::at("read", proc))? {
        let name = entry.map_err(Failure::at("read", proc))?.file_name();
        let pid = name.to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(pid) = pid.filter(|pid| *pid != std::process::id()) else {
            continue;
        };
        if relation(pid, run, account)? == Relation::None {
            continue;
        }
        let handle = match process::handle(pid) {
            Err(Errno::SRCH) => continue,
            handle => handle.map_err(|error| still_running(pid, error.to_string()))?,
        };
        // Checked again, because the process ID may have been reused before the handle was opened.
        match relation(pid, run, account)? {
            Relation::None => {}
            Relation::Own => found.own.push((pid, handle)),
            Relation::Unproven => found.unproven = Some(pid),
        }
    }
    Ok(found)
}

fn relation(pid: u32, run: &Path, account: &Account) -> Result<Relation, Failure> {
    let started_by_run = |environment: Vec<u8>| {
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|one| {
            let value = |name: &str| one.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
            let input = value(INPUT).map(|path| Path::new(OsStr::from_bytes(path)));
            value(RUN_DIR) == Some(run.as_os_str().as_bytes())
                || input.is_some_and(|path| path.starts_with(run))
        })
    };
    // Another user's environment may be unreadable even for root.
    let is_marked = reads_below(pid, run) || read(pid, "environ")?.is_some_and(started_by_run);
    if is_marked && is_ours(pid, account)? {
        return Ok(Relation::Own);
    }
    let arguments = read(pid, "cmdline")?.unwrap_or_default();
    // The run starts no processes of other users.
    Ok(
        match names_option_below(&arguments, run) && is_ours(pid, account)? {
            true => Relation::Unproven,
            false => Relation::None,
        },
    )
}

/// Whether the process's standard input is a file in the directory; false if the link cannot be
/// read.
fn reads_below(pid: u32, dir: &Path) -> bool {
    let input = fs::read_link(format!("/proc/{pid}/fd/0"));
    input.is_ok_and(|path| path.starts_with(dir))
}

/// Reads a file of a process; `None` if the process has ended or the file is not readable.
fn read(pid: u32, file: &str) -> Result<Option<Vec<u8>>, Failure> {
    let path = format!("/proc/{pid}/{file}");
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error)
            if [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied]
                .contains(&error.kind())
                || Errno::from_io_error(&error) == Some(Errno::SRCH) =>
        {
            Ok(None)
        }
        Err(error) => Err(Failure::at("read", Path::new(&path))(error)),
    }
}

/// Whether all of the process's user IDs are this user's, or all are the servers' account's.
fn is_ours(pid: u32, account: &Account) -> Result<bool, Failure> {
    let status = read(pid, "status")?.unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let Some(users) = status.lines().find_map(|line| line.strip_prefix("Uid:")) else {
        return Ok(false);
    };
    let own = [rustix::process::geteuid().as_raw(), account.uid()];
    let mut users = users.split_whitespace();
    Ok(users.all(|uid| uid.parse().is_ok_and(|uid| own.contains(&uid))))
}

/// Whether an option `--name=PATH` names something below `dir`, as options of servers do.
fn names_option_below(cmdline: &[u8], dir: &Path) -> bool {
    let mut below = dir.as_os_str().as_bytes().to_vec();
    below.push(b'/');
    cmdline.split(|byte| *byte == 0).any(|argument| {
        let mut halves = argument.splitn(2, |byte| *byte == b'=');
        halves.next().is_some_and(|name| name.starts_with(b"--"))
            && halves.next().is_some_and(|path| path.starts_with(&below))
    })
}

/// Records a process in a server's directory.
pub fn record_process(dir: &Path, pid: u32) -> Result<(), Failure> {
    let path = dir.join(PROCESS);
    fs::write(&path, pid.to_string()).map_err(Failure::at("write", &path))
}

/// Removes the segments of an ended process, whose ID a server's directory records.
pub(crate) fn remove_shared_memory(dir: &Path, account: &Account) {
    let pid = fs::read_to_string(dir.join(PROCESS)).ok();
    let Some(pid) = pid.and_then(|text| text.parse().ok()) else {
        return;
    };
    // A kernel without this list has no System V segments.
    let list = fs::read_to_string(SEGMENTS).unwrap_or_default();
    for id in unused(&list, pid, account.uid()) {
        let mut ipcrm = Command::new(IPCRM);
        ipcrm.args(["-m", &id.to_string()]);
        // Not fatal: some memory stays allocated.
        let _ = process::output(ipcrm, TOOL_LIMIT, &NEVER);
    }
}

/// The segments that `pid` created, that `uid` owns, and that no process has attached.
fn unused(list: &str, pid: u32, uid: u32) -> Vec<u32> {
    let segments = list.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let field = |at: usize| fields.get(at)?.parse::<u32>().ok();
        let (id, creator, users, owner) = (field(1)?, field(4)?, field(6)?, field(7)?);
        (creator == pid && users == 0 && owner == uid).then_some(id)
    });
    segments.collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Stdio};

    use rustix::process::Pid;

    use super::*;
    use crate::testing::account;

    /// A process that waits, with the run directory in its environment and an optional argument.
    struct Waiting(Child);

    impl Waiting {
        fn new(run: Option<&Path>, option: &str) -> Self {
            let mut command = Command::new("sleep");
            command.arg("600");
            Self::of(command, run, option)
        }

        fn of(mut command: Command, run: Option<&Path>, option: &str) -> Self {
            if !option.is_empty() {
                command = Command::new("sh");
                // The shell waits for the end of its input, which the test closes.
                command.args(["-c", "read line", "sh", option]);
            }
            if let Some(run) = run {
                command.env(RUN_DIR, run);
            }
            Self(command.stdin(Stdio::piped()).spawn().unwrap())
        }

        fn is_running(&mut self) -> bool {
            self.0.try_wait().unwrap().is_none()
        }

        /// Reaps the process as soon as it ends, as init does for orphans.
        fn reaped(mut self) -> std::thread::JoinHandle<()> {
            let input = self.0.stdin.take();
            std::thread::spawn(move || {
                assert!(!self.0.wait().unwrap().success());
                drop(input);
            })
        }
    }

    impl Drop for Waiting {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn wait_for(run: &Path, relation_wanted: Relation, pid: u32) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while relation(pid, run, &account()).unwrap() != relation_wanted {
            assert!(
                Instant::now() < deadline,
                "{pid} is not {relation_wanted:?}"
            );
            sleep(POLL_INTERVAL);
        }
    }

    #[test]
    fn the_runs_processes_are_ended_and_no_others() {
        let (run, other) = (
            Path::new("/c/run/644a1f2b3c4d5"),
            Path::new("/c/run/644a1f2b3c4d6"),
        );
        let own = Waiting::new(Some(run), "");
        let stopped = Waiting::new(
            Some(run),
            "--defaults-file=/c/run/644a1f2b3c4d5/s1.0/my.cnf",
        );
        for pid in [own.0.id(), stopped.0.id()] {
            wait_for(run, Relation::Own, pid);
        }
        // A stopped process ends, too.
        let pid = Pid::from_child(&stopped.0);
        rustix::process::kill_process(pid, Signal::STOP).unwrap();
        let mut others = [
            Waiting::new(Some(other), ""),
            Waiting::new(Some(&run.join("pid")), ""),
            Waiting::new(None, "/c/run/644a1f2b3c4d5/s1.0/error.log"),
            Waiting::new(None, "--defaults-file=/c/run/644a1f2b3c4d6/s1.0/my.cnf"),
        ];
        let ends = [own.reaped(), stopped.reaped()];
        assert_eq!(end(run, &account()).unwrap(), 2);
        ends.into_iter().for_each(|end| end.join().unwrap());
        assert!(others.iter_mut().all(Waiting::is_running));
    }

    #[test]
    fn a_process_without_proof_lives_and_keeps_the_directory() {
        let run = Path::new("/c/run/644a1f2b3c4d7");
        let mut waiting = Waiting::new(None, "--datadir=/c/run/644a1f2b3c4d7/s1.0/own/data");
        wait_for(run, Relation::Unproven, waiting.0.id());
        let own = Waiting::new(Some(run), "");
        wait_for(run, Relation::Own, own.0.id());
        let own = own.reaped();
        let error = end(run, &account()).unwrap_err();
        assert!(
            error
                .message
                .starts_with(&format!("process {} still uses it", waiting.0.id())),
            "{error}"
        );
        assert!(waiting.is_running());
        // It does not protect the run's own processes.
        own.join().unwrap();
    }

    #[test]
    fn a_process_of_another_user_is_never_ended() {
        if !rustix::process::geteuid().is_root() {
            return testkit::skip("only root can be two users");
        }
        let run = Path::new("/c/run/644a1f2b3c4d8");
        let mut command = Command::new("setpriv");
        let words = ["--clear-groups", "sh", "-c", "read line", "sh"];
        command.args(["--reuid=4242", "--regid=4242"]).args(words);
        // It does not keep the directory either.
        command.arg("--datadir=/c/run/644a1f2b3c4d8/s1.0/own/data");
        let mut waiting = Waiting::of(command, Some(run), "");
        let pid = waiting.0.id();
        let deadline = Instant::now() + Duration::from_secs(60);
        while is_ours(pid, &account()).unwrap() && Instant::now() < deadline {
            sleep(POLL_INTERVAL);
        }
        assert_eq!(relation(pid, run, &account()).unwrap(), Relation::None);
        assert_eq!(end(run, &account()).unwrap(), 0);
        assert!(waiting.is_running());
    }

    #[test]
    fn only_a_process_that_is_gone_has_no_handle() {
        let child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        process::handle(pid).unwrap();
        let mut child = child;
        child.wait().unwrap();
        assert_eq!(process::handle(pid).unwrap_err(), Errno::SRCH);
        // Other errors do not count as an ended process.
        assert_eq!(process::handle(0).unwrap_err(), Errno::INVAL);
    }

    #[test]
    fn only_options_below_the_directory_tell_a_process() {
        let is = |cmdline: &[u8]| names_option_below(cmdline, Path::new("/c/run/ab"));
        assert!(is(
            b"/usr/sbin/dbserver\0--defaults-file=/c/run/ab/s1.cnf\0"
        ));
        assert!(is(b"sh\0--datadir=/c/run/ab/s1/data\0--x\0"));
        assert!(!is(
            b"/usr/sbin/dbserver\0--defaults-file=/c/run/abc/s1.cnf\0"
        ));
        assert!(!is(b"less\0/c/run/ab/s1/error.log\0"));
        assert!(!is(b"dbserver\0--datadir=/data/c/run/ab/s1\0"));
        assert!(!is(b""));
    }

    #[test]
    fn only_detached_segments_of_the_process_are_removed() {
        let list = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n\
            9994426      98307   600                    56 17308 17311      0   101   104   101   104 1795336154 1795336154 1795336154                  4096                     0\n\
            9994427      98308   600                    56 17308 17311      6   101   104   101   104 1795336154 1795336154 1795336154                  4096                     0\n\
            9994428      98309   600                    56 17308 17311      0   102   104   101   104 1795336154 1795336154 1795336154                  4096                     0\n\
            9994429      98310   600                    56 17309 17311      0   101   104   101   104 1795336154 1795336154 1795336154                  4096                     0\n";
        assert_eq!(unused(list, 17308, 101), [98307]);
    }
}

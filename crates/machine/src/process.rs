//! Starts programs as a given user, so that they do not outlive dyno.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::account::Account;
use crate::failure::{Fact, Failure, canceled};

/// Sets a child's user and parent-death signal, which would otherwise require `unsafe` code.
const SETPRIV: &str = "setpriv";
/// Executes a program unless its parent is no longer the process `$0`: the kernel sends no
/// parent-death signal if the parent died before it was asked for one.
const GUARD: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;
/// How often to check whether a child has ended.
pub const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long a program may take that answers a question or performs a small task. Disks and daemons
/// may hang.
pub(crate) const TOOL_LIMIT: Duration = Duration::from_secs(300);
/// The limit of tasks whose duration depends on the size of the data. Ctrl-C ends them.
pub(crate) const WORK_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// How long a killed process may take to end; one that waits for a hanging disk does not end.
const KILL_LIMIT: Duration = Duration::from_secs(30);
/// Maximum output of a program, which is killed if it prints more.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;
/// For tasks that Ctrl-C must not interrupt, such as cleaning up.
pub static NEVER: AtomicBool = AtomicBool::new(false);
/// Added to the number of a signal in exit codes.
const OF_SIGNALS: i32 = 128;
/// The highest number of a signal.
const MAX_SIGNAL: i32 = 64;
/// The environment variables that children inherit: those needed to find and load programs, and
/// nothing secret.
const INHERITED: [&str; 6] = [
    "PATH",
    "TZ",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MALLOC_CONF",
    "MALLOC_ARENA_MAX",
];
/// Selects the language and the formats of programs.
const LOCALE: &str = "LC_ALL";

/// Names of the environment variables that a server may have.
pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    INHERITED.into_iter().chain([LOCALE])
}

/// The environment of a server, without what its home adds.
pub(crate) fn environment() -> impl Iterator<Item = (&'static str, OsString)> {
    let inherited = INHERITED.into_iter();
    let inherited = inherited.filter_map(|name| Some((name, std::env::var_os(name)?)));
    inherited.chain([(LOCALE, "C".into())])
}

/// A command that runs `program` as `account`, in a process group of its own, killed by the kernel
/// when dyno dies. The programs of `entry` run first, as dyno's own user, and each one executes the
/// next: the child is the program's process, unless the entry has a [`guard`] of its own.
pub fn command(account: &Account, entry: &[OsString], program: &Path) -> Command {
    let mut words = entry.to_vec();
    words.extend([SETPRIV, "--pdeathsig", "KILL"].map(Into::into));
    words.extend(account.setpriv_options().into_iter().map(Into::into));
    words.push("--".into());
    if !entry.iter().any(|word| word == GUARD) {
        words.extend(guard());
    }
    let mut words = words.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).arg(program);
    command.env_clear().envs(environment());
    // The account may be unable to enter dyno's working directory.
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .process_group(0);
    command
}

/// The part of an entry, after the request for a parent-death signal, that makes sure that the
/// request was not too late.
pub(crate) fn guard() -> [OsString; 4] {
    let dyno = std::process::id().to_string();
    ["/bin/sh", "-c", GUARD, &dyno].map(Into::into)
}

/// A command that runs `program` as dyno's own user with dyno's environment, in a process group of
/// its own, killed by the kernel when dyno dies.
pub fn own_command(program: &Path) -> Command {
    let mut command = Command::new(SETPRIV);
    command.args(["--pdeathsig", "KILL", "--"]);
    command.args(guard()).arg(program);
    command.stdin(Stdio::null()).process_group(0);
    command
}

type Job = (Command, Sender<io::Result<Child>>);

/// Starts a command from a thread that lives as long as the process.
///
/// The kernel's parent-death signal follows the *thread* that forked: a server started by a
/// short-lived thread would end with that thread.
pub(crate) fn spawn(command: Command) -> Result<Child, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, jobs) = channel::<Job>();
        let run = move || {
            for (mut command, outcome) in jobs {
                // The receiver may be gone.
                let _ = outcome.send(command.spawn());
            }
        };
        let _ = std::thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(run);
        sender
    });
    let (outcome, result) = channel();
    // Without the thread, there is no outcome.
    let _ = spawner.send((command, outcome));
    let gone = |_| io::Error::other("the thread that starts programs has ended");
    let spawned = result.recv().map_err(gone).flatten();
    spawned.map_err(|error| {
        let failure = Failure::server(format!("cannot run {program}: {error}"))
            .remedy("install the package util-linux");
        match error.kind() {
            io::ErrorKind::NotFound => failure.fact(Fact::NoProgram),
            _ => failure,
        }
    })
}

/// Repeats an attempt until it returns a value; `None` if it has not within the limit.
pub fn poll<T>(limit: Duration, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(value) = attempt() {
            return Some(value);
        }
        if Instant::now() > deadline {
            return None;
        }
        sleep(POLL_INTERVAL);
    }
}

/// Waits at most `limit` until the child ends; `None` if it has not.
pub fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    poll(limit, || child.try_wait().ok().flatten())
}

/// Kills a child with its process group, and reaps it if it ends within 30 s. Returns when it was
/// killed, since a busy host may report its end later.
pub(crate) fn kill(child: &mut Child) -> Instant {
    kill_within(child, KILL_LIMIT)
}

fn kill_within(child: &mut Child, limit: Duration) -> Instant {
    let killed_at = send_kill(child);
    // A child that is not reaped keeps its process ID.
    let _ = wait(child, limit);
    killed_at
}

/// Like [`kill`], without reaping the child.
pub(crate) fn send_kill(child: &mut Child) -> Instant {
    if let Some(pid) = alive(child) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
    Instant::now()
}

/// Sends a child the signal to shut down.
pub(crate) fn terminate(child: &mut Child, signal: Signal) {
    if let Some(pid) = alive(child) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// The process ID of a child that has not been reaped; until then, the ID cannot be reused.
fn alive(child: &mut Child) -> Option<Pid> {
    let runs = matches!(child.try_wait(), Ok(None));
    let pid = Pid::from_raw(i32::try_from(child.id()).ok()?);
    pid.filter(|_| runs)
}

/// A handle of a process, which stays valid even if the process ID is reused.
pub fn handle(pid: u32) -> Result<OwnedFd, Errno> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pidfd_open(pid.ok_or(Errno::INVAL)?, PidfdFlags::empty())
}

/// Runs a command to its end, limited as by [`finish`].
pub fn run(
    command: Command,
    limit: Duration,
    interrupted: &AtomicBool,
) -> Result<Option<ExitStatus>, Failure> {
    finish(&mut spawn(command)?, limit, interrupted)
}

/// Runs a program to its end; returns its output.
pub fn output(
    command: Command,
    limit: Duration,
    interrupted: &AtomicBool,
) -> Result<Output, Failure> {
    output_of(command, false, limit, interrupted)
}

/// Runs a program of the system with `input` on its standard input; returns its output, or else what
/// it says of its failure. `arguments` have spaces between them.
pub(crate) fn fed(
    program: &str,
    arguments: &str,
    input: &str,
) -> Result<Result<String, String>, Failure> {
    let mut command = Command::new(program);
    command.args(arguments.split(' '));
    // dyno's environment may contain passwords.
    command.env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    let input = self::input(input.as_bytes()).map_err(Failure::at("write to", program))?;
    command.stdin(input);
    let output = output(command, TOOL_LIMIT, &NEVER)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(match output.status.success() {
        true => Ok(text(output.stdout)),
        false => Err(text(output.stderr)),
    })
}

/// Like [`output`], with errors and output in the order in which they were printed.
pub fn words(
    command: Command,
    limit: Duration,
    interrupted: &AtomicBool,
) -> Result<(ExitStatus, String), Failure> {
    let output = output_of(command, true, limit, interrupted)?;
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok((output.status, words))
}

/// With `is_mixed`, the errors are in the output.
fn output_of(
    mut command: Command,
    is_mixed: bool,
    limit: Duration,
    interrupted: &AtomicBool,
) -> Result<Output, Failure> {
    let program = program_of(&command);
    let at = || Failure::at("run", Path::new(&program));
    // Files rather than pipes, which a child of the program could keep open.
    let stdout = memory_file().map_err(at())?;
    let stderr = memory_file().map_err(at())?;
    let errors = if is_mixed { &stdout } else { &stderr };
    command.stdout(stdout.try_clone().map_err(at())?);
    command.stderr(errors.try_clone().map_err(at())?);
    // Ctrl-C in a terminal must not end it halfway.
    command.process_group(0);
    let is_long = || {
        let long = |file: &File| file.metadata().is_ok_and(|m| m.len() > MAX_OUTPUT_BYTES);
        long(&stdout) || long(&stderr)
    };
    let mut child = spawn(command)?;
    let outcome = poll(limit, || match child.try_wait() {
        _ if is_long() => Some(Err(at()(io::Error::other("it prints too much")))),
        Ok(Some(status)) => Some(Ok(status)),
        _ => interrupted.load(Ordering::Relaxed).then(|| Err(canceled())),
    });
    if !matches!(outcome, Some(Ok(_))) {
        kill(&mut child);
    }
    Ok(Output {
        status: outcome.unwrap_or_else(|| Err(endless(&program, limit)))?,
        stdout: content(stdout).map_err(at())?,
        stderr: content(stderr).map_err(at())?,
    })
}

fn endless(program: &str, limit: Duration) -> Failure {
    Failure::server(format!(
        "{program} did not end within {} s",
        limit.as_secs()
    ))
    .remedy("a disk, a daemon, or the network may hang: see the kernel's messages (dmesg)")
    .fact(Fact::Endless)
}

/// A file to use as a program's standard input.
pub(crate) fn input(bytes: &[u8]) -> io::Result<File> {
    let mut file = memory_file()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

fn memory_file() -> io::Result<File> {
    Ok(memfd_create("dyno", MemfdFlags::CLOEXEC)?.into())
}

fn content(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The program of a command, without the programs that precede its [`guard`].
fn program_of(command: &Command) -> String {
    let mut arguments = command.get_args().skip_while(|word| *word != GUARD).skip(2);
    let program = arguments.next().unwrap_or(command.get_program());
    program.to_string_lossy().into_owned()
}

/// Waits until the child has ended. It is killed at the limit (`None`) and when the user interrupts
/// (`Err`).
pub(crate) fn finish(
    child: &mut Child,
    limit: Duration,
    interrupted: &AtomicBool,
) -> Result<Option<ExitStatus>, Failure> {
    let outcome = poll(limit, || match child.try_wait() {
        Ok(Some(status)) => Some(Ok(status)),
        _ => interrupted.load(Ordering::Relaxed).then(|| Err(canceled())),
    });
    if !matches!(outcome, Some(Ok(_))) {
        kill(child);
    }
    outcome.transpose()
}

/// How a process ended, as the rest of a sentence that begins with its name. Shells, podman, and
/// docker report a signal as an exit code.
pub fn how_it_ended(status: ExitStatus) -> String {
    let reported = status.code().map(|code| code - OF_SIGNALS);
    let reported = reported.filter(|signal| (1..=MAX_SIGNAL).contains(signal));
    let signal = status.signal().or(reported);
    match (signal, status.code()) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(text: &str) -> Command {
        let mut command = command(&crate::testing::account(), &[], Path::new("/bin/sh"));
        command.args(["-c", text]);
        command
    }

    #[test]
    fn a_program_that_takes_too_long_is_killed_with_its_children() {
        let never = AtomicBool::new(false);
        let begun = Instant::now();
        let ended = run(sh("sleep 600 & wait"), Duration::from_millis(50), &never);
        assert!(matches!(ended, Ok(None)), "{ended:?}");
        assert!(begun.elapsed() < Duration::from_secs(300));
    }

    /// As if dyno had died before the kernel was asked for a parent-death signal.
    #[test]
    fn a_program_of_a_dyno_that_died_at_once_does_not_run() {
        let has_run = |command: &Command| {
            let mut other_parent = Command::new("sh");
            other_parent.args(["-c", "\"$@\" && echo ran; exit 0", "sh"]);
            other_parent.arg(command.get_program());
            let output = other_parent.args(command.get_args()).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            !output.stdout.is_empty()
        };
        assert!(!has_run(&sh("true")));
        assert!(!has_run(&own_command(Path::new("true"))));
        let entry = [OsString::from("env")];
        let account = crate::testing::account();
        assert!(!has_run(&command(&account, &entry, Path::new("true"))));
        let client = [OsString::from("env")].into_iter().chain(guard());
        let client: Vec<OsString> = client.collect();
        assert!(!has_run(&command(&account, &client, Path::new("true"))));
    }

    #[test]
    fn a_program_ends_when_the_user_asks() {
        let asked = AtomicBool::new(true);
        let ended = run(sh("sleep 600"), Duration::from_secs(600), &asked);
        assert!(ended.as_ref().is_err_and(Failure::is_interrupted));
    }

    #[test]
    fn what_a_program_prints_is_bounded_in_time_and_length() {
        let run = |text, limit_ms| output(sh(text), Duration::from_millis(limit_ms), &NEVER);
        let printed = run("echo one; echo two >&2; exit 3", 600_000).unwrap();
        assert_eq!(
            (&*printed.stdout, &*printed.stderr),
            (&b"one\n"[..], &b"two\n"[..])
        );
        assert_eq!(printed.status.code(), Some(3));
        let both = words(sh("echo one; echo two >&2; echo three"), TOOL_LIMIT, &NEVER);
        assert_eq!(both.unwrap().1, "one\ntwo\nthree\n");
        // Background children of the program delay nothing.
        assert!(run("sleep 600 & exit 0", 600_000).unwrap().status.success());
        let error = run("sleep 600", 50).unwrap_err();
        assert!(error.is(Fact::Endless) && error.message.starts_with("/bin/sh "));
        run("yes", 600_000).unwrap_err();
        let stopped = output(sh("sleep 600"), TOOL_LIMIT, &AtomicBool::new(true));
        assert!(stopped.as_ref().is_err_and(Failure::is_interrupted));
    }

    /// A process in a frozen control group does not end, like one that waits for a hanging disk.
    #[test]
    fn a_process_that_cannot_be_killed_is_not_waited_for() {
        let group = format!("/sys/fs/cgroup/freezer/dyno-test-{}", std::process::id());
        if std::fs::create_dir(&group).is_err() {
            return testkit::skip("no control group can freeze a process");
        }
        let mut child = spawn(sh("sleep 600")).unwrap();
        let write = |file: &str, text: &str| std::fs::write(format!("{group}/{file}"), text);
        write("cgroup.procs", &child.id().to_string()).unwrap();
        write("freezer.state", "FROZEN").unwrap();
        let begun = Instant::now();
        kill_within(&mut child, Duration::from_millis(50));
        assert!(begun.elapsed() < Duration::from_secs(300));
        assert!(matches!(child.try_wait(), Ok(None)));
        write("freezer.state", "THAWED").unwrap();
        child.wait().unwrap();
        while std::fs::remove_dir(&group).is_err() {
            sleep(POLL_INTERVAL);
        }
    }

    #[test]
    fn ends_are_described_in_words() {
        let never = AtomicBool::new(false);
        let ended = |text: &str| {
            let status = run(sh(text), Duration::from_secs(60), &never);
            how_it_ended(status.unwrap().unwrap())
        };
        assert_eq!(ended("exit 3"), "ended with exit code 3");
        assert_eq!(ended("exit 137"), "was killed by signal 9");
        assert_eq!(ended("exit 255"), "ended with exit code 255");
        assert_eq!(ended("kill -9 $$"), "was killed by signal 9");
    }

    #[test]
    fn children_inherit_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("environment");
        let mut command = sh("env");
        command.stdout(std::fs::File::create(&path).unwrap());
        run(command, Duration::from_secs(60), &AtomicBool::new(false)).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        // Cargo sets this variable for every test; it stands for a password.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert!(text.contains("PATH=") && !text.contains("CARGO"), "{text}");
    }
}

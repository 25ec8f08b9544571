//! Programs that serve a test, and die with it.

use std::fs::{self, File};
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to answer.
const START_LIMIT: Duration = Duration::from_secs(300);
/// Each check may start a process.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Starts a program that the kernel ends by `signal` when the test dies, and waits until it `is_up`. Its errors
/// are in `log`.
pub(crate) fn start(
    signal: &str,
    program: &str,
    arguments: &[&str],
    log: &Path,
    is_up: impl Fn() -> bool,
) -> Child {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", signal, "--", program]);
    command.args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::create(log).unwrap());
    let mut child = command.spawn().expect("setpriv is installed");
    let begun = Instant::now();
    while !is_up() {
        let said = || fs::read_to_string(log).unwrap_or_default();
        let ended = child.try_wait().unwrap();
        assert!(
            ended.is_none(),
            "{program} ended (scripts/install-servers.sh): {}",
            said()
        );
        assert!(
            begun.elapsed() < START_LIMIT,
            "{program} does not answer: {}",
            said()
        );
        std::thread::sleep(POLL_INTERVAL);
    }
    child
}

pub(crate) fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// A free port of 127.0.0.1 that neither a client nor another test gets, also while the program is down.
pub(crate) fn free_port() -> u16 {
    machine::port::free(Ipv4Addr::LOCALHOST).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a program with this input; what it printed.
pub(crate) fn feed(mut command: Command, input: &str) -> String {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // A program that ends at a wrong statement reads no further; what it says is what matters.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}\nin: {input}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

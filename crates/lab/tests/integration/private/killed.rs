//! Dynos that are killed: the test program again, as a process of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lab::servers::Node;
use machine::home::Home;

use super::{entries, is_running, processes_below, wait_until};

const ROOT: &str = "KILLED_TEST_ROOT";
const DOES: &str = "KILLED_TEST_DOES";
const PLACE: &str = "KILLED_TEST_PLACE";
const READY: &str = "the dyno is ready";

/// A dyno that runs, killed at the latest when it is dropped.
pub(crate) struct Dyno {
    child: Child,
    root: PathBuf,
}

/// What the test `a_dyno` is for: plays a dyno where it was started as one.
pub(crate) fn play(part: impl FnOnce(&Home, &str, &Path)) {
    let Some(root) = std::env::var_os(ROOT) else {
        return;
    };
    let home = lab::servers::open_home(Path::new(&root), u64::MAX).unwrap();
    let place = PathBuf::from(std::env::var_os(PLACE).unwrap());
    part(&home, &std::env::var(DOES).unwrap(), &place);
    panic!("should have been killed");
}

/// What it says when there is something to kill.
#[allow(clippy::print_stdout, reason = "the test reads it")]
pub(crate) fn ready() {
    println!("{READY}");
}

/// Keeps a server until the dyno is killed.
pub(crate) fn serve(server: Node) {
    ready();
    std::thread::sleep(Duration::from_secs(600));
    drop(server);
}

/// Starts one, and waits until it is ready.
pub(crate) fn dyno(root: &Path, does: &str, place: &Path) -> Dyno {
    let mut dyno = start(root, does, place);
    let lines = BufReader::new(dyno.child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains(READY)));
    dyno
}

/// Starts one: the test `a_dyno` of the calling test's module, after which libtest names its thread.
pub(crate) fn start(root: &Path, does: &str, place: &Path) -> Dyno {
    let test = std::thread::current();
    let (module, _) = test.name().unwrap().rsplit_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("{module}::a_dyno"), "--nocapture"]);
    command.env(ROOT, root).env(DOES, does).env(PLACE, place);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    Dyno {
        child: command.spawn().unwrap(),
        root: root.to_owned(),
    }
}

impl Dyno {
    /// Its run directory, the only one of its cache.
    pub(crate) fn run_dir(&self) -> PathBuf {
        let mut runs = entries(&self.root.join("run"));
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(self) {}

    /// The same, and waits for the end of its servers.
    pub(crate) fn kill_with_servers(self) {
        let servers = processes_below(&self.root);
        self.kill();
        for pid in servers {
            wait_until("the server's end", || !is_running(pid));
        }
    }
}

impl Drop for Dyno {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! Starting programs: as whom, and so that they do not outlive the test.

use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

use crate::home;

/// Whom a server runs as: ourselves, or an unprivileged system user when we are root (servers refuse root).
pub(crate) struct Account {
    ids: Option<(u32, u32)>,
}

impl Account {
    pub(crate) fn for_servers() -> Account {
        if !home::is_root() {
            return Account { ids: None };
        }
        let passwd = fs::read_to_string("/etc/passwd").expect("/etc/passwd can be read");
        let ids = ["mysql", "nobody"]
            .iter()
            .find_map(|name| ids_of(&passwd, name));
        assert!(ids.is_some(), "no user mysql or nobody to run a server as");
        Account { ids }
    }

    /// Makes the account the owner of `path`.
    pub(crate) fn own(&self, path: &Path) {
        if let Some((user, group)) = self.ids {
            chown(path, Some(user), Some(group))
                .unwrap_or_else(|e| panic!("cannot chown {}: {e}", path.display()));
        }
    }

    /// `program` as this account, killed by the kernel when the thread that starts it ends: see [`spawn`].
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if let Some((user, group)) = self.ids {
            command.args([
                format!("--reuid={user}"),
                format!("--regid={group}"),
                "--clear-groups".to_owned(),
            ]);
        }
        // The account may not be able to enter the test's own directory.
        command
            .arg("--")
            .arg(program)
            .current_dir("/")
            .stdin(Stdio::null());
        command
    }
}

fn ids_of(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let mut fields = passwd
        .lines()
        .map(|line| line.split(':'))
        .find(|fields| fields.clone().next() == Some(name))?;
    Some((fields.nth(2)?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// A command to start, and where to send the outcome.
type Job = (Command, Sender<io::Result<Child>>);

/// Starts a command from a thread that lives as long as the process.
///
/// The kernel's parent-death signal follows the *thread* that forked, and a test's thread ends with the test, which
/// would take a server shared by several tests with it.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Mutex<Sender<Job>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, jobs) = channel::<Job>();
        let run = move || {
            for (mut command, outcome) in jobs {
                let _ = outcome.send(command.spawn());
            }
        };
        std::thread::Builder::new()
            .name("testkit-spawner".to_owned())
            .spawn(run)
            .expect("a thread can be started");
        Mutex::new(sender)
    });
    let (outcome, result) = channel();
    spawner
        .lock()
        .unwrap()
        .send((command, outcome))
        .expect("the spawner never ends");
    result.recv().expect("the spawner always answers")
}

/// Runs a command to its end; panics with all it said if it fails.
pub(crate) fn output_of(mut command: Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{stdout}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    stdout
}

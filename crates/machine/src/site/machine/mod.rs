//! A machine other than this host, reached over ssh. The files of its nodes are below one
//! directory, which has dyno's marker.
//!
//! ```text
//! CACHE/run/5e1c…/ssh8       the socket of the connection
//! HOST:/var/tmp/dyno-5e1c…-7/.dyno-directory
//! HOST:/var/tmp/dyno-5e1c…-7/s1.0/     as the node's directory on this host
//! ```
//!
//! One connection carries everything: an agent, which answers requests ([`agent`]), and for each
//! program a session, with which the program ends.

mod agent;
pub(super) mod disk;
mod site;

use std::ffi::OsStr;
use std::fs::File;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ipnet::Ipv4Net;
use rustix::process::Signal;

use super::far::Link;
use super::launched::Process;
use super::vm::Guest;
use crate::account::Account;
use crate::failure::Failure;
use crate::home::Home;
use crate::home::journal::Step;
use crate::home::remote::{self, removal};
use crate::process::{self, NEVER, WORK_LIMIT};
use crate::ssh::{self, Answer, COMMAND_LIMIT, Destination, quoted, script};
use agent::{Agent, addresses};

/// How long `tar` may take to end once its archive has been read.
const END_LIMIT: Duration = Duration::from_secs(10);
const BRING: &str = concat!(include_str!("bring.sh"), include_str!("own.sh"));
/// Reads the program of dyno into the file $1.
const PUSH: &str = "umask 077; cat >\"$1\" && chmod 700 \"$1\"";
/// Unpacks data into the new directory $1, which the account $2 (UID:GID) gets if that is another.
const RECEIVE: &str = "umask 077; mkdir \"$1\" && tar -C \"$1\" -xpof - && { [ -z \"$2\" ] || chown -R \"$2\" \"$1\"; }";
/// Defines `end_processes`.
const END: &str = include_str!("end.sh");
const MOUNT: &str = concat!(include_str!("mount.sh"), include_str!("own.sh"));

/// A machine that ssh reaches. Dropping it removes what dyno stored there.
#[derive(Debug)]
pub struct Machine {
    to: Destination,
    /// The directory on the machine.
    dir: PathBuf,
    /// The record of the directory; `None` for a guest.
    step: Option<Step>,
    agent: Agent,
    control: PathBuf,
    /// Messages of ssh.
    log: PathBuf,
    account: Account,
    /// The user that ssh logs in as.
    user: String,
    /// The address that servers listen on, with the network from which they are reached.
    address: Ipv4Net,
    /// This host's address in that network.
    client: Ipv4Addr,
    /// The run directory on this host, which contains the nodes' directories.
    run: PathBuf,
    /// The mount point of the guest's disk.
    mounted: OnceLock<PathBuf>,
    /// The machine, if it is a guest; the last field, so that the connection ends first.
    pub(super) guest: Option<Guest>,
}

impl Machine {
    /// Connects to a host, and creates a directory below `below` on it.
    pub fn new(home: &Home, to: &Destination, below: &Path) -> Result<Self, Failure> {
        Self::connect(home, to, below, None)
    }

    /// Boots a guest with the CPUs and memory of these limits. It has at most one node.
    pub fn guest(
        home: &Home,
        limits: &plan::Limits,
        image: &Path,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        let guest = Guest::boot(home, limits, image, interrupted)?;
        let to = guest.destination.clone();
        Self::connect(home, &to, Path::new("/var/tmp"), Some(guest))
    }

    fn connect(
        home: &Home,
        to: &Destination,
        below: &Path,
        guest: Option<Guest>,
    ) -> Result<Self, Failure> {
        let (control, log) = (home.new_path("ssh"), home.new_path("ssh-log"));
        let (agent, greeting) = Agent::connect(to, &control, &log)?;
        if let Some((why, remedy)) = greeting.unfit() {
            return Err(to.unusable(why, remedy));
        }
        let (client, address) = addresses(&greeting.connection).ok_or_else(|| {
            let why = format!("ssh is not connected by IPv4: {}", greeting.connection);
            to.unusable(why, "give its IPv4 address or a name that has one")
        })?;
        let passwd = host::text(&agent, "/etc/passwd").unwrap_or_default();
        let account = home
            .account()
            .on_machine(greeting.uid, &passwd)
            .map_err(|_| {
                let why = "servers refuse to run as root, and no other user exists to run them";
                to.unusable(
                    why.to_owned(),
                    "install the server's package there, or log in as another user",
                )
            })?;
        let run = |command: &str| agent.run(command);
        let (dir, step) = remote::make(home, to, below, guest.is_some(), run)?;
        Ok(Self {
            to: to.clone(),
            dir,
            step,
            agent,
            control,
            log,
            account,
            user: greeting.user,
            address,
            client,
            run: home.run_dir().to_owned(),
            mounted: OnceLock::new(),
            guest,
        })
    }

    /// Whether it is a guest on this host.
    pub fn is_guest(&self) -> bool {
        self.guest.is_some()
    }

    /// The address from which this host connects to it.
    pub fn reached_from(&self) -> Ipv4Addr {
        self.client
    }

    /// The user that ssh logs in as.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Copies a program of this host to the machine, and runs it there with arguments, to be asked.
    pub fn program(
        &self,
        file: &Path,
        arguments: &[impl AsRef<OsStr>],
        interrupted: &AtomicBool,
    ) -> Result<Link, Failure> {
        let there = self.dir.join("program");
        let mut ssh = self.client(&[]);
        ssh.arg(script(PUSH, &[&there]));
        ssh.stdin(File::open(file).map_err(Failure::at("read", file))?);
        ssh::finish(&self.to, ssh, WORK_LIMIT, interrupted)?;
        let mut ssh = self.client(&[]);
        let words = arguments.iter().map(quoted);
        let words: Vec<String> = std::iter::once(quoted(&there)).chain(words).collect();
        ssh.arg(format!("exec {}", words.join(" ")));
        let log = self.log.with_extension("program");
        Link::open(&self.to, ssh, &log, interrupted)
    }

    /// Copies a directory of this host to a new one on the machine, which gets the owner `UID:GID`
    /// unless that is empty.
    pub fn copy(
        &self,
        from: &Path,
        there: &Path,
        owner: &str,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let arguments = [there.as_os_str(), owner.as_ref()];
        self.unpack(from, &[], script(RECEIVE, &arguments), interrupted)
    }

    /// What a program prints that was started with a path and plain arguments.
    pub fn printed(&self, words: &[impl AsRef<OsStr>]) -> Result<String, Failure> {
        let words: Vec<String> = words.iter().map(quoted).collect();
        Ok(self.run(&words.join(" "))?.text)
    }

    /// The failure of a machine that cannot be used.
    pub fn unusable(&self, why: String, remedy: &str) -> Failure {
        self.to.unusable(why, remedy)
    }

    /// The path on the machine of `here`, a path in the run directory on this host.
    pub(super) fn path(&self, here: &Path) -> PathBuf {
        match here.strip_prefix(&self.run) {
            Ok(path) => self.dir.join(path),
            Err(_) => here.to_owned(),
        }
    }

    /// Copies the directory of a node, with its data, to the guest before its server starts.
    pub fn place(&self, dir: &Path, interrupted: &AtomicBool) -> Result<(), Failure> {
        if let Some(guest) = &self.guest {
            disk::fill(&guest.disk, dir, interrupted)?;
        }
        let dir = self.mounted.get_or_init(|| self.path(dir));
        self.mount(dir, interrupted)
    }

    fn mount(&self, dir: &Path, interrupted: &AtomicBool) -> Result<(), Failure> {
        let owner = self.account.owner();
        let arguments = [dir.as_os_str(), owner.as_ref(), disk::DEVICE.as_ref()];
        self.session(script(MOUNT, &arguments), interrupted)
    }

    /// Copies the directory of a node to the machine, without the part that belongs to the server's
    /// account.
    pub(super) fn bring(&self, dir: &Path, interrupted: &AtomicBool) -> Result<(), Failure> {
        let (there, owner) = (self.path(dir), self.account.owner());
        let arguments = [there.as_os_str(), owner.as_ref()];
        let command = script(BRING, &arguments);
        self.unpack(dir, &["--exclude=./own"], command, interrupted)
    }

    /// Packs a directory of this host for a command of the machine.
    fn unpack(
        &self,
        from: &Path,
        options: &[&str],
        command: String,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let mut tar = process::own_command(Path::new("tar"));
        tar.args(["--sparse", "-cf", "-"]).arg("-C").arg(from);
        tar.args(options).arg(".");
        tar.stderr(Stdio::null()).stdout(Stdio::piped());
        let mut tar = process::spawn(tar)?;
        let Some(archive) = tar.stdout.take() else {
            process::kill(&mut tar);
            return Err(self.to.error(""));
        };
        let mut ssh = self.client(&[]);
        ssh.arg(command).stdin(archive);
        let unpacked = ssh::finish(&self.to, ssh, WORK_LIMIT, interrupted);
        let packed = match &unpacked {
            Ok(_) => process::wait(&mut tar, END_LIMIT),
            Err(_) => None,
        };
        process::kill(&mut tar);
        unpacked?;
        match packed.is_some_and(|status| status.success()) {
            true => Ok(()),
            false => Err(self.to.error("tar failed on this host")),
        }
    }

    /// Writes a node's data to the guest's disk, which was written before the guest read it: nothing
    /// of it is in the page cache.
    pub fn settle(&self, data: &Path, interrupted: &AtomicBool) -> Result<(), Failure> {
        self.session(script("sync", &[self.path(data)]), interrupted)
    }

    /// Zero if something was written to the directory `within` this time; otherwise `None`.
    pub fn quiet_for(&self, here: &Path, within: Duration) -> Option<Duration> {
        let dir = quoted(self.path(here));
        let seconds = within.as_secs();
        let find = format!("find {dir} -type f -newermt '-{seconds} seconds' -print -quit");
        let found = self.run(&find).ok()?;
        (found.code == 0 && !found.text.trim().is_empty()).then_some(Duration::ZERO)
    }

    pub(super) fn remove_file(&self, here: &Path) -> Result<(), Failure> {
        self.succeed(&format!("rm -f {}", quoted(self.path(here))))
    }

    /// Connects the socket `here` on this host to the socket `there` on the machine.
    pub(super) fn forward(&self, here: &Path, there: &Path) -> Result<(), Failure> {
        let link = format!("{}:{}", here.display(), there.display());
        let mut ssh = self.client(&["-O", "forward", "-L", &link]);
        ssh.stdin(Stdio::null());
        ssh::finish(&self.to, ssh, COMMAND_LIMIT, &NEVER)
    }

    /// Without a connection, fails even if there are no processes: the search for them found none
    /// because it failed, too.
    pub(crate) fn send(&self, processes: &[Process], signal: Signal) -> Result<(), Failure> {
        let pids = processes.iter().filter_map(|process| match process {
            Process::Elsewhere(pid) => Some(format!(" {pid}")),
            Process::Here(_) => None,
        });
        let pids: String = pids.collect();
        let dir = self.dir.display();
        let (variable, below) = (
            quoted(format!("DYNO_RUN_DIR={dir}/")),
            quoted(format!("{dir}/")),
        );
        let signal = signal.as_raw();
        // Processes that have ended are not an error.
        let sent = self.run(&format!(
            "for pid in {pids}; do \
             if grep -qsF {variable} /proc/$pid/environ || readlink /proc/$pid/fd/0 | grep -qF {below}; \
             then kill -{signal} $pid; fi; done"
        ));
        sent.map(drop)
    }

    pub(crate) fn end_processes(&self, dir: &Path) -> Result<(), Failure> {
        let end = format!("{END}\nend_processes \"$1\"");
        self.session(script(&end, &[self.path(dir)]), &NEVER)
    }

    fn remove(&self) -> Result<(), Failure> {
        let remove = || self.session(removal(&self.dir), &NEVER).map(|()| true);
        let step = self.step.as_ref();
        step.map_or(Ok(()), |step| step.undo(remove))
    }

    fn run(&self, command: &str) -> Result<Answer, Failure> {
        self.agent.run(command).map_err(|error| {
            self.to.unusable(
                format!("the connection was lost: {error}"),
                "check the network and the host",
            )
        })
    }

    fn succeed(&self, command: &str) -> Result<(), Failure> {
        let output = self.run(command)?;
        match output.code {
            0 => Ok(()),
            _ => Err(self.to.error(&output.text)),
        }
    }

    fn session(&self, command: String, interrupted: &AtomicBool) -> Result<(), Failure> {
        let mut ssh = self.client(&[]);
        ssh.arg(command).stdin(Stdio::null());
        ssh::finish(&self.to, ssh, COMMAND_LIMIT, interrupted)
    }

    fn client(&self, options: &[&str]) -> Command {
        let path = format!("-oControlPath={}", self.control.display());
        let shared = ["-oControlMaster=no", &path];
        self.to.ssh(shared.iter().chain(options))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A later run removes what remains.
        let _ = self.remove();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_new_directory_is_given_to_the_servers_account() {
        let dir = tempfile::tempdir().unwrap();
        let (here, there) = (dir.path().join("here"), dir.path().join("there"));
        fs::create_dir_all(here.join("own")).unwrap();
        fs::write(here.join("a.cnf"), "").unwrap();
        let archive = dir.path().join("archive");
        for (exclude, given) in [("none", "0:7 a.cnf 6:7 own "), ("./own", "0:7 a.cnf ")] {
            let mut tar = Command::new("tar");
            tar.arg("-C").arg(&here).arg("-cf").arg(&archive);
            let packed = tar.args(["--exclude", exclude, "."]).status();
            assert!(packed.unwrap().success());
            // In place of the program.
            let chown = "chown() { printf '%s %s ' \"$2\" \"${3##*/}\"; }";
            let bring = script(
                &format!("{chown}\n{BRING}"),
                &[there.as_os_str(), "6:7".as_ref()],
            );
            let mut shell = Command::new("sh");
            let shell = shell
                .arg("-c")
                .arg(bring)
                .stdin(File::open(&archive).unwrap());
            let said = String::from_utf8(shell.output().unwrap().stdout).unwrap();
            assert_eq!(said, given);
        }
    }
}

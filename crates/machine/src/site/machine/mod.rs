//! A machine other than this host, reached over ssh: another host, or a guest of this one. dyno's own
//! program runs there, from a directory that has dyno's marker or on a disk of the guest.
//!
//! ```text
//! CACHE/run/5e1c…/ssh8       the socket of the connection
//! HOST:/var/tmp/dyno-5e1c…-7/.dyno-directory
//! HOST:/var/tmp/dyno-5e1c…-7/program
//! ```
//!
//! One connection carries everything: the program's session, and others that copy data.

pub(super) mod disk;
mod greeting;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ipnet::Ipv4Net;

use super::far::{Link, SILENCE};
use super::vm::{Guest, GuestPlan, not_booted};
use crate::failure::Failure;
use crate::home::Home;
use crate::home::journal::Step;
use crate::home::remote::{self, removal};
use crate::locked;
use crate::process::{self, NEVER, WORK_LIMIT};
use crate::ssh::{self, COMMAND_LIMIT, Destination, quoted, script};
pub use disk::MOUNT_POINT as GUEST_DIRECTORY;
pub use greeting::widened;
use greeting::{Greeting, addresses};

/// How long ssh may take to connect to a machine that answers, which may be under load.
const CONNECT_LIMIT: Duration = Duration::from_secs(60);
/// How long `tar` may take to end once its archive has been read.
const END_LIMIT: Duration = Duration::from_secs(10);
/// The exit code of ssh if the connection fails.
const NO_CONNECTION: i32 = 255;
/// The name of dyno's program.
const PROGRAM: &str = "program";
/// Reads the program of dyno into the file $1.
const PUSH: &str = "umask 077; cat >\"$1\" && chmod 700 \"$1\"";
/// Unpacks data, from the disk $3 of a guest, into the new directory $1, which the account $2 (UID:GID)
/// gets if that is another.
const RECEIVE: &str = "[ -z \"$3\" ] || exec <\"$3\"; umask 077; mkdir \"$1\" && tar -C \"$1\" -xpof - && { [ -z \"$2\" ] || chown -R \"$2\" \"$1\"; }";

/// A machine that ssh reaches. Dropping it removes what dyno stored there.
#[derive(Debug)]
pub struct Machine {
    /// The directory of dyno's program.
    dir: PathBuf,
    /// The record of the directory; `None` for a guest.
    step: Option<Step>,
    connection: Connection,
    /// The address that servers listen on, with the network from which they are reached.
    address: Ipv4Net,
    /// This host's address in that network.
    client: Ipv4Addr,
    /// The machine, if it is a guest; the last field, so that the connection ends first.
    pub(super) guest: Option<Guest>,
}

/// The client whose connection the others share. It ends when this value is dropped.
#[derive(Debug)]
struct Connection {
    to: Destination,
    /// `None` while the machine is off.
    client: Mutex<Option<Child>>,
    control: PathBuf,
    /// Messages of ssh.
    log: PathBuf,
}

impl Machine {
    /// Connects to a host, and creates a directory below `below` on it.
    pub fn new(home: &Home, to: &Destination, below: &Path) -> Result<Self, Failure> {
        let mut machine = Self::connect(home, to, below, None)?;
        let run = |command: &str| machine.connection.run(script(command, &[""; 0]));
        let (dir, step) = remote::make(home, to, below, run)?;
        (machine.dir, machine.step) = (dir, Some(step));
        Ok(machine)
    }

    /// Boots a guest with a program on its disk.
    pub fn guest(
        home: &Home,
        plan: GuestPlan,
        program: &Path,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        let guest = Guest::boot(home, &plan, program, interrupted)?;
        let to = guest.destination.clone();
        Self::connect(home, &to, Path::new(disk::MOUNT_POINT), Some(guest))
    }

    fn connect(
        home: &Home,
        to: &Destination,
        dir: &Path,
        guest: Option<Guest>,
    ) -> Result<Self, Failure> {
        let connection = Connection {
            to: to.clone(),
            client: Mutex::default(),
            control: home.new_path("ssh"),
            log: home.new_path("ssh-log"),
        };
        let greeting = connection.open(guest.is_some())?;
        if let Some((why, remedy)) = greeting.unfit() {
            return Err(to.unusable(why, remedy));
        }
        let (client, address) = addresses(&greeting.connection).ok_or_else(|| {
            let why = format!("ssh is not connected by IPv4: {}", greeting.connection);
            to.unusable(why, "give its IPv4 address or a name that has one")
        })?;
        Ok(Self {
            dir: dir.to_owned(),
            step: None,
            connection,
            address,
            client,
            guest,
        })
    }

    /// Whether it is a guest on this host.
    pub fn is_guest(&self) -> bool {
        self.guest.is_some()
    }

    /// The address that servers listen on, with the network from which they are reached.
    pub fn address(&self) -> Ipv4Net {
        self.address
    }

    /// The address from which this host connects to it.
    pub fn reached_from(&self) -> Ipv4Addr {
        self.client
    }

    /// Its name for ssh.
    pub fn name(&self) -> &str {
        &self.connection.to.host
    }

    /// The name for ssh, or what runs a guest.
    pub fn platform(&self) -> String {
        match &self.guest {
            None => self.name().to_owned(),
            Some(guest) => format!("{}; guest", guest.accelerator()),
        }
    }

    /// Runs dyno's program `file` there with arguments, to be asked; it is copied there unless it is on
    /// the disk of the guest.
    pub fn program(
        &self,
        file: &Path,
        arguments: &[impl AsRef<OsStr>],
        interrupted: &AtomicBool,
    ) -> Result<Link, Failure> {
        let there = self.dir.join(PROGRAM);
        if !self.is_guest() {
            let mut ssh = self.connection.client();
            ssh.arg(script(PUSH, &[&there]));
            ssh.stdin(File::open(file).map_err(Failure::at("read", file))?);
            ssh::finish(&self.connection.to, ssh, WORK_LIMIT, interrupted)?;
        }
        let mut ssh = self.connection.client();
        let words = arguments.iter().map(quoted);
        let words: Vec<String> = std::iter::once(quoted(&there)).chain(words).collect();
        ssh.arg(format!("exec {}", words.join(" ")));
        let log = self.connection.log.with_extension("program");
        Link::open(&self.connection.to, ssh, &log, SILENCE, interrupted)
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
        let device = self.guest.as_ref().map_or("", |_| disk::RECEIVED);
        let arguments = [there.as_os_str(), owner.as_ref(), device.as_ref()];
        let mut ssh = self.connection.client();
        ssh.arg(script(RECEIVE, &arguments));
        let mut tar = process::own_command(Path::new("tar"));
        tar.args(["--sparse", "-cf", "-"]).arg("-C").arg(from);
        tar.arg(".").stderr(Stdio::null());
        let failed = || self.connection.to.error("tar failed on this host");
        if let Some(guest) = &self.guest {
            let packed = disk::write(&guest.received, tar, interrupted)?;
            packed.then_some(()).ok_or_else(failed)?;
            ssh::finish(&self.connection.to, ssh, WORK_LIMIT, interrupted)?;
            // The archive must not take space any longer.
            return disk::create(&guest.received);
        }
        tar.stdout(Stdio::piped());
        let mut tar = process::spawn(tar)?;
        let Some(archive) = tar.stdout.take() else {
            process::kill(&mut tar);
            return Err(self.connection.to.error(""));
        };
        ssh.stdin(archive);
        let unpacked = ssh::finish(&self.connection.to, ssh, WORK_LIMIT, interrupted);
        let packed = match &unpacked {
            Ok(()) => process::wait(&mut tar, END_LIMIT),
            Err(_) => None,
        };
        process::kill(&mut tar);
        unpacked?;
        let is_packed = packed.is_some_and(|status| status.success());
        is_packed.then_some(()).ok_or_else(failed)
    }

    /// The failure of a machine that cannot be used.
    pub fn unusable(&self, why: String, remedy: &str) -> Failure {
        self.connection.to.unusable(why, remedy)
    }

    /// Switches a guest off, and returns once it is off. A host only loses the connection.
    pub fn cut(&self) -> Instant {
        let cut_at = self.guest.as_ref().map(Guest::cut);
        self.connection.end();
        cut_at.unwrap_or_else(Instant::now)
    }

    /// Switches a guest on again, with what was on its disk. Connects again.
    pub fn restore(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        if let Some(guest) = &self.guest {
            guest.switch_on(interrupted).map_err(not_booted)?;
        }
        self.connection.open(self.is_guest()).map(drop)
    }

    /// Ends a guest, with everything that is on it. What is on a host ends with dyno's program.
    pub fn end(&self) -> Result<(), Failure> {
        let Some(guest) = &self.guest else {
            return Ok(());
        };
        self.connection.end();
        guest.end()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let remove = || {
            let mut ssh = self.connection.client();
            ssh.arg(removal(&self.dir));
            ssh::finish(&self.connection.to, ssh, COMMAND_LIMIT, &NEVER).map(|()| true)
        };
        if let Some(step) = &self.step {
            // A later run removes what remains.
            let _ = step.undo(remove);
        }
    }
}

impl Connection {
    /// Connects to a machine, and mounts the disk of a guest.
    fn open(&self, is_guest: bool) -> Result<Greeting, Failure> {
        // A killed client leaves its socket behind.
        let _ = fs::remove_file(&self.control);
        let to = &self.to;
        let mut ssh = to.ssh([
            "-oControlMaster=yes",
            &self.path(),
            "-oControlPersist=no",
            "-N",
        ]);
        let log = File::create(&self.log).map_err(Failure::at("write", &self.log))?;
        ssh.stdout(Stdio::null()).stderr(log);
        let mut client = process::spawn(ssh)?;
        process::poll(CONNECT_LIMIT, || {
            let is_settled = self.control.exists() || !matches!(client.try_wait(), Ok(None));
            is_settled.then_some(())
        });
        if !self.control.exists() {
            return Err(to.error(&ssh::give_up(&mut client, &self.log)));
        }
        *locked(&self.client) = Some(client);
        let device = if is_guest { disk::DEVICE } else { "" };
        let greet = script(include_str!("greet.sh"), &[device, disk::MOUNT_POINT]);
        let (_, said) = self.run(greet)?;
        Greeting::of(&said).ok_or_else(|| to.error(&said))
    }

    fn end(&self) {
        if let Some(mut client) = locked(&self.client).take() {
            process::kill(&mut client);
        }
    }

    /// Runs a command without input to its end.
    fn run(&self, command: String) -> Result<(ExitStatus, String), Failure> {
        let mut ssh = self.client();
        ssh.arg(command);
        let (status, said) = process::words(ssh, COMMAND_LIMIT, &NEVER)?;
        match status.code() {
            Some(NO_CONNECTION) => Err(self.to.error(&said)),
            _ => Ok((status, said)),
        }
    }

    fn client(&self) -> Command {
        self.to.ssh(["-oControlMaster=no", &self.path()])
    }

    fn path(&self) -> String {
        format!("-oControlPath={}", self.control.display())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.end();
    }
}

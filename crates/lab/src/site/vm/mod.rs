//! Guests of QEMU on this host, with KVM where it works. A guest is a host that dyno boots and reaches
//! over ssh.
//!
//! ```text
//! CACHE/run/5e1c…/guest7/keys       for ssh, made for this boot
//! CACHE/run/5e1c…/guest7/disk       what its node's data is on
//! CACHE/run/5e1c…/guest7/console    what its kernel says
//! ```

mod backlog;
mod keys;
mod qemu;

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plan::Limits;

use super::Destination;
use super::machine::Disk;
use crate::error::LabError;
use crate::home::Home;
use crate::home::survivors::RUN_DIR;
use crate::process;
use crate::servers::free_port;
use keys::Keys;
use qemu::{Accelerator, Hardware, Image};

/// What a site whose guest has no KVM is called.
const EMULATED: &str = "emulated, not KVM";
/// How long a guest may take to boot. Where KVM works, it takes a second.
const BOOT_LIMIT: Duration = Duration::from_secs(180);
/// How long it may take with KVM, which does not work on all hosts that have it.
const KVM_LIMIT: Duration = Duration::from_secs(20);
/// What the console says when ssh can connect.
const IS_UP: &str = "Server listening on";
/// What QEMU says if another process has taken a port.
const PORT_TAKEN: &str = "Could not set up host forwarding rule";
const MAX_PORT_TRIES: u32 = 5;
/// How many lines of the console a message quotes.
const CONSOLE_LINES: usize = 8;

/// Why guests are emulated, or `None` if the first one booted with KVM: all guests of a study are to be
/// alike.
static NO_KVM: OnceLock<Option<String>> = OnceLock::new();

/// A running guest. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Guest {
    qemu: Mutex<Child>,
    /// Its files in the run directory.
    dir: PathBuf,
    /// The port of 127.0.0.1 that leads to the same port of the guest.
    port: u16,
    accelerator: Accelerator,
}

/// Why a guest did not boot.
enum Failed {
    PortTaken,
    Boot(String),
    Other(LabError),
}

impl From<LabError> for Failed {
    fn from(error: LabError) -> Self {
        Self::Other(error)
    }
}

impl Guest {
    /// Boots a guest; returns how ssh reaches it, and its disk.
    ///
    /// # Errors
    /// When QEMU or the image is missing, or the guest does not boot.
    pub(super) fn boot(
        home: &Home,
        limits: &Limits,
    ) -> Result<(Self, Destination, Disk), LabError> {
        qemu::program()?;
        let image = Image::find()?;
        let hardware = Hardware::new(limits);
        let boot = |accelerator| Self::on_free_ports(home, &image, &hardware, accelerator);
        let booted = match NO_KVM.get() {
            Some(Some(_)) => boot(Accelerator::Emulation),
            Some(None) => match boot(Accelerator::Kvm) {
                Err(Failed::Boot(_)) => boot(Accelerator::Kvm),
                booted => booted,
            },
            None => match boot(Accelerator::Kvm) {
                Err(Failed::Boot(why)) => {
                    // Another thread may have found the same.
                    let _ = NO_KVM.set(Some(why));
                    boot(Accelerator::Emulation)
                }
                booted => {
                    if booted.is_ok() {
                        let _ = NO_KVM.set(None);
                    }
                    booted
                }
            },
        };
        booted.map_err(|failed| {
            let why = match failed {
                Failed::Other(error) => return error,
                Failed::PortTaken => PORT_TAKEN.to_owned(),
                Failed::Boot(why) => why,
            };
            LabError::NoGuest {
                why,
                remedy: "build its image again with scripts/build-guest.sh; if that changes nothing, give it more memory: site.memory".to_owned(),
            }
        })
    }

    fn on_free_ports(
        home: &Home,
        image: &Image,
        hardware: &Hardware,
        accelerator: Accelerator,
    ) -> Result<(Self, Destination, Disk), Failed> {
        for _ in 1..MAX_PORT_TRIES {
            match Self::start(home, image, hardware, accelerator) {
                Err(Failed::PortTaken) => {}
                outcome => return outcome,
            }
        }
        Self::start(home, image, hardware, accelerator)
    }

    fn start(
        home: &Home,
        image: &Image,
        hardware: &Hardware,
        accelerator: Accelerator,
    ) -> Result<(Self, Destination, Disk), Failed> {
        let dir = home.new_path("guest");
        // Keys and data are nobody else's business.
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        builder.create(&dir).map_err(LabError::at("create", &dir))?;
        let ports = [free_port()?, free_port()?];
        let keys = Keys::make(&dir, ports[0])?;
        let disk = Disk::new(dir.join("disk"))?;
        let mut command = qemu::command(image, hardware, accelerator, &dir, &keys, &disk, ports)?;
        command.env(RUN_DIR, home.run_dir());
        let guest = Self {
            qemu: Mutex::new(process::spawn(command)?),
            dir,
            port: ports[1],
            accelerator,
        };
        guest.wait_until_up()?;
        let qemu = guest.child(|child| child.id());
        backlog::widen(qemu, guest.port)
            .map_err(|error| LabError::at("share a socket of", &guest.dir)(error.into()))?;
        Ok((guest, keys.destination, disk))
    }

    fn wait_until_up(&self) -> Result<(), Failed> {
        let limit = match self.accelerator {
            Accelerator::Kvm => KVM_LIMIT,
            Accelerator::Emulation => BOOT_LIMIT,
        };
        let deadline = Instant::now() + limit;
        let said = |name: &str| fs::read(self.dir.join(name)).unwrap_or_default();
        let text = |name: &str| String::from_utf8_lossy(&said(name)).into_owned();
        loop {
            let status = self.child(|child| child.try_wait());
            if text(qemu::CONSOLE).contains(IS_UP) {
                return Ok(());
            }
            let what = match status {
                Ok(Some(status)) => format!("QEMU {}", process::how_it_ended(status)),
                _ if Instant::now() > deadline => {
                    format!("it took more than {} s", limit.as_secs())
                }
                _ => {
                    sleep(process::POLL_INTERVAL);
                    continue;
                }
            };
            let log = text(qemu::LOG);
            if log.contains(PORT_TAKEN) {
                return Err(Failed::PortTaken);
            }
            return Err(Failed::Boot(explained(&what, &log, &text(qemu::CONSOLE))));
        }
    }

    /// The port at which its server can be reached, on the guest and on 127.0.0.1.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Whether its CPUs are emulated.
    pub(super) fn is_emulated(&self) -> bool {
        matches!(self.accelerator, Accelerator::Emulation)
    }

    /// What runs its CPUs.
    pub(super) fn accelerator(&self) -> String {
        match (self.accelerator, NO_KVM.get().and_then(Option::as_ref)) {
            (Accelerator::Kvm, _) => "KVM".to_owned(),
            (Accelerator::Emulation, None) => EMULATED.to_owned(),
            (Accelerator::Emulation, Some(why)) => format!("{EMULATED}: {why}"),
        }
    }

    /// Ends it, and removes its files.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn end(&self) -> Result<(), LabError> {
        self.child(process::kill);
        match fs::remove_dir_all(&self.dir) {
            Err(error) if self.dir.exists() => Err(LabError::at("remove", &self.dir)(error)),
            _ => Ok(()),
        }
    }

    fn child<T>(&self, act: impl FnOnce(&mut Child) -> T) -> T {
        act(&mut self.qemu.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // The next run removes what remains.
        let _ = self.end();
    }
}

/// What happened, with the words of QEMU and the last lines of the console.
fn explained(what: &str, log: &str, console: &str) -> String {
    let error = |line: &&str| !line.is_empty() && !line.contains("warning:");
    let first = log.lines().map(str::trim).find(error);
    let first = first.map(|line| line.split_once(": ").map_or(line, |(_, error)| error));
    let lines = console.lines().map(str::trim);
    // The registers of a kernel that has panicked say nothing.
    let lines = lines.take_while(|line| !line.contains("Call Trace"));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let shown = lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("; ");
    match (first, shown.is_empty()) {
        (Some(error), true) => format!("{what}: {error}"),
        (None, true) => format!("{what}, and its console is empty"),
        (Some(error), false) => format!("{what}: {error}; its console ends: {shown}"),
        (None, false) => format!("{what}; its console ends: {shown}"),
    }
}

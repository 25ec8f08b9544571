//! QEMU guests on this host, with KVM where it works. dyno boots a guest and then reaches it over
//! ssh like any other host.
//!
//! ```text
//! CACHE/run/5e1c…/guest7/keys       for ssh, made for this boot
//! CACHE/run/5e1c…/guest7/disk       dyno's program, and the cache that it has there
//! CACHE/run/5e1c…/guest7/received   an archive of data that is copied to the guest
//! CACHE/run/5e1c…/guest7/console    what its kernel says
//! ```

mod backlog;
mod qemu;

use std::fmt::Display;
use std::fs::{self, DirBuilder, File};
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use plan::Limits;
use rustix::io::Errno;

use super::machine::disk;
use crate::home::Home;
use crate::locked;
use crate::port;
use crate::process;
use crate::ssh::Destination;
use qemu::Accelerator;

use crate::failure::{Exit, Fact, Failure, canceled};

/// Describes a guest without KVM in reports.
const EMULATED: &str = "emulated, not KVM";
/// How long a guest may take to boot. With KVM, it takes a second.
const BOOT_LIMIT: Duration = Duration::from_secs(180);
/// How long booting may take with KVM, which does not work on all hosts that have it.
const KVM_LIMIT: Duration = Duration::from_secs(20);
/// The module of a KVM that runs only kernels that are made for it. It interprets all others
/// instruction by instruction: none of them boots within minutes.
const PVM: &str = "/sys/module/kvm_pvm";
/// A message on the console after which ssh can connect.
const IS_UP: &str = "Server listening on";
/// QEMU's message if another process has taken a port.
const PORT_TAKEN: &str = "Could not set up host forwarding rule";
const MAX_PORT_TRIES: u32 = 5;
/// Lines of the console that a message quotes.
const CONSOLE_LINES: usize = 8;

/// The accelerator that booted the first guest, and the reason why plain KVM did not. All guests of a
/// study use the same one.
static CHOSEN: OnceLock<(Accelerator, Option<String>)> = OnceLock::new();

#[derive(Debug, Clone)]
pub struct GuestPlan {
    /// The guest's name for ssh.
    pub name: String,
    /// Its CPUs and memory.
    pub limits: Limits,
    /// The directory that `scripts/build-guest.sh` fills.
    pub image: PathBuf,
}

/// A running guest, ended when this value is dropped.
#[derive(Debug)]
pub(super) struct Guest {
    /// `None` while it is switched off.
    qemu: Mutex<Option<Child>>,
    plan: GuestPlan,
    accelerator: Accelerator,
    /// The guest's directory in the run directory.
    dir: PathBuf,
    home: Home,
    /// How ssh reaches the guest.
    pub(super) destination: Destination,
    /// The file of the disk that holds dyno's program and its cache.
    disk: PathBuf,
    /// The file of the disk through which data is copied to the guest.
    pub(super) received: PathBuf,
    /// The ports of 127.0.0.1 that are forwarded to the guest's ssh server and to its database
    /// server.
    ports: [u16; 2],
}

fn no_guest(why: impl Display, remedy: impl Into<String>) -> Failure {
    Failure::usage(format!("the guest cannot be booted: {why}"))
        .remedy(remedy)
        .key("site.kind")
}

/// Adds a remedy to the failure of a guest that did not boot.
pub(super) fn not_booted(failure: Failure) -> Failure {
    if !failure.is(Fact::NotStarted) && !failure.is(Fact::PortTaken) {
        return failure;
    }
    let remedy = "build its image again with scripts/build-guest.sh; if that changes nothing, give it more memory: site.memory";
    Failure {
        exit: Exit::Server,
        ..no_guest(failure.message, remedy)
    }
}

impl Guest {
    pub(super) fn boot(
        home: &Home,
        plan: &GuestPlan,
        program: &Path,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        qemu::program()?;
        qemu::check_image(&plan.image)?;
        let start = |accelerator| Self::start(home, plan, program, accelerator, interrupted);
        let boot = |accelerator| Self::on_free_ports(|| start(accelerator));
        let booted = match CHOSEN.get() {
            None => Self::boot_first(boot),
            Some((Accelerator::Emulation, _)) => boot(Accelerator::Emulation),
            Some((kvm, _)) => match boot(*kvm) {
                Err(failure) if failure.is(Fact::NotStarted) => boot(*kvm),
                booted => booted,
            },
        };
        booted.map_err(not_booted)
    }

    /// Boots a guest with the first accelerator that works.
    fn boot_first(boot: impl Fn(Accelerator) -> Result<Self, Failure>) -> Result<Self, Failure> {
        let mut why = None;
        // Another thread that chooses at the same time comes to the same result.
        let choose = |accelerator, why| drop(CHOSEN.set((accelerator, why)));
        if Path::new(PVM).exists() {
            why = Some("KVM here is PVM, which needs kernels that no distribution has".to_owned());
        } else {
            for kvm in [Accelerator::Kvm, Accelerator::KvmWithoutCapabilities] {
                match boot(kvm) {
                    Err(failure) if failure.is(Fact::NotStarted) => {
                        why = why.or(Some(failure.message));
                    }
                    booted => {
                        if booted.is_ok() {
                            choose(kvm, why);
                        }
                        return booted;
                    }
                }
            }
        }
        choose(Accelerator::Emulation, why);
        boot(Accelerator::Emulation)
    }

    /// Starts a guest; tries again if another process takes one of its ports first.
    fn on_free_ports(start: impl Fn() -> Result<Self, Failure>) -> Result<Self, Failure> {
        let mut tries = 1..MAX_PORT_TRIES;
        loop {
            match start() {
                Err(failure) if failure.is(Fact::PortTaken) && tries.next().is_some() => {}
                outcome => return outcome,
            }
        }
    }

    fn start(
        home: &Home,
        plan: &GuestPlan,
        program: &Path,
        accelerator: Accelerator,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        let dir = home.new_path("guest");
        // Keys and data are closed to others.
        let create = |dir: &Path| {
            let created = DirBuilder::new().mode(0o700).create(dir);
            created.map_err(Failure::at("create", dir))
        };
        let temporary = dir.join(qemu::TEMPORARY);
        create(&dir)?;
        create(&temporary)?;
        home.account().own(&temporary)?;
        home.account().let_enter(&dir)?;
        let free = || port::free(Ipv4Addr::LOCALHOST);
        let ports = [free()?, free()?];
        let destination = qemu::make_keys(&dir, &plan.name, ports[0])?;
        let [disk, received] = ["disk", "received"].map(|name| dir.join(name));
        for disk in [&disk, &received] {
            disk::create(disk)?;
            home.account().own(disk)?;
        }
        disk::fill(&disk, program, &dir.join("program"), interrupted)?;
        let guest = Self {
            qemu: Mutex::default(),
            plan: plan.clone(),
            accelerator,
            dir,
            home: home.clone(),
            destination,
            disk,
            received,
            ports,
        };
        guest.switch_on(interrupted)?;
        Ok(guest)
    }

    pub(super) fn switch_on(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        // Without the output from before the guest was switched off.
        let console = self.dir.join(qemu::CONSOLE);
        File::create(&console).map_err(Failure::at("write", &console))?;
        self.home.account().own(&console)?;
        let child = process::spawn(qemu::command(self)?)?;
        let id = child.id();
        *locked(&self.qemu) = Some(child);
        self.wait_until_up(interrupted)?;
        match backlog::widen(id, self.port()) {
            // Sockets of another account's process need CAP_SYS_PTRACE. Without it, connecting many
            // users at once is slow, not wrong.
            Err(Errno::PERM | Errno::ACCESS) => Ok(()),
            widened => widened.map_err(Failure::at("share a socket of", &self.dir)),
        }
    }

    fn wait_until_up(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let limit = match self.accelerator {
            Accelerator::Emulation => BOOT_LIMIT,
            _ => KVM_LIMIT,
        };
        let said = |name: &str| fs::read(self.dir.join(name)).unwrap_or_default();
        let text = |name: &str| String::from_utf8_lossy(&said(name)).into_owned();
        let failed = |what: String| {
            let log = text(qemu::LOG);
            match log.contains(PORT_TAKEN) {
                true => Failure::server(PORT_TAKEN).fact(Fact::PortTaken),
                false => {
                    let why = explained(&what, &log, &text(qemu::CONSOLE));
                    Failure::server(why).fact(Fact::NotStarted)
                }
            }
        };
        let ended = |status| failed(format!("QEMU {}", process::how_it_ended(status)));
        let outcome = process::poll(limit, || {
            let mut qemu = locked(&self.qemu);
            let status = qemu.as_mut().map_or(Ok(None), Child::try_wait);
            match status {
                _ if text(qemu::CONSOLE).contains(IS_UP) => Some(Ok(())),
                Ok(Some(status)) => Some(Err(ended(status))),
                _ => interrupted.load(Ordering::Relaxed).then(|| Err(canceled())),
            }
        });
        let late = || failed(format!("it took more than {} s", limit.as_secs()));
        outcome.unwrap_or_else(|| Err(late()))
    }

    /// The server's port, which is the same on the guest and on 127.0.0.1.
    pub(super) fn port(&self) -> u16 {
        self.ports[1]
    }

    pub(super) fn cut(&self) -> Instant {
        let qemu = locked(&self.qemu).take();
        qemu.map_or_else(Instant::now, |mut qemu| process::kill(&mut qemu))
    }

    pub(super) fn is_emulated(&self) -> bool {
        self.accelerator == Accelerator::Emulation
    }

    /// For reports: KVM, or emulation.
    pub(super) fn accelerator(&self) -> String {
        let name = match self.accelerator {
            Accelerator::Kvm => return "KVM".to_owned(),
            Accelerator::KvmWithoutCapabilities => "KVM with arch-capabilities=off",
            Accelerator::Emulation => EMULATED,
        };
        match CHOSEN.get() {
            Some((_, Some(why))) => format!("{name}: {why}"),
            _ => name.to_owned(),
        }
    }

    /// Ends the guest and removes its files.
    pub(super) fn end(&self) -> Result<(), Failure> {
        self.cut();
        match fs::remove_dir_all(&self.dir) {
            Err(error) if self.dir.exists() => Err(Failure::at("remove", &self.dir)(error)),
            _ => Ok(()),
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // The next run removes what remains.
        let _ = self.end();
    }
}

/// Adds QEMU's messages and the last lines of the console.
fn explained(what: &str, log: &str, console: &str) -> String {
    let error = |line: &&str| !line.is_empty() && !line.contains("warning:");
    let first = log.lines().map(str::trim).find(error);
    let first = first.map(|line| line.split_once(": ").map_or(line, |(_, error)| error));
    let lines = console.lines().map(str::trim);
    // The registers that a panicking kernel prints are of no use.
    let lines = lines.take_while(|line| !line.contains("Call Trace"));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let shown = lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("; ");
    let error = first.map_or_else(String::new, |error| format!(": {error}"));
    match shown.is_empty() {
        true => format!("{what}{error}; its console is empty"),
        false => format!("{what}{error}; its console ends: {shown}"),
    }
}

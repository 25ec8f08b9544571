//! QEMU's command line, and what it boots: an image, with keys that are new for each boot.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

use super::{Guest, GuestPlan, no_guest};
use crate::account::Account;
use crate::failure::Failure;
use crate::home::survivors::RUN_DIR;
use crate::process::{self, NEVER, TOOL_LIMIT};
use crate::site::machine::disk;
use crate::ssh::Destination;
use crate::tool;

/// Debian has a program for each architecture.
const PROGRAM: &str = "qemu-system-x86_64";
/// Memory of a guest without a limit.
const MEMORY_BYTES: u64 = 1 << 30;
/// The kernel's messages, a file in the guest's directory.
pub(super) const CONSOLE: &str = "console";
/// QEMU's messages, a file in the guest's directory.
pub(super) const LOG: &str = "log";
/// The directory for what the guest writes to its image.
pub(super) const TEMPORARY: &str = "tmp";
/// The guest's second disk, a file in its directory: a tar archive with its keys.
const KEYS: &str = "keys";
const KVM_DEVICE: &str = "/dev/kvm";
/// Kernel messages go to the console, and a kernel panic ends QEMU.
const KERNEL_OPTIONS: &str = "console=ttyS0 quiet panic=-1";

/// A guest that takes QEMU over can neither start programs nor gain privileges. QEMU does not change
/// its own user: the kernel would then forget to end it with dyno.
const SANDBOX: &str = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accelerator {
    Kvm,
    /// KVM without IA32_ARCH_CAPABILITIES, which some hosts announce but do not let guests read.
    KvmWithoutCapabilities,
    Emulation,
}

impl Accelerator {
    /// The user that QEMU runs as: the servers', if that one may use the accelerator.
    fn account(self, servers: &Account) -> Account {
        match self {
            Self::Kvm | Self::KvmWithoutCapabilities => servers.with_device(Path::new(KVM_DEVICE)),
            Self::Emulation => servers.clone(),
        }
    }
}

/// Checks that `scripts/build-guest.sh` has filled the directory of the image.
pub(super) fn check_image(image: &Path) -> Result<(), Failure> {
    match image.join(".complete").exists() {
        true => Ok(()),
        false => Err(no_guest(
            format!("there is no image in {}", image.display()),
            "build it with scripts/build-guest.sh, which needs the Debian archive and 600 MB of temporary disk space",
        )),
    }
}

/// The command of a QEMU whose guest is reachable at its `ports` of 127.0.0.1, forwarded to the
/// guest's ports 22 and `ports[1]`. The guest cannot reach anything else.
pub(super) fn command(guest: &Guest) -> Result<Command, Failure> {
    let Guest {
        plan: GuestPlan { limits, image, .. },
        accelerator,
        dir,
        disk,
        received,
        ports: [ssh, server],
        ..
    } = guest;
    let cpuset = limits.cpuset.iter();
    let cpuset: Vec<OsString> = cpuset
        .flat_map(|cpus| ["taskset", "-c", &cpus.value.to_string()].map(OsString::from))
        .collect();
    let cpus = match &limits.cpus {
        // Studies accept only whole numbers here.
        Some(cpus) => cpus.value.round().to_string(),
        None => available_parallelism().map_or(1, usize::from).to_string(),
    };
    let memory_bytes = limits.memory.as_ref();
    let memory_bytes = memory_bytes.map_or(MEMORY_BYTES, |memory| memory.value);
    let account = accelerator.account(guest.home.account());
    let mut command = process::command(&account, &cpuset, &program()?);
    let (accelerator, cpu) = match accelerator {
        Accelerator::Kvm => ("kvm", "host"),
        Accelerator::KvmWithoutCapabilities => ("kvm", "host,arch-capabilities=off"),
        Accelerator::Emulation => ("tcg,thread=multi", "max"),
    };
    command.args(["-accel", accelerator, "-cpu", cpu]);
    command.args(["-sandbox", SANDBOX]);
    // The timers of `q35` work even on a busy host; those of `microvm` do not.
    command.args(["-machine", "q35"]);
    command.arg("-smp").arg(cpus);
    command.arg("-m").arg(format!("{}M", memory_bytes >> 20));
    command.args(["-nodefaults", "-no-user-config", "-no-reboot"]);
    command.args(["-display", "none"]);
    let console = option("file,id=console,path=", &dir.join(CONSOLE), "");
    command.arg("-chardev").arg(console);
    command.args(["-serial", "chardev:console"]);
    command.arg("-kernel").arg(image.join("vmlinuz"));
    command.arg("-initrd").arg(image.join("initrd"));
    command.args(["-append", KERNEL_OPTIONS]);
    // QEMU stores what is written to this disk in a file that it deletes as soon as it has opened
    // it.
    command.env("TMPDIR", dir.join(TEMPORARY));
    drive(&mut command, "root", &image.join("root.img"), "snapshot=on");
    drive(&mut command, "keys", &dir.join(KEYS), "readonly=on");
    // The guest's page cache must be the only one.
    let cache = match disk::is_direct(disk) {
        true => "cache=none",
        false => "cache=writeback",
    };
    drive(&mut command, "data", disk, cache);
    drive(&mut command, "received", received, cache);
    command.arg("-netdev").arg(format!(
        "user,id=net,ipv6=off,restrict=on,hostfwd=tcp:127.0.0.1:{ssh}-:22,hostfwd=tcp:127.0.0.1:{server}-:{server}"
    ));
    command.args(["-device", "virtio-net-pci,netdev=net,romfile="]);
    let path = dir.join(LOG);
    let log = File::create(&path).map_err(Failure::at("write", &path))?;
    let errors = log.try_clone().map_err(Failure::at("write", &path))?;
    command.env(RUN_DIR, guest.home.run_dir());
    command.stdout(log).stderr(errors);
    Ok(command)
}

/// Adds the guest's next disk.
fn drive(command: &mut Command, name: &str, file: &Path, how: &str) {
    let after = format!(",if=none,id={name},format=raw,werror=report,{how}");
    command.arg("-drive").arg(option("file=", file, &after));
    let device = format!("virtio-blk-pci,drive={name}");
    command.arg("-device").arg(device);
}

/// A QEMU option with a path, in which commas are doubled.
fn option(before: &str, path: &Path, after: &str) -> OsString {
    let path = path.to_string_lossy().replace(',', ",,");
    format!("{before}{path}{after}").into()
}

/// Creates keys for a guest, whose ssh server is at `port` of 127.0.0.1, and for its user; returns
/// how ssh reaches the guest by this name.
pub(super) fn make_keys(dir: &Path, guest: &str, port: u16) -> Result<Destination, Failure> {
    let path = |name: &str| dir.join(name);
    for name in ["host_key", "user_key"] {
        let mut keygen = process::own_command(Path::new("ssh-keygen"));
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "dyno", "-f"]);
        keygen.arg(path(name));
        succeed(keygen, "ssh-keygen", "openssh-client")?;
    }
    let write = |name: &str, text: String| {
        fs::write(path(name), text).map_err(Failure::at("write", &path(name)))
    };
    let read =
        |name: &str| fs::read_to_string(path(name)).map_err(Failure::at("read", &path(name)));
    write("authorized_keys", read("user_key.pub")?)?;
    write("known_hosts", format!("{guest} {}", read("host_key.pub")?))?;
    write(
        "ssh_config",
        format!(
            "Host {guest}\n  HostName 127.0.0.1\n  Port {port}\n  User root\n  HostKeyAlias {guest}\n  \
             IdentityFile \"{}\"\n  IdentitiesOnly yes\n  UserKnownHostsFile \"{}\"\n  \
             GlobalKnownHostsFile none\n",
            path("user_key").display(),
            path("known_hosts").display()
        ),
    )?;
    let mut tar = process::own_command(Path::new("tar"));
    tar.arg("-cf").arg(path(KEYS)).arg("-C").arg(dir);
    tar.args(["host_key", "authorized_keys"]);
    succeed(tar, "tar", "tar")?;
    Ok(Destination {
        host: guest.to_owned(),
        ssh_config: Some(path("ssh_config")),
    })
}

/// Runs a program, which comes with `package`, to its end.
fn succeed(command: Command, program: &str, package: &str) -> Result<(), Failure> {
    match process::output(command, TOOL_LIMIT, &NEVER)?
        .status
        .success()
    {
        true => Ok(()),
        false => Err(no_guest(
            format!("{program} failed"),
            format!("install the package {package}"),
        )),
    }
}

pub(super) fn program() -> Result<PathBuf, Failure> {
    tool::find(PROGRAM).ok_or_else(|| {
        no_guest(
            format!("{PROGRAM} is not installed"),
            "install the package qemu-system-x86: scripts/install-servers.sh vm",
        )
    })
}

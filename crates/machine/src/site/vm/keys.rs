//! The keys of a guest and its user, new for each boot, and ssh's configuration for them.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::no_guest;
use crate::failure::Failure;
use crate::process::{self, NEVER, TOOL_LIMIT};
use crate::ssh::Destination;

/// The guest's second disk, a file in its directory: a tar archive with its keys.
pub(super) const ARCHIVE: &str = "keys";
/// The guest's name for ssh.
const NAME: &str = "guest";

#[derive(Debug)]
pub(super) struct Keys {
    pub(super) destination: Destination,
}

impl Keys {
    /// Creates keys for a guest whose ssh server is at `port` of 127.0.0.1.
    pub(super) fn make(dir: &Path, port: u16) -> Result<Self, Failure> {
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
        write("known_hosts", format!("{NAME} {}", read("host_key.pub")?))?;
        write(
            "ssh_config",
            format!(
                "Host {NAME}\n  HostName 127.0.0.1\n  Port {port}\n  User root\n  HostKeyAlias {NAME}\n  \
                 IdentityFile \"{}\"\n  IdentitiesOnly yes\n  UserKnownHostsFile \"{}\"\n  \
                 GlobalKnownHostsFile none\n",
                path("user_key").display(),
                path("known_hosts").display()
            ),
        )?;
        let mut tar = process::own_command(Path::new("tar"));
        tar.arg("-cf").arg(path(ARCHIVE)).arg("-C").arg(dir);
        tar.args(["host_key", "authorized_keys"]);
        succeed(tar, "tar", "tar")?;
        Ok(Self {
            destination: Destination {
                host: NAME.to_owned(),
                ssh_config: Some(path("ssh_config")),
            },
        })
    }
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

//! The user that servers run as: the one that runs dyno, or an unprivileged one if that is root.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Gid, Mode, Uid};

use crate::failure::Failure;

/// The user for servers if dyno is root and no server package has created one.
const UNPRIVILEGED: &str = "nobody";

#[derive(Debug, Clone)]
pub struct Account {
    /// `None`: the user that runs dyno.
    other: Option<Other>,
}

#[derive(Debug, Clone)]
struct Other {
    name: String,
    uid: u32,
    gid: u32,
    /// The only supplementary group.
    device_gid: Option<u32>,
}

impl Account {
    /// The account for this process's servers, which refuse to be root: the first that exists of
    /// `users`, which their packages create.
    pub fn for_servers(users: &[&str]) -> Result<Self, Failure> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self { other: None });
        }
        let passwd = Path::new("/etc/passwd");
        let text = fs::read_to_string(passwd).map_err(Failure::at("read", passwd))?;
        let mut names = users.iter().chain([&UNPRIVILEGED]);
        let found = names.find_map(|name| other(&text, name));
        let account = found.map(|other| Self { other: Some(other) });
        account.ok_or_else(|| {
            Failure::server("servers refuse to run as root, and no other user exists to run them")
                .remedy("install a server's package, which creates a user for it")
        })
    }

    /// User and group IDs in `chown`'s format; empty for this process's user.
    pub fn owner(&self) -> String {
        let owner = |other: &Other| format!("{}:{}", other.uid, other.gid);
        self.other.as_ref().map(owner).unwrap_or_default()
    }

    /// Changes the owner of `path` to the account. Does not follow symbolic links.
    pub fn own(&self, path: &Path) -> Result<(), Failure> {
        let Some(other) = &self.other else {
            return Ok(());
        };
        std::os::unix::fs::lchown(path, Some(other.uid), Some(other.gid))
            .map_err(Failure::at("change the owner of", path))
    }

    /// Changes the owner of an open file to the account.
    pub fn own_file(&self, file: impl AsFd) -> rustix::io::Result<()> {
        let Some(other) = &self.other else {
            return Ok(());
        };
        let (uid, gid) = (Uid::from_raw(other.uid), Gid::from_raw(other.gid));
        rustix::fs::fchown(file, Some(uid), Some(gid))
    }

    /// Makes an open file that dyno owns readable by dyno and the account only.
    pub fn let_read(&self, file: impl AsFd) -> rustix::io::Result<()> {
        let Some(other) = &self.other else {
            return rustix::fs::fchmod(file, Mode::RUSR | Mode::WUSR);
        };
        rustix::fs::fchown(&file, None, Some(Gid::from_raw(other.gid)))?;
        rustix::fs::fchmod(file, Mode::RUSR | Mode::WUSR | Mode::RGRP)
    }

    /// Lets the account use files of a directory that dyno owns, and nobody else.
    pub(crate) fn let_enter(&self, dir: &Path) -> Result<(), Failure> {
        let Some(other) = &self.other else {
            return Ok(());
        };
        let gid = Some(other.gid);
        std::os::unix::fs::lchown(dir, None, gid)
            .and_then(|()| fs::set_permissions(dir, PermissionsExt::from_mode(0o710)))
            .map_err(Failure::at("change the owner of", dir))
    }

    /// The account with the group of a device, if that is what it needs to use the device;
    /// otherwise the user that runs dyno.
    pub(crate) fn with_device(&self, device: &Path) -> Self {
        let (Some(other), Ok(meta)) = (&self.other, fs::metadata(device)) else {
            return self.clone();
        };
        let device_gid = match (meta.mode() & 0o006, meta.mode() & 0o060, meta.gid()) {
            (0o006, ..) => None,
            (_, 0o060, gid) if gid != 0 => Some(gid),
            _ => None,
        };
        let is_usable = device_gid.is_some() || meta.mode() & 0o006 == 0o006;
        Self {
            other: is_usable.then(|| Other {
                device_gid,
                ..other.clone()
            }),
        }
    }

    pub(crate) fn uid(&self) -> u32 {
        match &self.other {
            Some(other) => other.uid,
            None => rustix::process::geteuid().as_raw(),
        }
    }

    /// `None` if servers run as this process's user.
    pub fn other_name(&self) -> Option<&str> {
        self.other.as_ref().map(|other| other.name.as_str())
    }

    /// The options that make `setpriv` change to the account.
    pub fn setpriv_options(&self) -> Vec<String> {
        let Some(other) = &self.other else {
            return Vec::new();
        };
        let groups = match other.device_gid {
            Some(gid) => format!("--groups={gid}"),
            None => "--clear-groups".to_owned(),
        };
        let user = [
            format!("--reuid={}", other.uid),
            format!("--regid={}", other.gid),
        ];
        user.into_iter().chain([groups]).collect()
    }
}

/// The user `name` in the text of /etc/passwd, unless it has root's user or group ID.
fn other(passwd: &str, name: &str) -> Option<Other> {
    let mut lines = passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let fields = lines.find(|fields| fields.first() == Some(&name))?;
    let number = |at: usize| fields.get(at)?.parse::<u32>().ok().filter(|id| *id != 0);
    Some(Other {
        name: name.to_owned(),
        uid: number(2)?,
        gid: number(3)?,
        device_gid: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\ndbmsx:x:9:9::/:/bin/false\n\
                          dbms:x:102:105:DBMS:/nonexistent:/bin/false\nbad:x:0:0::/:/bin/sh\nshort:x\n";

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let found = other(PASSWD, "dbms").unwrap();
        assert_eq!((found.uid, found.gid), (102, 105));
        assert!(other(PASSWD, "nobody").is_none());
    }

    #[test]
    fn a_device_is_used_with_its_group_or_as_dynos_user() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let other = other(PASSWD, "dbms");
        let options = |mode| {
            fs::set_permissions(file.path(), PermissionsExt::from_mode(mode)).unwrap();
            let account = Account {
                other: other.clone(),
            };
            account.with_device(file.path()).setpriv_options()
        };
        assert_eq!(options(0o666)[2], "--clear-groups");
        assert!(options(0o600).is_empty());
        let gid = fs::metadata(file.path()).unwrap().gid();
        match gid {
            0 => assert!(options(0o660).is_empty()),
            _ => assert_eq!(options(0o660)[2], format!("--groups={gid}")),
        }
    }

    #[test]
    fn a_user_with_roots_ids_is_not_used() {
        assert!(other(PASSWD, "bad").is_none() && other(PASSWD, "short").is_none());
    }
}

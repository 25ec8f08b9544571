//! The run directories: their names, and which host a run is on, since hosts may share a cache. A
//! host can neither see nor remove what another one set up, and the locks of some network file
//! systems hold on one host only.
//!
//! ```text
//! CACHE/run/5e1c…/host   "machine-id boot-id name"
//! ```

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{journal, root};
use crate::failure::Failure;

/// Microseconds since 1970 in hexadecimal: 13 digits until 2112.
const NAME_DIGITS: std::ops::RangeInclusive<usize> = 13..=14;
pub(super) const HOST: &str = "host";
/// What identifies a host: its installation and its current boot.
const IDENTITY: [&str; 3] = [
    "/etc/machine-id",
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/hostname",
];

/// Creates a directory with a name that is never reused: a process that still waits to clean up a
/// dead run must not find a live one under its name. Records its host.
pub(super) fn make(root: &Path) -> Result<PathBuf, Failure> {
    loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = now.map_or(0, |time| time.as_micros());
        let path = root.join(root::RUN).join(format!("{micros:013x}"));
        match root::make_dir(&path) {
            Ok(()) => return record_host(&path).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::at("create", &path)(error)),
        }
    }
}

pub(super) fn is_name(name: &str) -> bool {
    let is_digit = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
    NAME_DIGITS.contains(&name.len()) && name.bytes().all(is_digit)
}

#[derive(Debug, PartialEq, Eq)]
struct Host([String; 3]);

impl Host {
    fn this() -> Self {
        Self(IDENTITY.map(|file| {
            let text = fs::read_to_string(file).unwrap_or_default();
            let word = text.trim();
            if word.is_empty() { "-" } else { word }.to_owned()
        }))
    }

    fn parse(text: &str) -> Option<Self> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.try_into().ok().map(Self)
    }

    /// The containers of a host may have different names, and copies of a machine the same ID.
    fn is(&self, other: &Self) -> bool {
        let ([machine, boot, name], [others, its_boot, its_name]) = (&self.0, &other.0);
        boot == its_boot || (machine == others && name == its_name && machine != "-")
    }
}

/// A number that nothing in the run directory has yet.
pub(super) fn first_free(run: &Path) -> Result<u32, Failure> {
    let entries = fs::read_dir(run).map_err(Failure::at("read", run))?;
    let of_name = |name: OsString| {
        let name = name.to_string_lossy().into_owned();
        name.rsplit(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    let numbers = entries
        .flatten()
        .filter_map(|entry| of_name(entry.file_name()));
    let last = numbers.chain(journal::remaining(run)?.into_keys()).max();
    Ok(last.map_or(0, |last: u32| last.saturating_add(1)))
}

pub(super) fn record_host(run: &Path) -> Result<(), Failure> {
    let path = run.join(HOST);
    let text = format!("{}\n", Host::this().0.join(" "));
    fs::write(&path, text).map_err(Failure::at("write", &path))
}

/// Checks that a run is on this host. A run that was killed before it recorded its host has set up
/// nothing.
pub(super) fn check_host(run: &Path) -> Result<(), Failure> {
    let path = run.join(HOST);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        text => text.map_err(Failure::at("read", &path))?,
    };
    match Host::parse(&text) {
        Some(host) if !host.is(&Host::this()) => {
            let message = format!("it belongs to a run of host {}", host.0[2]);
            Err(Failure::server(message).remedy(
                "run dyno clean on that host; if it no longer exists, delete the directory",
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_generated_names_are_known() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(root::RUN)).unwrap();
        let made = make(dir.path()).unwrap();
        assert!(is_name(made.file_name().unwrap().to_str().unwrap()));
        for name in [
            "",
            "x",
            "5e1c",
            "experiment-42",
            "644A1F2B3C4D5",
            "644a1f2b3c4d5 ",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_host_is_recognized_after_a_boot_and_its_copies_are_not() {
        let host = |text: &str| Host::parse(text).unwrap();
        let this = host("m1 b1 one\n");
        assert!(this.is(&host("m1 b2 one")) && this.is(&host("- b1 container")));
        assert!(!this.is(&host("m1 b2 copy")) && !this.is(&host("m2 b2 one")));
        assert!(!host("- b1 one").is(&host("- b2 one")));
        assert_eq!(Host::parse("m1 b1"), None);
    }
}

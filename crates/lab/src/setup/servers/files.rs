//! Files of servers: logs that dyno appends to, and files that servers and users may read.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::account::Account;
use crate::failure::Failure;

/// Opens a log to which programs append.
pub(crate) fn append(path: &Path) -> Result<File, Failure> {
    open(OpenOptions::new().append(true), path).map_err(Failure::at("write", path))
}

/// Opens or creates a regular file. A result directory may be below one that other users can
/// change: their links must not lead dyno to another file, nor their pipes block it.
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options
        .create(true)
        .custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Writes a file that the server's user can read, whatever the umask.
pub(crate) fn write_readable(path: &Path, text: &str) -> Result<(), Failure> {
    write_with_mode(path, text, 0o644)
}

/// Writes a program that the server's user can execute.
pub(super) fn write_program(path: &Path, text: &str) -> Result<(), Failure> {
    write_with_mode(path, text, 0o755)
}

fn write_with_mode(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    write(path, text, |file| {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
    })
}

/// Writes a file that only the server's user may read, because it may contain secrets.
pub(crate) fn write_for_server(path: &Path, text: &str, account: &Account) -> Result<(), Failure> {
    write(path, text, |file| Ok(account.let_read(file)?))
}

/// Writes a file; `open_up` sets its permissions while it is still empty.
fn write(
    path: &Path,
    text: &str,
    open_up: impl FnOnce(&File) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    let written = open(&mut options, path).and_then(|mut file| {
        file.set_len(0)?;
        open_up(&file)?;
        file.write_all(text.as_bytes())
    });
    written.map_err(Failure::at("write", path))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn links_and_pipes_of_others_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("theirs"), "theirs").unwrap();
        std::os::unix::fs::symlink(path("theirs"), path("link")).unwrap();
        std::os::unix::fs::symlink(path("none"), path("dangling")).unwrap();
        let mut mkfifo = std::process::Command::new("mkfifo");
        assert!(mkfifo.arg(path("pipe")).status().unwrap().success());
        for name in ["link", "dangling", "pipe"] {
            append(&path(name)).expect_err(name);
            write_readable(&path(name), "x").expect_err(name);
        }
        assert_eq!(fs::read(path("theirs")).unwrap(), b"theirs");
        assert!(!path("none").exists());
        append(&path("log")).unwrap().write_all(b"a").unwrap();
        append(&path("log")).unwrap().write_all(b"b").unwrap();
        assert_eq!(fs::read(path("log")).unwrap(), b"ab");
        write_readable(&path("log"), "c").unwrap();
        assert_eq!(fs::read(path("log")).unwrap(), b"c");
    }

    #[test]
    fn only_the_servers_user_reads_its_configuration() {
        let (dir, home) = crate::for_tests::new_home();
        let path = dir.path().join("my.cnf");
        write_for_server(&path, "filekey = sesame\n", home.account()).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("sesame"));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o007, 0);
    }
}

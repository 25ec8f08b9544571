//! Files of servers: logs that dyno appends to, and what servers and users may read.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::account::Account;
use crate::error::LabError;

/// Opens a log to which every start of a server appends.
pub(super) fn append(path: &Path) -> Result<File, LabError> {
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(LabError::at("write", path))
}

/// Writes a file that the server's user may read, whatever the umask.
pub(crate) fn write_readable(path: &Path, text: &str) -> Result<(), LabError> {
    write_with_mode(path, text, 0o644)
}

/// Writes a program that the server's user may run.
pub(super) fn write_program(path: &Path, text: &str) -> Result<(), LabError> {
    write_with_mode(path, text, 0o755)
}

fn write_with_mode(path: &Path, text: &str, mode: u32) -> Result<(), LabError> {
    write(path, text, |file| {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
    })
}

/// Writes a file that only the server's user may read, because it may contain secrets.
pub(crate) fn write_for_server(path: &Path, text: &str, account: &Account) -> Result<(), LabError> {
    write(path, text, |file| Ok(account.let_read(file)?))
}

/// Writes a file; `open_up` sets its permissions while it is still empty.
fn write(
    path: &Path,
    text: &str,
    open_up: impl FnOnce(&File) -> io::Result<()>,
) -> Result<(), LabError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(path).and_then(|mut file| {
        open_up(&file)?;
        file.write_all(text.as_bytes())
    });
    written.map_err(LabError::at("write", path))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;
    use crate::home::Home;

    #[test]
    fn only_the_servers_user_reads_its_configuration() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let home = Home::open_in(&dir.path().join("cache"), u64::MAX).unwrap();
        let path = dir.path().join("my.cnf");
        write_for_server(&path, "filekey = sesame\n", home.account()).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("sesame"));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o007, 0);
    }
}

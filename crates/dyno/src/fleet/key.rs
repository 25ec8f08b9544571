//! The key with which this machine signs what its agents run: made once, in a file that only this
//! user can read.

use std::path::Path;

use fleet::SigningKey;

use crate::failure::Failure;
use crate::own_file;

const FILE: &str = "fleet.key";
const READ_LIMIT_BYTES: u64 = 4096;

pub(super) fn of_this_machine() -> Result<SigningKey, Failure> {
    read_or_make(&machine::home::make()?.join(FILE))
}

fn read_or_make(path: &Path) -> Result<SigningKey, Failure> {
    let _lock = own_file::lock(path)?;
    let Some(text) = own_file::read(path, READ_LIMIT_BYTES)? else {
        let (key, text) = SigningKey::generate()?;
        own_file::replace(path, text.as_bytes())?;
        return Ok(key);
    };
    SigningKey::parse(&String::from_utf8_lossy(&text)).map_err(|failure| {
        let remedy = "remove it; agents need the new public key then, which `dyno agents` shows";
        failure.context(path.display()).remedy(remedy)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_key_is_made_once_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let public = || read_or_make(&path).unwrap().public().to_string();
        assert_eq!(public(), public());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(&path, "x").unwrap();
        assert!(read_or_make(&path).is_err());
        fs::remove_file(&path).unwrap();
        symlink("/etc/hostname", &path).unwrap();
        assert!(read_or_make(&path).is_err());
    }
}

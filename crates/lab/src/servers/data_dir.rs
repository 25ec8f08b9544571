//! The directory of one server, with its data in it.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::LabError;
use crate::home::Home;

/// A server's directory below the run directory, with `data` for its data; it goes
/// away with this value.
#[derive(Debug)]
pub struct DataDir {
    home: Home,
    dir: PathBuf,
}

impl DataDir {
    /// A new directory that only dyno enters, for now; its `data` is still to be made.
    pub(crate) fn new(home: &Home, prefix: &str) -> Result<Self, LabError> {
        let dir = home.new_path(prefix);
        DirBuilder::new()
            .mode(0o700)
            .create(&dir)
            .map_err(LabError::at("make", &dir))?;
        Ok(Self {
            home: home.clone(),
            dir,
        })
    }

    /// The server's whole directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The server's data directory.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// The server's socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.join("s.sock")
    }

    /// The server's configuration: beside its directory, in which its user could change it.
    pub(crate) fn config(&self) -> PathBuf {
        let mut path = self.dir.clone().into_os_string();
        path.push(".cnf");
        path.into()
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Has a directory in it that is the server's own.
    pub(crate) fn make(&self, name: &str) -> Result<(), LabError> {
        let path = self.dir.join(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => made.map_err(LabError::at("make", &path))?,
        }
        self.home.account().own(&path)
    }

    /// Gives the directory to the server's user: from here on nothing is written into
    /// it by dyno, which that user could lead elsewhere by a symbolic link.
    pub(crate) fn hand_over(&self) -> Result<(), LabError> {
        self.home.account().own(&self.dir)
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        // What cannot be removed now goes with the run directory.
        let _ = fs::remove_file(self.config());
        let _ = fs::remove_dir_all(&self.dir);
    }
}

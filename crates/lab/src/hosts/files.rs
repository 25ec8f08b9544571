//! The files of another host, which dyno's program reads there.

use std::io;
use std::path::{Path, PathBuf};

use host::{Files, Space};
use serde::de::DeserializeOwned;

use super::{Ask, Host};
use crate::process::NEVER;

impl Host {
    fn find<T: DeserializeOwned>(&self, ask: &Ask) -> io::Result<T> {
        self.ask(ask, &NEVER).map_err(io::Error::other)
    }
}

impl Files for Host {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.read_all(&[path.to_owned()]).remove(0)
    }

    fn read_all(&self, paths: &[PathBuf]) -> Vec<io::Result<String>> {
        let texts = self.find::<Vec<Option<String>>>(&Ask::Read(paths.to_owned()));
        let mut texts = texts.unwrap_or_default();
        texts.resize(paths.len(), None);
        let missing = || io::ErrorKind::NotFound.into();
        let texts = texts.into_iter();
        texts.map(|text| text.ok_or_else(missing)).collect()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.find(&Ask::List(dir.to_owned()))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.find(&Ask::Resolve(path.to_owned()))
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        self.find(&Ask::Space(path.to_owned()))
    }
}

//! Reads files of another machine in one request.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::files::{Files, Space};

/// Files that have partly been read ahead, for readers that read the same files repeatedly: the
/// machine answers once instead of once per file, which takes long under load.
///
/// A file that was read ahead several times returns its texts in that order; after the last one, it
/// is read again.
pub struct ReadAhead<'a> {
    files: &'a dyn Files,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    texts: HashMap<PathBuf, VecDeque<io::Result<String>>>,
    /// Files that were requested, in order.
    asked: Vec<PathBuf>,
}

impl<'a> ReadAhead<'a> {
    /// Reads these files, each as often as it is listed.
    pub fn new(files: &'a dyn Files, paths: Vec<PathBuf>) -> Self {
        let mut state = State::default();
        let texts = files.read_all(&paths);
        for (path, text) in paths.into_iter().zip(texts) {
            state.texts.entry(path).or_default().push_back(text);
        }
        Self {
            files,
            state: Mutex::new(state),
        }
    }

    /// The files that were read, in order: what to read ahead the next time.
    pub fn into_paths(self) -> Vec<PathBuf> {
        let state = self.state.into_inner();
        state.unwrap_or_else(PoisonError::into_inner).asked
    }

    fn taken(&self, path: &Path) -> Option<io::Result<String>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asked.push(path.to_owned());
        state.texts.get_mut(path)?.pop_front()
    }
}

impl Files for ReadAhead<'_> {
    fn read(&self, path: &Path) -> io::Result<String> {
        let taken = self.taken(path);
        taken.unwrap_or_else(|| self.files.read(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.files.list(dir)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.resolve(path)
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        self.files.space(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::number;
    use crate::files::testing::TestMachine;

    #[test]
    fn what_was_read_is_read_ahead_the_next_time() {
        let machine = TestMachine::with(&[("/one", "1"), ("/two", "2")]);
        let first = ReadAhead::new(&machine.files, Vec::new());
        for (path, value) in [("/one", Some(1)), ("/none", None), ("/one", Some(1))] {
            assert_eq!(number(&first, path), value, "{path}");
        }
        let paths = first.into_paths();
        assert_eq!(paths, ["/one", "/none", "/one"].map(PathBuf::from));

        let second = ReadAhead::new(&machine.files, paths);
        machine.write("/one", "11");
        machine.write("/none", "0");
        // Read ahead twice, then read again; the other file was read ahead but did not exist.
        for value in [1, 1, 11] {
            assert_eq!(number(&second, "/one"), Some(value));
        }
        assert_eq!(number(&second, "/none"), None);
        assert_eq!(number(&second, "/two"), Some(2));
    }
}

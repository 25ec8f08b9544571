//! Creates, opens and resumes result directories.

use std::fs::{self, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use measure::result::{Environment, RunResult};
use measure::setup::Outcome;
use measure::summary::TrialSummary;

use crate::error::StoreError;
use crate::trial::TrialWriter;
use crate::{atomic, names, read};

const DEFAULT_PARENT: &str = "results";
/// Longest file name derived from a title or label, in bytes.
const LONGEST_NAME: usize = 80;
/// Most results of the same second and title.
const MOST_NAMESAKES: u32 = 1000;

#[derive(Debug)]
pub struct ResultDir {
    path: PathBuf,
    /// On the directory itself: two dynos must not write to one result.
    _lock: fs::File,
}

impl ResultDir {
    /// Creates the directory and writes what is known before the first trial.
    ///
    /// The directory is `out`, which must be new or empty, or else
    /// `results/<UTC time>-<title>`, with a number if that exists.
    pub fn create(
        out: Option<&Path>,
        title: &str,
        study: &str,
        environment: &Environment,
    ) -> Result<Self, StoreError> {
        let path = match out {
            Some(path) => take(path)?,
            None => make(Path::new(DEFAULT_PARENT), title)?,
        };
        let dir = Self::locked(path)?;
        let trials = dir.path.join(names::TRIALS);
        fs::create_dir(&trials).map_err(StoreError::at("create", &trials))?;
        let written = atomic::write_text(&dir.path.join(names::STUDY), study)
            .and_then(|()| atomic::write_json(&dir.path.join(names::ENVIRONMENT), environment));
        match written {
            Ok(()) => Ok(dir),
            Err(error) => {
                // The next attempt needs an empty directory.
                dir.discard();
                Err(error)
            }
        }
    }

    /// Opens an existing result to write to it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let dir = Self::locked(path.to_owned())?;
        atomic::remove_stale(path).map_err(StoreError::at("tidy", path))?;
        Ok(dir)
    }

    /// Opens an interrupted result to resume it. Returns the completed trials in order, and
    /// removes the others.
    pub fn resume(path: &Path) -> Result<(Self, Vec<TrialSummary>), StoreError> {
        let dir = Self::open(path)?;
        refuse_link(&path.join(names::TRIALS))?;
        let mut whole = Vec::new();
        for trial in read::trial_dirs(path)? {
            match read::read_trial(&trial)? {
                Some(summary) if summary.outcome == Outcome::Completed => whole.push(summary),
                _ => remove_trial(&trial)?,
            }
        }
        Ok((dir, whole))
    }

    /// Removes a completed trial of a resumed result, so that it can run again.
    pub fn remove(&self, number: u32) -> Result<(), StoreError> {
        let mut dirs = read::trial_dirs(&self.path)?.into_iter();
        let dir = dirs.find(|dir| read::trial_number(dir) == Some(number));
        dir.map_or(Ok(()), |dir| remove_trial(&dir))
    }

    /// The results in the default directory, oldest first.
    pub fn in_default_place() -> Result<Vec<PathBuf>, StoreError> {
        let parent = Path::new(DEFAULT_PARENT);
        if !parent.exists() {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(parent).map_err(StoreError::at("read", parent))?;
        let paths = entries.map(|entry| Ok(entry?.path()));
        let paths = paths.collect::<io::Result<Vec<_>>>();
        let mut paths = paths.map_err(StoreError::at("read", parent))?;
        paths.sort();
        Ok(paths)
    }

    /// Locks the directory until this dyno ends.
    fn locked(path: PathBuf) -> Result<Self, StoreError> {
        let lock = fs::File::open(&path).map_err(StoreError::at("open", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path }),
            Err(TryLockError::Error(error)) => Err(StoreError::at("lock", &path)(error)),
        }
    }

    /// Removes what [`ResultDir::create`] wrote, for a run without a result. Anything else in
    /// the directory stays.
    pub fn discard(self) {
        for name in [names::STUDY, names::ENVIRONMENT, names::RESULT] {
            // What cannot be removed does no harm.
            let _ = fs::remove_file(self.path.join(name));
        }
        // dyno created it, so everything in it is its own.
        let _ = fs::remove_dir_all(self.path.join(names::TRIALS));
        let _ = fs::remove_dir(&self.path);
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts a trial; `number` counts from 1.
    pub fn trial(&self, number: u32, label: &str) -> Result<TrialWriter, StoreError> {
        let name = format!("{number:03}-{}", clean(label, "trial", true));
        TrialWriter::create(&self.path.join(names::TRIALS).join(name))
    }

    pub fn write_result(&self, result: &RunResult) -> Result<(), StoreError> {
        atomic::write_json(&self.path.join(names::RESULT), result)
    }

    /// Replaces a file of the report (one of [`names`]), and returns its path.
    pub fn write_report(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<PathBuf, StoreError> {
        let path = self.path.join(name);
        atomic::write(&path, fill)?;
        Ok(path)
    }
}

/// Removes an interrupted trial, unless it contains anything that dyno did not write.
fn remove_trial(trial: &Path) -> Result<(), StoreError> {
    const OWN: [&str; 6] = [
        names::SERIES,
        names::INTERVALS,
        names::MONITORS,
        names::FAULTS,
        names::SERVERS,
        names::TRIAL,
    ];
    refuse_link(trial)?;
    for entry in fs::read_dir(trial).map_err(StoreError::at("read", trial))? {
        let entry = entry.map_err(StoreError::at("read", trial))?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        if !OWN.contains(&name) && !names::is_ledger(name) && !atomic::is_temporary(name) {
            return Err(StoreError::Foreign { path: entry.path() });
        }
    }
    fs::remove_dir_all(trial).map_err(StoreError::at("remove", trial))
}

/// A symbolic link could lead to someone else's directory.
fn refuse_link(path: &Path) -> Result<(), StoreError> {
    match path.is_symlink() {
        true => Err(StoreError::Foreign {
            path: path.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Writes files, given by name and text, to a directory that must be new or empty.
pub fn write_files(out: &Path, files: &[(String, String)]) -> Result<(), StoreError> {
    let out = take(out)?;
    let mut texts = files.iter();
    let written = texts.try_for_each(|(name, text)| atomic::write_text(&out.join(name), text));
    if written.is_err() {
        // The next attempt needs an empty directory.
        for (name, _) in files {
            let _ = fs::remove_file(out.join(name));
        }
        let _ = fs::remove_dir(&out);
    }
    written
}

/// A directory that the user chose: created, or found empty.
fn take(path: &Path) -> Result<PathBuf, StoreError> {
    fs::create_dir_all(path).map_err(StoreError::cannot_create(path))?;
    let mut entries = fs::read_dir(path).map_err(StoreError::at("read", path))?;
    if entries.next().is_some() {
        let path = path.to_owned();
        return Err(StoreError::Exists { path });
    }
    Ok(path.to_owned())
}

/// Creates a directory with a unique name under `parent`.
fn make(parent: &Path, title: &str) -> Result<PathBuf, StoreError> {
    fs::create_dir_all(parent).map_err(StoreError::at("create", parent))?;
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let name = format!("{now}-{}", clean(title, "result", false));
    for number in 1..=MOST_NAMESAKES {
        let path = match number {
            1 => parent.join(&name),
            number => parent.join(format!("{name}-{number}")),
        };
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(StoreError::at("create", &path)(error)),
        }
    }
    Err(StoreError::Exists {
        path: parent.join(name),
    })
}

/// Makes a text safe in a file name, on any file system and in any shell: letters, digits and
/// dashes, and for labels also `=`, `.` and `_` as in `threads=1`.
fn clean(text: &str, otherwise: &str, label: bool) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || (label && "=._".contains(c));
    let mut name = String::new();
    for c in text.chars() {
        let c = if label { c } else { c.to_ascii_lowercase() };
        if kept(c) {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if name.len() >= LONGEST_NAME {
            break;
        }
    }
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { otherwise } else { name }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(out: &Path) -> Result<ResultDir, StoreError> {
        let environment = Environment::default();
        ResultDir::create(Some(out), "Title", "title = 'Title'\n", &environment)
    }

    #[test]
    fn names_are_safe() {
        for (name, kind, is_trial, cleaned) in [
            ("Scale up: how many?", "result", false, "scale-up-how-many"),
            ("../../etc/passwd", "trial", true, "etc-passwd"),
            ("threads=16", "trial", true, "threads=16"),
            (
                "threads=16, ext4, 1,5",
                "trial",
                true,
                "threads=16-ext4-1-5",
            ),
            ("Größe ☃", "result", false, "gr-e"),
            ("☃", "result", false, "result"),
        ] {
            assert_eq!(clean(name, kind, is_trial), cleaned);
        }
        assert_eq!(clean(&"x".repeat(500), "result", false).len(), LONGEST_NAME);
    }

    #[test]
    fn never_overwrites() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("deep/out");
        let result = create(&out).unwrap();
        let study = fs::read_to_string(out.join(names::STUDY)).unwrap();
        assert_eq!(study, "title = 'Title'\n");
        let error = create(&out).unwrap_err();
        assert!(matches!(error, StoreError::Exists { .. }), "{error}");
        result.trial(1, "threads=1").unwrap();
        let error = result.trial(1, "threads=1").unwrap_err();
        assert!(matches!(error, StoreError::Exists { .. }), "{error}");
        let error = create(&out.join(names::STUDY)).unwrap_err();
        assert!(matches!(error, StoreError::Exists { .. }), "{error}");
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        // A path has at most 4095 bytes: `/trials` still fits, `/study.toml` does not.
        let mut out = folder.path().to_owned();
        while out.as_os_str().len() < 4085 {
            let left = 4087 - out.as_os_str().len() - 1;
            out.push("x".repeat(left.min(200)));
        }
        create(&out).unwrap_err();
        assert!(!out.exists() && out.parent().unwrap().exists());

        let out = folder.path().join("out");
        let names = ["a".to_owned(), "too-long".repeat(100)];
        write_files(&out, &names.map(|name| (name, String::new()))).unwrap_err();
        assert!(!out.exists());
    }

    #[test]
    fn only_what_is_a_trials_is_removed_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        drop(create(&out).unwrap().trial(1, "threads=1").unwrap());
        let theirs = out.join("trials/42-notes/theirs");
        fs::create_dir(theirs.parent().unwrap()).unwrap();
        fs::write(&theirs, "x").unwrap();
        let error = ResultDir::resume(&out).unwrap_err();
        assert!(matches!(&error, StoreError::Foreign { path } if *path == theirs));
        assert!(theirs.exists());

        // The same with a symbolic link in place of one trial, or of all.
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(out.join("trials"), &elsewhere).unwrap();
        fs::remove_file(elsewhere.join("42-notes/theirs")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, out.join("trials")).unwrap();
        let error = ResultDir::resume(&out).unwrap_err();
        assert!(matches!(&error, StoreError::Foreign { .. }), "{error}");
        fs::remove_file(out.join("trials")).unwrap();
        fs::create_dir(out.join("trials")).unwrap();
        let link = out.join("trials/001-threads=1");
        std::os::unix::fs::symlink(elsewhere.join("42-notes"), &link).unwrap();
        let error = ResultDir::resume(&out).unwrap_err();
        assert!(matches!(&error, StoreError::Foreign { .. }), "{error}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
        fs::remove_file(link).unwrap();
        ResultDir::resume(&out).unwrap();
    }

    #[test]
    fn namesakes_get_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..3)
            .map(|_| make(folder.path(), "Same").unwrap())
            .collect();
        assert!(paths.iter().all(|path| path.is_dir()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_place_that_is_not_ours_is_named() {
        let error = create(Path::new("/proc/dyno/out")).unwrap_err();
        assert!(error.to_string().contains("/proc/dyno"), "{error}");
        let advice = "Choose another directory with --out";
        assert!(error.to_string().contains(advice), "{error}");
    }

    #[test]
    fn not_allowed_says_what_to_do() {
        let path = Path::new("/somewhere");
        let error = StoreError::at("create", path)(io::ErrorKind::PermissionDenied.into());
        assert!(
            error.to_string().contains("as a user with permission"),
            "{error}"
        );
    }
}

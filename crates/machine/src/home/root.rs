//! The cache's directory: its path, and checks that nobody else can change it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::trust::{OWN_DIRECTORY, untrusted};
use super::{marker, trust};
use crate::account::Account;
use crate::failure::{Fact, Failure};

pub(super) const RUN: &str = "run";
pub(super) const TEMPLATES: &str = "templates";

/// Maximum length of a socket's path, in bytes.
const MAX_SOCKET_BYTES: usize = 107;
/// The longest path below the root: a server's socket.
const BELOW_ROOT: &str = "/run/ffffffffffffff/s100.100000/own/s.sock";

pub(super) fn from_environment() -> Result<PathBuf, Failure> {
    let is_root = rustix::process::geteuid().is_root();
    place(|name| std::env::var_os(name), is_root).ok_or_else(|| {
        Failure::usage("no directory for dyno's cache: neither DYNO_CACHE_DIR nor HOME is set")
            .remedy("set DYNO_CACHE_DIR to a directory with enough space")
    })
}

fn place(variable: impl Fn(&str) -> Option<OsString>, is_root: bool) -> Option<PathBuf> {
    // The XDG specification says to ignore relative paths.
    let dir = |name: &str| {
        let path = PathBuf::from(variable(name)?);
        path.is_absolute().then_some(path)
    };
    if let Some(path) = variable("DYNO_CACHE_DIR").filter(|path| !path.is_empty()) {
        return std::path::absolute(path).ok();
    }
    if is_root {
        return Some(PathBuf::from("/var/cache/dyno"));
    }
    let cache = dir("XDG_CACHE_HOME").or_else(|| Some(dir("HOME")?.join(".cache")));
    Some(cache?.join("dyno"))
}

/// Like [`make`]; also checks that servers reach it.
pub(super) fn prepare(root: &Path, account: &Account) -> Result<PathBuf, Failure> {
    let root = make(root)?;
    if let Some(user) = account.other_name() {
        check_reachable(&root, user)?;
    }
    Ok(root)
}

/// Creates the cache if it does not exist, and checks that it belongs to dyno and that nobody else
/// can change it. Returns its path without symbolic links.
pub(super) fn make(root: &Path) -> Result<PathBuf, Failure> {
    let root = resolve(root)?;
    if let Some(parent) = root.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o755).create(parent);
        made.map_err(Failure::at("create", parent))?;
    }
    make_own_dir(&root)?;
    marker::ensure(&root)?;
    make_own_dir(&root.join(RUN))?;
    make_own_dir(&root.join(TEMPLATES))?;
    Ok(root)
}

/// Like [`prepare`], but creates nothing; `None` if there is no cache.
pub(super) fn find(root: &Path) -> Result<Option<PathBuf>, Failure> {
    let root = resolve(root)?;
    if !has_own_dir(&root)? || marker::is_empty(&root)? {
        return Ok(None);
    }
    if !marker::is_marked(&root)? {
        return Err(marker::unmarked(&root));
    }
    has_own_dir(&root.join(RUN))?;
    has_own_dir(&root.join(TEMPLATES))?;
    Ok(Some(root))
}

/// Resolves symbolic links above the last name of a path whose directories need not exist, and
/// checks that only root and this user can change where it leads.
fn resolve(root: &Path) -> Result<PathBuf, Failure> {
    check_characters(root)?;
    if fs::symlink_metadata(root).is_ok_and(|meta| meta.is_symlink()) {
        return Err(untrusted(
            root,
            "is a symbolic link, which could lead anywhere",
        ));
    }
    let mut there = root.ancestors();
    let there = there.find(|dir| fs::symlink_metadata(dir).is_ok());
    let there = there.unwrap_or(Path::new("/"));
    let base = fs::canonicalize(there).map_err(Failure::at("open", there))?;
    let rest = root.strip_prefix(there).unwrap_or(Path::new(""));
    // Joining an empty path would append a slash.
    let resolved: PathBuf = base.iter().chain(rest).collect();
    if resolved == Path::new("/") {
        return Err(untrusted(root, "is the root of the file system"));
    }
    let limit = MAX_SOCKET_BYTES - BELOW_ROOT.len();
    if resolved.as_os_str().len() > limit {
        let message = format!(
            "the path {} is too long for sockets in it: the maximum is {limit} bytes",
            resolved.display()
        );
        let remedy = "set DYNO_CACHE_DIR to a directory with a shorter path";
        return Err(Failure::usage(message).remedy(remedy));
    }
    // The directory itself is checked more strictly once it exists.
    let above = match rest.as_os_str().is_empty() {
        true => base.parent().unwrap_or(Path::new("/")),
        false => &base,
    };
    trust::check(above)?;
    Ok(resolved)
}

/// An engine's installation program may be a shell script that cannot handle spaces and special
/// characters.
fn check_characters(root: &Path) -> Result<(), Failure> {
    let text = root.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/-_.+,@=:%".contains(c);
    match text.chars().find(|c| !is_plain(*c)) {
        None => Ok(()),
        Some(c) => {
            let why = format!("contains {c:?}, which servers' own programs do not accept");
            Err(untrusted(root, &why))
        }
    }
}

/// Creates a directory that others may enter but not change.
pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)?;
    // The mode of `DirBuilder` is subject to the umask.
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Creates a directory unless it exists, and checks that it belongs to this user.
fn make_own_dir(path: &Path) -> Result<(), Failure> {
    match make_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_own_dir(path),
        made => made.map_err(Failure::at("create", path)),
    }
}

/// Checks that a directory belongs to this user and nobody else may write to it.
pub(super) fn check_own_dir(path: &Path) -> Result<(), Failure> {
    let untrusted = |why: &str| Err(untrusted(path, why));
    let meta = fs::symlink_metadata(path).map_err(Failure::at("inspect", path))?;
    if meta.is_symlink() {
        return untrusted("is a symbolic link, which could lead anywhere");
    }
    if !meta.is_dir() {
        return untrusted("is not a directory");
    }
    if let Err(why) = trust::check_owner(meta.uid()) {
        return untrusted(&why);
    }
    if meta.mode() & trust::SHARED != 0 {
        return untrusted("can be changed by other users");
    }
    Ok(())
}

/// Like [`check_own_dir`], but returns false if nothing exists there.
fn has_own_dir(path: &Path) -> Result<bool, Failure> {
    match check_own_dir(path) {
        Err(error) if error.is(Fact::Io(io::ErrorKind::NotFound)) => Ok(false),
        checked => checked.map(|()| true),
    }
}

/// Checks that the servers' user can enter every directory above theirs.
pub(crate) fn check_reachable(root: &Path, user: &str) -> Result<(), Failure> {
    for dir in root.ancestors() {
        let meta = fs::metadata(dir).map_err(Failure::at("inspect", dir))?;
        if meta.mode() & 0o001 == 0 {
            let dir = dir.display();
            let message = format!("servers run as user {user}, who may not enter {dir}");
            return Err(Failure::usage(message).remedy(OWN_DIRECTORY));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::account;

    fn placed(variables: &[(&str, &str)], is_root: bool) -> Option<PathBuf> {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name);
        place(|name| find(name).map(|(_, value)| value.into()), is_root)
    }

    #[test]
    fn the_environment_decides_the_place() {
        let home = ("HOME", "/home/a");
        let shown = |path: Option<PathBuf>| path.unwrap().display().to_string();
        assert_eq!(shown(placed(&[home], true)), "/var/cache/dyno");
        assert_eq!(shown(placed(&[home], false)), "/home/a/.cache/dyno");
        let xdg = ("XDG_CACHE_HOME", "/c");
        assert_eq!(shown(placed(&[home, xdg], false)), "/c/dyno");
        let relative = ("XDG_CACHE_HOME", "c");
        assert_eq!(
            shown(placed(&[home, relative], false)),
            "/home/a/.cache/dyno"
        );
        let own = ("DYNO_CACHE_DIR", "/d");
        assert_eq!(shown(placed(&[home, xdg, own], true)), "/d");
        assert_eq!(placed(&[], false), None);
    }

    fn refused(root: &Path, why: &str) -> Failure {
        let error = prepare(root, &account()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        error
    }

    #[test]
    fn a_directory_that_others_could_change_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let root = dir.path().join("cache");
        let prepared = prepare(&root, &account()).unwrap();
        assert_eq!(fs::metadata(&prepared).unwrap().mode() & 0o777, 0o755);

        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&root, &link).unwrap();
        let error = refused(&link, "symbolic link");
        assert!(error.remedy.as_deref().unwrap().contains("DYNO_CACHE_DIR"));

        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        refused(&file, "not a directory");

        let shared = dir.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        refused(&shared, "other users");

        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(root.join(RUN), Some(65534), None).unwrap();
            refused(&root, "belongs to user 65534");
        }
    }

    #[test]
    fn a_directory_with_foreign_files_is_refused_and_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("run/experiment-42")).unwrap();
        for found in [prepare(dir.path(), &account()).map(Some), find(dir.path())] {
            let error = found.unwrap_err();
            assert!(error.message.contains("was not created by dyno"), "{error}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert_eq!(find(&dir.path().join("none")).unwrap(), None);
    }

    #[test]
    fn the_root_of_the_file_system_is_refused_by_every_name() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["/", "//", "/.", "/tmp/.."] {
            for found in [
                prepare(Path::new(path), &account()).map(Some),
                find(Path::new(path)),
            ] {
                let error = found.unwrap_err().to_string();
                assert!(error.contains("root of the file system"), "{path}: {error}");
            }
        }
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        refused(&link, "symbolic link");
        prepare(&link.join("."), &account()).unwrap_err();
    }

    #[test]
    fn nothing_is_created_below_a_directory_that_others_may_change() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        refused(&dir.path().join("a/cache"), "cannot be used safely");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_path_that_a_shell_would_split_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a b", "$x", "a;b", "a'b", "a\nb"] {
            refused(&dir.path().join(name), "do not accept");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_path_too_long_for_sockets_is_refused_with_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let error = prepare(&dir.path().join("x".repeat(80)), &account()).unwrap_err();
        assert!(error.message.ends_with("maximum is 65 bytes"), "{error}");
    }

    #[test]
    fn a_directory_closed_to_the_servers_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let prepared = prepare(&dir.path().join("cache"), &account());
        if account().other_name().is_some() {
            let error = prepared.unwrap_err();
            assert!(error.message.contains("who may not enter"), "{error}");
        } else {
            prepared.unwrap();
        }
    }
}

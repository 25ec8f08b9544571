//! Checks who could replace a directory: its owner, and everyone who may write to a directory above
//! it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::failure::Failure;

/// The remedy for a cache that others control, or that the servers' user cannot enter.
pub(super) const OWN_DIRECTORY: &str =
    "set DYNO_CACHE_DIR to a directory of your own, such as /var/cache/dyno";
/// Mode bits of a directory that the group or others may write to.
pub(crate) const SHARED: u32 = 0o022;
/// Mode bit of a directory in which nobody may rename or remove entries of another user.
const STICKY: u32 = 0o1000;

/// Checks that `path`, which is absolute and without symbolic links, and each directory above it
/// belong to root or this user, and that nobody else can rename or replace their entries.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    check_named(path, path)
}

/// Like [`check`], for a path that messages show as `shown`.
pub(crate) fn check_named(path: &Path, shown: &Path) -> Result<(), Failure> {
    let own = rustix::process::geteuid().as_raw();
    for dir in path.ancestors() {
        let meta = fs::symlink_metadata(dir).map_err(Failure::at("inspect", dir))?;
        let exposed = |why: String, remedy: String| {
            let (shown, dir) = (shown.display(), dir.display());
            Failure::usage(format!("{shown} cannot be used safely: {dir} {why}")).remedy(remedy)
        };
        if meta.uid() != 0 && meta.uid() != own {
            let why = format!(
                "belongs to user {}, who could replace its contents",
                meta.uid()
            );
            let shown = dir.display();
            let remedy = format!(
                "make root its owner (chown root {shown}), or choose a directory below one of your own"
            );
            return Err(exposed(why, remedy));
        }
        if meta.mode() & SHARED != 0 && meta.mode() & STICKY == 0 {
            let why = "can be changed by other users, who could replace its contents".to_owned();
            let shown = dir.display();
            let remedy = format!(
                "remove their write permission (chmod go-w {shown}), or set its sticky bit \
                 (chmod +t {shown})"
            );
            return Err(exposed(why, remedy));
        }
    }
    Ok(())
}

pub(crate) fn untrusted(path: &Path, why: &str) -> Failure {
    Failure::usage(format!("{} {why}", path.display())).remedy(OWN_DIRECTORY)
}

pub(crate) fn check_owner(uid: u32) -> Result<(), String> {
    let own = rustix::process::geteuid().as_raw();
    match uid == own {
        true => Ok(()),
        false => Err(format!("belongs to user {uid}, not to user {own}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("above/own")).unwrap();
        dir
    }

    fn refused(dir: &tempfile::TempDir) -> String {
        let error = check(&dir.path().join("above/own")).unwrap_err();
        format!("{error}; {}", error.remedy.as_deref().unwrap())
    }

    #[test]
    fn a_directory_above_that_others_may_change_is_refused_unless_it_is_sticky() {
        let dir = tree();
        let above = dir.path().join("above");
        let set = |mode| fs::set_permissions(&above, fs::Permissions::from_mode(mode)).unwrap();
        check(&above.join("own")).unwrap();
        for mode in [0o777, 0o775, 0o757] {
            set(mode);
            let text = refused(&dir);
            let named = format!("chmod go-w {}", above.display());
            assert!(
                text.contains("other users") && text.contains(&named),
                "{text}"
            );
            set(mode | STICKY);
            check(&above.join("own")).unwrap();
        }
    }

    #[test]
    fn a_foreign_owner_above_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return testkit::skip("only root can be two users");
        }
        let dir = tree();
        let above = dir.path().join("above");
        std::os::unix::fs::chown(&above, Some(65534), None).unwrap();
        let text = refused(&dir);
        assert!(text.contains("belongs to user 65534"), "{text}");
        // The sticky bit does not bind the owner of the directory.
        fs::set_permissions(&above, fs::Permissions::from_mode(0o1755)).unwrap();
        assert!(refused(&dir).contains("belongs to user 65534"));
    }
}

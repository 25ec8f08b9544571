//! The kit's directory: templates that are kept, and one directory for each running server.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::process::Account;

/// A Unix socket's path ends at 107 bytes; what follows the temporary directory takes about 40.
const MAX_TEMP_DIR_BYTES: usize = 60;

/// The user this process acts as: the owner of its directory in /proc.
fn user_id() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |meta| meta.uid())
}

pub(crate) fn is_root() -> bool {
    user_id() == 0
}

/// The kit's directory, made and swept on first use.
pub(crate) fn dir() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let mut temp = std::env::temp_dir();
        if temp.as_os_str().len() > MAX_TEMP_DIR_BYTES {
            temp = PathBuf::from("/tmp");
        }
        let home = temp.join(format!("dyno-testkit-{}", user_id()));
        fs::create_dir_all(&home).unwrap_or_else(|e| panic!("cannot make {}: {e}", home.display()));
        // The name can be guessed, so someone else may have made it first.
        let meta = fs::symlink_metadata(&home).unwrap();
        assert!(
            meta.is_dir() && meta.uid() == user_id(),
            "{} is not ours: remove it",
            home.display()
        );
        fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
        sweep(&home);
        home
    })
}

/// A new empty directory for one server, owned by `account`.
pub(crate) fn new_run_dir(account: &Account) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = dir().join(format!("run-{}-{number}", std::process::id()));
    fs::create_dir(&path).unwrap_or_else(|e| panic!("cannot make {}: {e}", path.display()));
    account.own(&path);
    path
}

/// Removes what test processes that were killed left behind. Their servers died with them.
fn sweep(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix("run-")?.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

//! The directory on a machine, which is recorded on this host: the next run removes that of a killed
//! dyno.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use super::Home;
use super::journal::{Step, Undo};
use super::marker::MARKER;
use crate::failure::Failure;
use crate::process::NEVER;
use crate::ssh::{self, COMMAND_LIMIT, Destination, quoted, script};

/// Prints the directories from `.` up in which another user could replace what dyno creates.
const OPEN: &str = r#"while :; do [ -z "$(find . -prune \( ! -user 0 ! -user "$(id -u)" -o \( -perm -020 -o -perm -002 \) ! -perm -1000 \))" ] || pwd -P; [ "$(pwd -P)" != / ] && cd -P .. || break; done"#;
const REMOVE: &str = include_str!("remove.sh");

/// Creates a directory below `below` on a machine by a command that `run` executes there. It is
/// recorded first.
pub(crate) fn make(
    home: &Home,
    to: &Destination,
    below: &Path,
    run: impl FnOnce(&str) -> Result<(ExitStatus, String), Failure>,
) -> Result<(PathBuf, Step), Failure> {
    let (number, name) = home.new_name();
    let dir = below.join(name);
    let undo = Undo::RemoveRemote {
        to: to.clone(),
        dir: dir.clone(),
    };
    let step = home.record(number, undo)?;
    let (path, marker) = (quoted(&dir), quoted(dir.join(MARKER)));
    let text = "dyno made this directory, and deletes it when it ends.";
    let mark = format!("echo '{text}' >{marker} || {{ rm -r {path}; false; }}");
    let make = format!("mkdir -m 755 {path} && {{ {mark}; }}");
    // Before dyno's program is there, which checks more.
    let below = quoted(below);
    let command = format!(
        "open=$(cd {below} && {OPEN}); if [ -n \"$open\" ]; then echo \"other users can change $open\"; false; else {make}; fi"
    );
    let (status, said) = run(&command)?;
    if status.success() {
        return Ok((dir, step));
    }
    // Nothing was created: whatever exists there is not dyno's.
    step.done();
    let why = format!("a directory cannot be created there: {}", ssh::shown(&said));
    Err(to.unusable(why, "name another directory of the host: site.directory"))
}

/// The command that removes a directory with dyno's marker.
pub(crate) fn removal(dir: &Path) -> String {
    script(REMOVE, &[dir.as_os_str(), MARKER.as_ref()])
}

/// Removes a directory that a dead run made.
pub(super) fn remove(to: &Destination, dir: &Path) -> Result<(), Failure> {
    let mut ssh = to.ssh(["-oControlPath=none"]);
    ssh.arg(removal(dir));
    ssh::finish(to, ssh, COMMAND_LIMIT, &NEVER)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Output};

    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

    use super::*;

    /// A directory like one on a machine, with the node `1`.
    fn made() -> (tempfile::TempDir, PathBuf) {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("dyno-1");
        fs::create_dir_all(dir.join("1")).unwrap();
        fs::write(dir.join(MARKER), "").unwrap();
        (parent, dir)
    }

    fn remove(dir: &Path) -> Output {
        Command::new("sh")
            .args(["-c", &removal(dir)])
            .output()
            .unwrap()
    }

    #[test]
    fn nothing_is_created_where_another_user_could_replace_it() {
        let (dir, home) = crate::testing::home();
        let open = dir.path().join("open");
        let below = open.join("below");
        fs::create_dir_all(&below).unwrap();
        let allow = |mode| fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
        let to = Destination {
            host: "db1".to_owned(),
            ssh_config: None,
        };
        let run = |command: &str| {
            let output = Command::new("sh").args(["-c", command]).output().unwrap();
            Ok((output.status, String::from_utf8(output.stdout).unwrap()))
        };
        allow(0o777);
        let refused = make(&home, &to, &below, run).unwrap_err();
        let why = format!("other users can change {}", open.display());
        assert!(refused.message.contains(&why), "{refused:?}");
        assert_eq!(fs::read_dir(&below).unwrap().count(), 0);
        for safe in [0o1777, 0o755] {
            allow(safe);
            let (made, step) = make(&home, &to, &below, run).unwrap();
            assert!(made.join(MARKER).exists());
            step.done();
        }
    }

    #[test]
    fn a_directory_with_a_mounted_file_system_stays() {
        if !rustix::process::geteuid().is_root() {
            return testkit::skip("only root can mount");
        }
        let (_parent, dir) = made();
        let point = dir.join("1");
        mount("test", &point, "tmpfs", MountFlags::empty(), None).unwrap();
        fs::write(point.join("file"), "").unwrap();
        let removed = remove(&dir);
        let is_there = point.join("file").exists();
        unmount(&point, UnmountFlags::empty()).unwrap();
        assert!(!removed.status.success() && is_there, "{removed:?}");
        assert!(String::from_utf8_lossy(&removed.stdout).contains("mounted"));
        assert!(remove(&dir).status.success() && !dir.exists());
    }
}

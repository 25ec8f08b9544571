//! The directory on a machine, which is recorded on this host: the next run removes that of a killed
//! dyno.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::Home;
use super::journal::{Step, Undo};
use super::marker::MARKER;
use crate::failure::Failure;
use crate::process::NEVER;
use crate::ssh::{self, Answer, COMMAND_LIMIT, Destination, quoted, script};

/// Defines `end_processes`.
pub(crate) const END: &str = include_str!("end.sh");
/// Prints the directories from `.` up in which another user could replace what dyno creates.
const OPEN: &str = r#"while :; do [ -z "$(find . -prune \( ! -user 0 ! -user "$(id -u)" -o \( -perm -020 -o -perm -002 \) ! -perm -1000 \))" ] || pwd -P; [ "$(pwd -P)" != / ] && cd -P .. || break; done"#;
const REMOVE: &str = concat!(include_str!("end.sh"), "\n", include_str!("remove.sh"));

/// Creates a directory below `below` on a machine by a command that `run` executes there. It is
/// recorded first, unless the machine is a guest, whose files end with it.
pub(crate) fn make(
    home: &Home,
    to: &Destination,
    below: &Path,
    is_guest: bool,
    run: impl FnOnce(&str) -> io::Result<Answer>,
) -> Result<(PathBuf, Option<Step>), Failure> {
    let (number, name) = home.new_name();
    let dir = below.join(name);
    let undo = || Undo::RemoveRemote {
        to: to.clone(),
        dir: dir.clone(),
    };
    let step = (!is_guest)
        .then(|| home.record(number, undo()))
        .transpose()?;
    let (path, marker) = (quoted(&dir), quoted(dir.join(MARKER)));
    let text = "dyno made this directory, and deletes it when it ends.";
    let mark = format!("echo '{text}' >{marker} || {{ rm -r {path}; false; }}");
    let mut command = format!("mkdir -m 755 {path} && {{ {mark}; }}");
    if !is_guest {
        // Before dyno's program is there, which checks more.
        let below = quoted(below);
        command = format!(
            "open=$(cd {below} && {OPEN}); if [ -n \"$open\" ]; then echo \"other users can change $open\"; false; else {command}; fi"
        );
    }
    match run(&command) {
        Ok(made) if made.code == 0 => Ok((dir, step)),
        Ok(made) => {
            // Nothing was created: whatever exists there is not dyno's.
            if let Some(step) = &step {
                step.done();
            }
            let why = format!(
                "a directory cannot be created there: {}",
                ssh::shown(&made.text)
            );
            Err(to.unusable(why, "name another directory of the host: site.directory"))
        }
        Err(_) => Err(to.error("")),
    }
}

/// The command that removes a directory with dyno's marker.
pub(crate) fn removal(dir: &Path) -> String {
    script(REMOVE, &[dir.as_os_str(), MARKER.as_ref()])
}

/// Removes a directory that a dead run made.
pub(super) fn remove(to: &Destination, dir: &Path) -> Result<(), Failure> {
    let mut ssh = to.ssh(["-oControlPath=none"]);
    ssh.arg(removal(dir)).stdin(Stdio::null());
    ssh::finish(to, ssh, COMMAND_LIMIT, &NEVER)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Child, Command, Output};

    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

    use super::*;

    /// An account that no test runs as.
    const NOBODY: &str = "65534";

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

    /// A process with a node's directory in its environment.
    fn process(dir: &Path, user: &str) -> Child {
        let options = ["--reuid", user, "--clear-groups", "sleep", "1000"];
        let mut command = Command::new("setpriv");
        let command = command.args(options).env("DYNO_RUN_DIR", dir.join("1"));
        command.spawn().unwrap()
    }

    /// Creates a shared memory segment; returns its ID and the process that created it.
    fn segment(user: &str) -> (String, u32) {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", user, "--clear-groups", "ipcmk", "-M", "64"]);
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        (said.split_whitespace().last().unwrap().to_owned(), pid)
    }

    fn exists(segment: &str) -> bool {
        let all = fs::read_to_string("/proc/sysvipc/shm").unwrap();
        all.lines()
            .any(|line| line.split_whitespace().nth(1) == Some(segment))
    }

    #[test]
    fn what_another_account_has_is_not_ended_with_a_directory() {
        if !rustix::process::geteuid().is_root() {
            return testkit::skip("only root can act as another account");
        }
        let (_parent, dir) = made();
        let (mut own, mut foreign) = (process(&dir, "0"), process(&dir, NOBODY));
        let ((own_segment, own_pid), (foreign_segment, foreign_pid)) =
            (segment("0"), segment(NOBODY));
        for (node, pid) in [("1", own_pid), ("2", foreign_pid)] {
            fs::create_dir_all(dir.join(node)).unwrap();
            fs::write(dir.join(node).join("process"), pid.to_string()).unwrap();
        }
        let removed = remove(&dir);
        let (is_alive, has_segment) = (
            foreign.try_wait().unwrap().is_none(),
            exists(&foreign_segment),
        );
        foreign.kill().unwrap();
        foreign.wait().unwrap();
        Command::new("ipcrm")
            .args(["-m", &foreign_segment])
            .status()
            .unwrap();
        assert!(removed.status.success() && !dir.exists(), "{removed:?}");
        assert!(is_alive && has_segment);
        assert!(!own.wait().unwrap().success() && !exists(&own_segment));
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
        let run = |command: &str| -> io::Result<Answer> {
            let output = Command::new("sh").args(["-c", command]).output()?;
            Ok(Answer {
                text: String::from_utf8_lossy(&output.stdout).into_owned(),
                code: output.status.code().unwrap_or(-1),
            })
        };
        allow(0o777);
        let refused = make(&home, &to, &below, false, run).unwrap_err();
        let why = format!("other users can change {}", open.display());
        assert!(refused.message.contains(&why), "{refused:?}");
        assert_eq!(fs::read_dir(&below).unwrap().count(), 0);
        for safe in [0o1777, 0o755] {
            allow(safe);
            let (made, step) = make(&home, &to, &below, false, run).unwrap();
            assert!(made.join(MARKER).exists());
            step.unwrap().done();
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

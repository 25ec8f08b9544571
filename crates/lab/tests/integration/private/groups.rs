//! Control groups that a run has made, and the servers in them.

use std::fs;
use std::path::{Path, PathBuf};

use lab::clean_in;

use super::killed::dyno;

/// The control groups that the run of this home has made and not removed.
pub(crate) fn groups(run: &Path) -> Vec<PathBuf> {
    let name = format!("dyno-{}-", run.file_name().unwrap().to_str().unwrap());
    let mut todo = vec![PathBuf::from("/sys/fs/cgroup")];
    let mut found = Vec::new();
    while let Some(dir) = todo.pop() {
        // Groups of others come and go meanwhile.
        let below = fs::read_dir(dir).into_iter().flatten().flatten();
        for entry in below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if entry.file_name().to_string_lossy().starts_with(&name) {
                found.push(entry.path());
            }
            todo.push(entry.path());
        }
    }
    found
}

/// A number of a group: the whole of a file, or of a line of one.
pub(crate) fn number(groups: &[PathBuf], file: &str, line: Option<&str>) -> Option<u64> {
    groups.iter().find_map(|group| {
        let text = fs::read_to_string(group.join(file)).ok()?;
        let number = match line {
            None => text.trim(),
            Some(name) => text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?,
        };
        number.parse().ok()
    })
}

/// Kills a dyno with a server that has groups: only the next sweep removes them. Returns its run
/// directory.
pub(crate) fn go_with_the_next_sweep(does: &str, dir: &Path) -> PathBuf {
    let root = dir.join(does).join("cache");
    fs::create_dir(dir.join(does)).unwrap();
    let one = dyno(&root, does, dir);
    let run = one.run_dir();
    let made = groups(&run);
    assert!(!made.is_empty());
    one.kill_with_servers();
    assert_eq!(groups(&run), made);
    assert_eq!(clean_in(&root, false).unwrap().run_dirs, 1);
    assert!(groups(&run).is_empty());
    run
}

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::home::Unmounted;
use crate::home::journal::remaining;
use crate::home::undo_steps;
use crate::testing::{account, home};

fn count(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

/// Number of steps that remain to be undone.
fn steps(home: &Home) -> usize {
    remaining(home.run_dir()).unwrap().len()
}

fn directory(path: &Path, mount_depth: Option<usize>) -> Undo {
    Undo::Remove(Target {
        kind: Kind::Directory,
        path: path.to_owned(),
        mount_depth,
    })
}

#[test]
fn a_directory_is_removed_with_its_step_and_nothing_else() {
    let (_dir, home) = home();
    let disk = tempfile::tempdir().unwrap();
    fs::write(disk.path().join("theirs"), "x").unwrap();
    let made = Outside::make(&home, Kind::Directory, disk.path()).unwrap();
    fs::write(made.path().join("a"), "x").unwrap();
    assert_eq!((count(disk.path()), steps(&home)), (2, 1));
    drop(made);
    assert_eq!((count(disk.path()), steps(&home)), (1, 0));
    assert!(disk.path().join("theirs").exists());
}

#[test]
fn a_failed_creation_leaves_no_step() {
    let (_dir, home) = home();
    let error = Outside::make(&home, Kind::Directory, Path::new("/there/is/none"));
    assert!(error.unwrap_err().to_string().contains("/there/is/none"));
    assert_eq!(steps(&home), 0);
}

/// As after a kill, before and after the target was created.
#[test]
fn a_sweep_removes_only_targets_with_the_names_of_the_run() {
    let (_dir, home) = home();
    let disk = tempfile::tempdir().unwrap();
    let run = home.run_dir();
    let kept = Outside::make(&home, Kind::Directory, disk.path()).unwrap();
    fs::write(kept.path().join("a"), vec![1; 100_000]).unwrap();
    std::mem::forget(kept);
    let never_made = disk.path().join(format!("{}77", own_prefix(run)));
    home.record(77, directory(&never_made, None)).unwrap();
    for (number, name) in [(78, "theirs"), (79, "dyno-other-79")] {
        let theirs = disk.path().join(name);
        fs::create_dir(&theirs).unwrap();
        home.record(number, directory(&theirs, Some(99))).unwrap();
    }
    let removed = undo_steps(run).unwrap();
    assert!((100_000..1 << 20).contains(&removed.bytes), "{removed:?}");
    assert_eq!((count(disk.path()), removed.unmounted), (2, Vec::new()));
    assert_eq!((steps(&home), undo_steps(run).unwrap().bytes), (2, 0));
    drop(home);
    assert_eq!(count(disk.path()), 2);
}

#[test]
fn another_directory_at_the_path_is_not_removed() {
    let (_dir, home) = home();
    let disk = tempfile::tempdir().unwrap();
    let run = home.run_dir().to_owned();
    let theirs = tempfile::tempdir().unwrap();
    fs::write(theirs.path().join("file"), "x").unwrap();
    let exchange: [&dyn Fn(&Path); 3] = [
        &|path| symlink(theirs.path(), path).unwrap(),
        &|path| {
            fs::create_dir(path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
        },
        &|path| fs::write(path, "x").unwrap(),
    ];
    for exchange in exchange {
        let made = Outside::make(&home, Kind::Directory, disk.path()).unwrap();
        let path = made.path().to_owned();
        fs::remove_dir_all(&path).unwrap();
        exchange(&path);
        undo_steps(&run).unwrap_err();
        drop(made);
        assert!(fs::symlink_metadata(&path).is_ok());
        assert!(path.is_file() || path.join("file").exists());
        fs::remove_dir_all(&path)
            .or_else(|_| fs::remove_file(&path))
            .unwrap();
        undo_steps(&run).unwrap();
    }
    assert!(theirs.path().join("file").exists());
}

/// Others can write to the parent, or it has become a link.
#[test]
fn nothing_is_removed_below_an_unsafe_directory() {
    let (_dir, home) = home();
    let disk = tempfile::tempdir().unwrap();
    let parent = disk.path().join("parent");
    fs::create_dir(&parent).unwrap();
    let made = Outside::make(&home, Kind::Directory, &parent).unwrap();
    let mode = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(&parent, mode(0o777)).unwrap();
    let error = undo_steps(home.run_dir()).unwrap_err();
    assert!(error.message.contains("cannot be used safely"), "{error}");
    fs::set_permissions(&parent, mode(0o755)).unwrap();
    fs::rename(&parent, disk.path().join("moved")).unwrap();
    symlink(disk.path().join("moved"), &parent).unwrap();
    let error = undo_steps(home.run_dir()).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    assert_eq!(count(&disk.path().join("moved")), 1);
    fs::remove_file(&parent).unwrap();
    fs::rename(disk.path().join("moved"), &parent).unwrap();
    drop(made);
    assert_eq!(count(&parent), 0);
}

#[test]
fn a_directory_on_an_unmounted_disk_stays_recorded() {
    let (_dir, home) = home();
    let mount_point = tempfile::tempdir().unwrap();
    let mount_point = fs::canonicalize(mount_point.path()).unwrap();
    let made = Outside::make(&home, Kind::Directory, &mount_point).unwrap();
    let path = made.path().to_owned();
    let (root, run) = (home.root().to_owned(), home.run_dir().to_owned());
    // As if a disk had been mounted there that is now unmounted.
    let depth = mount_point.iter().skip(1).count();
    home.record(0, directory(&path, Some(depth))).unwrap();
    std::mem::forget(made);
    fs::remove_dir_all(&path).unwrap();
    let noted = Unmounted {
        path: path.clone(),
        run: run.clone(),
    };
    assert_eq!(undo_steps(&run).unwrap().unmounted, [noted]);
    // The run's own end leaves the step, and so does the next sweep.
    drop(home);
    let (_, cleaned) = crate::home::remove_dead_runs(&root, &account())
        .unwrap()
        .unwrap();
    assert_eq!((cleaned.run_dirs, cleaned.unmounted.len()), (0, 1));
    // The disk is mounted again, with the directory on it.
    fs::create_dir(&path).unwrap();
    let (_, cleaned) = crate::home::remove_dead_runs(&root, &account())
        .unwrap()
        .unwrap();
    assert_eq!((cleaned.run_dirs, cleaned.unmounted), (1, Vec::new()));
    assert!(!run.exists() && count(&mount_point) == 0);
}

#[test]
fn a_directory_that_is_gone_with_its_parent_is_forgotten() {
    let (_dir, home) = home();
    let disk = tempfile::tempdir().unwrap();
    let parent = disk.path().join("parent");
    fs::create_dir(&parent).unwrap();
    let made = Outside::make(&home, Kind::Directory, &parent).unwrap();
    std::mem::forget(made);
    fs::remove_dir_all(&parent).unwrap();
    assert_eq!(undo_steps(home.run_dir()).unwrap().unmounted, []);
}

#[test]
fn the_run_of_another_host_is_left_and_named() {
    let (dir, home) = home();
    let root = dir.path().join("cache");
    let run = root.join("run/6441234567890");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("lock"), "").unwrap();
    fs::write(run.join("host"), "machine boot elsewhere\n").unwrap();
    // A control group that exists nowhere else.
    let journal = run.join("undo");
    let group = r#"{"step":1,"undo":{"remove":{"kind":"group","path":"/sys/fs/cgroup/dyno-6441234567890-1"}}}"#;
    fs::write(&journal, format!("{group}\n")).unwrap();
    for _ in 0..2 {
        let (_, cleaned) = crate::home::remove_dead_runs(&root, &account())
            .unwrap()
            .unwrap();
        let [left] = cleaned.left.as_slice() else {
            panic!("{cleaned:?}")
        };
        assert!(
            left.path == run && left.failure.message.contains("host elsewhere"),
            "{left}"
        );
        assert!(journal.exists());
    }
    fs::copy(home.run_dir().join("host"), run.join("host")).unwrap();
    let (_, cleaned) = crate::home::remove_dead_runs(&root, &account())
        .unwrap()
        .unwrap();
    assert!(cleaned.run_dirs == 1 && cleaned.left.is_empty() && !run.exists());
}

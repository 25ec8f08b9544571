//! `server.cpus`: a CPU quota for a server, by a control group (version 1 or 2) of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use host::Files;
use host::cgroup::{Cgroup as OwnGroup, groups};
use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::error::LabError;
use crate::home::Home;
use crate::home::outside::{Kind, Outside};

/// The period of a quota: the kernel's default.
const PERIOD_US: u64 = 100_000;
/// The smallest quota that the kernel accepts.
const MIN_QUOTA_US: u64 = 1000;
/// The error for a process that does not exist.
const NO_PROCESS: i32 = rustix::io::Errno::SRCH.raw_os_error();

/// A group in which groups with a quota can be created.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parent {
    version: Version,
    dir: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A control group with a CPU quota. It is removed with this value, once its processes have
/// ended.
#[derive(Debug)]
pub(crate) struct Group {
    place: Outside,
}

impl Group {
    /// Creates a group without processes.
    pub(crate) fn new(files: &dyn Files, home: &Home, cpus: f64) -> Result<Self, LabError> {
        Self::below(&find(files, &groups(files))?, home, cpus)
    }

    fn below(parent: &Parent, home: &Home, cpus: f64) -> Result<Self, LabError> {
        let refused = |error: LabError| parent.refused(&error.to_string());
        let place = Outside::make(home, Kind::Group, &parent.dir).map_err(refused)?;
        for (file, text) in limit(parent.version, cpus) {
            write(&place.path().join(file), &text).map_err(refused)?;
        }
        Ok(Self { place })
    }

    /// Its directory.
    pub(crate) fn dir(&self) -> &Path {
        self.place.path()
    }

    /// Removes it, once its processes have ended.
    pub(crate) fn end(&self) -> Result<(), LabError> {
        self.place.end()
    }

    /// Moves a process into it, with all its threads and future children.
    pub(crate) fn add(&self, pid: u32) -> Result<(), LabError> {
        match write(&self.place.path().join("cgroup.procs"), &pid.to_string()) {
            // The process has ended, which its owner reports.
            Err(LabError::Io { source, .. }) if source.raw_os_error() == Some(NO_PROCESS) => Ok(()),
            written => written,
        }
    }
}

/// The files to write and their contents.
fn limit(version: Version, cpus: f64) -> Vec<(&'static str, String)> {
    // The study limits the number far below what fits.
    let quota_us = ((cpus * PERIOD_US as f64).round() as u64).max(MIN_QUOTA_US);
    match version {
        Version::One => vec![
            ("cpu.cfs_period_us", PERIOD_US.to_string()),
            ("cpu.cfs_quota_us", quota_us.to_string()),
        ],
        Version::Two => vec![("cpu.max", format!("{quota_us} {PERIOD_US}"))],
    }
}

/// Writes to a kernel file in one call.
fn write(path: &Path, text: &str) -> Result<(), LabError> {
    let written = fs::OpenOptions::new().write(true).open(path);
    written
        .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
        .map_err(LabError::at("write", path))
}

/// Searches upward from this process's own groups. A controller is active in one version only.
fn find(files: &dyn Files, groups: &[OwnGroup]) -> Result<Parent, LabError> {
    if let Some(own) = groups.iter().find(|group| group.has("cpu")) {
        return Ok(Parent {
            version: Version::One,
            dir: own.dir(files),
        });
    }
    let Some(own) = groups.iter().find(|group| group.is_unified()) else {
        return Err(LabError::NoCpuQuota {
            why: "no control groups are mounted".to_owned(),
            remedy: "mount them: mount -t cgroup2 none /sys/fs/cgroup".to_owned(),
        });
    };
    let (own, top) = (own.dir(files), own.mount.point.clone());
    // A group that has processes, such as dyno's, cannot delegate controllers to groups below.
    let mut above = own.ancestors().take_while(|dir| dir.starts_with(&top));
    let parent = above.find(|dir| names_cpu(files, &dir.join("cgroup.subtree_control")));
    let parent = Parent {
        version: Version::Two,
        dir: parent
            .ok_or_else(|| not_delegated(files, &own, &top))?
            .to_owned(),
    };
    let procs = parent.dir.join("cgroup.procs");
    accessat(CWD, &procs, Access::WRITE_OK, AtFlags::EACCESS).map_err(|error| {
        let why = LabError::at("write", &procs)(error.into());
        parent.refused(&why.to_string())
    })?;
    Ok(parent)
}

fn names_cpu(files: &dyn Files, list: &Path) -> bool {
    let text = host::line(files, list).unwrap_or_default();
    text.split_whitespace().any(|name| name == "cpu")
}

fn not_delegated(files: &dyn Files, own: &Path, top: &Path) -> LabError {
    let (why, remedy) = match names_cpu(files, &top.join("cgroup.controllers")) {
        true => (
            format!(
                "neither {} nor a control group above it delegates the cpu controller",
                own.display()
            ),
            format!(
                "{}, or as root: echo +cpu > {}",
                in_a_scope(),
                top.join("cgroup.subtree_control").display()
            ),
        ),
        false => (
            format!("{} has no cpu controller", top.display()),
            "in a container, delegate the controller to it; elsewhere, use a kernel with CONFIG_CFS_BANDWIDTH"
                .to_owned(),
        ),
    };
    LabError::NoCpuQuota { why, remedy }
}

impl Parent {
    /// The kernel refused to create such a group here.
    fn refused(&self, why: &str) -> LabError {
        let dir = self.dir.display();
        let is_root = rustix::process::geteuid().is_root();
        let remedy = match (is_root, self.version) {
            (true, _) => format!(
                "make {dir} writable (in a container it often is not), and use no larger quota than its own"
            ),
            (false, Version::Two) => format!("run dyno as root, or {}", in_a_scope()),
            (false, Version::One) => format!(
                "run dyno as root, or as root give the user a group and start dyno in it: \
                 mkdir {dir}/mine && chown -R USER {dir}/mine && echo PID > {dir}/mine/cgroup.procs"
            ),
        };
        LabError::NoCpuQuota {
            why: why.to_owned(),
            remedy,
        }
    }
}

/// How to start dyno with systemd in a group whose parent delegates the controller.
fn in_a_scope() -> &'static str {
    match rustix::process::geteuid().is_root() {
        true => "start dyno with: systemd-run --scope -p Delegate=yes dyno …",
        false => "start dyno with: systemd-run --user --scope -p Delegate=yes dyno …",
    }
}

#[cfg(test)]
mod tests {
    use host::mounts::{self, Mount};

    use super::*;
    use crate::site::{Site, ThisHost};

    /// A made-up hierarchy of version 2 with the groups `/a`, `/a/b` and `/a/b/c`.
    struct Tree {
        dir: tempfile::TempDir,
        mount: Mount,
    }

    fn in_group(controllers: &[&str], path: &str, mount: &Mount) -> OwnGroup {
        OwnGroup {
            controllers: controllers.iter().map(ToString::to_string).collect(),
            path: path.to_owned(),
            mount: mount.clone(),
        }
    }

    impl Tree {
        fn new(root: &str) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(dir.path(), open).unwrap();
            let top = dir.path().join("cgroup");
            let groups = top.join("a/b/c");
            fs::create_dir_all(&groups).unwrap();
            for group in groups.ancestors().take(4) {
                fs::write(group.join("cgroup.procs"), "").unwrap();
            }
            let line = format!(
                "30 23 0:26 {root} {} rw shared:4 - cgroup2 cgroup2 rw\n",
                top.display()
            );
            Self {
                mount: mounts::parse(&line).remove(0),
                dir,
            }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.dir.path().join("cgroup").join(path)
        }

        fn write(&self, path: &str, text: &str) {
            fs::write(self.path(path), text).unwrap();
        }

        fn find(&self, own: &str) -> Result<Parent, LabError> {
            find(
                ThisHost::default().files(),
                &[in_group(&[], own, &self.mount)],
            )
        }
    }

    #[test]
    fn version_2_takes_the_nearest_group_that_delegates_cpus() {
        let tree = Tree::new("/");
        tree.write("a/cgroup.subtree_control", "cpuset cpu memory\n");
        tree.write("a/b/cgroup.subtree_control", "memory cpuset\n");
        let found = tree.find("/a/b/c").unwrap();
        assert_eq!(found.version, Version::Two);
        assert_eq!(found.dir, tree.path("a"));
        tree.write("cgroup.subtree_control", "cpu\n");
        assert_eq!(tree.find("/").unwrap().dir, tree.path(""));
    }

    /// A container sees its own part as the top, and names it in one way or the other.
    #[test]
    fn a_container_does_not_see_what_is_above_it() {
        let tree = Tree::new("/docker/0a");
        tree.write("cgroup.subtree_control", "cpu\n");
        for own in ["/docker/0a", "/", "/../other", "/docker/0a/gone"] {
            let dir = tree.find(own).unwrap().dir;
            assert_eq!(dir, tree.path(""), "{own}");
            assert!(!dir.display().to_string().ends_with('/'), "{own}");
        }
        tree.write("a/cgroup.subtree_control", "cpu\n");
        assert_eq!(tree.find("/docker/0a/a/b").unwrap().dir, tree.path("a"));
    }

    #[test]
    fn a_missing_controller_is_reported_with_a_remedy() {
        let shown = |found: Result<Parent, LabError>| {
            let error = found.unwrap_err();
            format!("{error}; {}", error.remedy().unwrap())
        };
        let tree = Tree::new("/");
        let none = shown(tree.find("/a"));
        assert!(none.contains("has no cpu controller"), "{none}");
        tree.write("cgroup.controllers", "cpuset cpu io\n");
        let text = shown(tree.find("/a"));
        assert!(text.contains("delegates the cpu controller"), "{text}");
        assert!(text.contains("systemd-run") && text.contains("echo +cpu"));
        let text = shown(find(ThisHost::default().files(), &[]));
        assert!(text.contains("mount -t cgroup2"), "{text}");
    }

    /// The made-up tree has no `cpu.max`, as a kernel without quotas.
    #[test]
    fn a_quota_that_the_kernel_refuses_leaves_no_group() {
        let tree = Tree::new("/");
        tree.write("a/cgroup.subtree_control", "cpu\n");
        let home = Home::open_in(&tree.dir.path().join("cache"), u64::MAX).unwrap();
        let entries = || fs::read_dir(tree.path("a")).unwrap().count();
        let before = entries();
        let error = Group::below(&tree.find("/a").unwrap(), &home, 1.0).unwrap_err();
        assert!(matches!(error, LabError::NoCpuQuota { .. }));
        assert!(error.to_string().contains("cpu.max"), "{error}");
        assert_eq!(entries(), before);
    }

    #[test]
    fn version_1_is_taken_where_it_has_the_controller() {
        let text = "32 30 0:28 / /proc/self rw - cgroup cgroup rw,cpu,cpuacct\n\
                    33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let mounts = mounts::parse(text);
        let groups = [
            in_group(&[], "/", &mounts[1]),
            in_group(&["cpu", "cpuacct"], "/fd", &mounts[0]),
        ];
        let found = find(ThisHost::default().files(), &groups).unwrap();
        assert_eq!(found.version, Version::One);
        assert_eq!(found.dir, Path::new("/proc/self/fd"));
    }

    #[test]
    fn a_quota_is_written_in_each_versions_own_way() {
        let two = limit(Version::Two, 1.5);
        assert_eq!(two, [("cpu.max", "150000 100000".to_owned())]);
        let one = limit(Version::One, 0.001);
        assert_eq!(one[1], ("cpu.cfs_quota_us", "1000".to_owned()));
    }
}

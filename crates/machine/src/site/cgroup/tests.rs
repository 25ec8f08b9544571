//! Finding and writing control groups, most of them simulated.

use host::mounts::{self, Mount};

use host::cgroup::Cgroup as OwnGroup;
use plan::{Span, Spanned};

use super::*;
use crate::site::{Site, ThisHost};

/// A simulated hierarchy of version 2 with the groups `/a`, `/a/b` and `/a/b/c`.
struct Tree {
    dir: tempfile::TempDir,
    mount: Mount,
}

fn find(own: &[OwnGroup], required: &[Controller]) -> Result<Vec<Parent>, Failure> {
    parent::find(ThisHost::default().files(), own, required)
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

    fn find(&self, own: &str) -> Result<Parent, Failure> {
        let own = [in_group(&[], own, &self.mount)];
        find(&own, &[Controller::Cpu]).map(|mut found| found.remove(0))
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

/// A container sees its own group as the root; its path may be relative to that or to the host's.
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
    let shown = |found: Result<Parent, Failure>| {
        let error = found.unwrap_err();
        format!("{error}; {}", error.remedy.as_deref().unwrap())
    };
    let tree = Tree::new("/");
    let none = shown(tree.find("/a"));
    assert!(none.contains("has no cpu controller"), "{none}");
    tree.write("cgroup.controllers", "cpuset cpu io\n");
    let text = shown(tree.find("/a"));
    assert!(text.contains("delegates the cpu controller"), "{text}");
    assert!(text.contains("systemd-run") && text.contains("echo +cpu"));
    let text = shown(find(&[], &[Controller::Cpu]).map(|mut found| found.remove(0)));
    assert!(text.contains("mount -t cgroup2"), "{text}");
}

/// The limits of a simulated group whose hierarchy has none of the files to write.
#[test]
fn a_limit_that_the_kernel_refuses_leaves_no_group() {
    let (_dir, home) = crate::testing::home();
    let limits = Limits {
        // More CPU time than fits in the file.
        cpus: Some(Spanned {
            value: 1e18,
            span: Span::NOWHERE,
        }),
        ..Limits::default()
    };
    let links = || fs::read_dir(home.run_dir()).unwrap().count();
    let before = links();
    let error = Groups::new(&host::LOCAL, &home, &limits, false).unwrap_err();
    assert_eq!((error.key.as_deref(), links()), (Some("site.cpus"), before));
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
    let [found] = find(&groups, &[Controller::Cpu])
        .unwrap()
        .try_into()
        .unwrap();
    assert_eq!(found.version, Version::One);
    assert_eq!(found.dir, Path::new("/proc/self/fd"));
    let both = [Controller::Cpu, Controller::CpuAccount];
    assert_eq!(found.controllers, both);
    // The other version has no memory controller.
    let error = find(&groups, &[Controller::Cpu, Controller::Memory]).unwrap_err();
    assert_eq!(error.key.as_deref(), Some("site.memory"));
    assert!(error.message.contains("memory controller"), "{error}");
}

/// A group that delegates all controllers is preferred to a nearer one that has only those
/// required.
#[test]
fn version_2_counts_what_it_does_not_limit() {
    let tree = Tree::new("/");
    tree.write("cgroup.subtree_control", "cpu memory io\n");
    tree.write("a/cgroup.subtree_control", "cpu\n");
    let found = tree.find("/a/b").unwrap();
    assert_eq!(found.dir, tree.path(""));
    let all = [Controller::Cpu, Controller::Memory, Controller::Io];
    assert_eq!(found.controllers, all);
    tree.write("cgroup.subtree_control", "memory\n");
    let found = tree.find("/a/b").unwrap();
    assert_eq!(
        (found.dir, found.controllers),
        (tree.path("a"), vec![Controller::Cpu])
    );
}

#[test]
fn a_cpu_that_the_host_lacks_is_named() {
    let limits = Limits {
        cpuset: plan::CpuSet::parse("0,8191").map(|value| Spanned {
            value,
            span: Span::NOWHERE,
        }),
        ..Limits::default()
    };
    let error = limit::check(&host::LOCAL, &limits).unwrap_err();
    assert!(error.to_string().contains("no CPU 8191"), "{error}");
}

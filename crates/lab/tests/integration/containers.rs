//! Servers in containers: what they see, and that nothing of a container stays.

use lab::Failure;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use engine::MARIADB;
use lab::servers::Node;
use machine::home::Home;
use machine::site::ThisHost;
use plan::Runtime;

use crate::private::groups::{go_with_the_next_sweep, groups, number};
use crate::private::{self, NEVER, entries, kept_home, open_dir, value};

/// What a dyno does that is to be killed; nothing in a test run.
#[test]
fn a_dyno() {
    private::killed::play(|home, does, _| {
        let runtime = match does {
            "contained" => Runtime::Namespaces,
            _ => Runtime::Podman,
        };
        let keep = home.root().with_file_name("keep");
        private::killed::serve(contained(home, MARIADB, runtime, &keep).unwrap());
    });
}

/// A container, with a limit of its memory.
fn container(home: &Home, runtime: Runtime) -> Result<ThisHost, Failure> {
    let mut site = plan::Site::default();
    site.kind.value = plan::SiteKind::Container;
    site.runtime = runtime;
    site.limits.memory = Some(plan::Spanned {
        value: 1 << 30,
        span: plan::Span::NOWHERE,
    });
    ThisHost::new(home, &site, false, None)
}

/// A server in a container.
fn contained(
    home: &Home,
    engine: &'static dyn engine::Server,
    runtime: Runtime,
    keep: &Path,
) -> Result<Node, Failure> {
    private::start_at(home, engine, container(home, runtime)?, keep)
}

/// Whether containers can be set up here; else the error says what is missing.
fn can_contain(home: &Home) -> bool {
    let container = container(home, Runtime::Namespaces);
    private::allowed(container, private::is_for_root, &["root"]).is_some()
}

/// The same for podman.
fn has_podman(home: &Home) -> bool {
    let installed = Command::new("podman").arg("--version").output();
    if !installed.is_ok_and(|output| output.status.success()) {
        testkit::skip("podman is missing: scripts/install-servers.sh podman");
        return false;
    }
    can_contain(home)
}

#[test]
fn a_container_has_what_its_server_needs_and_nothing_else() {
    let home = kept_home();
    if can_contain(&home) {
        let check = |engine| check_container(&home, engine, Runtime::Namespaces);
        private::ALL.into_iter().for_each(check);
    }
}

/// podman is not only there, but taken by default.
#[test]
fn a_container_of_podman_has_what_its_server_needs_and_nothing_else() {
    let home = kept_home();
    if has_podman(&home) {
        let check = |engine| check_container(&home, engine, Runtime::Auto);
        private::ALL.into_iter().for_each(check);
    }
}

fn check_container(home: &Home, engine: &'static dyn engine::Server, runtime: Runtime) {
    let keep = tempfile::tempdir().unwrap();
    let mut server = contained(home, engine, runtime, keep.path()).unwrap();
    let is_podman = runtime == Runtime::Auto;
    let platform = server.site().platform().unwrap();
    assert_eq!(platform.starts_with("podman "), is_podman, "{platform}");
    let pid = server.pid().unwrap();
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let seen = root.join(server.data_dir().strip_prefix("/").unwrap());
    assert!(!entries(&seen).is_empty(), "{engine}");
    // Neither other users' files nor other servers'.
    assert!(!root.join("root").exists() && !root.join("home").exists());
    let run = root.join(home.run_dir().strip_prefix("/").unwrap());
    assert_eq!(entries(&run).len(), 1, "{engine}: {:?}", entries(&run));
    for kind in ["mnt", "ipc", "uts"] {
        let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/{kind}")).unwrap();
        assert_ne!(namespace(&pid.to_string()), namespace("self"), "{kind}");
    }
    let limit = number(&groups(home.run_dir()), "memory.max", None);
    let old = || number(&groups(home.run_dir()), "memory.limit_in_bytes", None);
    assert_eq!(limit.or_else(old), Some(1 << 30));
    server.kill();
    server.restart(&NEVER).unwrap();
    assert_eq!(value(&server, "SELECT 1"), "1");
    server.stop(&NEVER).unwrap();
    assert!(groups(home.run_dir()).is_empty());
    assert_eq!(podman_containers(home.run_dir()), "");
    assert_eq!(host_mounts_of(home.run_dir()), 0);
}

#[test]
fn a_killed_dynos_container_goes_with_the_next_sweep() {
    let (dir, home) = (open_dir(), kept_home());
    if !can_contain(&home) {
        return;
    }
    let podman = has_podman(&home).then_some("podman");
    for does in ["contained"].into_iter().chain(podman) {
        let run = go_with_the_next_sweep(does, dir.path());
        assert_eq!(podman_containers(&run), "");
        assert_eq!(host_mounts_of(&run), 0);
    }
}

/// The names of a run's containers of podman.
fn podman_containers(run: &Path) -> String {
    let name = run.file_name().unwrap().to_str().unwrap();
    let mut command = Command::new("podman");
    command.args(["ps", "--all", "--format={{.Names}}", "--filter"]);
    let output = command.arg(format!("name={name}")).output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8(output.stdout).unwrap(),
    )
}

/// Mounts below a directory that this process sees.
fn host_mounts_of(dir: &Path) -> usize {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let name = dir.file_name().unwrap().to_str().unwrap();
    mounts.lines().filter(|line| line.contains(name)).count()
}

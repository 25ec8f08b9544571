//! Servers with a quota of CPU time, and with their data on another disk: that it holds,
//! and that nothing of it stays, whatever ends them.
//!
//! Quotas need root, or a group that was given away: without either only their error is
//! tested.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test file: its helpers may fail loudly too"
)]

mod private;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{MARIADB, POSTGRES};
use lab::clean_in;
use lab::error::LabError;
use lab::home::Home;
use lab::servers::{self, DataDir, Node};
use lab::site::{Site, ThisHost};
use lab::template;
use plan::Runtime;
use workload::options::Options;

use private::killed::{Dyno, dyno};
use private::{
    NEVER, empty, empty_data, entries, installed, is_running, kept_home, open_dir, options,
    quietly, value, wait_until, wanted,
};

/// What a dyno does that is to be killed; nothing in a test run.
#[test]
fn a_dyno() {
    private::killed::play(|home, does, place| {
        let keep = home.root().with_file_name("keep");
        let installed = installed(MARIADB);
        match does {
            "limited" => {
                let server = limited(home, 0.5, &keep).unwrap();
                private::killed::ready();
                std::thread::sleep(Duration::from_secs(600));
                drop(server);
            }
            "contained" | "podman" => {
                let runtime = match does {
                    "contained" => Runtime::Namespaces,
                    _ => Runtime::Podman,
                };
                let server = contained(home, MARIADB, runtime, &keep).unwrap();
                private::killed::ready();
                std::thread::sleep(Duration::from_secs(600));
                drop(server);
            }
            "elsewhere" => {
                let copied = empty(home, &installed, &[]).copy_to(1, &volume(place), &host::LOCAL);
                let server =
                    private::start_on(copied.unwrap().0, &installed, &[], None, &keep).unwrap();
                private::killed::ready();
                std::thread::sleep(Duration::from_secs(600));
                drop(server);
            }
            "file system" => loop {
                // Killed in any phase of it.
                let volume = mirrored(place);
                let copied = empty(home, &installed, &[]).copy_to(1, &volume, &host::LOCAL);
                let server =
                    private::start_on(copied.unwrap().0, &installed, &[], None, &keep).unwrap();
                private::killed::ready();
                drop(server);
            },
            _ => {
                let many = options(8, 2_000_000);
                rebuilt(home, &many, place).unwrap();
            }
        }
    });
}

/// Data that was loaded on this disk.
fn rebuilt(home: &Home, options: &Options, place: &Path) -> Result<(DataDir, Duration), LabError> {
    let installed = installed(MARIADB);
    let wanted = wanted(options);
    quietly(|listener| template::rebuild(home, &installed, &wanted, &[], &volume(place), listener))
}

/// A node with its data below a directory.
fn volume(directory: &Path) -> plan::Node {
    let mut node = plan::Node::default();
    node.volume.directory = Some(plan::Spanned {
        value: directory.to_owned(),
        span: plan::Span::NOWHERE,
    });
    node
}

/// A file system on loop devices whose files are below a directory.
fn mirrored(directory: &Path) -> plan::Node {
    let text = format!(
        "title = 't'\nserver.engine = 'mariadb'\n[volume]\nfilesystem = 'btrfs'\ndevices = 2\n\
         profile = 'raid1'\ndevice_size = '512M'\ndirectory = '{}'",
        directory.display()
    );
    let study = study::Study::parse("t", &text, engine::catalog()).unwrap();
    let mut trials = study.plan().unwrap().trials;
    trials.remove(0).topology.node
}

/// A site with a quota of CPU time.
fn quota(home: &Home, cpus: f64) -> Result<ThisHost, LabError> {
    let cpus = plan::Spanned {
        value: cpus,
        span: plan::Span::NOWHERE,
    };
    let mut site = plan::Site::default();
    site.kind.value = plan::SiteKind::Limited;
    site.limits.cpus = Some(cpus);
    ThisHost::new(home, &site)
}

/// A container, with a limit of its memory.
fn container(home: &Home, runtime: Runtime) -> Result<ThisHost, LabError> {
    let mut site = plan::Site::default();
    site.kind.value = plan::SiteKind::Container;
    site.runtime = runtime;
    site.limits.memory = Some(plan::Spanned {
        value: 1 << 30,
        span: plan::Span::NOWHERE,
    });
    ThisHost::new(home, &site)
}

/// A server in a container.
fn contained(
    home: &Home,
    engine: &'static dyn engine::Server,
    runtime: Runtime,
    keep: &Path,
) -> Result<Node, LabError> {
    let installed = installed(engine);
    servers::start(
        &installed,
        servers::NodeSpec {
            number: 1,
            data: empty_data(home, &installed),
            config: &[],
            port: None,
            connections: 10,
            membership: None,
            site: Arc::new(container(home, runtime)?),
            keep,
            interrupted: &NEVER,
        },
    )
}

/// Whether containers can be set up here; else the error says what is missing.
fn can_contain(home: &Home) -> bool {
    match container(home, Runtime::Namespaces) {
        Ok(_) => true,
        Err(error @ (LabError::NoLimit { .. } | LabError::NoContainer { .. }))
            if !rustix::process::geteuid().is_root() =>
        {
            assert!(error.remedy().is_some_and(|remedy| remedy.contains("root")));
            testkit::skip(&error.to_string());
            false
        }
        Err(error) => panic!("{error}"),
    }
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

/// A loop device over a file, which anybody may read; removed with this value.
struct LoopDevice {
    path: PathBuf,
    _file: tempfile::NamedTempFile,
}

impl LoopDevice {
    /// Records a skipped test and returns `None` where this user may not create one.
    fn new() -> Option<Self> {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(64 << 20).unwrap();
        let mut command = Command::new("losetup");
        let output = command.args(["--find", "--show"]).arg(file.path()).output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else {
            testkit::skip("this user may not create loop devices");
            return None;
        };
        let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        fs::set_permissions(&path, open).unwrap();
        Some(Self { path, _file: file })
    }

    fn numbers(&self) -> (u32, u32) {
        let device = fs::metadata(&self.path).unwrap().rdev();
        (rustix::fs::major(device), rustix::fs::minor(device))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let closed = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        let _ = fs::set_permissions(&self.path, closed);
        let _ = Command::new("losetup").arg("-d").arg(&self.path).status();
    }
}

/// A plain process gets a control group for it.
#[test]
fn requests_to_a_device_are_limited() {
    let home = kept_home();
    let Some(device) = LoopDevice::new() else {
        return;
    };
    let keep = tempfile::tempdir().unwrap();
    let (input, log) = (keep.path().join("input"), keep.path().join("log"));
    fs::write(&input, "").unwrap();
    let site = ThisHost::new(&home, &plan::Site::default()).unwrap();
    let limit = |read_iops| {
        let limits = plan::DiskLimits {
            read_iops,
            ..plan::DiskLimits::default()
        };
        site.limit_io(&[device.numbers()], &limits).unwrap();
    };
    let read = |count: u32| {
        let from = format!("if={}", device.path.display());
        let count = format!("count={count}");
        let arguments = [&from, "of=/dev/null", "bs=4k", "iflag=direct", &count];
        let dd = engine::Invocation::new("/bin/dd", arguments);
        let begun = Instant::now();
        let log = fs::File::create(&log).unwrap();
        let mut launched = site.spawn(&home, &dd, &input, log).unwrap();
        assert!(launched.child.wait().unwrap().success());
        begun.elapsed()
    };
    limit(Some(100));
    let took = read(400);
    // The kernel lets a tenth of a second's requests pass at once.
    assert!(took >= Duration::from_millis(3600), "{took:?}");
    // So fast only without the limit.
    limit(None);
    let took = read(4000);
    assert!(took < Duration::from_secs(30), "{took:?}");
    site.end().unwrap();
    assert!(groups(home.run_dir()).is_empty());
}

/// A server that may use so many CPUs.
fn limited(home: &Home, cpus: f64, keep: &Path) -> Result<Node, LabError> {
    let installed = installed(MARIADB);
    servers::start(
        &installed,
        servers::NodeSpec {
            number: 1,
            data: empty_data(home, &installed),
            config: &[],
            port: None,
            connections: 10,
            membership: None,
            site: Arc::new(quota(home, cpus)?),
            keep,
            interrupted: &NEVER,
        },
    )
}

/// The same, unless this user has no right to it: then the error says how to get it.
fn limited_if_allowed(home: &Home, cpus: f64, keep: &Path) -> Option<Node> {
    match limited(home, cpus, keep) {
        Ok(server) => Some(server),
        Err(error @ LabError::NoLimit { .. }) if !rustix::process::geteuid().is_root() => {
            assert!(error.remedy().is_some_and(|remedy| remedy.contains("root")));
            testkit::skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The control groups that the run of this home has made and not removed.
fn groups(run: &Path) -> Vec<PathBuf> {
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
fn number(groups: &[PathBuf], file: &str, line: Option<&str>) -> Option<u64> {
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

/// What the kernel counts of a server with a quota.
#[derive(Clone, Copy)]
struct Counted {
    used: Duration,
    /// Periods in which it used up its quota.
    throttled: u64,
    at: Instant,
}

impl Counted {
    fn of(groups: &[PathBuf]) -> Self {
        let at = Instant::now();
        let used = match number(groups, "cpuacct.usage", None) {
            Some(ns) => Duration::from_nanos(ns),
            None => Duration::from_micros(number(groups, "cpu.stat", Some("usage_usec")).unwrap()),
        };
        let throttled = number(groups, "cpu.stat", Some("nr_throttled"));
        Self {
            used,
            throttled: throttled.unwrap(),
            at,
        }
    }
}

#[test]
fn a_busy_server_uses_its_quota_and_no_more() {
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let Some(server) = limited_if_allowed(&home, 0.5, keep.path()) else {
        return;
    };
    let groups = groups(home.run_dir());
    let target = private::target(&server);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let target = target.clone();
            scope.spawn(move || {
                // Until the server is gone.
                let endless = "SELECT BENCHMARK(1000000000000, SHA2('a', 512))";
                let reactor = client::reactor::Reactor::new().unwrap();
                let asked = reactor.block_on(async {
                    let mut connection = client::mysql::Connection::open(&target).await?;
                    connection.rows(endless).await
                });
                assert!(asked.unwrap().is_err());
            });
        }
        // Busy, and so busy that it would use more.
        wait_until("the quota's end", || Counted::of(&groups).throttled > 0);
        let before = Counted::of(&groups);
        std::thread::sleep(Duration::from_secs(3));
        let after = Counted::of(&groups);
        let used_s = (after.used - before.used).as_secs_f64();
        // The kernel's periods of 0.1 s do not begin with the measurement.
        let most_s = 0.5 * ((after.at - before.at).as_secs_f64() + 0.1);
        assert!(used_s <= most_s * 1.05, "{used_s} of {most_s} s");
        // How often it gets that much is up to the host.
        let least_s = 0.05 * (after.throttled - before.throttled).saturating_sub(1) as f64;
        assert!(used_s >= least_s * 0.95, "{used_s} of {least_s} s");
        drop(server);
    });
    assert!(groups.iter().all(|group| !group.exists()));
}

#[test]
fn a_group_goes_with_its_server_however_that_ends() {
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let Some(server) = limited_if_allowed(&home, 1.5, keep.path()) else {
        return;
    };
    let there = || groups(home.run_dir());
    let made = there();
    assert!(!made.is_empty());
    let pid = server.pid().unwrap().to_string();
    for group in &made {
        let members = fs::read_to_string(group.join("cgroup.procs")).unwrap();
        assert_eq!(members.lines().collect::<Vec<_>>(), [pid.as_str()]);
    }
    server.stop(&NEVER).unwrap();
    assert!(there().is_empty());

    let mut server = limited(&home, 1.5, keep.path()).unwrap();
    // The site stays as it is while its node is down.
    server.kill();
    assert_eq!(there().len(), made.len());
    server.restart(&NEVER).unwrap();
    assert_eq!(there().len(), made.len());
    drop(server);
    assert!(there().is_empty());

    let data = empty_data(&home, &installed(MARIADB));
    let refused = servers::start(
        &installed(MARIADB),
        servers::NodeSpec {
            number: 1,
            data,
            config: &private::config(&[("no_such_setting", "1")]),
            port: None,
            connections: 1,
            membership: None,
            site: Arc::new(quota(&home, 1.0).unwrap()),
            keep: keep.path(),
            interrupted: &NEVER,
        },
    );
    let error = refused.unwrap_err();
    assert!(matches!(error, LabError::RejectedSetting { .. }), "{error}");
    assert!(there().is_empty());
}

#[test]
fn a_killed_dynos_group_goes_with_the_next_sweep() {
    let dir = open_dir();
    let home = kept_home();
    if limited_if_allowed(&home, 1.0, dir.path()).is_none() || !can_contain(&home) {
        return;
    }
    let podman = has_podman(&home).then_some("podman");
    for does in ["limited", "contained"].into_iter().chain(podman) {
        let root = dir.path().join(does).join("cache");
        fs::create_dir(dir.path().join(does)).unwrap();
        let one = dyno(&root, does, dir.path());
        let run = one.run_dir();
        let made = groups(&run);
        assert!(!made.is_empty());
        let servers = private::processes_below(&root);
        one.kill();
        for pid in servers {
            wait_until("the server's end", || !is_running(pid));
        }
        assert_eq!(groups(&run), made);
        assert_eq!(clean_in(&root, false).unwrap().run_dirs, 1);
        assert!(groups(&run).is_empty());
        assert_eq!(podman_containers(&run), "");
        assert_eq!(host_mounts_of(&run), 0);
    }
}

/// A place for data with something of somebody else's in it, owned by nobody but dyno.
fn disk() -> tempfile::TempDir {
    let disk = open_dir();
    fs::create_dir(disk.path().join("theirs")).unwrap();
    fs::write(disk.path().join("theirs/file"), "x").unwrap();
    disk
}

fn assert_only_theirs(disk: &Path) {
    assert_eq!(entries(disk), [disk.join("theirs")]);
    assert_eq!(fs::read(disk.join("theirs/file")).unwrap(), b"x");
}

#[test]
fn data_lies_in_the_directory_and_goes_with_its_server() {
    for engine in private::ALL {
        let (home, keep, disk) = (kept_home(), tempfile::tempdir().unwrap(), disk());
        // Option files have rules of their own for such names.
        let place = disk.path().join("a #1; b");
        fs::create_dir(&place).unwrap();
        let installed = installed(engine);
        let template = empty(&home, &installed, &[]);
        let (data, _) = template.copy_to(1, &volume(&place), &host::LOCAL).unwrap();
        let (other, _) = template.copy_to(2, &volume(&place), &host::LOCAL).unwrap();
        assert_eq!(entries(&place).len(), 2);
        drop(other);
        let server = private::start_on(data, &installed, &[], None, keep.path()).unwrap();
        assert!(server.data_dir().starts_with(&place));
        let there = value(
            &server,
            match engine == POSTGRES {
                true => "SHOW data_directory",
                false => "SELECT @@datadir",
            },
        );
        assert_eq!(Path::new(&there), server.data_dir(), "{engine}");
        value(&server, "SELECT COUNT(*) FROM information_schema.tables");

        let own = &entries(&place)[0];
        let run = home.run_dir().file_name().unwrap().to_str().unwrap();
        let name = own.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&format!("dyno-{run}-")), "{name}");
        // dyno's own, with the server's in it.
        let me = rustix::process::geteuid().as_raw();
        assert_eq!(fs::metadata(own).unwrap().uid(), me);
        let servers = fs::metadata(server.data_dir()).unwrap();
        assert_eq!(servers.uid() != me, rustix::process::geteuid().is_root());
        assert_eq!(servers.mode() & 0o077, 0);

        server.stop(&NEVER).unwrap();
        assert!(entries(&place).is_empty());
        fs::remove_dir(&place).unwrap();
        assert_only_theirs(disk.path());
    }
}

#[test]
fn a_rebuild_lies_there_too() {
    let (home, keep, disk) = (kept_home(), tempfile::tempdir().unwrap(), disk());
    let (installed, options) = (installed(MARIADB), options(1, 500));
    let (data, _) = rebuilt(&home, &options, disk.path()).unwrap();
    let server = private::start_on(data, &installed, &[], None, keep.path()).unwrap();
    assert!(server.data_dir().starts_with(disk.path()));
    assert_eq!(value(&server, "SELECT COUNT(*) FROM sbtest1"), "500");
    drop(server);
    assert_only_theirs(disk.path());
}

#[test]
fn nothing_lies_there_after_a_kill_and_a_sweep() {
    for does in ["elsewhere", "rebuild"] {
        let (dir, disk) = (open_dir(), disk());
        let root = dir.path().join("cache");
        let one: Dyno = match does {
            "elsewhere" => dyno(&root, does, disk.path()),
            // In the middle of its work.
            _ => private::killed::start(&root, does, disk.path()),
        };
        wait_until("the data", || {
            let made = entries(disk.path());
            made.len() == 2 && made.iter().any(|dir| dir.join("data/ibdata1").exists())
        });
        kill_with_servers(&root, one);
        assert_eq!(entries(disk.path()).len(), 2);
        let cleaned = clean_in(&root, true).unwrap();
        assert!(cleaned.run_dirs == 1 && cleaned.bytes > 1 << 20);
        assert_only_theirs(disk.path());
    }
}

/// Also in the middle of making or removing it.
#[test]
fn a_killed_dynos_file_system_goes_with_the_next_sweep() {
    let disk = disk();
    let template = empty(&kept_home(), &installed(MARIADB), &[]);
    match template.copy_to(1, &mirrored(disk.path()), &host::LOCAL) {
        Err(error @ LabError::NoVolume { .. }) => return testkit::skip(&error.to_string()),
        copied => drop(copied.unwrap()),
    }
    let dir = open_dir();
    let root = dir.path().join("cache");
    let traces = |of: &Path| {
        let read = |path: &str| fs::read_to_string(path).unwrap();
        let devices = fs::read_dir("/sys/block").unwrap().flatten();
        let files = devices
            .filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
        let all = files.chain([read("/proc/self/mountinfo")]);
        let of = of.display().to_string();
        all.filter(|text| text.contains(&of)).count()
    };
    for more_ms in [0, 20, 50, 90, 140, 200, 300] {
        let one = dyno(&root, "file system", disk.path());
        std::thread::sleep(Duration::from_millis(more_ms));
        kill_with_servers(&root, one);
        assert_eq!(clean_in(&root, false).unwrap().left, Vec::new());
        wait_until("the devices to be detached", || traces(disk.path()) == 0);
        assert_only_theirs(disk.path());
        assert!(entries(&root.join("run")).is_empty());
    }
}

#[test]
fn a_place_that_is_gone_is_no_error_for_the_sweep() {
    let (dir, disk) = (open_dir(), disk());
    let root = dir.path().join("cache");
    dyno(&root, "elsewhere", disk.path()).kill();
    fs::remove_dir_all(disk.path()).unwrap();
    let cleaned = clean_in(&root, false).unwrap();
    assert_eq!((cleaned.run_dirs, cleaned.unmounted), (1, Vec::new()));
    assert!(entries(&root.join("run")).is_empty());
}

/// Something mounted on a directory, gone with it.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    /// Records a skipped test and returns `None` where this user may not mount.
    fn new(options: &[&str], point: &'a Path) -> Option<Self> {
        let mounted = Command::new("mount").args(options).arg(point).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(point));
        }
        testkit::skip("this user may not mount");
        None
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn what_a_disk_holds_is_known_when_it_is_mounted_again() {
    let (dir, disk, point) = (open_dir(), disk(), open_dir());
    let root = dir.path().join("cache");
    // On the disk of the cache, and not in memory.
    let (from, point) = (disk.path().to_str().unwrap(), point.path());
    let Some(mounted) = Mounted::new(&["--bind", from], point) else {
        return;
    };
    let one = dyno(&root, "elsewhere", point);
    let noted = |run: &Path| {
        let names = entries(run).into_iter();
        let mut names = names.map(|path| path.file_name().unwrap().to_owned());
        names.any(|name| name.to_string_lossy().contains('@'))
    };
    let is_noted = noted(&one.run_dir());
    kill_with_servers(&root, one);
    drop(mounted);
    let cleaned = clean_in(&root, false).unwrap();
    if is_noted {
        assert_eq!((cleaned.run_dirs, cleaned.unmounted.len()), (0, 1));
        let _again = Mounted::new(&["--bind", from], point).unwrap();
        let cleaned = clean_in(&root, false).unwrap();
        assert_eq!((cleaned.run_dirs, cleaned.unmounted), (1, Vec::new()));
        assert_only_theirs(disk.path());
    }
    assert!(entries(&root.join("run")).is_empty());
}

/// A file system in memory has another number whenever it is mounted.
#[test]
fn what_lay_in_memory_is_gone_with_its_mount() {
    for is_back in [true, false] {
        let (dir, point) = (open_dir(), open_dir());
        let root = dir.path().join("cache");
        let options = ["-t", "tmpfs", "-o", "mode=755", "tmpfs"];
        let Some(mounted) = Mounted::new(&options, point.path()) else {
            return;
        };
        kill_with_servers(&root, dyno(&root, "elsewhere", point.path()));
        drop(mounted);
        let _again = is_back.then(|| Mounted::new(&options, point.path()).unwrap());
        let cleaned = clean_in(&root, false).unwrap();
        assert_eq!((cleaned.run_dirs, cleaned.unmounted), (1, Vec::new()));
    }
}

/// Kills a dyno, and waits for the end of its servers.
fn kill_with_servers(root: &Path, dyno: Dyno) {
    let servers = private::processes_below(root);
    dyno.kill();
    for pid in servers {
        wait_until("the server's end", || !is_running(pid));
    }
}

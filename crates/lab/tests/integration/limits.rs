//! Servers with limits: that they hold, and that nothing of a control group stays.
//!
//! They need root, or a group that was given away: without either only their error is tested.

use lab::Failure;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::MARIADB;
use lab::servers::{self, Node, NodeSpec};
use machine::home::Home;
use machine::site::{Program, Site, ThisHost};

use crate::private::groups::{go_with_the_next_sweep, groups, number};
use crate::private::{self, NEVER, empty_data, installed, kept_home, open_dir, wait_until};

/// What a dyno does that is to be killed; nothing in a test run.
#[test]
fn a_dyno() {
    private::killed::play(|home, _, _| {
        let keep = home.root().with_file_name("keep");
        private::killed::serve(limited(home, 0.5, &keep).unwrap());
    });
}

/// A site with a quota of CPU time.
fn quota(home: &Home, cpus: f64) -> Result<ThisHost, Failure> {
    let cpus = plan::Spanned {
        value: cpus,
        span: plan::Span::NOWHERE,
    };
    let mut site = plan::Site::default();
    site.kind.value = plan::SiteKind::Limited;
    site.limits.cpus = Some(cpus);
    ThisHost::new(home, &site, false, None)
}

/// A server that may use so many CPUs.
fn limited(home: &Home, cpus: f64, keep: &Path) -> Result<Node, Failure> {
    private::start_at(home, MARIADB, quota(home, cpus)?, keep)
}

/// The same, unless this user has no right to it: then the error says how to get it.
fn limited_if_allowed(home: &Home, cpus: f64, keep: &Path) -> Option<Node> {
    private::allowed(limited(home, cpus, keep), private::is_for_root, &["root"])
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
    let site: &dyn Site = &ThisHost::new(&home, &plan::Site::default(), true, None).unwrap();
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
        let arguments = arguments.map(Into::into);
        let begun = Instant::now();
        let dd = Program {
            path: Path::new("/bin/dd"),
            arguments: &arguments,
            input: &input,
            log: fs::File::create(&log).unwrap(),
        };
        let mut launched = site.spawn(&home, dd).unwrap();
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
    let spec = NodeSpec {
        config: private::config(&[("no_such_setting", "1")]),
        ..private::on_site(Arc::new(quota(&home, 1.0).unwrap()), keep.path())
    };
    let refused = servers::start(&installed(MARIADB), spec, data, &NEVER);
    let error = refused.unwrap_err();
    private::assert_key(&error, "server.config.no_such_setting");
    assert!(there().is_empty());
}

#[test]
fn a_killed_dynos_group_goes_with_the_next_sweep() {
    let dir = open_dir();
    if limited_if_allowed(&kept_home(), 1.0, dir.path()).is_some() {
        go_with_the_next_sweep("limited", dir.path());
    }
}

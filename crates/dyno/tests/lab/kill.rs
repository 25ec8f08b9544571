//! What a dyno leaves that is killed in the middle of any phase: nothing that `dyno
//! clean`, or the next run, does not remove.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::{
    Cache, Program, Running, entries, has_program, has_second, trial_dir, wait_until,
};
use rustix::process::Signal;
use testkit::DockerDaemon;

const TINY: &str = "title = \"tiny\"\n[server]\nengine = \"mariadb\"\n[data]\nrows = 100\n\
                    [load]\nworkload = \"oltp_point_select\"\nthreads = 2\nthink = \"50ms\"\nwarmup = \"0s\"\ntime = \"1s\"\n";

/// How often a moment may be missed.
const TRIES: u32 = 20;

/// Engines whose servers consist of threads, and of processes.
const ENGINES: [&str; 2] = ["", "--set server.engine=postgres"];

/// Kills a run, in a place of its own, as soon as `holds`. A run that ended before anybody looked
/// is followed by another.
#[track_caller]
fn killed_when(words: &str, what: &str, holds: impl Fn(&Cache, &Path) -> bool) -> Killed {
    killed_in(Cache::kept, words, what, holds)
}

/// The same in another kind of place: a kept one has the data already.
#[track_caller]
fn killed_in(
    place: fn() -> Cache,
    words: &str,
    what: &str,
    holds: impl Fn(&Cache, &Path) -> bool,
) -> Killed {
    for _ in 0..TRIES {
        let cache = place();
        let mut dyno = Program::study(TINY).args(words).cache(&cache).start();
        let out = dyno.dir().join("out");
        wait_until(what, || holds(&cache, &out) || dyno.has_ended());
        let ports = cache.ports();
        if dyno.has_ended() {
            continue;
        }
        dyno.signal(Signal::KILL);
        if dyno.wait().code().is_none() {
            return Killed { cache, ports };
        }
    }
    panic!("{what} never came in {TRIES} runs");
}

/// What it left.
struct Killed {
    cache: Cache,
    ports: Vec<u16>,
}

impl Killed {
    /// `dyno clean` leaves nothing, and finds nothing when it is called again.
    fn cleans_up(self) {
        assert_eq!(self.cache.runs().len(), 1, "{:?}", self.cache.in_runs());
        self.cache.clean().prints(&["freed"]);
        self.cache.assert_nothing_left();
        self.cache.clean().prints(&["nothing to clean up"]);
    }

    /// The next run leaves nothing either, and is not disturbed.
    fn next_run_sweeps(self) {
        let next = Program::study(TINY).cache(&self.cache).succeeds();
        assert!(next.trial().transactions.count > 0);
        self.cache.assert_nothing_left();
    }
}

/// Whether the first trial has a second of this phase.
fn tells_of(out: &Path, phase: &str) -> bool {
    has_second(out, 1, phase)
}

/// A directory whose name begins with `build` in which `path` exists.
fn is_built(cache: &Cache, path: &str) -> bool {
    let is_build = |dir: &PathBuf| dir.display().to_string().contains("/build");
    cache
        .in_runs()
        .iter()
        .any(|dir| is_build(dir) && dir.join(path).exists())
}

#[test]
fn while_a_data_directory_is_initialised() {
    for engine in ENGINES {
        let initialises = |cache: &Cache, _: &Path| {
            let mut processes = cache.processes().into_iter();
            processes.any(|process| process.words.contains("/build0/"))
        };
        killed_in(Cache::new, engine, "the initialising program", initialises).cleans_up();
    }
}

#[test]
fn while_a_template_is_loaded() {
    let many = "--set data.tables=4 --set data.rows=500000";
    let loaded = |cache: &Cache, _: &Path| is_built(cache, "own/data/sbtest/sbtest1.ibd");
    let killed = killed_in(Cache::new, many, "the first table", loaded);
    killed.cleans_up();
    let killed = killed_in(Cache::new, many, "the first table", loaded);
    killed.next_run_sweeps();
    let many = format!("{many} {}", ENGINES[1]);
    let loads = |cache: &Cache, _: &Path| {
        let mut processes = cache.processes().into_iter();
        processes.any(|process| process.words.contains(" COPY"))
    };
    let killed = killed_in(Cache::new, &many, "rows on their way", loads);
    killed.cleans_up();
}

#[test]
fn while_the_data_is_copied() {
    let copies =
        |cache: &Cache, _: &Path| cache.server_dir(2).is_some() && cache.server(1).is_none();
    killed_when("--set topology.instances=16", "the second copy", copies).cleans_up();
}

#[test]
fn while_servers_start() {
    let starts = |cache: &Cache, _: &Path| cache.server(1).is_some() && cache.server(4).is_none();
    killed_when(
        "--set topology.instances=4",
        "the first server's process",
        starts,
    )
    .cleans_up();
}

/// Connections of this host to a port, from /proc/net/tcp: state 01 is ESTABLISHED.
fn connections(port: u16) -> usize {
    let text = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let peer = format!("0100007F:{port:04X}");
    let is_one = |line: &&str| {
        let mut words = line.split_whitespace().skip(2);
        (words.next(), words.next()) == (Some(peer.as_str()), Some("01"))
    };
    text.lines().filter(is_one).count()
}

#[test]
fn while_users_connect() {
    let connects = |cache: &Cache, out: &Path| {
        let port = cache.server(1).and(cache.ports().pop());
        port.is_some_and(|port| connections(port) >= 10) && !tells_of(out, "warmup")
    };
    let words = "--set load.threads=1000 --set load.warmup=1h";
    killed_when(words, "some connections of many", connects).cleans_up();
}

#[test]
fn in_the_warm_up() {
    let words = "--set load.warmup=1h --set topology.instances=2";
    let warms_up = |_: &Cache, out: &Path| tells_of(out, "warmup");
    let killed = killed_when(words, "a second of the warm-up", warms_up);
    assert_eq!(killed.ports.len(), 2);
    killed.cleans_up();
}

#[test]
fn while_it_measures() {
    let measures = |_: &Cache, out: &Path| tells_of(out, "measure");
    let check = |engine: &str| {
        let words = format!("--set load.time=1h --set topology.instances=2 {engine}");
        let killed = killed_when(&words, "a second of the measurement", measures);
        assert_eq!(killed.ports.len(), 2);
        killed.cache.wait_for_no_process();
        killed.cleans_up();
        let killed = killed_when(&words, "a second of the measurement", measures);
        killed.next_run_sweeps();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| check(ENGINES[0]));
        check(ENGINES[1]);
    });
}

#[test]
fn between_two_trials() {
    let is_over = |_: &Cache, out: &Path| {
        trial_dir(out, 1).is_some_and(|dir| dir.join("trial.json").exists())
    };
    let words = "--set sweep.load.threads=[1,2,3,4]";
    killed_when(words, "the end of the first trial", is_over).cleans_up();
}

/// The page is the last thing that is written; what it is made of was there before.
#[test]
fn while_the_report_is_written() {
    let cache = Cache::kept();
    let mut dyno = Program::study(TINY).cache(&cache).start();
    dyno.says("\nresults: ");
    dyno.signal(Signal::KILL);
    let done = dyno.wait();
    cache.clean();
    cache.assert_nothing_left();
    assert!(done.trial().transactions.count > 0);
    let out = done.out();
    Program::new().arg("report").arg(&out).succeeds();
    let half = |path: &PathBuf| path.extension().is_some_and(|end| end == "tmp");
    assert!(!entries(&out).iter().any(half), "{:?}", entries(&out));
    assert!(done.file("report.html").trim_end().ends_with("</html>"));
}

/// A server with limits in a container, with its data on a file system of its own.
const WALLED: &str = "--set site.kind=container --set site.cpus=1 --set volume.filesystem=btrfs \
                      --set volume.devices=2 --set volume.profile=raid1 \
                      --set volume.device_size=512M --set load.warmup=1h";

/// A program that stops before it does what it is asked for, if that contains a word.
struct Stopping {
    dir: tempfile::TempDir,
}

impl Stopping {
    fn new(program: &str, word: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let mut found = std::env::split_paths(&path).map(|dir| dir.join(program));
        let real = found.find(|path| path.exists()).unwrap();
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *\"{word}\"*)\n\
             echo $$ > {dir}/new && mv {dir}/new {dir}/pid\n\
             exec sleep 1000;;\nesac\nexec {} \"$@\"\n",
            real.display(),
            dir = dir.path().display()
        );
        let own = dir.path().join(program);
        std::fs::write(&own, script).unwrap();
        std::fs::set_permissions(&own, Permissions::from_mode(0o755)).unwrap();
        Self { dir }
    }

    fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap();
        format!("{}:{path}", self.dir.path().display())
    }

    /// Its process, once it has stopped.
    fn pid(&self) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join("pid")).ok()
    }

    /// Waits for its end: it has not been let go on.
    fn ends(&self) {
        let proc = PathBuf::from("/proc").join(self.pid().unwrap().trim());
        wait_until("the program's end", || !proc.exists());
    }
}

/// What a run has outside of its directory: control groups, mounts, loop devices, and containers with
/// their images.
fn outside(run: &Path, docker: &DockerDaemon) -> Vec<String> {
    let (mut found, mut todo) = (Vec::new(), vec![PathBuf::from("/sys/fs/cgroup")]);
    while let Some(dir) = todo.pop() {
        todo.extend(entries(&dir).into_iter().filter(|path| path.is_dir()));
        found.push(dir.display().to_string());
    }
    let devices = entries(Path::new("/sys/block"));
    let files = devices
        .iter()
        .map(|device| device.join("loop/backing_file"));
    found.extend(files.filter_map(|file| std::fs::read_to_string(file).ok()));
    let mut podman = std::process::Command::new("podman");
    let containers = podman.args(["ps", "--all", "--format={{.Names}}"]).output();
    let containers = containers.map(|output| String::from_utf8(output.stdout).unwrap());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let texts = [
        mounts,
        containers.unwrap_or_default(),
        docker.ask(&["ps", "--all", "--format={{.Names}}"]),
        docker.ask(&["images", "--format={{.Repository}}"]),
    ];
    found.extend(
        texts
            .iter()
            .flat_map(|text| text.lines())
            .map(str::to_owned),
    );
    let name = run.file_name().unwrap().to_str().unwrap();
    found.retain(|text| text.contains(name));
    found
}

/// Nothing of a site or a volume outlives a dyno that is killed while it sets them up: no program
/// that goes on with it, either.
#[test]
fn in_any_phase_of_a_container_and_a_file_system() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("only root can set up containers and file systems");
    }
    let (cache, daemon) = (Cache::kept(), DockerDaemon::start());
    Program::study(TINY).cache(&cache).succeeds();
    let namespaces = format!("{WALLED} --set site.runtime=namespaces");
    let podman = format!("{WALLED} --set site.runtime=podman");
    let docker = format!("{WALLED} --set site.runtime=docker");
    let mut phases = vec![
        (&namespaces, "unshare", "boot_id"),
        (&namespaces, "mkfs.btrfs", "/dev/loop"),
        (&namespaces, "mount", "/mounted"),
        (&namespaces, "unshare", "mariadbd"),
        (&docker, "docker", "import"),
        (&docker, "docker", "boot_id"),
        (&docker, "docker", "mariadbd"),
    ];
    if has_program("podman") {
        phases.extend([
            (&podman, "podman", "boot_id"),
            (&podman, "podman", "mariadbd"),
        ]);
    } else {
        testkit::skip("podman is missing: scripts/install-servers.sh podman");
    }
    for (words, program, word) in phases {
        let what = format!("{program} {word} of {words}");
        let stopping = Stopping::new(program, word);
        let dyno = Program::study(TINY).args(words).cache(&cache);
        let dyno = dyno.env("DOCKER_HOST", daemon.host());
        let dyno = dyno.env("PATH", stopping.path()).start();
        let stops = |_: &Path| stopping.pid().is_some();
        killed(dyno, (&cache, &daemon), &what, stops, || stopping.ends());
    }
    for words in [&namespaces, &podman, &docker] {
        let start = || {
            let dyno = Program::study(TINY).args(words).cache(&cache);
            dyno.env("DOCKER_HOST", daemon.host()).start()
        };
        let starts = |_: &Path| cache.server(1).is_some();
        let what = format!("a starting server of {words}");
        killed(start(), (&cache, &daemon), &what, starts, || ());
        let loads = |out: &Path| tells_of(out, "warmup");
        let what = format!("a load of {words}");
        killed(start(), (&cache, &daemon), &what, loads, || ());
    }
}

/// Kills a dyno as soon as `holds`, and cleans up; `then` waits for what must end with it.
fn killed(
    mut dyno: Running,
    (cache, docker): (&Cache, &DockerDaemon),
    what: &str,
    holds: impl Fn(&Path) -> bool,
    then: impl Fn(),
) {
    let out = dyno.out();
    dyno.comes_to(what, || holds(&out));
    let [run] = cache.runs().try_into().unwrap();
    assert!(!outside(&run, docker).is_empty(), "{what}");
    dyno.signal(Signal::KILL);
    assert_eq!(dyno.wait().code(), None);
    cache.clean().prints(&["freed"]);
    then();
    // The kernel detaches a device a moment after its last user.
    wait_until(
        &format!("the removal of what {what} created outside"),
        || outside(&run, docker).is_empty(),
    );
    // podman's monitor of a container ends a moment after it.
    cache.wait_for_no_process();
    cache.assert_nothing_left();
}

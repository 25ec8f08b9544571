//! Volumes are made and filled, and leave nothing behind. A device that holds something is not
//! touched.

use std::fs;
use std::mem::ManuallyDrop;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use measure::fault::Scrub;
use plan::FileSystemKind::{self, Btrfs, Ext4, Xfs};
use plan::{Compression, Devices, Profile, Spanned};
use rustix::process::{Pid, Signal, kill_process};
use testkit::SmallDisk;

use super::*;
use crate::device;
use crate::home::lock::Lock;
use crate::home::scheduler::Scheduler;
use crate::home::undo_steps;
use crate::locked;
use crate::process::NEVER;
use crate::testing::home;

/// What this machine can have; the test ends if it cannot.
macro_rules! or_skip {
    ($made:expr) => {
        match $made {
            Some(made) => made,
            None => return,
        }
    };
}

fn typed<T>(value: T) -> Spanned<T> {
    Spanned {
        value,
        span: plan::Span::NOWHERE,
    }
}

fn plan_of(kind: FileSystemKind, devices: u32, profile: Profile) -> plan::FileSystem {
    plan::FileSystem {
        kind: typed(kind),
        devices: Devices::Loop {
            count: devices,
            bytes: 512 << 20,
        },
        profile,
        checksum: true,
        compression: Compression::None,
        deduplicate: false,
        mount_options: None,
    }
}

fn volume_of(file_system: plan::FileSystem) -> plan::Volume {
    plan::Volume {
        file_system: Some(Box::new(file_system)),
        ..plan::Volume::default()
    }
}

/// On a device of a test.
fn on_device(kind: FileSystemKind, path: &Path) -> plan::Volume {
    let mut plan = plan_of(kind, 1, Profile::Single);
    plan.devices = Devices::Named(typed(path.to_owned()));
    volume_of(plan)
}

/// A file system on one loop device.
fn simple(kind: FileSystemKind) -> plan::Volume {
    volume_of(plan_of(kind, 1, Profile::Single))
}

/// `None`, and a skipped test, if this machine cannot make the volume.
fn made(home: &Home, volume: &plan::Volume) -> Option<Arc<dyn Volume>> {
    match create(home, volume, PathBuf::new(), &NEVER) {
        Ok(made) => Some(made),
        Err(error) if error.key.as_deref() == Some("volume.filesystem") => {
            testkit::skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Loop devices on files below a directory.
fn loops_below(dir: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir("/sys/block").unwrap().flatten();
    let all = all.map(|entry| entry.path());
    let is_below = |device: &PathBuf| {
        let file = fs::read_to_string(device.join("loop/backing_file"));
        file.is_ok_and(|file| Path::new(file.trim()).starts_with(dir))
    };
    all.filter(is_below).collect()
}

/// Those of the only loop device; the one in brackets is set.
fn schedulers(home: &Home) -> String {
    let device = loops_below(home.run_dir()).remove(0);
    fs::read_to_string(device.join("queue/scheduler")).unwrap()
}

fn mounts_below(dir: &Path) -> usize {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let dir = dir.display().to_string();
    mounts.lines().filter(|line| line.contains(&dir)).count()
}

/// Waits, because the kernel detaches a device a moment after its last user.
fn assert_nothing_left(dir: &Path) {
    assert_eq!(mounts_below(dir), 0);
    let deadline = Instant::now() + Duration::from_secs(300);
    while !loops_below(dir).is_empty() {
        assert!(Instant::now() < deadline, "{:?}", loops_below(dir));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn each_kind_is_made_counts_its_space_and_leaves_nothing() {
    let kinds = [
        (Ext4, 1, Profile::Single, 1.0),
        (Xfs, 1, Profile::Single, 1.0),
        (Btrfs, 1, Profile::Single, 1.0),
        (Btrfs, 4, Profile::Raid10, 2.0),
        (Btrfs, 4, Profile::Raid5, 4.0 / 3.0),
    ];
    let (_dir, home) = home();
    for (kind, devices, profile, raw) in kinds {
        let volume = volume_of(plan_of(kind, devices, profile));
        let made = or_skip!(made(&home, &volume));
        let count = loops_below(home.run_dir()).len();
        assert_eq!(count, usize::try_from(devices).unwrap());
        let data = content(8_000_000);
        fs::write(made.path().join("data"), &data).unwrap();
        let file_system = made.made().unwrap();
        let used = file_system.used_bytes().unwrap() as f64;
        let expected = data.len() as f64 * raw;
        let is_right = (expected..expected * 1.2).contains(&used);
        assert!(is_right, "{kind} {profile}: {used}");
        assert!((file_system.raw_per_byte() - raw).abs() < 1e-9);
        let options = fs::read_to_string("/proc/self/mounts").unwrap();
        let at = made.path().display().to_string();
        let mount = options.lines().find(|line| line.contains(&at)).unwrap();
        let is_closed = mount.contains("nosuid") && mount.contains("nodev");
        assert!(is_closed, "{mount}");
        made.end().unwrap();
        assert!(!made.path().exists());
        assert_nothing_left(home.run_dir());
    }
}

#[test]
fn compressed_and_shared_blocks_take_less_space() {
    let (_dir, home) = home();
    let mut plan = plan_of(Btrfs, 1, Profile::Single);
    plan.compression = Compression::Zstd(3);
    let compressed = or_skip!(made(&home, &volume_of(plan.clone())));
    fs::write(compressed.path().join("data"), vec![b'x'; 8_000_000]).unwrap();
    let used = compressed.made().unwrap().used_bytes().unwrap();
    assert!((1..2_000_000).contains(&used), "{used}");
    drop(compressed);

    plan.compression = Compression::None;
    plan.deduplicate = true;
    let shared = or_skip!(made(&home, &volume_of(plan)));
    let data = content(4_000_000);
    for name in ["one", "two"] {
        fs::write(shared.path().join(name), &data).unwrap();
    }
    let file_system = shared.made().unwrap();
    let before = file_system.used_bytes().unwrap();
    file_system.deduplicate(&NEVER).unwrap();
    let after = file_system.used_bytes().unwrap();
    assert!(before > 8_000_000 && after < 6_000_000, "{before} {after}");
    assert_eq!(fs::read(shared.path().join("two")).unwrap(), data);
    drop(shared);
    assert_nothing_left(home.run_dir());
}

/// A failure after the devices were attached must detach them, too.
#[test]
fn what_cannot_be_made_leaves_nothing_and_says_why() {
    let (_dir, home) = home();
    let mut plan = plan_of(Btrfs, 1, Profile::Single);
    plan.mount_options = Some("no_such_option".to_owned());
    let error = create(&home, &volume_of(plan), PathBuf::new(), &NEVER).unwrap_err();
    assert_eq!(error.key.as_deref(), Some("volume.filesystem"), "{error}");
    assert_nothing_left(home.run_dir());
    let disk = or_skip!(SmallDisk::new("100m"));
    let mut small = simple(Ext4);
    small.directory = Some(typed(disk.path().to_owned()));
    let error = create(&home, &small, PathBuf::new(), &NEVER).unwrap_err();
    let said = "sparse files may grow so far, needs 512.0 MiB; only ";
    assert!(error.message.contains(said), "{error}");
    assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
}

#[test]
fn a_scheduler_is_set_and_put_back_even_after_a_kill() {
    let (dir, home) = home();
    let volume = simple(Ext4);
    let made = or_skip!(made(&home, &volume));
    let words = || schedulers(&home);
    let before = words();
    let mut words_before = before.split_whitespace();
    let Some(other) = words_before.find(|word| !word.starts_with('[')) else {
        return testkit::skip("a loop device has only one scheduler here");
    };
    let set = Scheduler::set(&home, made.path(), other).unwrap();
    assert!(words().contains(&format!("[{other}]")));
    drop(set);
    assert_eq!(words(), before);
    // As after a kill.
    let killed = ManuallyDrop::new(Scheduler::set(&home, made.path(), other).unwrap());
    undo_steps(home.run_dir()).unwrap();
    assert_eq!(words(), before);
    drop(ManuallyDrop::into_inner(killed));
    let error = Scheduler::set(&home, made.path(), "cfq").unwrap_err();
    let said = "has no IO scheduler cfq";
    assert!(error.to_string().contains(said), "{error}");
    Scheduler::set(&home, Path::new("/dev/shm"), other).unwrap_err();
    drop(made);
    assert_nothing_left(dir.path());
}

#[test]
fn what_another_dyno_has_set_or_formats_is_left_to_it() {
    let (_dir, home) = home();
    let device = or_skip!(Device::new());
    let volume = on_device(Ext4, &device.path);
    let before = device.begins_with();
    let lock = device::claim_file(&device::number(&device.path).unwrap());
    let theirs = Lock::try_exclusive(&lock).unwrap().unwrap();
    let error = create(&home, &volume, PathBuf::new(), &NEVER).unwrap_err();
    assert!(error.to_string().contains("another dyno has it"), "{error}");
    assert!(device.begins_with() == before);
    drop(theirs);
    let disk = or_skip!(made(&home, &volume));
    assert!(Lock::try_exclusive(&lock).unwrap().is_none());
    disk.end().unwrap();
    drop(disk);
    assert!(!lock.exists());

    let disk = simple(Ext4);
    let disk = or_skip!(made(&home, &disk));
    let device = loops_below(home.run_dir()).remove(0);
    let words = || schedulers(&home);
    let before = words();
    let wanted = before.replace(['[', ']'], "");
    let wanted = wanted.split_whitespace().last().unwrap();
    let number = fs::read_to_string(device.join("dev")).unwrap();
    let theirs = Lock::try_exclusive(&device::claim_file(number.trim()));
    let theirs = theirs.unwrap().unwrap();
    let error = Scheduler::set(&home, disk.path(), wanted).unwrap_err();
    assert!(error.to_string().contains("another dyno"), "{error}");
    assert_eq!(words(), before);
    drop(theirs);
    std::fs::remove_file(device::claim_file(number.trim())).unwrap();
}

/// A block device, detached when this value is dropped.
struct Device {
    path: PathBuf,
    _file: tempfile::NamedTempFile,
}

/// Another name of a device, like those in `/dev/disk` and `/dev/mapper`.
struct Alias(PathBuf);

impl Alias {
    fn of(device: &Device) -> Self {
        let number = device::number(&device.path).unwrap();
        let (major, minor) = number.split_once(':').unwrap();
        let name = device.path.file_name().unwrap().to_string_lossy();
        let path = PathBuf::from(format!("/dev/dyno-test-{name}-{}", std::process::id()));
        let mut mknod = Command::new("mknod");
        let made = mknod.arg(&path).args(["b", major, minor]).status();
        assert!(made.unwrap().success());
        Self(path)
    }
}

impl Drop for Alias {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_named_device_is_mounted_anew_with_what_it_had_and_wiped_in_the_end() {
    let (_dir, home) = home();
    let device = or_skip!(Device::new());
    let alias = Alias::of(&device);
    for kind in [Ext4, Xfs, Btrfs] {
        let volume = or_skip!(made(&home, &on_device(kind, &alias.0)));
        let file = volume.path().join("data");
        fs::write(&file, content(1_000_000)).unwrap();
        volume.made().unwrap().remount().unwrap();
        assert!(fs::read(&file).unwrap() == content(1_000_000), "{kind}");
        volume.made().unwrap().used_bytes().unwrap();
        volume.end().unwrap();
        let found = Command::new("blkid").arg("-p").arg(&device.path).output();
        assert_eq!(found.unwrap().status.code(), Some(2), "{kind}");
    }
}

impl Device {
    fn new() -> Option<Self> {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(512 << 20).unwrap();
        let mut losetup = Command::new("losetup");
        let output = losetup.args(["--find", "--show"]).arg(file.path()).output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else {
            testkit::skip("this user cannot attach a loop device");
            return None;
        };
        let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        Some(Self { path, _file: file })
    }

    fn begins_with(&self) -> Vec<u8> {
        use std::io::Read;
        let mut bytes = vec![0; 128 << 10];
        let mut file = fs::File::open(&self.path).unwrap();
        file.read_exact(&mut bytes).unwrap();
        bytes
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.path).status();
    }
}

#[test]
fn a_device_that_holds_something_is_not_touched() {
    let (dir, home) = home();
    let device = or_skip!(Device::new());
    let volume = on_device(Ext4, &device.path);
    let refused = |said: &str| {
        let before = device.begins_with();
        for error in [
            check_one(&volume, home.account()).unwrap_err(),
            create(&home, &volume, PathBuf::new(), &NEVER).unwrap_err(),
        ] {
            assert!(error.to_string().contains(said), "{error}");
        }
        assert!(device.begins_with() == before);
    };
    let run = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).status().unwrap();
        assert!(status.success(), "{program} {arguments:?}");
    };
    let path = device.path.to_str().unwrap();
    // An empty device is used, and is empty again afterward.
    for _ in 0..2 {
        let used = or_skip!(made(&home, &volume));
        fs::write(used.path().join("data"), "x").unwrap();
        refused("is in use");
        used.end().unwrap();
    }
    run("mkfs.xfs", &["-q", "-f", path]);
    refused("holds data (xfs)");
    run("wipefs", &["-a", "-q", path]);
    run("mkfs.ext4", &["-q", "-F", "-L", "theirs", path]);
    refused("holds data (ext4)");
    let point = dir.path().join("point");
    fs::create_dir(&point).unwrap();
    run("mount", &[path, point.to_str().unwrap()]);
    refused("is in use");
    run("umount", &[point.to_str().unwrap()]);
    for (path, said) in [
        ("/dev/no-such-device", "does not exist"),
        ("/dev/null", "no block device"),
    ] {
        let error = device::check(Path::new(path)).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

/// Reproducible bytes that do not compress.
fn content(count: u32) -> Vec<u8> {
    let byte = |n: u32| (n.wrapping_mul(n) >> 13) as u8;
    (0..count).map(byte).collect()
}

#[test]
fn a_device_that_failed_returns_stale_and_another_is_rebuilt() {
    let (_dir, home) = home();
    let volume = volume_of(plan_of(Btrfs, 2, Profile::Raid1));
    let volume = or_skip!(made(&home, &volume));
    let made = volume.made().unwrap();
    made.fail(2).unwrap();
    assert!(made.takes_writes());
    let file = made.path().join("data");
    fs::write(&file, content(4_000_000)).unwrap();
    fs::File::open(&file).unwrap().sync_all().unwrap();
    made.restore(2).unwrap();
    let scrub = || finish(made, made.scrub().unwrap());
    let found = scrub().unwrap();
    assert!(found.corrected > 0 && found.uncorrectable == 0, "{found}");
    assert_eq!(scrub().unwrap().found, 0);

    made.fail(1).unwrap();
    let before = made.numbers(1).unwrap();
    let job = made.replace(1).unwrap();
    let new = job.new_device().unwrap().unwrap();
    assert_eq!(finish(made, job), None);
    assert_eq!(made.numbers(1).unwrap(), new);
    assert_ne!(new, before);
    assert_eq!(scrub().unwrap().found, 0);
    // Only the new device has the content.
    made.fail(2).unwrap();
    fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
    assert!(fs::read(&file).unwrap() == content(4_000_000));
    made.restore(2).unwrap();
    let wrong = made.fail(3).unwrap_err().to_string();
    assert!(wrong.contains("no device 3"), "{wrong}");
    // A running job ends with the volume.
    made.cancel(made.replace(2).unwrap());
    volume.end().unwrap();
    assert_nothing_left(home.run_dir());
}

/// Waits until a job is done; returns the result of a scrub.
fn finish(made: &Made, mut job: Job) -> Option<Scrub> {
    let limit = Duration::from_secs(300);
    let found = crate::process::poll(limit, || made.try_finish(&mut job).unwrap());
    found.unwrap()
}

#[test]
fn without_copies_nothing_is_written_until_it_is_mounted_anew() {
    let (_dir, home) = home();
    for kind in [Ext4, Xfs, Btrfs] {
        let plan = simple(kind);
        let volume = or_skip!(made(&home, &plan));
        let made = volume.made().unwrap();
        let file = made.path().join("data");
        fs::write(&file, content(1_000_000)).unwrap();
        fs::File::open(&file).unwrap().sync_all().unwrap();
        made.fail(1).unwrap();
        assert!(!made.takes_writes(), "{kind}");
        made.restore(1).unwrap();
        made.remount().unwrap();
        assert!(made.takes_writes(), "{kind}");
        assert!(fs::read(&file).unwrap() == content(1_000_000), "{kind}");
        drop(volume);
        assert_nothing_left(home.run_dir());
    }
}

#[test]
fn a_file_system_is_mounted_anew_when_no_copy_of_its_mount_is_left() {
    let (_dir, home) = home();
    for kind in [Ext4, Xfs, Btrfs] {
        let volume = or_skip!(made(&home, &simple(kind)));
        let made = volume.made().unwrap();
        // It ends with the test, too.
        let mut copy = Command::new("setpriv");
        copy.args(["--pdeathsig", "KILL", "unshare", "--mount"]);
        let mut copy = copy.args(["sleep", "infinity"]).spawn().unwrap();
        let namespace = |of: &str| fs::read_link(format!("/proc/{of}/ns/mnt")).unwrap();
        while namespace(&copy.id().to_string()) == namespace("self") {
            sleep(Duration::from_millis(1));
        }
        made.fail(1).unwrap();
        assert!(!made.takes_writes(), "{kind}");
        made.restore(1).unwrap();
        std::thread::scope(|scope| {
            let again = scope.spawn(|| made.remount());
            while mounts_below(home.run_dir()) > 0 {
                sleep(Duration::from_millis(1));
            }
            // By now it would have been mounted; otherwise the test would prove nothing.
            sleep(Duration::from_millis(300));
            copy.kill().unwrap();
            copy.wait().unwrap();
            again.join().unwrap().unwrap();
        });
        assert!(made.takes_writes(), "{kind}");
    }
}

/// A scrub program outlives its dyno if that is killed before `setpriv` has run, and it writes its
/// file when the scrub is canceled.
#[test]
fn a_scrub_that_runs_until_the_volume_ends_leaves_no_files() {
    let (_dir, home) = home();
    let plan = simple(Btrfs);
    let volume = or_skip!(made(&home, &plan));
    let made = volume.made().unwrap();
    let files = device::scrub_files(locked(&made.loops)[0].path());
    let are_kept = || files.iter().any(|file| file.exists());
    fs::write(made.path().join("data"), content(1_000_000).repeat(200)).unwrap();
    let scrub = made.scrub().unwrap();
    while !are_kept() {
        sleep(Duration::from_millis(1));
    }
    let program = Pid::from_child(&scrub.child);
    kill_process(program, Signal::STOP).unwrap();
    std::thread::scope(|scope| {
        let end = scope.spawn(|| volume.end());
        // By now the scrub has been canceled; otherwise the test would prove nothing.
        sleep(Duration::from_secs(1));
        kill_process(program, Signal::CONT).unwrap();
        end.join().unwrap().unwrap();
    });
    assert!(!are_kept());
}

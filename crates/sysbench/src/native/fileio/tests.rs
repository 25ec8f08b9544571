use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::native::tests::{load, run_for};

const FSYNC: Fsync = Fsync {
    every: 10,
    after_write: false,
    at_end: true,
    data_only: false,
};

fn set(directory: &Path) -> FileSet {
    FileSet {
        directory: directory.to_owned(),
        files: 2,
        block_bytes: 4096,
        // Neither file is a whole number of blocks.
        total_bytes: 2 * 50_000,
        extra_flags: ExtraFlags::default(),
        validate: false,
    }
}

fn options(mode: Mode, access: Access) -> Options {
    Options {
        mode,
        access,
        fsync: FSYNC,
        merged_requests: 0,
        rw_ratio: 1.5,
        seed: 1,
    }
}

fn prepare(set: &FileSet) -> Vec<String> {
    let mut lines = Vec::new();
    set.prepare(&mut |line| lines.push(line.to_owned())).unwrap();
    lines
}

/// Runs 200 events on two threads.
fn counts(set: &FileSet, options: Options) -> Counts {
    let test = Arc::new(FileIo::open(set.clone(), options).unwrap());
    let (ended, period) = run_for(&test, &load(2, 200));
    ended.unwrap();
    assert_eq!(period.events(), 200);
    period.counts
}

#[test]
fn prepare_creates_extends_and_reuses() {
    let directory = TempDir::new().unwrap();
    let set = set(directory.path());
    let first = [
        "2 files, 48Kb each, 0Mb total",
        "Creating files for the test...",
        "Extra file open flags: (none)",
        "Creating file test_file.0",
        "Creating file test_file.1",
    ];
    let lines = prepare(&set);
    assert_eq!(lines[..5], first);
    assert!(lines[5].starts_with("100000 bytes written in 0."), "{}", lines[5]);
    assert!(lines[5].ends_with(" MiB/sec)."), "{}", lines[5]);
    let file = directory.path().join("test_file.1");
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    File::options().write(true).open(&file).unwrap().set_len(5000).unwrap();
    let lines = prepare(&set);
    assert_eq!(lines[3], "Reusing existing file test_file.0");
    assert_eq!(lines[4], "Extending existing file test_file.1");
    // From the block that was cut.
    assert!(lines[5].starts_with("45904 bytes written in "), "{}", lines[5]);
    assert_eq!(fs::metadata(&file).unwrap().len(), 50_000);
    assert_eq!(prepare(&set)[5], "No bytes written.");
}

#[test]
fn cleanup_removes_the_files_only() {
    let directory = TempDir::new().unwrap();
    let set = set(directory.path());
    prepare(&set);
    fs::remove_file(directory.path().join("test_file.0")).unwrap();
    fs::write(directory.path().join("test_file.2"), "another one").unwrap();
    let mut lines = Vec::new();
    set.cleanup(&mut |line| lines.push(line.to_owned())).unwrap();
    assert_eq!(lines, ["Removing test files..."]);
    let left = fs::read_dir(directory.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["test_file.2"]);
}

#[test]
fn every_mode_runs_with_every_access() {
    let directory = TempDir::new().unwrap();
    let set = set(directory.path());
    for access in [Access::Sync, Access::Async(8), Access::Mmap] {
        for (name, mode) in Mode::NAMES {
            prepare(&set);
            let counts = counts(&set, options(mode, access));
            let at_end = if name.ends_with("rd") { 0 } else { 4 };
            let events = counts.reads + counts.writes + counts.fsyncs - at_end;
            assert_eq!(events, 200, "{name} {access:?} {counts:?}");
            assert_eq!(counts.reads == 0, name.ends_with("wr"), "{name} {access:?}");
            assert_eq!(counts.writes == 0, name.ends_with("rd"), "{name} {access:?}");
            assert!(counts.bytes_read <= counts.reads * 4096);
            assert!(counts.bytes_written > counts.writes * 3000 || counts.writes == 0);
        }
    }
}

#[test]
fn every_write_can_be_flushed() {
    let directory = TempDir::new().unwrap();
    let set = set(directory.path());
    prepare(&set);
    let fsync = Fsync {
        after_write: true,
        data_only: true,
        ..FSYNC
    };
    let options = Options {
        fsync,
        ..options(Mode::RandomWrite, Access::Sync)
    };
    let counts = counts(&set, options);
    assert_eq!((counts.writes, counts.fsyncs), (200, 200));
}

#[test]
fn merged_requests_cover_several_blocks() {
    let directory = TempDir::new().unwrap();
    let set = set(directory.path());
    prepare(&set);
    let options = Options {
        merged_requests: 3,
        ..options(Mode::SequentialRead, Access::Sync)
    };
    // Each file takes 4 requests of three blocks and a short one.
    assert_eq!(counts(&set, options).bytes_read, 20 * 100_000);
}

#[test]
fn what_was_written_is_validated() {
    let directory = TempDir::new().unwrap();
    let set = FileSet {
        validate: true,
        ..set(directory.path())
    };
    prepare(&set);
    for access in [Access::Sync, Access::Mmap] {
        for mode in [Mode::SequentialRewrite, Mode::RandomRead, Mode::SequentialRead] {
            counts(&set, options(mode, access));
        }
    }
    let file = directory.path().join("test_file.1");
    let mut bytes = fs::read(&file).unwrap();
    bytes[9000] ^= 1;
    fs::write(&file, bytes).unwrap();
    let options = Options {
        merged_requests: 2,
        ..options(Mode::SequentialRead, Access::Sync)
    };
    let test = Arc::new(FileIo::open(set, options).unwrap());
    let (ended, _) = run_for(&test, &load(2, 0));
    assert_eq!(
        ended.unwrap_err().message,
        "Validation failed on file 1, block offset 8192, exiting..."
    );
}

#[test]
fn asynchronous_reads_cannot_be_validated() {
    let directory = TempDir::new().unwrap();
    let set = FileSet {
        validate: true,
        ..set(directory.path())
    };
    let options = options(Mode::RandomRead, Access::Async(8));
    let error = FileIo::open(set, options).unwrap_err();
    assert_eq!(error.message, ASYNC_IS_NOT_VALIDATED);
}

#[test]
fn files_must_be_prepared_and_large_enough() {
    let directory = TempDir::new().unwrap();
    let set = set(directory.path());
    let read = options(Mode::RandomRead, Access::Sync);
    let error = FileIo::open(set.clone(), read).unwrap_err();
    assert_eq!(
        error.message,
        "Cannot open file 'test_file.0' errno = 2 (No such file or directory)"
    );
    assert_eq!(error.hint, Some("Did you forget to run the prepare step?"));
    prepare(&set);
    let larger = FileSet {
        total_bytes: 2 << 20,
        ..set
    };
    let error = FileIo::open(larger, read).unwrap_err();
    assert_eq!(
        error.message,
        "Size of file 'test_file.0' is 48.828KiB, but at least 1MiB is expected."
    );
    assert!(error.hint.unwrap().starts_with("Did you run 'prepare' with different"));
}

#[test]
fn sizes_of_0_are_refused() {
    let set = set(Path::new("."));
    let message = |set: FileSet| set.layout().unwrap_err().message;
    let none = FileSet {
        files: 0,
        ..set.clone()
    };
    assert_eq!(message(none), "Invalid value for file-num: 0");
    let empty = FileSet {
        total_bytes: 1,
        ..set.clone()
    };
    assert_eq!(message(empty), "Invalid value for file-total-size: 1");
    let nothing = FileSet {
        block_bytes: 0,
        ..set
    };
    assert_eq!(message(nothing), "Invalid value for file-block-size: 0");
}

#[test]
fn links_of_other_accounts_are_neither_followed_nor_written() {
    let directory = TempDir::new().unwrap();
    let set = set(directory.path());
    let (victim, file) = (directory.path().join("victim"), directory.path().join("test_file.0"));
    fs::write(&victim, "precious").unwrap();
    let plant: [fn(&Path, &Path) -> io::Result<()>; 2] = [
        |victim, file| symlink(victim, file),
        |victim, file| fs::hard_link(victim, file),
    ];
    for plant in plant {
        plant(&victim, &file).unwrap();
        let error = set.prepare(&mut |_| {}).unwrap_err();
        let expected = "Cannot create file 'test_file.0' errno = ";
        assert!(error.message.starts_with(expected), "{error}");
        let write = options(Mode::SequentialRewrite, Access::Sync);
        assert!(FileIo::open(set.clone(), write).is_err());
        set.cleanup(&mut |_| {}).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(!file.exists());
    }
    // Nor is a directory taken for a file.
    fs::create_dir(&file).unwrap();
    assert!(set.prepare(&mut |_| {}).is_err());
}

#[test]
fn extra_flags_are_named_as_sysbench_names_them() {
    assert_eq!(ExtraFlags::parse::<&str>(&[]).unwrap().to_string(), "(none)");
    let flags = ExtraFlags::parse(&["sync", "direct"]).unwrap();
    assert_eq!(flags.to_string(), "sync directio");
    let error = ExtraFlags::parse(&["fast"]).unwrap_err();
    assert_eq!(error.message, "Invalid value for file-extra-flags: fast");
}

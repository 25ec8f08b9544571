use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use load::{End, LoadOutcome};
use measure::slice::Slice;
use tempfile::TempDir;

use super::*;
use crate::native::tests::{run, spec, values};
use crate::native::{Native, Work};

/// Neither file is a whole number of blocks.
const SMALL: &str = "fileio --file-num=2 --file-total-size=100000 --file-block-size=4K";

fn options(options: &str) -> Values {
    values(&format!("{SMALL} {options} run"))
}

fn set(directory: &Path, values: &Values) -> FileSet {
    let mut set = FileSet::new(values).unwrap();
    directory.clone_into(&mut set.directory);
    set
}

fn prepare(directory: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let set = set(directory, &options("--validate"));
    set.prepare(&mut |line| lines.push(line.to_owned()))
        .unwrap();
    lines
}

fn open(directory: &Path, text: &str) -> Result<FileIo, OptionError> {
    let values = options(text);
    FileIo::open(&set(directory, &values), &values)
}

fn refused(directory: &Path, text: &str) -> String {
    open(directory, text).err().unwrap().message
}

/// Runs a number of events on two threads.
fn run_for(events: u64, directory: &Path, text: &str) -> (LoadOutcome, Slice) {
    let files = open(directory, text).unwrap();
    let native = Native {
        events_per_thread: None,
        catalog: Arc::new(catalog()),
        work: Work::Files(Arc::new(files)),
        seed: 1,
    };
    let (ended, total) = run(&native, &spec(2, Some(events)));
    (ended.unwrap(), total)
}

/// The reads, writes and fsyncs of 200 events.
fn counts(directory: &Path, text: &str) -> [u64; 3] {
    let (ended, total) = run_for(200, directory, text);
    assert_eq!(ended.end, End::Completed, "{text}");
    assert_eq!(total.response.count(), 200, "{text}");
    [READ, WRITE, FSYNC].map(|statement| total.statements[statement as usize].count())
}

#[test]
fn prepare_creates_extends_and_reuses() {
    let directory = TempDir::new().unwrap();
    let first = [
        "2 files, 48Kb each, 0Mb total",
        "Creating files for the test...",
        "Extra file open flags: (none)",
        "Creating file test_file.0",
        "Creating file test_file.1",
    ];
    let lines = prepare(directory.path());
    assert_eq!(lines[..5], first);
    assert!(
        lines[5].starts_with("100000 bytes written in 0."),
        "{}",
        lines[5]
    );
    assert!(lines[5].ends_with(" MiB/sec)."), "{}", lines[5]);
    let file = directory.path().join("test_file.1");
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_len(5000)
        .unwrap();
    let lines = prepare(directory.path());
    assert_eq!(lines[3], "Reusing existing file test_file.0");
    assert_eq!(lines[4], "Extending existing file test_file.1");
    // From the block that was cut.
    assert!(
        lines[5].starts_with("45904 bytes written in "),
        "{}",
        lines[5]
    );
    assert_eq!(fs::metadata(&file).unwrap().len(), 50_000);
    assert_eq!(prepare(directory.path())[5], "No bytes written.");
    assert_eq!(
        counts(directory.path(), "--file-test-mode=seqrd --validate"),
        [200, 0, 0]
    );
}

#[test]
fn cleanup_removes_the_files_only() {
    let directory = TempDir::new().unwrap();
    prepare(directory.path());
    fs::remove_file(directory.path().join("test_file.0")).unwrap();
    fs::write(directory.path().join("test_file.2"), "another one").unwrap();
    let mut lines = Vec::new();
    let set = set(directory.path(), &options(""));
    set.cleanup(&mut |line| lines.push(line.to_owned()))
        .unwrap();
    assert_eq!(lines, ["Removing test files..."]);
    let left = fs::read_dir(directory.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["test_file.2"]);
}

#[test]
fn every_mode_runs_with_every_access() {
    let directory = TempDir::new().unwrap();
    for access in [
        "sync --file-async-backlog=0",
        "async --file-async-backlog=8",
        "mmap",
    ] {
        for mode in ["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"] {
            prepare(directory.path());
            let text = format!("--file-test-mode={mode} --file-io-mode={access}");
            let [reads, writes, fsyncs] = counts(directory.path(), &text);
            let at_end = if mode.ends_with("rd") { 0 } else { 4 };
            assert_eq!(reads + writes + fsyncs, 200 + at_end, "{text}");
            assert_eq!(reads == 0, mode.ends_with("wr"), "{text}");
            assert_eq!(writes == 0, mode.ends_with("rd"), "{text}");
        }
    }
}

#[test]
fn flushes_can_follow_each_write_or_be_left_out() {
    let directory = TempDir::new().unwrap();
    prepare(directory.path());
    for (options, fsyncs) in [
        ("--file-fsync-all --file-fsync-mode=fsync", 200),
        ("--file-fsync-all --file-fsync-mode=fdatasync", 200),
        ("--file-fsync-end=off --file-fsync-freq=0", 0),
    ] {
        let text = format!("--file-test-mode=rndwr {options}");
        assert_eq!(counts(directory.path(), &text), [0, 200, fsyncs], "{text}");
    }
}

#[test]
fn merged_requests_cover_several_blocks() {
    let directory = TempDir::new().unwrap();
    prepare(directory.path());
    let text = "--file-test-mode=seqrd --file-merged-requests=3";
    let files = open(directory.path(), text).unwrap();
    assert_eq!(files.request_bytes(), 3 * 4096);
}

#[test]
fn what_was_written_is_validated() {
    let directory = TempDir::new().unwrap();
    prepare(directory.path());
    for access in ["sync", "mmap"] {
        for mode in ["seqrewr", "rndrd", "seqrd"] {
            let text = format!("--validate --file-io-mode={access} --file-test-mode={mode}");
            counts(directory.path(), &text);
        }
    }
    let file = directory.path().join("test_file.1");
    let mut bytes = fs::read(&file).unwrap();
    bytes[9000] ^= 1;
    fs::write(&file, bytes).unwrap();
    let text = "--validate --file-test-mode=seqrd --file-merged-requests=2";
    let End::Failed(error) = run_for(1000, directory.path(), text).0.end else {
        panic!("the block is not as it was written");
    };
    let expected = "Validation failed on file 1, block offset 8192, exiting...";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn asynchronous_reads_cannot_be_validated() {
    let text = "--validate --file-test-mode=rndrd --file-io-mode=async";
    let expected = format!("FATAL: {ASYNC_IS_NOT_VALIDATED}");
    assert_eq!(refused(Path::new("."), text), expected);
}

#[test]
fn files_must_be_prepared_and_large_enough() {
    let directory = TempDir::new().unwrap();
    let text = "--file-test-mode=rndrd";
    assert_eq!(
        refused(directory.path(), text),
        "FATAL: Cannot open file 'test_file.0' errno = 2 (No such file or directory)\n\
         WARNING: Did you forget to run the prepare step?"
    );
    prepare(directory.path());
    assert_eq!(
        refused(
            directory.path(),
            "--file-test-mode=rndrd --file-total-size=2M"
        ),
        "FATAL: Size of file 'test_file.0' is 48.828KiB, but at least 1MiB is expected.\n\
         WARNING: Did you run 'prepare' with different --file-total-size or --file-num values?"
    );
}

#[test]
fn a_file_that_becomes_too_short_ends_the_run() {
    let directory = TempDir::new().unwrap();
    prepare(directory.path());
    let file = directory.path().join("test_file.1");
    for access in ["sync", "async"] {
        let text = format!("--file-test-mode=seqrd --file-io-mode={access}");
        let files = open(directory.path(), &text).unwrap();
        File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_len(5000)
            .unwrap();
        let mut session = FileSession::new(&Arc::new(files)).unwrap();
        let place = session.io.layout.at(50_000 + 4096);
        let read = session.perform(READ, place);
        let read = read.and_then(|()| session.queue.as_mut().map_or(Ok(()), |queue| queue.wait(0)));
        assert_eq!(
            read.unwrap_err().kind(),
            ErrorKind::UnexpectedEof,
            "{access}"
        );
        prepare(directory.path());
    }
}

#[test]
fn values_out_of_range_are_refused() {
    let directory = TempDir::new().unwrap();
    for (option, value) in [
        ("file-num", "0"),
        ("file-total-size", "1"),
        ("file-block-size", "0"),
        ("file-extra-flags", "sync,fast"),
        ("file-test-mode", "rnd"),
        ("file-io-mode", "uring"),
        ("file-async-backlog", "0"),
        ("file-fsync-freq", "-1"),
        ("file-rw-ratio", "-0.5"),
    ] {
        let mode = "--file-test-mode=seqwr --file-io-mode=async";
        let values = options(&format!("{mode} --{option}={value}"));
        let opened = FileSet::new(&values).and_then(|mut set| {
            directory.path().clone_into(&mut set.directory);
            FileIo::open(&set, &values)
        });
        let expected = format!("FATAL: Invalid value for --{option}: {value}");
        assert_eq!(opened.err().unwrap().message, expected);
    }
}

#[test]
fn links_of_other_accounts_are_neither_followed_nor_written() {
    let directory = TempDir::new().unwrap();
    let set = set(directory.path(), &options(""));
    let (victim, file) = (
        directory.path().join("victim"),
        directory.path().join("test_file.0"),
    );
    fs::write(&victim, "precious").unwrap();
    let plant: [fn(&Path, &Path) -> IoResult<()>; 2] = [
        |victim, file| symlink(victim, file),
        |victim, file| fs::hard_link(victim, file),
    ];
    for plant in plant {
        plant(&victim, &file).unwrap();
        let error = set.prepare(&mut |_| {}).unwrap_err();
        let expected = "FATAL: Cannot create file 'test_file.0' errno = ";
        assert!(error.message.starts_with(expected), "{error:?}");
        assert!(open(directory.path(), "--file-test-mode=seqrewr").is_err());
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
    for (given, words) in [
        ("", "(none)"),
        ("dsync,sync", "sync dsync "),
        ("direct", "directio"),
    ] {
        let values = options(&format!("--file-extra-flags={given}"));
        assert_eq!(FileSet::new(&values).unwrap().open_flags(), words);
    }
}

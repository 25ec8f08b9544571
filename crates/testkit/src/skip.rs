//! Tests that cannot run on this machine.

use std::fs::OpenOptions;
use std::io::Write;

/// Names the file that `./test` collects skipped tests in.
const FILE: &str = "DYNO_TEST_SKIPS";

/// Records that the calling test cannot run here, and why; the test then returns.
///
/// `./test` lists all skipped tests at its end, and `./test --ci` fails on one that `.ci/allowed-skips` does not name.
#[allow(
    clippy::print_stdout,
    reason = "shown with the output of a single test run"
)]
pub fn skip(reason: &str) {
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("{}: {reason}\n", test());
    print!("skipped: {line}");
    let Some(path) = std::env::var_os(FILE) else {
        return;
    };
    // One write to a file opened for appending: lines of tests that run at once do not mix.
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("{FILE}: {error}"));
}

/// The calling test as `program::name`, such as `cli::full_disk::a_report_that_finds_no_room_costs_no_result`.
fn test() -> String {
    let program = std::env::current_exe().unwrap();
    let program = program.file_stem().unwrap().to_string_lossy();
    // Cargo appends a hash to the names of test programs.
    let program = program.rsplit_once('-').map_or(&*program, |(name, _)| name);
    // libtest names the thread of a test after it.
    let thread = std::thread::current();
    format!("{program}::{}", thread.name().unwrap_or("?"))
}

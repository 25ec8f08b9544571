//! A stderr that takes nothing: a full disk, a reader that has gone.

use std::process::Stdio;

use crate::common::Program;

fn full() -> Stdio {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).open("/dev/full").unwrap().into()
}

fn closed() -> Stdio {
    let (_reader, writer) = std::io::pipe().unwrap();
    writer.into()
}

#[test]
fn a_run_that_nobody_hears_leaves_its_result() {
    for stderr in [full(), closed()] {
        let bench = Program::bench("sqlite:").args("--tables 1 --rows 100 --threads 1 --warmup 0s");
        let done = bench.args("--events 50").run_telling(stderr).succeeds();
        assert_eq!(done.trial().transactions.count, 50);
        assert!(done.out().join("report.html").exists());
    }
}

#[test]
fn an_error_that_nobody_hears_has_its_exit_code() {
    for stderr in [full(), closed()] {
        let done = Program::new().args("bench nothing:").run_telling(stderr);
        assert_eq!(done.code(), Some(2), "{done}");
    }
}

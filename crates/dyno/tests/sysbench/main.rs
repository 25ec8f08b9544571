//! `dyno sysbench` on real servers, and beside sysbench itself.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

#[path = "../common/mod.rs"]
mod common;

mod beside;
mod bundled;
mod ends;
mod native;
mod papers;
mod scripts;

use common::{Program, Served};

/// `dyno sysbench` with these words.
fn sysbench(words: &str) -> Program {
    Program::new().args("sysbench").args(words)
}

/// The options that name a database.
fn address<S: Served>(server: &S, database: &str) -> String {
    let (driver, port) = (S::SCHEME.replace("postgres", "pgsql"), server.port());
    format!(
        "--db-driver={driver} --{driver}-host=127.0.0.1 --{driver}-port={port} \
         --{driver}-user=root --{driver}-db={database}"
    )
}

/// The first number after a label.
#[track_caller]
fn number(report: &str, label: &str) -> f64 {
    let rest = report.split_once(label).map(|(_, rest)| rest.trim_start());
    let rest = rest.unwrap_or_else(|| panic!("no {label:?} in:\n{report}"));
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    rest[..end.unwrap_or(rest.len())].parse().unwrap()
}

/// A report from this line on, with every number as `#` and without the width of blanks.
#[track_caller]
fn shape(report: &str, from: &str) -> String {
    let start = report.find(from);
    let start = start.unwrap_or_else(|| panic!("no {from:?} in:\n{report}"));
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let words = report[start..].lines().map(|line| {
        let words = line.split_whitespace().map(|word| {
            let mut shape = word.replace(is_number, "#");
            while shape.contains("##") {
                shape = shape.replace("##", "#");
            }
            shape
        });
        words.collect::<Vec<_>>().join(" ")
    });
    words.collect::<Vec<_>>().join("\n")
}

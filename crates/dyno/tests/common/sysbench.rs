//! sysbench, for comparison.

use std::process::Command;

use super::Served;

/// Workloads that are compared with sysbench's, with their tables, in an order in which each leaves
/// the rows that the next one looks for: only `oltp_delete` takes some away.
pub const COMPARED: [(&str, u32); 10] = [
    ("oltp_read_only", 2),
    ("oltp_point_select", 2),
    ("select_random_points", 1),
    ("select_random_ranges", 1),
    ("oltp_update_index", 2),
    ("oltp_update_non_index", 2),
    ("oltp_write_only", 2),
    ("oltp_read_write", 2),
    ("oltp_insert", 2),
    ("oltp_delete", 2),
];

/// What sysbench said.
pub struct SysbenchRun(String);

/// Runs one of sysbench's own scripts on a database: `command` is its options and
/// `prepare`, `run` or `cleanup`.
#[track_caller]
pub fn sysbench<S: Served>(server: &S, database: &str, script: &str, command: &str) -> SysbenchRun {
    let driver = S::SCHEME.replace("postgres", "pgsql");
    let mut sysbench = Command::new("sysbench");
    sysbench
        .arg(script)
        .arg(format!("--db-driver={driver}"))
        .arg(format!("--{driver}-host=127.0.0.1"))
        .arg(format!("--{driver}-user=root"))
        .arg(format!("--{driver}-port={}", server.port()))
        .arg(format!("--{driver}-db={database}"))
        .args(command.split_whitespace());
    let output = sysbench
        .output()
        .expect("sysbench is installed: scripts/install-servers.sh sysbench");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{sysbench:?}\n{text}");
    SysbenchRun(text)
}

impl SysbenchRun {
    pub fn text(&self) -> &str {
        &self.0
    }

    /// A number of its summary, like `ignored errors:`.
    #[track_caller]
    pub fn number(&self, name: &str) -> u64 {
        let line = self.0.lines().find(|line| line.trim().starts_with(name));
        let words = line.and_then(|line| line.split(':').nth(1));
        let number = words.and_then(|words| words.split_whitespace().next()?.parse().ok());
        number.unwrap_or_else(|| panic!("no {name} in:\n{}", self.0))
    }
}

//! sysbench, for comparison.

use std::process::Command;

use testkit::Server;

/// What sysbench said.
pub struct SysbenchRun {
    /// All of it.
    pub text: String,
}

/// Runs one of sysbench's own scripts on a database: `command` is its options and
/// `prepare`, `run` or `cleanup`.
#[track_caller]
pub fn sysbench(server: &Server, database: &str, script: &str, command: &str) -> SysbenchRun {
    let mut sysbench = Command::new("sysbench");
    sysbench.arg(script).args([
        "--db-driver=mysql",
        "--mysql-host=127.0.0.1",
        "--mysql-user=root",
    ]);
    sysbench
        .arg(format!("--mysql-port={}", server.port()))
        .arg(format!("--mysql-db={database}"))
        .args(command.split_whitespace());
    let output = sysbench
        .output()
        .expect("sysbench is installed: scripts/install-servers.sh sysbench");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{sysbench:?}\n{text}");
    SysbenchRun { text }
}

impl SysbenchRun {
    /// A number of its summary, like `ignored errors:`.
    #[track_caller]
    pub fn number(&self, name: &str) -> u64 {
        let line = self.text.lines().find(|line| line.trim().starts_with(name));
        let words = line.and_then(|line| line.split(':').nth(1));
        let number = words.and_then(|words| words.split_whitespace().next()?.parse().ok());
        number.unwrap_or_else(|| panic!("no {name} in:\n{}", self.text))
    }
}

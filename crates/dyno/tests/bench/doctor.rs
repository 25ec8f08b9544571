//! `dyno doctor`: what it finds of this host, of servers with bad settings, and of what
//! a study asks of both; and that a run keeps what was found.

use std::process::Command;

use crate::common::{Finished, Program, database};
use measure::finding::{Finding, Level};
use testkit::{MariaDb, MySql};

const SERVER: i32 = 3;
const USAGE: i32 = 2;

fn doctor(words: &str) -> Program {
    Program::new().arg("doctor").args(words)
}

#[track_caller]
fn findings(finished: &Finished) -> Vec<Finding> {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}\n{finished}"))
}

#[track_caller]
fn level(findings: &[Finding], id: &str) -> Level {
    let found = findings.iter().find(|finding| finding.id == id);
    found
        .unwrap_or_else(|| panic!("no {id} in {findings:#?}"))
        .level
}

/// What may spoil or calls for care in a server, whatever the host is like.
fn bad<'a>(findings: &'a [Finding], of: &str) -> Vec<(&'a str, Level)> {
    let of_server = findings.iter().filter(|finding| finding.of == of);
    // The disk of this host decides it.
    let of_settings = of_server
        .filter(|finding| !["io-capacity", "flush-neighbors"].contains(&finding.id.as_str()));
    let bad = of_settings.filter(|finding| finding.level < Level::Note);
    bad.map(|finding| (finding.id.as_str(), finding.level))
        .collect()
}

#[test]
fn a_host_is_looked_at_by_its_user() {
    let own = doctor("--verbose").succeeds();
    let last = own.stdout.trim_end().lines().last().unwrap().to_owned();
    assert!(
        last.contains(" not checked, ") && last.ends_with(" passed"),
        "{own}"
    );
    own.prints(&[
        "transparent-huge-pages",
        "other-load",
        "io-scheduler",
        "clock-source",
        "steal",
    ]);
}

#[test]
fn nobody_may_look_at_a_host() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("only root can run dyno as somebody else");
    }
    // Without any privilege, and without a place for a cache.
    let program = Command::new("setpriv")
        .args(["--reuid", "nobody", "--clear-groups", "--"])
        .arg(env!("CARGO_BIN_EXE_dyno"))
        .args(["doctor", "--json"])
        .env_remove("DYNO_CACHE_DIR")
        .env("HOME", "/nonexistent")
        .current_dir("/")
        .output()
        .unwrap();
    assert!(program.status.success(), "{program:?}");
    let findings: Vec<Finding> = serde_json::from_slice(&program.stdout).unwrap();
    assert!(findings.is_sorted_by_key(|finding| finding.level));
    level(&findings, "mount-barrier");
}

#[test]
fn a_mysql_is_compared_with_the_load_of_a_study() {
    let server = MySql::start(&[
        "--max-connections=10",
        "--table-open-cache=1000",
        "--innodb-redo-log-capacity=1G",
    ]);
    let url = database(&server, "examined");
    let study = format!(
        "title = \"t\"\n[server]\nurl = \"{url}\"\n[data]\ntables = 40\nrows = 10\n[load]\n\
         workload = \"oltp_read_write\"\nthreads = 100\nwarmup = \"1s\"\ntime = \"5s\"\n"
    );
    let found = doctor("--study study.toml --json").with_study(&study);
    let found = found.succeeds();
    let findings = findings(&found);
    let expected = [
        ("max-connections", Level::Severe),
        // 100 users, 40 tables, 9 statements for each, BEGIN and COMMIT.
        ("max-prepared-statements", Level::Severe),
        ("table-cache", Level::Warning),
    ];
    let mut of_load = bad(&findings, &url);
    // The kit's pool and this host's memory decide it.
    of_load.retain(|(id, _)| *id != "buffer-pool-memory");
    assert_eq!(of_load, expected, "{found}");
    let mut found = findings.iter();
    let prepared = found.find(|one| one.id == "max-prepared-statements");
    let observed = &prepared.unwrap().observed;
    assert!(
        observed.ends_with("16382, the load needs 36200"),
        "{observed}"
    );
}

#[test]
fn a_study_is_examined_before_its_servers_are_there() {
    let text = "title = \"t\"\n[server]\nengine = \"mariadb\"\n\
        config = { innodb_flush_log_at_trx_commit = 0, innodb_doublewrite = \"OFF\", max_connections = 10, innodb_buffer_pool_size = \"256M\", innodb_log_file_size = \"1G\" }\n\
        [data]\ntables = 1\nrows = 10\n[load]\nthreads = 100\nwarmup = \"1s\"\ntime = \"5s\"\n";
    let look = |sets: &str| {
        let program = doctor("--study study.toml --json").with_study(text);
        findings(&program.args(sets).succeeds())
    };
    let findings_here = look("");
    let expected = [
        ("commit-flush", Level::Severe),
        ("max-connections", Level::Severe),
        ("doublewrite", Level::Warning),
    ];
    assert_eq!(
        bad(&findings_here, "mariadb"),
        expected,
        "{findings_here:#?}"
    );
    assert!(findings_here.iter().any(|finding| finding.remedy.is_some()));
    let enough = look("--set server.config.max_connections=200");
    assert_eq!(level(&enough, "max-connections"), Level::Passed);
}

#[test]
fn what_a_study_varies_is_no_fault_of_it() {
    let text = "title = \"t\"\n[server]\nengine = \"mysql\"\nconfig = { innodb_doublewrite = \"OFF\" }\n\
        [load]\ntime = \"5s\"\n\
        [sweep]\n\"server.config.innodb_flush_log_at_trx_commit\" = [0, 1]\n";
    let program = doctor("--study study.toml --json").with_study(text);
    let findings = findings(&program.succeeds());
    let of = |id: &str| {
        let found = findings.iter().filter(|finding| finding.id == id);
        found.collect::<Vec<_>>()
    };
    let commits = of("commit-flush");
    let levels: Vec<Level> = commits.iter().map(|finding| finding.level).collect();
    assert_eq!(levels, [Level::Note, Level::Passed]);
    assert!(
        commits[0].observed.ends_with("(varied by the study)"),
        "{commits:?}"
    );
    // What both servers have is said once.
    let both = of("doublewrite");
    assert_eq!((both.len(), both[0].level), (1, Level::Warning));
    assert_eq!(both[0].of.matches("mysql of ").count(), 2, "{both:?}");
}

#[test]
fn what_cannot_be_looked_at_ends_it() {
    doctor("mysql://root@127.0.0.1:1/x").fails(SERVER, &["127.0.0.1:1"]);
    for (words, text) in [
        ("--study nothing.toml", "nothing.toml"),
        ("--tls-mode required", "URL"),
        ("--study study.toml", "study.toml"),
    ] {
        let program = doctor(words).with_study("title = 3\n");
        program.fails(USAGE, &[text]);
    }
}

#[test]
fn a_run_keeps_what_was_found() {
    let server = MariaDb::start(&["--innodb-flush-log-at-trx-commit=0"]);
    let url = database(&server, "kept");
    let run = Program::bench(&url)
        .args("--tables 1 --rows 10 --threads 1 --warmup 0s --time 1s")
        .succeeds();
    run.tells(&[" severe"]);
    run.tells(&[&format!("dyno doctor {url}")]);
    let text = doctor("").arg(&url).succeeds().stdout;
    assert!(
        text.contains("fix: SET GLOBAL innodb_flush_log_at_trx_commit = 1;"),
        "{text}"
    );
    let result = run.result();
    assert_eq!(level(&result.findings, "commit-flush"), Level::Severe);
    let mut levels = result.findings.iter().map(|finding| finding.level);
    assert!(levels.all(|level| level < Level::Passed));
    let report = run.file("report.html");
    assert!(report.contains("Conditions that may distort the results"));
    assert!(report.contains("commit-flush"));
}

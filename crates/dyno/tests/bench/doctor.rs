//! `dyno doctor`: what it finds of this host, and of what a study asks of servers; and that a run keeps
//! what was found. What it says of servers' settings is tested in `lab`.

use crate::common::{Finished, Program, cases, database, give_to_nobody};
use measure::finding::{Finding, Level};
use testkit::{MariaDb, MySql};

fn doctor(words: &str) -> Program {
    Program::new().arg("doctor").args(words)
}

/// What is found for a study.
fn of_study(study: &str, words: &str) -> Vec<Finding> {
    let program = doctor("--study study.toml --json").with_study(study);
    findings(&program.args(words).succeeds())
}

#[track_caller]
fn findings(finished: &Finished) -> Vec<Finding> {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}\n{finished}"))
}

#[track_caller]
fn of<'a>(findings: &'a [Finding], id: &str) -> &'a Finding {
    let found = findings.iter().find(|finding| finding.id == id);
    found.unwrap_or_else(|| panic!("no {id} in {findings:#?}"))
}

/// What may spoil or calls for care in a server, whatever the host is like.
fn bad<'a>(findings: &'a [Finding], of: &str) -> Vec<(&'a str, Level)> {
    // The disk and the memory of this host decide these.
    let hosts = ["io-capacity", "flush-neighbors", "buffer-pool-memory"];
    let bad = findings
        .iter()
        .filter(|one| one.of == of && one.level < Level::Note);
    let bad = bad.map(|one| (one.id.as_str(), one.level));
    bad.filter(|(id, _)| !hosts.contains(id)).collect()
}

#[test]
fn a_host_is_looked_at_by_its_user() {
    let own = doctor("--verbose").succeeds();
    let last = own.stdout.trim_end().lines().last().unwrap();
    let is_a_sum = last.contains(" not checked, ") && last.ends_with(" passed");
    assert!(is_a_sum, "{own}");
    own.prints(&["other-load", "io-scheduler", "clock-source", "steal"]);
}

/// Without any privilege, and without a place for a cache.
#[test]
fn nobody_may_look_at_a_host() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("only root can run dyno as somebody else");
    }
    let program = Program::as_nobody().args("doctor --json");
    give_to_nobody(program.dir());
    let program = program.env("DYNO_CACHE_DIR", "/nonexistent/cache");
    let findings = findings(&program.env("HOME", "/nonexistent").succeeds());
    assert!(findings.is_sorted_by_key(|finding| finding.level));
    of(&findings, "mount-barrier");
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
    let findings = of_study(&study, "");
    let expected = [
        ("max-connections", Level::Severe),
        // 100 users, 40 tables, 9 statements for each, BEGIN and COMMIT.
        ("max-prepared-statements", Level::Severe),
        ("table-cache", Level::Warning),
    ];
    assert_eq!(bad(&findings, &url), expected, "{findings:#?}");
    let observed = &of(&findings, "max-prepared-statements").observed;
    let words = "16382, the load needs 36200";
    assert!(observed.ends_with(words), "{observed}");
}

#[test]
fn a_study_is_examined_before_its_servers_are_there() {
    let text = "title = \"t\"\n[server]\nengine = \"mariadb\"\n\
        config = { innodb_flush_log_at_trx_commit = 0, innodb_doublewrite = \"OFF\", max_connections = 10, innodb_buffer_pool_size = \"256M\", innodb_log_file_size = \"1G\" }\n\
        [data]\ntables = 1\nrows = 10\n[load]\nthreads = 100\nwarmup = \"1s\"\ntime = \"5s\"\n";
    let findings = of_study(text, "");
    let expected = [
        ("commit-flush", Level::Severe),
        ("max-connections", Level::Severe),
        ("doublewrite", Level::Warning),
    ];
    assert_eq!(bad(&findings, "mariadb"), expected, "{findings:#?}");
    assert!(findings.iter().any(|finding| finding.remedy.is_some()));
    let enough = of_study(text, "--set server.config.max_connections=200");
    assert_eq!(of(&enough, "max-connections").level, Level::Passed);
}

#[test]
fn a_planned_cluster_has_settings_of_its_own() {
    let text = "title = \"t\"\nserver.engine = \"mariadb\"\nload.time = \"5s\"\n";
    let level = |text: &str| of(&of_study(text, ""), "binlog-sync").level;
    assert_eq!(level(text), Level::Passed);
    let cluster = format!("{text}topology = {{ cluster = \"asynchronous\", members = 2 }}\n");
    assert_eq!(level(&cluster), Level::Warning);
}

#[test]
fn what_a_study_varies_is_no_fault_of_it() {
    let text = "title = \"t\"\n[server]\nengine = \"mysql\"\nconfig = { innodb_doublewrite = \"OFF\" }\n\
        [load]\ntime = \"5s\"\n\
        [sweep]\n\"server.config.innodb_flush_log_at_trx_commit\" = [0, 1]\n";
    let findings = of_study(text, "");
    let all = |id: &str| {
        let found = findings.iter().filter(|finding| finding.id == id);
        found.collect::<Vec<_>>()
    };
    let commits = all("commit-flush");
    let levels: Vec<Level> = commits.iter().map(|finding| finding.level).collect();
    assert_eq!(levels, [Level::Note, Level::Passed]);
    let varied = "(varied by the study)";
    assert!(commits[0].observed.ends_with(varied), "{commits:?}");
    // What both servers have is said once.
    let both = all("doublewrite");
    assert_eq!((both.len(), both[0].level), (1, Level::Warning));
    assert_eq!(both[0].of.matches("mysql of ").count(), 2, "{both:?}");
}

#[test]
fn what_cannot_be_looked_at_ends_it() {
    doctor("mysql://root@127.0.0.1:1/x").fails(3, &["127.0.0.1:1"]);
    let refused = "
        --study nothing.toml => nothing.toml
        --tls-mode required => URL
        --study study.toml => study.toml";
    for (words, texts) in cases(refused) {
        doctor(words).with_study("title = 3\n").fails(2, &texts);
    }
}

#[test]
fn a_run_keeps_what_was_found() {
    let server = MariaDb::start(&["--innodb-flush-log-at-trx-commit=0"]);
    let url = database(&server, "kept");
    let words = "--tables 1 --rows 10 --threads 1 --warmup 0s --time 1s";
    let run = Program::bench(&url).args(words).succeeds();
    run.tells(&[" severe", &format!("dyno doctor {url}")]);
    let looked = doctor("").arg(&url).succeeds();
    looked.prints(&["fix: SET GLOBAL innodb_flush_log_at_trx_commit = 1;"]);
    let findings = run.result().findings;
    assert_eq!(of(&findings, "commit-flush").level, Level::Severe);
    assert!(findings.iter().all(|finding| finding.level < Level::Passed));
    let report = run.file("report.html");
    for words in ["Conditions that may distort the results", "commit-flush"] {
        assert!(report.contains(words), "{words}");
    }
}

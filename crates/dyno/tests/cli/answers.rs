//! `dyno compare`, `rank`, `size`, and `history` on result directories: what they print and write, and
//! what they refuse. What the answers are is tested where they are computed.

use std::fs;

use crate::common::{Finished, Program, cases, flat, keep};
use crate::results::made::{Made, made};
use measure::instance::InstanceSummary;
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use tempfile::TempDir;

/// Results in directories of these names below a new one.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A result with so many tps at each point, measured once.
    fn add(&self, name: &str, title: &str, points: &[(&[(&str, &str)], f64)]) {
        let trials = points.iter().map(|(point, tps)| trial(point, 1, *tps));
        let result = made(title, &trials.collect::<Vec<_>>());
        keep(&self.0.path().join(name), &result, "title = \"t\"\n");
    }

    fn ask(&self, command: &str, names: &[&str], words: &str) -> Finished {
        let program = names
            .iter()
            .fold(Program::new().arg(command), |program, name| {
                program.arg(self.0.path().join(name))
            });
        program.args(words).run()
    }

    /// `COMMAND NAME… WORDS => TEXT & TEXT`, each refused as bad usage.
    fn refuse(&self, table: &str) {
        for (line, texts) in cases(table) {
            let (names, words) = line.split_at(line.find("--").unwrap_or(line.len()));
            let mut names = names.split_whitespace();
            let command = names.next().unwrap();
            self.ask(command, &names.collect::<Vec<_>>(), words)
                .fails(2, &texts);
        }
    }
}

fn trial<'a>(point: &'a [(&'a str, &'a str)], repeat: u32, tps: f64) -> Made<'a> {
    (point, repeat, tps, 16_000.0 / tps)
}

fn written(done: &Finished, name: &str) -> String {
    fs::read_to_string(done.dir().join(name)).unwrap()
}

const USERS: [&[(&str, &str)]; 2] = [&[("load.threads", "4")], &[("load.threads", "8")]];

/// Whatever two directories show may be a change of the host between them.
#[test]
fn two_results_are_compared_without_a_verdict() {
    let folder = Folder::new();
    folder.add("hw", "Cost", &[(USERS[0], 320.0), (USERS[1], 330.0)]);
    folder.add("vm", "Cost", &[(USERS[0], 305.0), (USERS[1], 316.0)]);
    let done = folder.ask("compare", &["hw", "vm"], "--out out").succeeds();
    done.prints(&[
        "hw tps",
        "vm response mean, ms",
        "-4.69",
        "hw and vm ran at different times, not",
        "[[variant]]",
    ]);
    assert!(written(&done, "out/compare.html").contains("id=\"curves\""));
    assert!(written(&done, "out/compare.md").contains("| tps change % | -4.69 |"));
    assert!(written(&done, "out/compare.csv").contains("4,tps,320,"));
    let json = folder.ask("compare", &["hw", "vm"], "--json").succeeds();
    let json = json.stdout;
    assert_eq!(json.trim(), written(&done, "out/compare.json").trim());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["interleaved"], false);
    for point in json["points"].as_array().unwrap() {
        let decision = &point["numbers"][0]["comparison"]["decision"];
        assert_eq!(decision["reason"]["why"], "not_interleaved");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_with_its_reason() {
    let folder = Folder::new();
    folder.add("hw", "Cost", &[(USERS[0], 320.0)]);
    folder.add("vm", "Cost", &[(USERS[0], 305.0)]);
    folder.add("apart", "Cost", &[(USERS[1], 305.0)]);
    let mut other = made("Cost", &[trial(USERS[0], 1, 305.0)]);
    other.trials[0].setup.planned.data.tables = 100;
    keep(&folder.0.path().join("other"), &other, "");
    folder.refuse(
        "compare hw hw => hw is given twice & --base and --new
         compare hw none => none & Name a result directory
         compare hw => has no variants to compare & dyno compare BASE NEW
         compare hw vm --base xfs => hw has no variant xfs & omit
         compare hw other => ran different workloads: data.tables: 4 / 100 & --force
         compare hw apart => hw and apart have no point in common",
    );
    let forced = folder.ask("compare", &["hw", "other"], "--force");
    forced.succeeds().prints(&["-4.69"]);
}

/// Three variants of a study that sets a setting of the server in one of them.
#[test]
fn variants_of_one_result_are_chosen_by_name() {
    let names = ["small", "tiny", "large"].map(|name| [("variant", name)]);
    let numbers = [(1000.0, 1.0), (900.0, -1.0), (1100.0, 1.0)];
    let folder = Folder::new();
    let variants = || names.iter().zip(numbers);
    let blocks = (1..=3).flat_map(|repeat| variants().map(move |variant| (repeat, variant)));
    let trials = blocks.map(|(repeat, (point, (tps, luck)))| {
        trial(point, repeat, tps + luck * f64::from(repeat * repeat))
    });
    let mut result = made("Pools", &trials.collect::<Vec<_>>());
    for (trial, pool) in result
        .trials
        .iter_mut()
        .zip(["1G", "1G", "4G"].iter().cycle())
    {
        trial.instances = vec![instance(trial, pool)];
    }
    let study = "title = \"Pools\"\n[server]\nengine = \"mariadb\"\n\
                 config = { innodb-buffer-pool-size = \"1G\", \
                 innodb_flush_log_at_trx_commit = 2 }\n\
                 [[variant]]\nname = \"small\"\n[[variant]]\nname = \"tiny\"\n\
                 [[variant]]\nname = \"large\"\n\
                 server.config = { innodb-buffer-pool-size = \"4G\", \
                 innodb_flush_log_at_trx_commit = 1 }\n";
    keep(&folder.0.path().join("pools"), &result, study);
    folder.refuse(
        "compare pools => has the variants small, tiny, large
         compare pools --base small --new none => has no variant none
         compare pools --base small --new small => given twice",
    );
    let words = "--base small --new large";
    let done = folder.ask("compare", &["pools"], words).succeeds();
    done.prints(&["faster by 9.95 %"]);
    let (meant, besides) = done.stdout.split_once("Other differences").unwrap();
    assert!(meant.contains("Intended differences"), "{done}");
    // What a study sets is shown, also where it is the server's default.
    let durable = "server innodb_flush_log_at_trx_commit 2 1";
    for words in ["innodb_buffer_pool_size", durable] {
        assert!(flat(meant).contains(words), "{done}");
    }
    assert!(besides.contains("innodb_io_capacity"), "{done}");
}

fn instance(trial: &TrialSummary, pool: &str) -> InstanceSummary {
    InstanceSummary {
        number: 1,
        server: trial.setup.server.clone(),
        transactions: trial.transactions,
        response_ms: trial.response_ms,
        errors: 0,
        restarts: 0,
        outcome: Outcome::Completed,
        process: None,
        formation_s: None,
        settings: vec![
            ("innodb_buffer_pool_size".into(), pool.into()),
            ("innodb_io_capacity".into(), format!("{pool}x")),
        ],
    }
}

/// The directories that results lie in are their categories.
#[test]
fn results_are_ranked_or_refused_with_the_reason() {
    let folder = Folder::new();
    folder.add("pcie/es3000", "Huawei ES3000 2.4TB", &[(&[], 2734.69)]);
    folder.add("pcie/old", "An older card", &[(&[], 1500.0)]);
    folder.add("sata/m500", "Micron M500 480GB", &[(&[], 668.6)]);
    let all = ["pcie/es3000", "pcie/old", "sata/m500"];
    let done = folder.ask("rank", &all, "--out boards").succeeds();
    done.prints(&["pcie, one server", "sata, one server", "2,735 ± 11"]);
    assert!(written(&done, "boards/rank.html").contains("Micron M500 480GB"));
    // A single run is told from no other.
    assert!(written(&done, "boards/rank.md").contains("| 1= | An older card | 1 |"));
    let line = "sata,1,1,false,Micron M500 480GB,m500,,668.6,";
    assert!(written(&done, "boards/rank.csv").contains(line));
    let one = folder.ask("rank", &all[..2], "").succeeds();
    assert!(!one.stdout.contains("pcie"), "{one}");

    let mut other = made("Reads", &[trial(&[], 1, 9.0)]);
    other.trials[0].setup.planned.load.workload.value = "oltp_read_only".into();
    other.trials[0].setup.planned.data.rows = 10;
    keep(&folder.0.path().join("pcie/other"), &other, "");
    folder.refuse(&format!(
        "rank pcie/old --out {} => is not empty
         rank pcie/old pcie/../pcie/old => pcie/old is given twice
         rank pcie => result.json & Name a result directory
         rank pcie/none => pcie/none & Name a result directory
         rank pcie/old --point threads=4 => `threads` is not varied
         rank pcie/old pcie/other => ran different workloads & oltp_read_write / oltp_read_only & 500,000 / 10 & --force",
        folder.0.path().display()
    ));
    let forced = folder.ask("rank", &["pcie/old", "pcie/other"], "--force");
    forced.succeeds().tells(&["ran different workloads"]);
}

const SERVERS: [&[(&str, &str)]; 2] = [
    &[("topology.instances", "1")],
    &[("topology.instances", "6")],
];

/// 4 servers of six instances, 9 of one, 56 % saved.
#[test]
fn the_papers_plan_comes_from_a_directory() {
    let folder = Folder::new();
    let points = [(SERVERS[0], 2231.0), (SERVERS[1], 5700.0)];
    folder.add("up", "Scale up", &points);
    folder.add("one", "Scale up", &points[..1]);
    let ask = |more: &str| {
        let words = format!("--need 17_000 --efficiency 90% --price 12000 {more}");
        folder.ask("size", &["up"], &words).succeeds()
    };
    let done = ask("--out plan");
    done.prints(&[
        "4 servers of 6 instances each, instead of 9 servers",
        "56 % saved",
        "48,000",
        "Only one trial with 1, 6 instances",
    ]);
    assert!(written(&done, "plan/size.html").contains("56 % saved"));
    assert!(written(&done, "plan/size.md").contains("| 6 | 5,700 ± 23 |"));
    assert!(written(&done, "plan/size.csv").contains("\n6,,5700,"));
    let json = ask("--json").stdout;
    assert_eq!(json.trim(), written(&done, "plan/size.json").trim());
    folder.refuse(&format!(
        "size up => --need
         size up --need 1 --efficiency 1 --out {} => is not empty
         size up --need 0 --efficiency 0.9 => a number above 0
         size up --need inf --efficiency 0.9 => a number above 0
         size up --need 1 --efficiency 0 => a fraction above 0 and at most 1
         size up --need 1 --efficiency 110% => a fraction above 0 and at most 1
         size up --need 1 --efficiency 0.9 --point threads=4 => `threads` is not varied; what is: topology.instances
         size up --need 1 --efficiency 0.9 --point instances=5 => no trial has a valid throughput at instances=5
         size up --need 17000 => only 2 were measured & --efficiency 0.9
         size one --need 17000 => all trials ran one instance & --efficiency 0.9",
        folder.0.path().display()
    ));
}

/// Ten nights; from the seventh on throughput at 16 users is 8 % lower.
#[test]
fn a_change_of_level_is_dated_however_results_are_ordered() {
    let folder = Folder::new();
    for night in 1..=10_u32 {
        let wander = f64::from(night * 7 % 5) - 2.0;
        let level = if night < 7 { 1000.0 } else { 920.0 };
        let points = [[("load.threads", "4")], [("load.threads", "16")]];
        let trials = [400.0, level].into_iter().zip(&points);
        let trials = trials.map(|(tps, point)| trial(point, 1, tps + wander));
        let mut result = made("Every night", &trials.collect::<Vec<_>>());
        result.environment.started = format!("2026-03-{night:02}T02:00:00Z");
        keep(&folder.0.path().join(format!("night-{night}")), &result, "");
    }
    let history = |nights: &[u32], words: &str| {
        let names = nights.iter().map(|night| format!("night-{night}"));
        let names: Vec<String> = names.collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        folder.ask("history", &names, words)
    };
    let order = [10, 1, 3, 2, 9, 8, 4, 5, 7, 6];
    let done = history(&order, "").succeeds();
    done.prints(&[
        "Throughput at threads=16 fell by 8.0 %, from 1,000 to 920.0 transactions/s, \
         starting 2026-03-07T02:00:00Z (night-7).",
    ]);
    assert_eq!(done.stdout.matches("from here on").count(), 1, "{done}");
    let json = history(&order, "--json --point threads=16").succeeds();
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let [course] = json["courses"].as_array().unwrap().as_slice() else {
        panic!("{json}");
    };
    assert_eq!(course["changes"][0]["at"], 6);
    assert_eq!(course["entries"][6]["name"], "night-7");

    let few = history(&[7, 1, 2, 3, 8], "").succeeds();
    few.prints(&["Too few results to detect a level change: 5 of at least 6"]);
    history(&[1, 2], "--point topology.instances=2").fails(2, &["is not varied"]);
    history(&[1, 1], "").fails(2, &["is given twice"]);
}

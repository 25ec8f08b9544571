//! `dyno size` on result directories: the paper on scaling up, then out.

use std::fs;

use crate::common::{Finished, Program, keep};
use crate::results::made::{Made, made};
use tempfile::TempDir;

/// A result with so many tps for each number of instances, below `out`.
fn kept(points: &[(&'static str, f64)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let pairs: Vec<_> = points
        .iter()
        .map(|(instances, _)| [("topology.instances", *instances)])
        .collect();
    let trials = points.iter().zip(&pairs).map(|((_, tps), point)| Made {
        point,
        repeat: 1,
        tps: *tps,
        mean_ms: 16_000.0 / tps,
    });
    let trials: Vec<Made<'_>> = trials.collect();
    keep(&folder.path().join("out"), &made("Scale up", &trials), "");
    folder
}

fn size(folder: &TempDir, words: &str) -> Finished {
    let out = folder.path().join("out");
    let program = Program::new().arg("size").arg(&out.display().to_string());
    program.args(words).run()
}

/// 4 servers of six instances, 9 of one, 56 % saved.
#[test]
fn the_papers_plan_comes_from_a_directory() {
    let folder = kept(&[("1", 2231.0), ("6", 5700.0)]);
    let words = "--need 17_000 --efficiency 90% --price 12000 --out plan";
    let done = size(&folder, words).succeeds();
    for words in [
        "4 servers of 6 instances each, instead of 9 servers",
        "56 % saved",
        "48,000",
        "Only one trial with 1, 6 instances",
    ] {
        let text = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{words}\n{}", done.shown());
    }
    let read = |name: &str| fs::read_to_string(done.dir().join("plan").join(name)).unwrap();
    assert!(read("size.html").contains("56 % saved"));
    assert!(read("size.md").contains("| 6 | 5,700 ± 23 |"));
    assert!(read("size.csv").contains("\n6,,5700,"));
    let json = size(
        &folder,
        "--need 17000 --efficiency 0.9 --price 12000 --json",
    )
    .succeeds();
    assert_eq!(json.stdout.trim(), read("size.json").trim());
    let words = format!(
        "--need 1 --efficiency 1 --out {}",
        folder.path().join("out").display()
    );
    size(&folder, &words).fails(2, &["is not empty"]);
}

/// Throughput that the scalability law with σ = 0.1 and κ = 0.01 gives.
#[test]
fn the_efficiency_comes_from_the_law_or_is_asked_for() {
    let law = ["1", "2", "3", "4", "6", "8"].map(|instances| {
        let n: f64 = instances.parse().unwrap();
        let cost = 1.0 + 0.1 * (n - 1.0) + 0.01 * n * (n - 1.0);
        (instances, 2000.0 * n / cost)
    });
    let done = size(&kept(&law), "--need 17000").succeeds();
    assert!(
        done.stdout.contains("efficiency of 0.900"),
        "{}",
        done.shown()
    );
    let asks = |points: &[(&'static str, f64)], text: &str| {
        size(&kept(points), "--need 17000").fails(2, &[text, "--efficiency 0.9"]);
    };
    asks(&law[..5], "only 5 were measured");
    asks(&law[..1], "all trials ran one instance");
    asks(
        &law.map(|(instances, _)| (instances, 2000.0)),
        "throughput does not grow with the size",
    );
}

/// In proportion but for the luck of a run, with which the law's best fit has σ below 0.
#[test]
fn luck_never_makes_servers_add_more_than_they_give() {
    let lucky = [
        ("1", 1000.0),
        ("2", 2010.0),
        ("3", 2960.0),
        ("4", 4050.0),
        ("6", 5960.0),
        ("8", 8080.0),
    ];
    let done = size(&kept(&lucky), "--need 17000").succeeds();
    let text = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("3 servers of 8 instances each"), "{text}");
    assert!(
        text.contains("efficiency of 0.996 is the lower bound"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_sized_is_refused_with_its_reason() {
    let folder = kept(&[("1", 2231.0), ("6", 5700.0)]);
    let fails = |words: &str, texts: &[&str]| {
        size(&folder, words).fails(2, texts);
    };
    fails("", &["--need"]);
    fails("--need 0 --efficiency 0.9", &["a number above 0"]);
    fails("--need inf --efficiency 0.9", &["a number above 0"]);
    fails(
        "--need 1 --efficiency 0",
        &["a fraction above 0 and at most 1"],
    );
    fails(
        "--need 1 --efficiency 110%",
        &["a fraction above 0 and at most 1"],
    );
    fails(
        "--need 1 --efficiency 0.9 --point threads=4",
        &["`threads` is not varied; what is: topology.instances"],
    );
    fails(
        "--need 1 --efficiency 0.9 --point instances=5",
        &["no trial has a valid throughput at instances=5"],
    );
}

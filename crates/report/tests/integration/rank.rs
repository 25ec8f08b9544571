//! Leader boards, on results made without a server: those of the device paper.

use crate::common::made::{made, swept};
use crate::common::{flat, golden, says};
use measure::result::RunResult;
use measure::setup::Outcome;
use report::rank::Ranking;
use report::text::Layout;
use report::{Answer, AnswerError, Source};

const SERVERS: &str = "topology.instances";

/// A device that was measured three times with so many servers at once.
fn device(title: &str, points: &[(u32, f64, f64)]) -> RunResult {
    swept(title, SERVERS, points, 3, |repeat| {
        0.996 + 0.002 * f64::from(repeat)
    })
}

/// Two categories; two devices that nothing tells apart; one with several servers.
fn devices() -> Vec<(&'static str, &'static str, RunResult)> {
    const ISE: [(u32, f64, f64); 4] = [
        (4, 4424.0, 29.0),
        (8, 6568.0, 39.0),
        (12, 7160.0, 54.0),
        (16, 6625.0, 80.0),
    ];
    let one = |title, tps, mean_ms| device(title, &[(1, tps, mean_ms)]);
    vec![
        ("sata", "m500", one("Micron M500 480GB", 668.6, 47.86)),
        ("pcie", "other", one("Almost an ES3000", 2733.0, 11.71)),
        ("pcie", "es3000", one("Huawei ES3000 2.4TB", 2734.69, 11.7)),
        ("hybrid", "ise860", device("X-IO ISE 860", &ISE)),
        ("pcie", "slow", one("An older card", 1500.0, 21.3)),
    ]
}

type Devices<'a> = [(&'a str, &'a str, RunResult)];

fn rank(devices: &Devices<'_>, point: &[(&str, &str)]) -> Result<Ranking, AnswerError> {
    rank_or_force(devices, point, false)
}

fn rank_or_force(
    devices: &Devices<'_>,
    point: &[(&str, &str)],
    force: bool,
) -> Result<Ranking, AnswerError> {
    let entrants = devices.iter().map(|(category, name, result)| Source {
        category,
        name,
        result,
    });
    let point = point
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Ranking::of(
        &entrants.collect::<Vec<_>>(),
        &point.collect::<Vec<_>>(),
        force,
    )
}

/// Lines of the CSV as category, instances, rank, tied, description.
fn places(ranking: &Ranking) -> Vec<String> {
    let csv = ranking.csv();
    let lines = csv.lines().skip(1);
    lines
        .map(|line| line.split(',').take(5).collect::<Vec<_>>().join(" "))
        .collect()
}

/// The text on one line.
fn unwrapped(ranking: &Ranking) -> String {
    flat(&ranking.text(Layout::DEFAULT))
}

#[test]
fn boards_are_by_category_and_servers_and_ties_share_their_rank() {
    let ranking = rank(&devices(), &[]).unwrap();
    assert_eq!(
        places(&ranking),
        [
            "sata 1 1 false Micron M500 480GB",
            "pcie 1 1 true Huawei ES3000 2.4TB",
            "pcie 1 1 true Almost an ES3000",
            "pcie 1 1 true An older card",
            "hybrid 4 1 false X-IO ISE 860",
            "hybrid 8 1 false X-IO ISE 860",
            "hybrid 12 1 false X-IO ISE 860",
            "hybrid 16 1 false X-IO ISE 860",
        ]
    );
    let text = ranking.text(Layout::DEFAULT);
    golden("rank.txt", &text);
    says(
        &text,
        &[
            "668.6",
            "2,735",
            "1=",
            "11.70",
            "no verdict on 3 entries; the highest throughput",
            "16 servers at once",
        ],
    );
    let markdown = ranking.markdown();
    says(&markdown, &["| 1= | Huawei ES3000 2.4TB | 1 |"]);
    let html = ranking.html().unwrap();
    assert!(
        html.contains("Huawei ES3000 2.4TB") && !html.contains("<script"),
        "{html}"
    );
}

#[test]
fn the_best_point_stands_for_a_result_unless_another_is_asked_for() {
    let points = [(8, 900.0, 8.0), (16, 1200.0, 16.0), (32, 1100.0, 32.0)];
    let result = swept("Threads", "load.threads", &points, 1, |_| 1.0);
    let all = [("", "threads", result)];
    let best = rank(&all, &[]).unwrap();
    assert!(
        best.text(Layout::DEFAULT).contains("threads=16"),
        "{}",
        best.text(Layout::DEFAULT)
    );
    assert!(unwrapped(&best).contains("exclude run-to-run variation"));
    for key in ["threads", "load.threads"] {
        let chosen = rank(&all, &[(key, "32")]).unwrap();
        assert!(chosen.csv().contains(",1100,"), "{}", chosen.csv());
    }
    let error = rank(&all, &[("thread", "32")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`thread` is not varied; what is: load.threads"
    );
    let error = rank(&all, &[("threads", "64")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no result has a valid trial at threads=64"
    );
}

#[test]
fn variants_stand_for_themselves_and_namesakes_are_told_apart() {
    let trial = |variant, tps| {
        let point: &[_] = match variant {
            "ext4" => &[("variant", "ext4")],
            _ => &[("variant", "xfs")],
        };
        (point, 1, tps, 5.0)
    };
    let one = made(
        "File systems",
        &[trial("ext4", 1000.0), trial("xfs", 1100.0)],
    );
    let two = made("File systems", &[trial("ext4", 900.0)]);
    let ranking = rank(&[("", "monday", one), ("", "tuesday", two)], &[]).unwrap();
    assert_eq!(
        places(&ranking),
        [
            " 1 1 true xfs",
            " 1 1 true ext4 (monday)",
            " 1 1 true ext4 (tuesday)"
        ],
        "single runs are not told apart"
    );
    assert!(unwrapped(&ranking).contains("not interleaved"));
}

#[test]
fn what_failed_or_is_missing_is_said_and_in_no_number() {
    let mut all = devices();
    let reason = "the disk is full".to_owned();
    all[0].2.trials[0].outcome = Outcome::Failed { reason };
    all[1].2.design.trials = 5;
    for trial in &mut all[4].2.trials {
        trial.outcome = Outcome::Failed {
            reason: "no".into(),
        };
    }
    let text = unwrapped(&rank(&all, &[]).unwrap());
    says(
        &text,
        &[
            "m500: instances=1, repeat 1 failed, and is excluded: the disk is full",
            "other: 3 of 5 planned trials were run: trials 4 to 5 are missing.",
            "An older card (slow) is not ranked: it has no valid trial",
        ],
    );
}

#[test]
fn without_intervals_nothing_is_told_apart() {
    let mut all = devices();
    all.truncate(3);
    for (.., result) in &mut all {
        result.trials.truncate(1);
        let per_s = &mut result.trials[0].transactions.per_s;
        per_s.as_mut().unwrap().half_width = None;
    }
    let ranking = rank(&all, &[]).unwrap();
    assert_eq!(
        places(&ranking)[1..]
            .iter()
            .filter(|line| line.contains(" 1 true "))
            .count(),
        2
    );
    assert!(
        ranking
            .text(Layout::DEFAULT)
            .contains("Too short for a confidence interval")
    );
}

#[test]
fn hostile_words_stay_words_on_a_board() {
    let bad = "<img src=x>|=1\u{1b}[2J";
    let all = [("", bad, device(bad, &[(1, 100.0, 1.0)]))];
    let ranking = rank(&all, &[]).unwrap();
    assert!(!ranking.html().unwrap().contains("<img"));
    assert!(!ranking.text(Layout::DEFAULT).contains('\u{1b}'));
    assert!(ranking.markdown().contains("\\<img src=x\\>\\|"));
}

/// Both vary the rows, so that they may be of the same work; their best points are not.
#[test]
fn points_of_different_work_are_no_rivals() {
    let of_rows = |title: &str, rows: [u64; 2]| {
        let points = [(rows[0], 1000.0, 10.0), (rows[1], 900.0, 10.0)];
        let mut result = swept(title, "data.rows", &points, 1, |_| 1.0);
        for (trial, rows) in result.trials.iter_mut().zip(rows) {
            trial.setup.planned.data.rows = rows;
        }
        result
    };
    let both = [
        ("", "small", of_rows("Small", [1000, 2000])),
        ("", "large", of_rows("Large", [2000, 3000])),
    ];
    let error = rank(&both, &[]).unwrap_err().to_string();
    assert!(
        error.starts_with("small and large ran different workloads: data.rows: 1,000 / 2,000"),
        "{error}"
    );
    let forced = rank_or_force(&both, &[], true).unwrap();
    assert!(unwrapped(&forced).contains("ran different workloads"));
    assert!(rank(&both, &[("rows", "2000")]).is_ok());
}

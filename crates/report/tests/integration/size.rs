//! How many servers a load needs, on results made without a server: those of the paper on
//! scaling up, then out.

use crate::common::made::swept;
use crate::common::{flat, golden, json, says, set, typed};
use measure::result::RunResult;
use measure::setup::Outcome;
use report::size::{Question, Sizing};
use report::text::Layout;
use report::{Answer, AnswerError};

/// Throughput and response time by number of instances. Throughput with one and with six is
/// the paper's; the rest only has the shape that it tells of.
const PAPER: [(u32, f64, f64); 8] = [
    (1, 2231.0, 7.2),
    (2, 3620.0, 8.8),
    (3, 4640.0, 10.3),
    (4, 5260.0, 12.2),
    (5, 5600.0, 14.3),
    (6, 5700.0, 16.8),
    (7, 5640.0, 19.9),
    (8, 5510.0, 23.2),
];

/// The paper's server, each point so many times.
fn server(points: &[(u32, f64, f64)], repeats: u32) -> RunResult {
    let title = "How many instances should share a server?";
    let middle = f64::from(repeats + 1) / 2.0;
    let luck = |repeat| 1.0 + (f64::from(repeat) - middle) * 0.01;
    swept(title, "topology.instances", points, repeats, luck)
}

fn question(efficiency: Option<f64>) -> Question<'static> {
    Question {
        need_per_s: 17_000.0,
        efficiency,
        price: None,
        point: &[],
    }
}

fn unwrapped(sizing: &Sizing) -> String {
    flat(&sizing.text(Layout::DEFAULT))
}

/// 4 servers of six instances, 9 of one, 56 % saved.
#[test]
fn it_is_the_papers_plan() {
    let question = Question {
        price: Some(12_000.0),
        ..question(Some(0.9))
    };
    let sizing = Sizing::of(&server(&PAPER, 1), &question).unwrap();
    golden("size.txt", &sizing.text(Layout::DEFAULT));
    assert!(!unwrapped(&sizing).contains("two or three trials"));
    assert!(unwrapped(&sizing).contains(
        "17,000 transactions per second need 4 servers of 6 instances each, instead of 9 servers \
         of one instance: 56 % saved. They cost 48,000 instead of 108,000. The same number of servers with 4 \
         instances each has less headroom, but a mean response time of 12.20 instead of 16.80 ms."
    ));
    assert!(unwrapped(&sizing).contains("17,000 / (5,700 × 0.9) = 3.31, rounded up to 4"));
    let csv = sizing.csv();
    let six = csv.lines().find(|line| line.starts_with("6,")).unwrap();
    assert!(six.starts_with("6,,5700,22.8,16.8,"), "{six}");
    assert!(
        six.ends_with("1,0.9,,4,4,4,0.5555555555555556,48000"),
        "{six}"
    );
    assert!(sizing.markdown().contains("| 1 | 2,231 ± 9 |"));
    let page = sizing.html().unwrap();
    assert!(page.contains("id=\"sweep-tps\"") && page.contains("56 % saved"));
    let json = json(&sizing);
    assert_eq!(json["choices"][5]["servers"], 4);
    assert_eq!(json["law"], serde_json::Value::Null);
}

/// Three repeats that differ by 1 %: 4,800 ± 119, so 3.84 to 4.04 servers.
#[test]
fn an_interval_that_changes_the_number_is_shown() {
    let points = [(1, 2231.0, 7.2), (6, 4800.0, 20.0)];
    let sizing = Sizing::of(&server(&points, 3), &question(Some(0.9))).unwrap();
    let text = unwrapped(&sizing);
    says(&text, &["need 4 servers of 6 instances each (4 to 5)"]);
    assert!(
        text.contains("4,800 ± 119") && text.contains("4 (4 to 5) 56"),
        "{text}"
    );
    assert!(
        text.contains("1 2,231 ± 55") && !text.contains("Only one trial"),
        "{text}"
    );
}

/// The best of three points was picked for its luck, so its interval is that of one of three: with
/// three runs, 7.649 / 4.303 times as wide.
#[test]
fn the_interval_of_the_best_of_several_points_is_wider() {
    let half_width = |points: &[(&str, f64)]| {
        let mut all = server(&vec![(6, 4800.0, 20.0); points.len()], 3);
        all.design.axes.push("load.threads".into());
        for (trial, (threads, factor)) in all.trials.iter_mut().zip(points.iter().cycle()) {
            let point = &mut trial.setup.planned.point;
            point.insert("load.threads".into(), (*threads).into());
            let per_s = trial.transactions.per_s.as_mut().unwrap();
            per_s.value *= factor;
        }
        let sizing = Sizing::of(&all, &question(Some(0.9))).unwrap();
        json(&sizing)["choices"][0]["per_s"]["half_width"]
            .as_f64()
            .unwrap()
    };
    let alone = half_width(&[("8", 1.0)]);
    let picked = half_width(&[("8", 1.0), ("16", 0.9), ("32", 0.8)]);
    assert!(
        (picked / alone - 7.649 / 4.303).abs() < 1e-3,
        "{picked} {alone}"
    );
}

#[test]
fn without_an_efficiency_it_comes_from_the_law() {
    let sizing = Sizing::of(&server(&PAPER, 3), &question(None)).unwrap();
    assert!(unwrapped(&sizing).contains("minimum and maximum of two or three trials"));
    let text = unwrapped(&sizing);
    says(
        &text,
        &[
            "is 1 − σ of the Universal Scalability Law",
            "This assumes that servers contend",
            "--efficiency",
        ],
    );
    let json = json(&sizing);
    let number = |pointer: &str| json.pointer(pointer).unwrap().as_f64().unwrap();
    let (efficiency, sigma) = (number("/efficiency/value"), number("/law/contention/value"));
    assert!((efficiency - (1.0 - sigma)).abs() < 1e-12 && efficiency < 1.0);
    assert!(number("/efficiency/half_width") > 0.0);
}

/// What grows in proportion, or not at all, and varies by 1 %.
#[test]
fn an_efficiency_of_the_law_is_a_share_whatever_was_measured() {
    let mut planned = 0;
    for seed in 0..50_u32 {
        for exponent in [0.0, 1.0] {
            let point = |instances: u32| {
                let n = f64::from(instances);
                let luck = f64::from((seed * 37 + instances * instances * 53) % 101) / 50.0 - 1.0;
                let tps = 1000.0 * n.powf(exponent) * (1.0 + 0.01 * luck);
                (instances, tps, 10.0)
            };
            let points: Vec<_> = (1..=8).map(point).collect();
            match Sizing::of(&server(&points, 1), &question(None)) {
                Ok(sizing) => {
                    let efficiency = json(&sizing)["efficiency"]["value"].as_f64().unwrap();
                    assert!(
                        efficiency > 0.0 && efficiency <= 1.0,
                        "{seed}: {efficiency}"
                    );
                    planned += 1;
                }
                // Nobody gave one, so nobody is told that it is wrong.
                Err(error) => assert!(error.remedy().is_some(), "{seed}: {error}"),
            }
        }
    }
    assert!(planned > 40, "{planned}");
}

#[test]
fn what_tells_no_efficiency_wants_one() {
    let refused = |result: &RunResult| {
        let error = Sizing::of(result, &question(None)).unwrap_err();
        assert!(error.remedy().is_some(), "{error}");
        // With one there is a plan all the same.
        Sizing::of(result, &question(Some(0.9))).unwrap();
        error.to_string()
    };
    let words = refused(&server(&PAPER[..1], 3));
    assert!(words.contains("all trials ran one instance"), "{words}");
    let words = refused(&server(&PAPER[..3], 3));
    assert!(words.contains("only 3 were measured"), "{words}");
    let flat = PAPER.map(|(instances, _, mean_ms)| (instances, 2231.0, mean_ms));
    assert!(!refused(&server(&flat, 1)).is_empty());
}

#[test]
fn what_is_not_there_is_told() {
    let mut result = server(&PAPER, 1);
    result.design.trials = 9;
    result.trials[0].outcome = Outcome::Failed {
        reason: "the server died".into(),
    };
    result.trials[7].setup.planned.load.rate = Some(5500.0);
    let text = unwrapped(&Sizing::of(&result, &question(Some(0.9))).unwrap());
    says(
        &text,
        &[
            "The savings are unknown, because a single instance was not measured.",
            "instances=1 failed, and is excluded: the server died",
            "8 of 9 planned trials were run: trial 9 is missing.",
            "The load with 8 instances was an open loop",
            "Only one trial with 2, 3, 4, 5, 6, 7, 8 instances",
        ],
    );
    let wrong = [("threads".to_owned(), "4".to_owned())];
    let asked = Question {
        point: &wrong,
        ..question(Some(0.9))
    };
    let error = Sizing::of(&result, &asked).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`threads` is not varied; what is: topology.instances"
    );
    for trial in &mut result.trials {
        trial.transactions.per_s = None;
    }
    let nothing = Sizing::of(&result, &question(Some(0.9))).unwrap_err();
    assert_eq!(nothing, AnswerError::NoThroughput(Vec::new()));
}

#[test]
fn hostile_words_stay_words_in_a_plan() {
    let mut result = server(&PAPER, 1);
    let bad = "</script><img src=x>|\u{1b}[2J";
    result.design.axes.push("load.threads".into());
    let more = result.trials.clone();
    result.trials.extend(more);
    for (trial, value) in result.trials.iter_mut().zip(0_u32..) {
        let value = if value < 8 { bad } else { "2" };
        set(trial, "load.threads", typed(value));
    }
    let sizing = Sizing::of(&result, &question(Some(0.9))).unwrap();
    let html = sizing.html().unwrap();
    assert!(!html.contains("<img") && html.matches("</script>").count() == 3);
    assert!(!sizing.text(Layout::DEFAULT).contains('\u{1b}'));
}

//! Two sides against each other, on results made without a server: those of the
//! virtualisation paper.

#![allow(
    clippy::unwrap_used,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use common::made::{Made, made};
use common::{golden, outline, typed};
use measure::finding::{Finding, Level};
use measure::result::{RunResult, Table};
use measure::setup::Outcome;
use measure::warning::Warning;
use plan::Point;
use report::Answer;
use report::compare::{IntendedSetting, ResultComparison, Side};
use report::text::Layout;

/// Threads, throughput and latency of hardware and virtual machine, as the paper has them.
const PAPER: [(&str, [f64; 2], [f64; 2]); 4] = [
    ("4", [320.0, 38.0], [305.0, 39.0]),
    ("8", [330.0, 52.0], [316.0, 54.0]),
    ("16", [329.0, 114.0], [313.0, 123.0]),
    ("32", [324.0, 318.0], [305.0, 333.0]),
];

/// One side, each point so many times.
fn platform(side: usize, repeats: u32) -> RunResult {
    let mut trials = Vec::new();
    for repeat in 1..=repeats {
        let luck = 1.0 + (f64::from(repeat) - f64::from(repeats + 1) / 2.0) * 0.002;
        for (threads, hardware, machine) in &PAPER {
            let [tps, mean_ms] = if side == 0 { *hardware } else { *machine };
            trials.push((threads, repeat, tps * luck, mean_ms / luck));
        }
    }
    let made_trials: Vec<Made<'_>> = trials
        .iter()
        .map(|(_, repeat, tps, mean_ms)| Made {
            point: &[],
            repeat: *repeat,
            tps: *tps,
            mean_ms: *mean_ms,
        })
        .collect();
    let mut result = made("What does virtualisation cost?", &made_trials);
    for (trial, (threads, ..)) in result.trials.iter_mut().zip(&trials) {
        trial.setup.planned.point = Point::from([("load.threads", typed(threads))]);
        trial.setup.planned.load.threads = threads.parse().unwrap();
    }
    result.design.axes = vec!["load.threads".into()];
    result
}

/// Two results of different times.
fn compare(base: &RunResult, new: &RunResult) -> ResultComparison {
    let side = |name, result| Side {
        name,
        result,
        variant: None,
    };
    ResultComparison::of(&side("HW", base), &side("VM", new), &[])
}

/// Both platforms as the variants of one study, which ran them in blocks.
fn study(repeats: u32) -> RunResult {
    let (mut both, machine) = (platform(0, repeats), platform(1, repeats));
    both.trials.extend(machine.trials);
    both.design.axes.insert(0, "variant".into());
    both.design.trials *= 2;
    let half = both.trials.len() / 2;
    for (place, trial) in both.trials.iter_mut().enumerate() {
        let name = if place < half { "HW" } else { "VM" };
        trial
            .setup
            .planned
            .point
            .insert("variant".into(), name.into());
        // The sides take turns at who is first.
        trial.setup.planned.number = ((trial.setup.planned.number * 2 + u32::from(place >= half))
            ^ (trial.setup.planned.repeat % 2))
            - 1;
        if place >= half {
            let luck = 1.0 + (f64::from(trial.setup.planned.repeat * 7 % 5) - 2.0) * 0.001;
            trial.transactions.per_s.as_mut().unwrap().value *= luck;
            let times = trial.response_ms.as_mut().unwrap();
            for time in [&mut times.mean.value, &mut times.p95, &mut times.p99] {
                *time /= luck;
            }
        }
    }
    both
}

fn variants(result: &RunResult) -> ResultComparison {
    let side = |name| Side {
        name,
        result,
        variant: Some(name),
    };
    ResultComparison::of(&side("HW"), &side("VM"), &[])
}

/// What the CSV has in a column of each line.
fn column(both: &ResultComparison, name: &str) -> Vec<String> {
    let csv = both.csv();
    let cells = |line: &str| -> Vec<String> { line.split(',').map(str::to_owned).collect() };
    let mut lines = csv.lines().map(cells);
    let heads = lines.next().unwrap();
    let place = heads.iter().position(|head| head == name).unwrap();
    lines.map(|line| line[place].clone()).collect()
}

/// The text on one line.
fn unwrapped(both: &ResultComparison) -> String {
    let text = both.text(Layout::DEFAULT);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn variants_of_a_study_have_verdicts() {
    let study = study(5);
    let both = variants(&study);
    golden("compare.txt", &both.text(Layout::DEFAULT));
    let text = both.text(Layout::DEFAULT);
    let row = |name: &str| -> Vec<&str> {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        let cells = line[name.len()..].split("  ").map(str::trim);
        let cells = cells.filter(|cell| !cell.is_empty());
        cells.map(|cell| cell.split(" ±").next().unwrap()).collect()
    };
    assert_eq!(row("threads "), ["4", "8", "16", "32"]);
    assert_eq!(row("HW tps "), ["320.0", "330.0", "329.0", "324.0"]);
    assert_eq!(row("VM tps "), ["305.0", "316.0", "313.0", "305.0"]);
    assert_eq!(row("tps change % "), ["-4.69", "-4.24", "-4.86", "-5.86"]);
    assert_eq!(
        row("response mean change % "),
        ["+2.63", "+3.85", "+7.89", "+4.72"]
    );
    // One sign convention, unless the study asks for the paper's.
    assert!(!text.contains("delta"), "{text}");
    let words = unwrapped(&both);
    for said in [
        "Throughput: slower at 4 of 4 points by 4.24 to 5.86 %; -4.92 % (",
        "95th percentile: slower at 4 of 4 points by 2.63 to 7.89 %",
        "dyno recorded no other differences.",
    ] {
        assert!(words.contains(said), "{said}\n{text}");
    }
    // In a closed loop it is the same number as the throughput.
    assert!(!words.contains("Mean response time:"), "{text}");
    let decisions = column(&both, "decision");
    assert_eq!(decisions[..4], ["slower", "no_verdict", "slower", "slower"]);
    // Four points first, then eight percentiles: the smallest p at the strictest level.
    let levels = column(&both, "confidence");
    let level = |of: &str| -> f64 { of.parse().unwrap() };
    assert!(levels.iter().all(|of| level(of) >= 0.95), "{levels:?}");
    assert!(levels.iter().any(|of| level(of) > 0.993), "{levels:?}");
    let markdown = both.markdown();
    assert!(
        markdown.contains("| threads | 4 | 8 | 16 | 32 |"),
        "{markdown}"
    );
    let csv = both.csv();
    assert!(csv.contains("\r\n4,tps,320,"), "{csv}");
    let html = both.html().unwrap();
    for place in [
        "id=\"sweep-tps\"",
        "id=\"sweep-ms\"",
        "id=\"curves\"",
        "tps change %",
    ] {
        assert!(html.contains(place), "{place}");
    }
    let json: serde_json::Value = serde_json::from_str(&both.json().unwrap()).unwrap();
    assert_eq!(json["interleaved"], true);
    let found = &json["points"][0]["numbers"][0]["comparison"];
    let change = &found["change_pct"]["value"];
    assert!((change.as_f64().unwrap() + 4.6875).abs() < 1e-3, "{change}");
    assert!(found["change_pct"]["interval"]["low"].as_f64().unwrap() < -4.6875);
    assert_eq!(found["decision"]["decision"], "slower");
    assert_eq!(json["averages"][0]["points"], 4);
}

/// Two result directories: whatever they show may be the time's.
#[test]
fn results_of_different_times_get_no_verdict() {
    let both = compare(&platform(0, 5), &platform(1, 5));
    golden("compare_apart.txt", &both.text(Layout::DEFAULT));
    assert!(
        column(&both, "decision")
            .iter()
            .all(|of| of == "no_verdict")
    );
    assert!(
        column(&both, "change_pct.low")
            .iter()
            .all(|of| !of.is_empty())
    );
    assert!(column(&both, "p_adjusted").iter().all(String::is_empty));
    let words = unwrapped(&both);
    for said in [
        "HW and VM ran at different times, not interleaved.",
        "[[variant]]",
        "dyno run STUDY",
    ] {
        assert!(words.contains(said), "{said}\n{words}");
    }
    for verdict in ["slower", "faster", "equivalent", "undecided"] {
        assert!(!words.contains(verdict), "{verdict}\n{words}");
    }
    let json: serde_json::Value = serde_json::from_str(&both.json().unwrap()).unwrap();
    let decision = &json["points"][0]["numbers"][0]["comparison"]["decision"];
    assert_eq!(decision["reason"]["why"], "not_interleaved");
}

/// The sign of the paper, where a study names it.
#[test]
fn the_papers_own_delta_is_shown_where_a_study_asks_for_it() {
    let mut study = study(5);
    study.design.delta_as_in = Some("Virtualizing MySQL".into());
    let text = variants(&study).text(Layout::DEFAULT);
    for (name, values) in [
        ("tps change %", ["-4.69", "-4.24", "-4.86", "-5.86"]),
        (
            "tps delta % (Virtualizing MySQL)",
            ["+4.69", "+4.24", "+4.86", "+5.86"],
        ),
        (
            "response mean delta % (Virtualizing MySQL)",
            ["-2.63", "-3.85", "-7.89", "-4.72"],
        ),
    ] {
        let line = text.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name}\n{text}"));
        let cells: Vec<&str> = line[name.len()..].split_whitespace().collect();
        assert_eq!(cells, values, "{name}");
    }
}

/// In an open loop the throughput is the rate, so the response time is the test.
#[test]
fn at_a_rate_the_mean_response_time_is_tested_first() {
    let mut study = study(5);
    for trial in &mut study.trials {
        trial.setup.planned.load.rate = Some(300.0);
    }
    let both = variants(&study);
    let decisions = column(&both, "decision");
    assert_eq!(decisions[..4], ["no_verdict", "slower", "slower", "slower"]);
    let words = unwrapped(&both);
    assert!(
        words.contains("Mean response time: slower at 4 of 4"),
        "{words}"
    );
    assert!(!words.contains("Throughput:"), "{words}");
    let json: serde_json::Value = serde_json::from_str(&both.json().unwrap()).unwrap();
    let reason = &json["points"][0]["numbers"][0]["comparison"]["decision"]["reason"];
    assert_eq!(reason["why"], "arrival_rate");
}

/// Points that share their blocks' noise are no independent evidence: with all of the noise
/// in the blocks of the new side, the average is no surer than a point.
#[test]
fn an_average_over_points_is_no_surer_than_their_blocks() {
    let mut study = study(5);
    for trial in &mut study.trials {
        if trial.setup.planned.point["variant"] == "VM".into() {
            let luck = [0.97, 1.03, 1.0, 0.99, 1.01][trial.setup.planned.repeat as usize - 1];
            trial.transactions.per_s.as_mut().unwrap().value *= luck;
        }
    }
    let json: serde_json::Value = serde_json::from_str(&variants(&study).json().unwrap()).unwrap();
    let width = |change: &serde_json::Value| {
        let end = |name| change["interval"][name].as_f64().unwrap();
        end("high") - end("low")
    };
    let log = &json["points"][0]["numbers"][0]["comparison"]["log_ratio"];
    let alone = 2.0 * 2.776 * 100.0 * log["error"].as_f64().unwrap();
    let average = width(&json["averages"][0]["change_pct"]);
    assert!(average > 0.9 * alone, "{average} {alone}");
}

/// Blocks that all ran one side first do not balance an effect of the order.
#[test]
fn one_order_in_every_block_is_told() {
    let mut study = study(3);
    assert!(!unwrapped(&variants(&study)).contains("in every block"));
    for trial in &mut study.trials {
        trial.setup.planned.number = trial.setup.planned.repeat * 2
            + u32::from(trial.setup.planned.point["variant"] == "HW".into());
    }
    let words = unwrapped(&variants(&study));
    assert!(words.contains("VM ran before HW in every block"), "{words}");
}

#[test]
fn what_is_missing_on_a_side_is_shown_as_missing() {
    let (hardware, mut machine) = (platform(0, 3), platform(1, 3));
    machine
        .trials
        .retain(|trial| trial.setup.planned.load.threads != 16);
    machine.trials[0].outcome = Outcome::Failed {
        reason: "no memory".into(),
    };
    let both = compare(&hardware, &machine);
    let words = unwrapped(&both);
    for said in [
        "VM has no trials at threads=16.",
        "VM: threads=4, repeat 1 failed, and is excluded: no memory",
        "VM: 9 of 12 planned trials were run",
        "Throughput: -4.84 % (-5.31 to -4.36) on average; no verdict: not interleaved.",
    ] {
        assert!(
            words.contains(said),
            "{said}\n{}",
            both.text(Layout::DEFAULT)
        );
    }
    assert!(words.contains("one side has no trial that measured this"));
    let line = both.text(Layout::DEFAULT);
    let line = line
        .lines()
        .find(|line| line.starts_with("VM tps"))
        .unwrap();
    assert!(line.contains('–'), "{line}");
}

#[test]
fn single_runs_have_a_change_and_no_verdict() {
    let study = study(1);
    let both = variants(&study);
    assert!(
        column(&both, "decision")
            .iter()
            .all(|of| of == "no_verdict")
    );
    assert!(column(&both, "change_pct.low").iter().all(String::is_empty));
    assert!(column(&both, "change_pct")[0].starts_with("-4.687"));
    let needed = column(&both, "repeats_needed");
    assert_eq!(needed[0], "5");
    assert!(
        needed
            .iter()
            .all(|of| of.is_empty() || of.parse::<u32>().unwrap() >= 5)
    );
    let words = unwrapped(&both);
    for said in [
        "Throughput: -4.92 % on average; no verdict from a single run: at least 5 repeats",
        "run-to-run variation is unknown",
        "tps change % -4.69 -4.24 -4.86 -5.86",
    ] {
        assert!(words.contains(said), "{said}\n{words}");
    }
    assert!(!words.contains("slower"), "{words}");
}

#[test]
fn a_percentile_of_few_transactions_is_not_compared() {
    let (mut hardware, machine) = (platform(0, 5), platform(1, 5));
    for trial in &mut hardware.trials {
        trial.transactions.count = 336;
    }
    let csv = compare(&hardware, &machine).csv();
    let of = |number: &'static str| csv.lines().filter(move |line| line.contains(number));
    assert_eq!(of("response_ms.p99").count(), 4);
    let few = |line: &str| line.contains("fewer than 10 transactions");
    assert!(of("response_ms.p99").all(few), "{csv}");
    assert!(!of("response_ms.p95").any(few), "{csv}");
}

#[test]
fn the_same_twice_is_equivalent() {
    let mut study = study(5);
    for trial in &mut study.trials {
        trial
            .setup
            .planned
            .point
            .insert("variant".into(), "HW".into());
    }
    let half = study.trials.len() / 2;
    let same: Vec<_> = study.trials[..half].to_vec();
    for (trial, same) in study.trials[half..].iter_mut().zip(same) {
        *trial = same;
        trial
            .setup
            .planned
            .point
            .insert("variant".into(), "VM".into());
    }
    let both = variants(&study);
    let words = unwrapped(&both);
    assert!(
        words.contains("Throughput: equivalent (within ±2 %) at 4 of 4 points; 0.00 % ("),
        "{words}"
    );
    let decisions = column(&both, "decision");
    assert_eq!(
        decisions[..4],
        ["equivalent", "no_verdict", "equivalent", "equivalent"]
    );
}

#[test]
fn what_else_differs_is_listed() {
    let (mut hardware, mut machine) = (platform(0, 3), platform(1, 3));
    machine.environment.virtualisation = Some("KVM".into());
    machine.environment.started = "2025-01-01T00:00:00Z".into();
    for (result, pool, port) in [(&mut hardware, "1G", "3501"), (&mut machine, "4G", "3502")] {
        for trial in &mut result.trials {
            let mut instance = common::scale_up::scale_up(1).result.trials[0].instances[0].clone();
            instance.settings = vec![
                ("innodb_buffer_pool_size".into(), pool.into()),
                ("innodb_io_capacity".into(), port.into()),
            ];
            trial.instances = vec![instance];
        }
    }
    machine
        .trials
        .iter_mut()
        .for_each(|trial| trial.setup.planned.load.warmup = std::time::Duration::from_secs(99));
    let side = |name, result| Side {
        name,
        result,
        variant: None,
    };
    let intended = |name: &str, base: Option<&str>, new: Option<&str>| IntendedSetting {
        name: name.to_owned(),
        base: base.map(str::to_owned),
        new: new.map(str::to_owned),
    };
    let intended = [
        intended("innodb_buffer_pool_size", Some("1G"), Some("4G")),
        // A server reports only what is not its default.
        intended("innodb_flush_log_at_trx_commit", None, Some("1")),
    ];
    let both = ResultComparison::of(&side("HW", &hardware), &side("VM", &machine), &intended);
    let text = both.text(Layout::DEFAULT);
    let (intended, others) = text.split_once("Other differences\n").unwrap();
    let (_, intended) = intended.split_once("Intended differences\n").unwrap();
    assert!(intended.contains("innodb_buffer_pool_size") && !intended.contains("io_capacity"));
    let flush = intended.lines().find(|line| line.contains("trx_commit"));
    let flush: Vec<&str> = flush.unwrap().split_whitespace().collect();
    assert_eq!(
        flush,
        ["server", "innodb_flush_log_at_trx_commit", "default", "1"]
    );
    for word in [
        "Virtualization",
        "KVM",
        "innodb_io_capacity",
        "Warm-up",
        "99 s",
    ] {
        assert!(others.contains(word), "{word}\n{text}");
    }
    assert!(!others.contains("Started"), "{text}");
}

#[test]
fn other_work_is_told() {
    let (one, mut other) = (platform(0, 1), platform(1, 1));
    assert_eq!(
        report::workload_differences(&one, &other),
        Vec::<String>::new()
    );
    for trial in &mut other.trials {
        trial.setup.planned.load.distribution.value = "zipfian".into();
        trial.setup.planned.load.protocol = plan::Protocol::Text;
    }
    assert_eq!(
        report::workload_differences(&one, &other),
        [
            "load.distribution: uniform / zipfian",
            "load.protocol: prepared / text"
        ]
    );
}

/// Two variants of one study, whose trials took turns on a host that gets slower.
#[test]
fn variants_of_one_study_are_compared_in_pairs() {
    let mut trials = Vec::new();
    for repeat in 1..=5_u32 {
        for (variant, factor) in [("ext4", 1.0), ("xfs", 0.95)] {
            let tps = (1000.0 - 100.0 * f64::from(repeat)) * factor;
            trials.push((
                variant,
                Made {
                    point: &[],
                    repeat,
                    tps,
                    mean_ms: 16_000.0 / tps,
                },
            ));
        }
    }
    let names: Vec<&str> = trials.iter().map(|(variant, _)| *variant).collect();
    let all: Vec<Made<'_>> = trials.into_iter().map(|(_, made)| made).collect();
    let mut result = made("File systems", &all);
    result.design.axes = vec!["variant".into()];
    result.design.tables = vec![Table {
        rows: "variant".into(),
        columns: vec!["tps".into()],
    }];
    for (trial, name) in result.trials.iter_mut().zip(names) {
        trial.setup.planned.point = Point::from([("variant", name)]);
    }
    let report = report::Report {
        result: &result,
        series: &[],
        monitors: &[],
        faults: &[],
        study: None,
    };
    for text in [outline(&result), report.markdown(), report.html().unwrap()] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "xfs against ext4",
            "tps change %",
            "-5.00",
            "over 5 blocks",
            "slower",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }
}

/// Three variants, of which nothing tells the second from the first: a section that holds
/// each against the first, corrected for all of them at once.
#[test]
fn more_variants_are_held_against_the_first() {
    let mut trials = Vec::new();
    let mut names = Vec::new();
    for repeat in 1..=5_u32 {
        for (variant, factor) in [("ext4", 1.0), ("btrfs", 1.001), ("xfs", 0.9)] {
            let luck = f64::from((names.len() as u32).pow(2) % 7) * 2.0;
            let tps = 1000.0 * factor + luck;
            trials.push(Made {
                point: &[],
                repeat,
                tps,
                mean_ms: 16_000.0 / tps,
            });
            names.push(variant);
        }
    }
    let mut result = made("File systems", &trials);
    result.design.axes = vec!["variant".into()];
    for (trial, name) in result.trials.iter_mut().zip(names) {
        trial.setup.planned.point = Point::from([("variant", name)]);
    }
    let text = outline(&result);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "Variants against ext4",
        "btrfs against ext4. Throughput: equivalent (within ±2 %).",
        "xfs against ext4. Throughput: slower by 9.96 %.",
        "dyno compare RESULT --base 'ext4' --new NAME",
        "name metric ext4 variant change % verdict",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    result
        .trials
        .retain(|trial| trial.setup.planned.point["variant"] == "ext4".into());
    assert!(!outline(&result).contains("against ext4"));
}

#[test]
fn hostile_words_stay_words_in_a_comparison() {
    let bad = "</script><img src=x>|\u{1b}[2J";
    let (one, other) = (platform(0, 1), platform(1, 1));
    let side = |name, result| Side {
        name,
        result,
        variant: None,
    };
    let both = ResultComparison::of(&side("HW", &one), &side(bad, &other), &[]);
    let html = both.html().unwrap();
    assert!(!html.contains("<img") && html.matches("</script>").count() == 3);
    assert!(!both.text(Layout::DEFAULT).contains('\u{1b}'));
}

#[test]
fn what_the_reports_of_both_warn_of_is_said_again() {
    let (mut hardware, mut machine) = (platform(0, 2), platform(1, 2));
    let saturated = Warning::GeneratorSaturated {
        worker: 0,
        running: 0.99,
    };
    hardware.trials[0].warnings = vec![Warning::NoWarmup, saturated];
    hardware.trials[1].warnings = vec![Warning::NoWarmup];
    machine.findings = vec![Finding {
        id: "governor".into(),
        of: "host".into(),
        level: Level::Severe,
        observed: String::new(),
        why: String::new(),
        source: String::new(),
        remedy: None,
    }];
    machine.trials[3].setup.planned.load.rate = Some(120.0);
    let text = unwrapped(&compare(&hardware, &machine));
    for words in [
        "HW: 2 of 8 trials have warnings: no warm-up (2), generator saturated (1).",
        "VM: Conditions that distort measurements: governor.",
        "had a fixed arrival rate, which determines their throughput",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

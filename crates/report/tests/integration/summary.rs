//! What a terminal shows of a study: at most a screen, however many trials it has.

use crate::common::made::{Made, made};
use crate::common::scale_up::incomplete;
use crate::common::{flat, golden, outline, says};
use measure::result::RunResult;
use measure::setup::Outcome;
use measure::verdict::{Bottleneck, Verdict};
use measure::warning::Warning;
use report::summary;
use report::text::Layout;

#[test]
fn summary_of_a_study() {
    golden(
        "summary.txt",
        &summary::sheet(&incomplete().result, false).text(Layout::DEFAULT),
    );
}

/// 40 points, 3 trials each, all with a verdict and several warnings, some failed.
fn large() -> RunResult {
    let users: Vec<String> = (1..=20).map(|users| users.to_string()).collect();
    let points = users.iter().flat_map(|users| {
        let variants = ["plain", "tuned"].into_iter();
        variants.map(move |variant| [("variant", variant), ("load.threads", &**users)])
    });
    let points: Vec<_> = points.collect();
    let trials = (1..=3).flat_map(|repeat| {
        let points = points.iter();
        points.map(move |point| (&point[..], repeat, 1000.0, 10.0))
    });
    let trials: Vec<_> = trials.collect();
    let mut result = made("Large", &trials);
    for (place, trial) in result.trials.iter_mut().enumerate() {
        trial.verdict = Some(Verdict {
            bound: match place % 3 {
                0 => Bottleneck::Nothing,
                _ => Bottleneck::Cpu,
            },
            evidence: format!("CPUs {place} % busy"),
        });
        trial.warnings = vec![
            Warning::GeneratorWaited {
                worker: 0,
                waiting: 0.3,
            },
            Warning::NoWarmup,
        ];
        if place % 20 == 0 {
            let reason = "server 2 died: ".repeat(40);
            trial.outcome = Outcome::Failed { reason };
        }
    }
    result
}

#[test]
fn many_trials_are_at_most_a_screen() {
    let result = large();
    // Narrow windows are longer.
    for (width, lines) in [(60, 55), (80, 45)] {
        let layout = Layout {
            width,
            ..Layout::DEFAULT
        };
        let text = summary::sheet(&result, false).text(layout);
        assert!(text.lines().count() <= lines, "{text}");
        let all = [
            "80 of 120 trials: CPU-bound",
            "all 120 trials:",
            "and 28 more",
        ];
        says(flat(&text), &all);
        says(flat(&text), &["The report and --verbose"]);
    }
    // All of it is a trial a line and more.
    assert!(outline(&result).lines().count() > 240);
}

/// A benchmark with all that can be said of one: an overloaded open loop on a busy host.
fn benchmark() -> RunResult {
    let mut result = made("oltp_read_write", &[(&[], 1, 1000.0, 10.0)]);
    result.design.trials = 1;
    let trial = &mut result.trials[0];
    trial.setup.planned.load.rate = Some(3000.0);
    trial.service_ms = trial.response_ms;
    trial.verdict = Some(Verdict {
        bound: Bottleneck::OtherPrograms,
        evidence:
            "CPUs 100 % busy; of that time, rustc 50 %, cc1 23 %, a-program-with-a-long-name \
                   11 %, dyno with the engine 16 %"
                .to_owned(),
    });
    trial.warnings = vec![
        Warning::Overloaded {
            backlog_end: 13_802,
            growth: 12_000,
        },
        Warning::OtherPrograms {
            share: 0.84,
            busiest: "rustc 92 % of one CPU, cc1 68 % of one CPU, ld 44 % of one CPU".to_owned(),
        },
        Warning::Short { measured_s: 8.0 },
        Warning::NoWarmup,
    ];
    let missing = ["a", "b"].map(|label| Warning::AgentMissing {
        label: label.to_owned(),
        since_s: 1.0,
    });
    trial.warnings.extend(missing);
    result
}

#[test]
fn a_benchmark_is_at_most_fifteen_lines_and_ends_with_its_result() {
    let result = benchmark();
    let layout = Layout {
        width: 80,
        ..Layout::DEFAULT
    };
    let text = summary::sheet(&result, false).text(layout);
    golden("benchmark.txt", &text);
    assert!(text.lines().count() <= 15, "{text}");
    let (_, headline) = text.trim_end().rsplit_once("\n\n").unwrap();
    assert!(
        headline.starts_with("Only 1,000 of 3,000/s were served."),
        "{text}"
    );
    let quiet = summary::sheet(&result, true).text(layout);
    assert_eq!(quiet.trim_end(), headline);
}

/// Whether it has repeats or more points, and before growth can be told.
#[test]
fn an_overloaded_open_loop_says_so_first() {
    let repeats: Vec<Made<'_>> = (1..=4).map(|n| (&[][..], n, 1000.0, 10.0)).collect();
    let points: [Made<'_>; 2] = [
        (&[("load.threads", "1")], 1, 900.0, 10.0),
        (&[("load.threads", "2")], 1, 1000.0, 10.0),
    ];
    for (trials, at) in [(&repeats[..], ""), (&points, " at threads=2")] {
        let mut result = made("oltp_read_write", trials);
        for trial in &mut result.trials {
            trial.setup.planned.load.rate = Some(3000.0);
            trial.generator.backlog_end = Some(2000 * trial.measured_s as u64);
            trial.warnings = vec![Warning::NoWarmup];
        }
        let overloaded = Warning::Overloaded {
            backlog_end: 2000,
            growth: 1000,
        };
        let last = result.trials.last_mut().unwrap();
        last.warnings
            .extend([Warning::Cancelled { count: 1 }, overloaded]);
        let text = summary::sheet(&result, false).text(Layout::DEFAULT);
        let first = format!("Only 1,000 of 3,000/s were served{at}. ");
        assert!(text.starts_with(&first), "{text}");
        let one_line = flat(&text);
        let (_, warnings) = one_line.split_once("- Warning, ").unwrap();
        assert!(warnings.contains("cannot keep up"), "{text}");
        assert!(warnings.contains("- and 1 more kind of warnings"), "{text}");
        for trial in &mut result.trials {
            trial.generator.backlog_end = Some(3);
            trial.warnings.clear();
        }
        let text = summary::sheet(&result, false).text(Layout::DEFAULT);
        assert!(!text.contains("were served"), "{text}");
    }
}

#[test]
fn what_no_variant_has_is_refused_once() {
    let mut result = large();
    result
        .trials
        .retain(|trial| trial.setup.planned.load.threads <= 3);
    for trial in &mut result.trials {
        trial.outcome = Outcome::Completed;
    }
    let text = outline(&result);
    assert_eq!(text.matches("No scalability law").count(), 1, "{text}");
    // The terminal has results, not what was not done.
    let text = summary::sheet(&result, false).text(Layout::DEFAULT);
    assert!(!text.contains("No scalability law"), "{text}");
}

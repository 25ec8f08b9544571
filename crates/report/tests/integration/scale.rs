//! How far a study's system scales, in every kind of report.

use crate::common::made::made;
use crate::common::{self, flat, outline, report_of, says, set};
use measure::result::RunResult;
use report::Answer;

/// Throughput by users by the law of which the numbers are: λ = 100, σ = 0.05, κ = 0.002.
fn by_law(users: u32) -> f64 {
    let n = f64::from(users);
    100.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.002 * n * (n - 1.0))
}

fn study(sizes: &[&str], repeats: u32, tps: impl Fn(u32) -> f64) -> RunResult {
    let points: Vec<Vec<(&str, &str)>> = sizes
        .iter()
        .map(|size| vec![("load.threads", *size)])
        .collect();
    let trials = points.iter().flat_map(|point| {
        let tps = &tps;
        (1..=repeats).map(move |repeat| {
            let users: u32 = point[0].1.parse().unwrap();
            // Repeats differ by 1 %, always the same way.
            let luck = 1.0 + 0.01 * f64::from((users + repeat) % 3) - 0.01;
            (
                &point[..],
                repeat,
                tps(users) * luck,
                1000.0 * f64::from(users) / tps(users),
            )
        })
    });
    made("How many users?", &trials.collect::<Vec<_>>())
}

const SIZES: [&str; 7] = ["1", "2", "4", "8", "16", "32", "64"];

fn reports(result: &RunResult) -> [String; 3] {
    let report = report_of(result);
    [outline(result), report.markdown(), report.html().unwrap()]
}

/// The peak of the law is at √(0.95 / 0.002) = 21.8 users.
#[test]
fn the_law_and_its_peak_are_in_every_form_of_the_report() {
    let result = study(&SIZES, 3, by_law);
    for text in reports(&result) {
        assert!(text.contains("Scalability"), "{text}");
        assert!(text.contains("peaks at 21.") || text.contains("peaks at 22."));
        assert!(text.contains("Amdahl"));
    }
    let [.., html] = reports(&result);
    assert!(html.contains("id=\"scale\"") && html.contains("\"usl\":["));
    let csv = report::scale::csv(&result).unwrap();
    for (line, value) in [
        (",usl,alone_per_s,,", 100.0),
        (",usl,contention,,", 0.05),
        (",usl,coherency,,", 0.002),
        (",usl,peak_at,,", 475.0_f64.sqrt()),
        (",usl,tps,16,", by_law(16)),
    ] {
        let found = csv.lines().find_map(|found| found.strip_prefix(line));
        let found: f64 = found.unwrap().split(',').next().unwrap().parse().unwrap();
        // The geometric mean of repeats lies a little below their arithmetic mean.
        assert!((found / value - 1.0).abs() < 1e-4, "{line}{found}");
    }
}

#[test]
fn a_law_that_tells_nothing_is_refused_with_its_reason() {
    let few = study(&SIZES[..5], 3, by_law);
    let reason = "only 5 were measured";
    for text in reports(&few) {
        let one_line = flat(&text);
        assert!(one_line.contains(reason), "{text}");
        assert!(!text.contains("id=\"scale\"") && !text.contains("R²"));
    }
    let csv = report::scale::csv(&few).unwrap();
    assert!(csv.contains("usl,none") && csv.contains(reason), "{csv}");
    let jumps = study(&SIZES, 1, |users| {
        if users.is_multiple_of(4) {
            100.0
        } else {
            900.0
        }
    });
    let text = outline(&jumps);
    assert!(text.contains("No scalability law was fitted"), "{text}");
}

#[test]
fn what_grows_in_proportion_is_said_to_and_costs_nothing_below_0() {
    // The small sizes a little less, which the law's best fit takes for σ below 0.
    let result = study(&SIZES, 3, |users| {
        let held_back = if users < 8 { 0.99 } else { 1.0 };
        100.0 * f64::from(users) * held_back
    });
    let text = outline(&result);
    let text = flat(&text);
    says(
        &text,
        &["It scales linearly, with no measurable contention"],
    );
    let csv = report::scale::csv(&result).unwrap();
    says(
        &csv,
        &[
            ",usl,contention,,0,",
            ",usl,coherency,,0,",
            ",amdahl,serial,,0,",
        ],
    );
}

#[test]
fn what_grows_by_more_than_in_proportion_has_no_law() {
    let result = study(&SIZES, 1, |users| 100.0 * f64::from(users).powf(1.2));
    let text = outline(&result);
    let text = flat(&text);
    says(
        &text,
        &["No scalability law was fitted: throughput grows more than linearly"],
    );
}

/// Every variant has a law of its own; one may have none.
#[test]
fn each_variant_scales_in_its_own_way() {
    let mut result = study(&SIZES, 1, by_law);
    let mut other = study(&SIZES[..3], 1, by_law);
    for (trial, variant) in result
        .trials
        .iter_mut()
        .map(|trial| (trial, "plain"))
        .chain(other.trials.iter_mut().map(|trial| (trial, "tuned")))
    {
        set(trial, "variant", variant);
    }
    result.trials.append(&mut other.trials);
    result.design.axes = vec!["variant".into(), "load.threads".into()];
    let text = outline(&result);
    assert!(text.contains("plain: Throughput peaks"), "{text}");
    says(&text, &["tuned: No scalability law was fitted"]);
}

#[test]
fn what_is_no_size_or_no_closed_loop_has_no_such_section() {
    let mut open = study(&SIZES, 1, by_law);
    for trial in &mut open.trials {
        trial.setup.planned.load.rate = Some(100.0);
    }
    let (other, _) = common::study(&[1, 8]);
    for result in [open, other] {
        let text = outline(&result);
        assert!(!text.contains("Scalability"), "{text}");
        assert_eq!(report::scale::csv(&result), None);
    }
}

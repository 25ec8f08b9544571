//! The history of a study, on results made without a server.

use crate::common::made::swept;
use crate::common::{flat, says};
use measure::result::RunResult;
use report::history::History;
use report::text::Layout;
use report::{Answer, Source};

/// A night's result with so many transactions per second, on this day.
fn night(day: usize, tps: f64) -> (String, RunResult) {
    let points = [(16, tps, 16_000.0 / tps)];
    let mut result = swept("Nightly", "load.threads", &points, 1, |_| 1.0);
    result.environment.started = format!("2024-01-{day:02}T02:00:00Z");
    (format!("night-{day}"), result)
}

/// Six nights of 1,000 transactions per second, then six of 900; of each level, nights differ.
fn nights() -> Vec<(String, RunResult)> {
    let tps = |place: usize| {
        let level = if place < 6 { 1000.0 } else { 900.0 };
        level + [-2.0, 2.0, 0.0][place % 3]
    };
    (0..12).map(|place| night(place + 1, tps(place))).collect()
}

fn history(nights: &[(String, RunResult)]) -> History {
    let sources = nights.iter().map(|(name, result)| Source {
        category: "",
        name,
        result,
    });
    History::of(&sources.collect::<Vec<_>>(), &[]).unwrap()
}

fn unwrapped(history: &History) -> String {
    flat(&history.text(Layout::DEFAULT))
}

fn column<'a>(csv: &'a str, name: &str) -> Vec<&'a str> {
    let mut lines = csv.lines().map(|line| line.split(','));
    let place = lines.next().unwrap().position(|head| head == name);
    let place = place.unwrap();
    lines.map(|mut line| line.nth(place).unwrap()).collect()
}

#[test]
fn a_level_begins_at_the_first_result_that_has_it_in_any_order() {
    let mut nights = nights();
    nights.reverse();
    let history = history(&nights);
    says(
        unwrapped(&history),
        &[
            "Throughput at threads=16 fell by 10.0 %, from 1,000 to 900.0 transactions/s, starting \
             2024-01-07T02:00:00Z (night-7).",
            "tps -10.0 % from here on",
        ],
    );
    let csv = history.csv();
    let names = (1..=12).map(|day| format!("night-{day}"));
    assert!(
        column(&csv, "result").into_iter().eq(names),
        "oldest first: {csv}"
    );
    let changes = column(&csv, "tps.level_change_pct");
    let change: f64 = changes[6].parse().unwrap();
    assert!((change + 10.0).abs() < 1e-9, "{csv}");
    let is_known = |change: &&&str| !change.is_empty();
    assert_eq!(changes.iter().filter(is_known).count(), 1, "{csv}");
    assert!(
        column(&csv, "response_ms.mean.level_change_pct")
            .concat()
            .is_empty(),
        "it follows from throughput: {csv}"
    );
}

#[test]
fn of_an_open_loop_the_response_time_is_tested() {
    let mut nights = nights();
    for (_, result) in &mut nights {
        result.trials[0].setup.planned.load.rate = Some(1000.0);
    }
    let text = unwrapped(&history(&nights));
    says(
        &text,
        &["Mean response time at threads=16 rose by 11.1 %, from 16.00 to 17.78 ms"],
    );
    assert!(!text.contains("Throughput at"), "{text}");
}

#[test]
fn few_results_show_no_level() {
    let nights = &nights()[..5];
    says(
        unwrapped(&history(nights)),
        &["Too few results to detect a level change: 5 of at least 6"],
    );
}

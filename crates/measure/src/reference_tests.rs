//! `docs/statistics.md` names the limits and the sources that the code has.

use std::path::Path;

use crate::digits::apart;
use crate::{change, compare, interval, little, quantile, scale, steady, until};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/statistics.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn docs_statistics_md_names_the_limits() {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let seconds = |count: usize| format!("{count} s");
    let rows = [
        (
            "share of intervals that hold the truth",
            percent(interval::CONFIDENCE),
        ),
        (
            "shortest run with an interval",
            seconds(interval::MIN_POINTS),
        ),
        (
            "transactions slower than a percentile that has a range or is compared, at least",
            quantile::FEWEST_SLOWER.to_string(),
        ),
        (
            "shortest measurement that is judged for steadiness",
            seconds(steady::MIN_SECONDS),
        ),
        (
            "shift of the mean that dates the end of a warm-up",
            percent(steady::MATTERS),
        ),
        ("drift that is told, at least", percent(steady::DRIFT)),
        (
            "chance of seeing drift where there is none",
            percent(steady::CHANCE),
        ),
        (
            "shortest level of a trial's seconds",
            seconds(change::SECONDS.shortest),
        ),
        (
            "shortest level of a history, in results",
            change::RESULTS.shortest.to_string(),
        ),
        (
            "change of level that is told of a trial, at least",
            percent(change::MATTERS),
        ),
        (
            "different sizes for a law of scaling, at least",
            scale::MIN_POINTS.to_string(),
        ),
        (
            "variance that the law has to explain",
            percent(scale::LEAST_R_SQUARED),
        ),
        (
            "chance of refusing a law of scaling that is true",
            percent(scale::misfit::CHANCE),
        ),
        (
            "what a law of scaling may miss a size by, however sure that is",
            percent(scale::misfit::MATTERS),
        ),
        (
            "farthest peak that is told, in largest sizes measured",
            scale::FARTHEST.to_string(),
        ),
        (
            "Little's law is off in a closed loop, by more than",
            format!("{} and what its edges allow", percent(little::CLOSED)),
        ),
        (
            "Little's law is off in an open loop, by more than",
            format!("{} and {} users", percent(little::OPEN), little::OPEN_USERS),
        ),
        (
            "difference between two sides that matters",
            percent(compare::LEAST),
        ),
        (
            "error rate of a family of comparisons without a difference",
            percent(compare::ERROR_RATE),
        ),
        (
            "share of cases in which the repeats needed give a verdict",
            percent(compare::POWER),
        ),
        (
            "repeats needed that are told, at most",
            apart(&compare::MOST_REPEATS.to_string()),
        ),
        (
            "repeats needed that are told after a single run, at least",
            compare::FEWEST_REPEATS.to_string(),
        ),
        (
            "first look at a trial that ends when sure",
            seconds(until::FIRST_LOOK),
        ),
        (
            "interval of a trial that ended when sure, wider by a factor of",
            until::WIDENING.to_string(),
        ),
    ];
    let expected = rows.map(|(name, value)| format!("| {name} | {value} |"));
    let page = page();
    let table: Vec<&str> = page
        .lines()
        .skip_while(|line| !line.starts_with("| limit |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert_eq!(
        table,
        expected,
        "write into the page:\n{}",
        expected.join("\n")
    );
}

/// Each source of the page is one that the code itself names.
#[test]
fn docs_statistics_md_names_the_sources_of_the_code() {
    let page = page();
    let sources = page
        .lines()
        .filter_map(|line| line.strip_prefix("- Source (`"));
    let mut count = 0;
    for line in sources {
        let (file, works) = line.split_once("`): ").unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
        let code = std::fs::read_to_string(path).unwrap();
        for work in works.split("; ") {
            let author = work.split([' ', ',']).next().unwrap();
            assert!(code.contains(author), "{file}: {work}");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

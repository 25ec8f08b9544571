//! `docs/statistics.md` names the limits and sources that the code has.

use std::path::Path;

use crate::digits::apart;
use crate::{change_point, compare, interval, little, quantile, scale, steady, until};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/statistics.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn docs_statistics_md_names_the_limits() {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let seconds = |count: usize| format!("{count} s");
    #[rustfmt::skip]
    let rows = [
        ("confidence level of intervals", percent(interval::CONFIDENCE)),
        ("shortest run with an interval", seconds(interval::MIN_POINTS)),
        ("fewest runs of a point with an interval in tables", interval::FEWEST_RUNS.to_string()),
        ("fewest transactions slower than a percentile that has a range or is compared",
            quantile::FEWEST_SLOWER.to_string()),
        ("most groups of rounds of two running servers, for intervals of response times",
            quantile::GROUPS.to_string()),
        ("shortest measurement that is tested for steady state", seconds(steady::MIN_SECONDS)),
        ("shift of the mean that marks the end of a warm-up", percent(steady::MATTERS)),
        ("smallest drift reported", percent(steady::DRIFT)),
        ("probability of reporting drift where there is none", percent(steady::CHANCE)),
        ("shortest level of a trial's seconds", seconds(change_point::SECONDS)),
        ("shortest level of a history, in results", change_point::RESULTS.to_string()),
        ("smallest change of level reported for a trial", percent(change_point::MATTERS)),
        ("fewest sizes for a scalability law", scale::MIN_POINTS.to_string()),
        ("least variance that a scalability law must explain", percent(scale::LEAST_R_SQUARED)),
        ("probability of rejecting a scalability law that holds",
            percent(scale::goodness_of_fit::CHANCE)),
        ("error at one size that never rejects a scalability law",
            percent(scale::goodness_of_fit::MATTERS)),
        ("farthest peak reported, relative to the largest size measured", scale::FARTHEST.to_string()),
        ("deviation from Little's law in a closed loop, more than",
            format!("{} and what its edges allow", percent(little::CLOSED))),
        ("deviation from Little's law in an open loop, more than",
            format!("{} and {} users", percent(little::OPEN), little::OPEN_USERS)),
        ("smallest difference that matters", percent(compare::LEAST)),
        ("family-wise error rate of comparisons", percent(compare::ERROR_RATE)),
        ("power: share of cases in which the repeats needed yield a verdict", percent(compare::POWER)),
        ("largest number of repeats needed that is reported", apart(&compare::MOST_REPEATS.to_string())),
        ("smallest number of repeats needed that is reported after a single run",
            compare::FEWEST_REPEATS.to_string()),
        ("first look at a comparison that may end early, in starts", compare::FIRST_LOOK.to_string()),
        ("most looks at a comparison by default", compare::MOST_LOOKS.to_string()),
        ("probability of a verdict below which a comparison ends undecided", percent(compare::FUTILE)),
        ("smallest carry-over that matters", percent(compare::CARRY_OVER)),
        ("first look at a trial with a target precision", seconds(until::FIRST_CHECK_S)),
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

/// Every source on the page is also named in the code.
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

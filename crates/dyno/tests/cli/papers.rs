//! The page of the papers: its claims match the studies, cover all of each paper, and take less than
//! four hours. Also runs the page's own tests.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::common::markdown::root;
use measure::column::is_known;
use plan::Plan;
use toml::{Table, Value};

/// Minimum number of starts of a point.
const FEWEST_STARTS: usize = 5;
const MOST_MINUTES: i64 = 240;
/// A column of the export that is not in dyno's own results.
const DERIVED: &str = "cpu_without_dyno";
const FEWEST_TESTABLE: usize = 40;

fn data() -> Table {
    let text = fs::read_to_string(root().join("scripts/papers.toml")).unwrap();
    text.parse().unwrap()
}

fn list<'a>(of: &'a Table, key: &str) -> &'a [Value] {
    of.get(key)
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice)
}

fn tables<'a>(of: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    list(of, key).iter().map(|one| one.as_table().unwrap())
}

fn texts<'a>(of: &'a Table, key: &str) -> Vec<&'a str> {
    let texts = list(of, key).iter();
    texts.map(|one| one.as_str().unwrap()).collect()
}

fn text<'a>(of: &'a Table, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The keys and values of a point.
fn point<'a>(of: &'a Table, key: &str) -> Vec<(&'a str, &'a str)> {
    let pairs = of.get(key).and_then(Value::as_table).into_iter().flatten();
    pairs
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap()))
        .collect()
}

fn recipes(data: &Table) -> &Table {
    data["recipe"].as_table().unwrap()
}

/// The plan of a recipe, or of its short form.
fn planned(data: &Table, name: &str, forms: &[&str]) -> Plan {
    let recipe = recipes(data).get(name).and_then(Value::as_table);
    let recipe = recipe.unwrap_or_else(|| panic!("no [recipe.{name}]"));
    let study = recipe.get("of").map_or(name, |of| of.as_str().unwrap());
    let file = fs::read_to_string(root().join(format!("studies/{study}.toml")));
    let file = file.unwrap_or_else(|error| panic!("{study}: {error}"));
    let overrides = forms.iter().flat_map(|form| texts(recipe, form));
    let overrides: Vec<_> = overrides.map(|one| one.split_once('=').unwrap()).collect();
    let parsed = study::Study::parse_with_overrides(study, &file, &overrides, engine::catalog());
    parsed.unwrap().plan()
}

/// Each side of a claim must be exactly one point, because the page compares its starts.
#[track_caller]
fn assert_is_one_point(plan: &Plan, wanted: &[(&str, &str)], what: &str) {
    let is_at = |trial: &&plan::Trial| {
        wanted.iter().all(|(key, value)| {
            let mut pairs = trial.point.iter();
            pairs.any(|(own, at)| own == key && at.to_string() == *value)
        })
    };
    let trials: Vec<_> = plan.trials.iter().filter(is_at).collect();
    let repeats: BTreeSet<_> = trials.iter().map(|trial| trial.repeat).collect();
    assert!(repeats.len() >= FEWEST_STARTS, "{what}: {wanted:?}");
    assert_eq!(trials.len(), repeats.len(), "{what}: {wanted:?}");
}

#[track_caller]
fn assert_columns(spec: &str, what: &str) {
    for column in spec.split([' ', '+', '/']).filter(|one| !one.is_empty()) {
        assert!(column == DERIVED || is_known(column), "{what}: {column}");
    }
}

fn check_claim(data: &Table, claim: &Table) {
    let says = text(claim, "says");
    let plan = planned(data, text(claim, "recipe"), &["set"]);
    let points = ["of", "over"].map(|side| [point(claim, "where"), point(claim, side)].concat());
    for wanted in points {
        assert_is_one_point(&plan, &wanted, says);
    }
    if claim.contains_key("fault") {
        for side in ["of", "over"] {
            assert!(
                ["before", "during", "after"].contains(&text(claim, side)),
                "{says}"
            );
        }
        for key in ["fault", "over_fault"] {
            let fault = claim.get(key).map_or(1, |one| one.as_integer().unwrap());
            let mut trials = plan.trials.iter();
            let has_fault = trials.any(|trial| trial.topology.faults.len() as i64 >= fault);
            assert!(has_fault, "{says}");
        }
    } else {
        assert_columns(text(claim, "column"), says);
        let over = claim.get("over_column").and_then(Value::as_str);
        assert_columns(over.unwrap_or(text(claim, "column")), says);
    }
    let is_effect = ["none", "higher", "lower"].contains(&text(claim, "kind"));
    assert!(is_effect != claim.contains_key("ratio"), "{says}");
}

#[test]
fn every_claim_is_one_that_its_recipe_tests() {
    let data = data();
    let papers: BTreeSet<_> = tables(&data, "paper").map(|one| text(one, "id")).collect();
    let mut used = BTreeSet::new();
    for claim in tables(&data, "claim") {
        assert!(papers.contains(text(claim, "paper")), "{claim}");
        if text(claim, "untestable").is_empty() {
            check_claim(&data, claim);
            used.insert(text(claim, "recipe"));
        }
    }
    for chart in tables(&data, "paper").flat_map(|paper| tables(paper, "chart")) {
        let (title, by) = (text(chart, "title"), text(chart, "by"));
        assert_columns(text(chart, "column"), title);
        used.insert(text(chart, "recipe"));
        let plan = planned(&data, text(chart, "recipe"), &["set"]);
        for value in chart["paper"].as_table().unwrap().keys() {
            let wanted = [point(chart, "where"), vec![(by, value)]].concat();
            assert_is_one_point(&plan, &wanted, title);
        }
    }
    let listed: BTreeSet<_> = recipes(&data).keys().map(String::as_str).collect();
    assert_eq!(used, listed);
    assert!(
        tables(&data, "claim")
            .filter(|one| one.contains_key("recipe"))
            .count()
            >= FEWEST_TESTABLE
    );
}

#[test]
fn the_page_takes_less_than_four_hours() {
    let data = data();
    let minutes = recipes(&data)
        .values()
        .map(|one| one["minutes"].as_integer().unwrap());
    assert!(minutes.sum::<i64>() < MOST_MINUTES);
    for (name, recipe) in recipes(&data) {
        if recipe.get("short").is_some() {
            planned(&data, name, &["set", "short"]);
        }
    }
}

#[test]
fn every_table_and_figure_of_a_paper_is_shown_or_omitted_with_a_reason() {
    let data = data();
    for paper in tables(&data, "paper") {
        let id = text(paper, "id");
        let contents: BTreeSet<_> = texts(paper, "contents").into_iter().collect();
        let claims = tables(&data, "claim").filter(|claim| text(claim, "paper") == id);
        let parts = ["chart", "omitted"].map(|part| tables(paper, part));
        let shown = parts.into_iter().flatten().chain(claims);
        let shown: BTreeSet<_> = shown.flat_map(|one| texts(one, "shows")).collect();
        assert_eq!(shown, contents, "{id}");
        for reason in ["omitted", "partly"]
            .map(|part| tables(paper, part))
            .into_iter()
            .flatten()
        {
            assert!(!text(reason, "why").is_empty(), "{id}: {reason}");
            let shows: BTreeSet<_> = texts(reason, "shows").into_iter().collect();
            assert!(shows.is_subset(&contents), "{id}: {reason}");
        }
    }
}

fn assert_passes(words: &[&str]) {
    let mut command = Command::new("python3");
    let done = command
        .arg("-B")
        .args(words)
        .current_dir(root())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{words:?}: {errors}");
}

#[test]
fn the_pages_own_tests_pass() {
    assert_passes(&["scripts/papers_test.py"]);
}

#[test]
fn the_page_is_what_the_kept_results_say() {
    if root().join("docs/papers").exists() {
        assert_passes(&["scripts/papers.py", "--check"]);
    }
}

//! The page of the papers: its claims are ones that the studies measure, and nothing of a paper is
//! left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use crate::common::markdown::root;
use measure::column::is_known;
use plan::{Plan, Trial};
use toml::{Table, Value};

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

fn keys<'a>(of: &'a Table, key: &str) -> Vec<&'a str> {
    let table = of.get(key).and_then(Value::as_table);
    let keys = table.into_iter().flat_map(|table| table.keys());
    keys.map(String::as_str).collect()
}

fn name<'a>(of: &'a Table, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A run of a study, with the recipe's overrides, and those of its short form.
fn planned(name_of_recipe: &str, recipe: &Table, is_short: bool) -> Plan {
    let study = recipe
        .get("of")
        .map_or(name_of_recipe, |name| name.as_str().unwrap());
    let path = root().join(format!("studies/{study}.toml"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{study}: {error}"));
    let short = if is_short {
        texts(recipe, "short")
    } else {
        Vec::new()
    };
    let overrides = texts(recipe, "set").into_iter().chain(short);
    let overrides: Vec<_> = overrides.map(|one| one.split_once('=').unwrap()).collect();
    let parsed = study::Study::parse_with_overrides(study, &text, &overrides, engine::catalog());
    parsed
        .unwrap_or_else(|error| panic!("{name_of_recipe}: {error}"))
        .plan()
}

fn recipes(data: &Table) -> BTreeMap<&str, Plan> {
    let all = data["recipe"].as_table().unwrap().iter();
    let plans = all.map(|(name, recipe)| {
        let recipe = recipe.as_table().unwrap();
        planned(name, recipe, true);
        (name.as_str(), planned(name, recipe, false))
    });
    plans.collect()
}

/// The trials at a point that a claim or a chart names.
fn trials_at<'a>(plan: &'a Plan, points: &[Option<&Value>]) -> Vec<&'a Trial> {
    let wanted = points.iter().flatten().filter_map(|point| point.as_table());
    let wanted: Vec<(&String, &str)> = wanted
        .flatten()
        .map(|(key, value)| (key, value.as_str().unwrap()))
        .collect();
    let mut trials: Vec<&Trial> = plan.trials.iter().collect();
    trials.retain(|trial| {
        let has = |(key, value): &(&String, &str)| {
            let own = trial.point.get(key.as_str());
            own.is_some_and(|own| own.to_string() == *value)
        };
        wanted.iter().all(has)
    });
    trials
}

fn assert_columns(of: &Table, what: &str) {
    let columns = [name(of, "column"), name(of, "over_column")];
    for column in columns.iter().flat_map(|spec| spec.split(" + ")) {
        assert!(column.is_empty() || is_known(column), "{what}: {column}");
    }
}

/// A claim compares two points that its recipe measures often enough, once for each fact.
#[test]
fn every_claim_can_be_tested_by_its_recipe() {
    let data = data();
    let plans = recipes(&data);
    let (mut used, mut facts) = (BTreeSet::new(), BTreeSet::new());
    for claim in tables(&data, "claim") {
        let says = name(claim, "says");
        if claim.contains_key("untestable") {
            assert!(!claim.contains_key("recipe"), "{says}");
            continue;
        }
        let recipe = name(claim, "recipe");
        used.insert(recipe);
        let plan = plans
            .get(recipe)
            .unwrap_or_else(|| panic!("no recipe {recipe}"));
        assert!(
            ["", "none", "higher", "lower"].contains(&name(claim, "kind")),
            "{says}"
        );
        let has_ratio = claim.contains_key("ratio");
        assert_eq!(has_ratio, name(claim, "kind").is_empty(), "{says}");
        let sides: Vec<Vec<&Trial>> = ["of", "over"]
            .into_iter()
            .map(|side| {
                let point = claim.get(side).filter(|point| point.is_table());
                trials_at(plan, &[claim.get("where"), point])
            })
            .collect();
        for trials in &sides {
            let repeats: BTreeSet<u32> = trials.iter().map(|trial| trial.repeat).collect();
            assert!(repeats.len() >= 5, "{says}: {} starts", repeats.len());
            assert_eq!(repeats.len(), trials.len(), "{says}: several points");
        }
        match claim.get("fault").and_then(Value::as_integer) {
            Some(fault) => {
                let faults = |trial: &&Trial| trial.topology.faults.len() as i64;
                assert!(
                    sides[0].iter().all(|trial| faults(trial) >= fault),
                    "{says}"
                );
            }
            None => assert_columns(claim, says),
        }
        let fact = ["of", "over", "where", "column", "over_column", "fault"];
        let fact = fact.map(|key| claim.get(key).map(Value::to_string));
        assert!(facts.insert((recipe, fact)), "twice: {says}");
    }
    let charts = tables(&data, "paper").flat_map(|paper| tables(paper, "chart"));
    for chart in charts {
        let (title, recipe) = (name(chart, "title"), name(chart, "recipe"));
        used.insert(recipe);
        let trials = trials_at(&plans[recipe], &[chart.get("where")]);
        assert!(!trials.is_empty(), "{title}");
        assert_columns(chart, title);
        for place in keys(chart, "paper") {
            let by = name(chart, "by");
            let mut values = trials.iter().filter_map(|trial| trial.point.get(by));
            assert!(
                values.any(|value| value.to_string() == place),
                "{title}: {place}"
            );
        }
    }
    assert_eq!(used, plans.keys().copied().collect());
    assert!(facts.len() >= 40, "{} claims can be tested", facts.len());
    let minutes = data["recipe"].as_table().unwrap().values();
    let minutes: i64 = minutes
        .map(|recipe| recipe["minutes"].as_integer().unwrap())
        .sum();
    assert!(minutes < 240, "{minutes} minutes");
}

#[test]
fn every_table_and_figure_of_a_paper_is_tested_shown_or_omitted_with_a_reason() {
    let data = data();
    for paper in tables(&data, "paper") {
        let id = name(paper, "id");
        let contents: BTreeSet<&str> = texts(paper, "contents").into_iter().collect();
        let claims = tables(&data, "claim").filter(|claim| name(claim, "paper") == id);
        let shown = claims.chain(tables(paper, "chart"));
        let shown = shown.chain(tables(paper, "omitted"));
        let named: BTreeSet<&str> = shown.flat_map(|one| texts(one, "shows")).collect();
        assert_eq!(named, contents, "{id}");
        let reasons = tables(paper, "omitted").chain(tables(paper, "partly"));
        for one in reasons {
            assert!(!name(one, "why").is_empty(), "{id}");
        }
    }
}

fn python(arguments: &[&str]) -> String {
    let mut python = Command::new("python3");
    let output = python.args(arguments).current_dir(root()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_page_decides_as_published_tables_do() {
    python(&["scripts/papers/selftest.py"]);
}

/// The page is what its kept results say, and its charts show something.
#[test]
fn the_page_follows_from_the_kept_results() {
    if !root().join("docs/papers").is_dir() {
        return;
    }
    python(&["scripts/papers", "--check"]);
    let place = tempfile::tempdir().unwrap();
    let charts = fs::read_dir(root().join("docs/images")).unwrap();
    let charts = charts.map(|file| file.unwrap().path());
    let mut charts: Vec<_> = charts
        .filter(|path| path.extension().is_some_and(|end| end == "svg"))
        .filter(|path| {
            path.file_stem()
                .is_some_and(|stem| stem.to_string_lossy().starts_with("papers-"))
        })
        .collect();
    charts.sort();
    assert_eq!(charts.len(), tables(&data(), "paper").count());
    let render = |url: &str| {
        let picture = place.path().join("picture.png");
        let mut chromium = Command::new("/usr/bin/chromium");
        chromium.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=660,380",
        ]);
        chromium.arg(format!("--screenshot={}", picture.display()));
        chromium.env("HOME", place.path());
        assert!(
            chromium.arg(url).output().unwrap().status.success(),
            "{url}"
        );
        fs::metadata(picture).unwrap().len()
    };
    let blank = render("about:blank");
    for chart in charts {
        let drawn = render(&format!("file://{}", chart.display()));
        assert!(drawn > 2 * blank, "{}: {drawn} bytes", chart.display());
    }
}

//! The page of the papers names what the studies have, and leaves nothing of a paper out.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use measure::column::{changed, is_known};
use plan::Plan;
use toml::{Table, Value};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

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

/// A run of a study, with the page's overrides.
fn planned(data: &Table, run: &str) -> Plan {
    let of_run = data["study"].get(run).and_then(Value::as_table);
    let of_run = of_run.unwrap_or_else(|| panic!("no [study.{run}]"));
    let study = of_run.get("of").map_or(run, |name| name.as_str().unwrap());
    let path = root().join(format!("studies/{study}.toml"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{study}: {error}"));
    let overrides = texts(of_run, "set");
    let overrides: Vec<(&str, &str)> = overrides
        .iter()
        .map(|one| one.split_once('=').unwrap())
        .collect();
    let parsed = study::Study::parse_with_overrides(study, &text, &overrides, engine::catalog());
    parsed.unwrap().plan()
}

/// The values of a trial's point by the last part of each key.
fn has(plan: &Plan, wanted: &[(&str, &str)]) -> bool {
    plan.trials.iter().any(|trial| {
        wanted.iter().all(|(short, value)| {
            let mut pairs = trial.point.iter();
            pairs.any(|(key, own)| {
                key.rsplit('.').next() == Some(short) && own.to_string() == *value
            })
        })
    })
}

fn check_table(part: &Table, plan: &Plan) {
    let title = name(part, "title");
    let columns: BTreeSet<&str> = plan
        .tables
        .iter()
        .flat_map(|table| &table.columns)
        .map(|column| column.as_str())
        .collect();
    let wanted = keys(part, "columns");
    assert!(!wanted.is_empty(), "{title}");
    for column in wanted.iter().flat_map(|spec| spec.split(" + ")) {
        assert!(
            is_known(changed(column).unwrap_or(column)),
            "{title}: {column}"
        );
        let is_shown = columns
            .iter()
            .any(|own| measure::column::full_name(own) == column);
        assert!(is_shown, "{title}: no table of the study has {column}");
    }
    let by = texts(part, "by");
    let fixed = part.get("where").and_then(Value::as_table);
    let fixed: Vec<(&str, &str)> = fixed
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap()))
        .collect();
    let axes: BTreeSet<&str> = plan
        .axes
        .iter()
        .filter_map(|axis| axis.rsplit('.').next())
        .collect();
    let named: BTreeSet<&str> = by
        .iter()
        .copied()
        .chain(fixed.iter().map(|(k, _)| *k))
        .collect();
    assert_eq!(
        named, axes,
        "{title}: `by` and `where` name every axis of the study"
    );
    for row in keys(part, "rows") {
        let values = by.iter().copied().zip(row.split(", "));
        let point: Vec<_> = values.chain(fixed.iter().copied()).collect();
        assert!(has(plan, &point), "{title}: no trial at {point:?}");
        assert_eq!(
            part["rows"][row].as_array().unwrap().len(),
            wanted.len(),
            "{title}: {row}"
        );
    }
}

fn check_platforms(part: &Table, plan: &Plan) {
    let title = name(part, "title");
    let axis = name(part, "axis").rsplit('.').next().unwrap();
    let (variants, values) = (texts(part, "variants"), texts(part, "values"));
    assert_eq!(variants.len(), 2, "{title}");
    for variant in variants {
        for value in &values {
            let point = [("variant", variant), (axis, *value)];
            assert!(has(plan, &point), "{title}: no trial at {point:?}");
        }
    }
    for column in keys(part, "columns") {
        assert!(is_known(column), "{title}: {column}");
        for row in ["base", "new", "delta_pct"] {
            let of_paper = part["paper"][column].as_table().unwrap();
            assert_eq!(list(of_paper, row).len(), values.len(), "{title}: {row}");
        }
    }
}

#[test]
fn every_part_of_the_page_is_one_that_its_study_has() {
    let data = data();
    let mut used = BTreeSet::new();
    for part in tables(&data, "paper").flat_map(|paper| tables(paper, "part")) {
        let (title, study) = (name(part, "title"), name(part, "study"));
        let plan = planned(&data, study);
        used.insert(study);
        for run in texts(part, "also") {
            planned(&data, run);
            used.insert(run);
        }
        match name(part, "kind") {
            "" => check_table(part, &plan),
            "platforms" => check_platforms(part, &plan),
            "faults" => assert!(
                plan.trials
                    .iter()
                    .any(|trial| !trial.topology.faults.is_empty()),
                "{title}"
            ),
            "answer" => assert!(
                ["rank", "size"].contains(&texts(part, "command")[0]),
                "{title}"
            ),
            other => panic!("{title}: unknown kind {other}"),
        }
    }
    let listed: BTreeSet<&str> = keys(&data, "study").into_iter().collect();
    assert_eq!(used, listed);
}

#[test]
fn every_table_and_figure_of_a_paper_is_shown_or_omitted_with_a_reason() {
    let data = data();
    let page = fs::read_to_string(root().join("docs/papers.md")).unwrap();
    for paper in tables(&data, "paper") {
        let title = name(paper, "title");
        let contents: BTreeSet<&str> = texts(paper, "contents").into_iter().collect();
        let shown = tables(paper, "part").flat_map(|part| texts(part, "shows"));
        let omitted = tables(paper, "omitted").flat_map(|one| texts(one, "shows"));
        let named: BTreeSet<&str> = shown.chain(omitted).collect();
        assert_eq!(named, contents, "{title}");
        assert!(page.contains(&format!("\n## {title}\n")), "{title}");
        for part in tables(paper, "part") {
            let heading = format!("\n### {}\n", name(part, "title"));
            assert!(page.contains(&heading), "run scripts/papers.py:{heading}");
        }
        let reasons = tables(paper, "omitted").map(|one| name(one, "why"));
        for reason in reasons {
            assert!(!reason.is_empty() && page.contains(reason), "{reason}");
        }
    }
}

//! What numbers of a study have to be.

use crate::common::{fails, plan};

const TEXT: &str = r#"
title = "t"
server.engine = "sqlite"

[thresholds]
response_ms.p99 = "< 25"
"tps" = ">= 0.95 * baseline"
baseline = "old"

[[variant]]
name = "old"

[[variant]]
name = "new"
data.rows = 5
"#;

/// The conditions of a study with these overrides, and its baseline.
fn conditions(overrides: &[(&str, &str)]) -> (Vec<String>, String) {
    let plan = plan(TEXT, overrides);
    let thresholds = plan.thresholds.iter();
    let conditions = thresholds.map(|t| format!("{} {}", *t.column, *t.condition));
    (conditions.collect(), plan.baseline.unwrap().value)
}

#[test]
fn thresholds_arrive_with_or_without_quotes() {
    let wanted = ["response_ms.p99 < 25", "tps >= 0.95 * baseline"];
    assert_eq!(
        conditions(&[]),
        (wanted.map(str::to_owned).to_vec(), "old".to_owned())
    );
}

#[test]
fn an_override_speaks_instead() {
    let sets = [
        ("thresholds.response_ms.p99", "< 30"),
        ("thresholds.\"errors\"", "<= 0"),
        ("thresholds.baseline", "new"),
    ];
    let wanted = [
        "tps >= 0.95 * baseline",
        "response_ms.p99 < 30",
        "errors <= 0",
    ];
    assert_eq!(
        conditions(&sets),
        (wanted.map(str::to_owned).to_vec(), "new".to_owned())
    );
    let wrong = fails(TEXT, &[("thresholds.baseline", "nwe")]);
    assert!(wrong.contains("did you mean \"new\"?"), "{wrong}");
}

//! What numbers of a study have to be.

use crate::common::{fails, study};
use study::Study;

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

fn conditions(study: &Study) -> Vec<(String, String)> {
    let thresholds = study.plan().thresholds.into_iter();
    thresholds
        .map(|t| (t.column.value, t.condition.value))
        .collect()
}

fn pair(column: &str, condition: &str) -> (String, String) {
    (column.to_owned(), condition.to_owned())
}

#[test]
fn thresholds_arrive_with_or_without_quotes() {
    let study = study(TEXT, &[]);
    assert_eq!(
        conditions(&study),
        [
            pair("response_ms.p99", "< 25"),
            pair("tps", ">= 0.95 * baseline"),
        ]
    );
    assert_eq!(study.plan().baseline.unwrap().as_str(), "old");
}

#[test]
fn an_override_speaks_instead() {
    let study = study(
        TEXT,
        &[
            ("thresholds.response_ms.p99", "< 30"),
            ("thresholds.\"errors\"", "<= 0"),
            ("thresholds.baseline", "new"),
        ],
    );
    assert_eq!(
        conditions(&study),
        [
            pair("tps", ">= 0.95 * baseline"),
            pair("response_ms.p99", "< 30"),
            pair("errors", "<= 0"),
        ]
    );
    assert_eq!(study.plan().baseline.unwrap().as_str(), "new");
    let wrong = fails(TEXT, &[("thresholds.baseline", "nwe")]);
    assert!(wrong.contains("did you mean \"new\"?"), "{wrong}");
}

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
    let thresholds = study.plan().unwrap().thresholds.into_iter();
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
    assert_eq!(study.plan().unwrap().baseline.unwrap().as_str(), "old");
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
    assert_eq!(study.plan().unwrap().baseline.unwrap().as_str(), "new");
    let wrong = fails(TEXT, &[("thresholds.baseline", "nwe")]);
    assert!(wrong.contains("did you mean \"new\"?"), "{wrong}");
}

#[test]
fn the_caller_checks_columns_and_conditions() {
    let study = study(TEXT, &[]);
    let unknown = |column: &str| (column == "tps").then(|| "write tp".to_owned());
    let error = study.check_columns(unknown).unwrap_err().to_string();
    assert!(error.contains("unknown column `tps`"), "{error}");
    let wrong = |_: &str, condition: &str| {
        let bad = condition.starts_with('<');
        bad.then(|| ("no".to_owned(), "yes".to_owned()))
    };
    let error = study.check_thresholds(wrong).unwrap_err();
    let place = error.problems()[0].location.as_ref().unwrap();
    assert_eq!(place.line_column(), Some((6, 19)));
    assert_eq!(error.problems().len(), 1);
}

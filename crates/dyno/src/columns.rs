//! The columns that report tables and thresholds may name.

use measure::column::{TEXTS, all_names, changed, full_name, is_known};

/// What to write instead of an unknown column of a study, whose tables may show changes between
/// its variants; `None` for a known one.
pub(crate) fn suggestion_in_study(column: &str, has_variants: bool) -> Option<String> {
    match changed(column) {
        Some(of) if has_variants => suggestion(of),
        Some(_) => {
            Some("a change is relative to the first [[variant]], and this study has none".into())
        }
        None => suggestion(column),
    }
}

/// What to write instead of an unknown column; `None` for a known one.
pub(crate) fn suggestion(column: &str) -> Option<String> {
    if is_known(&full_name(column)) {
        return None;
    }
    if TEXTS.contains(&column) {
        return Some("it is a text, and only numbers stand here; faults.csv has it".to_owned());
    }
    let names = all_names();
    Some(
        match plan::nearest(column, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "docs/metrics.md lists the columns: tps, response_ms.p99, cpu.user…".to_owned(),
        },
    )
}

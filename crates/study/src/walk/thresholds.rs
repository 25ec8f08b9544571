//! `[thresholds]`: conditions on results.

use super::{TomlValue, Walk};
use crate::error::Report;
use crate::read::type_words;
use plan::key::{BASELINE, Key, word};
use plan::{Span, Spanned, ThresholdSpec, shown};

/// More than any study needs.
const MAX_THRESHOLDS: usize = 50;
const MAX_COLUMN_BYTES: usize = 100;
const HOW: &str = "write a comparison in quotes: \"response_ms.p99\" = \"< 25\"";

static BASELINE_NAME: Key = word("thresholds.baseline", 60);
static CONDITION: Key = word("thresholds", 100);

impl Walk {
    /// Sets the baseline, or a threshold; an override replaces one of the same column.
    pub(super) fn threshold(&mut self, column: &str, value: &TomlValue<'_>, at: Span) {
        if column == BASELINE {
            self.content.baseline = self.typed::<String>(&BASELINE_NAME, value, at.origin);
            return;
        }
        let mut known = self.content.thresholds.iter().map(|known| &known.column);
        let first = known.find(|known| known.value == column && known.span.origin == at.origin);
        if let Some(first) = first.map(|first| first.span) {
            let message = format!("duplicate threshold of `{}`", shown(column));
            return self.refuse_two(first, at, message, "keep one of the two");
        }
        if !value.get_ref().is_str() {
            let found = type_words(value.get_ref());
            let message = format!("the threshold of `{}` is {found}", shown(column));
            return self.refuse(at, message, HOW);
        }
        let Some(condition) = self.typed::<String>(&CONDITION, value, at.origin) else {
            return;
        };
        if column.len() > MAX_COLUMN_BYTES {
            let message = format!("the name `{}` is too long", shown(column));
            let help = "a threshold applies to a column of report tables, such as response_ms.p99";
            return self.refuse(at, message, help);
        }
        let thresholds = &mut self.content.thresholds;
        thresholds.retain(|other| other.column.value != column);
        if thresholds.len() == MAX_THRESHOLDS {
            let message = format!("too many thresholds: `{}`", shown(column));
            let help = format!("a study has at most {MAX_THRESHOLDS} thresholds");
            return self.refuse(at, message, help);
        }
        let column = Spanned::new(column.to_owned(), at);
        thresholds.push(ThresholdSpec { column, condition });
    }
}

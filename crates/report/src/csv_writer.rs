//! CSV for spreadsheets and programs (RFC 4180): no number is rounded, and what was not measured is
//! empty.
//!
//! A text that a spreadsheet would take for a formula starts with an apostrophe.

use measure::interval::Estimate;
use plan::Value;

use crate::cell::Cell;
use crate::text::{steers, visible};

/// A table that is being written.
#[derive(Default)]
pub(crate) struct Csv {
    pub(crate) text: String,
    begun: bool,
}

impl Csv {
    fn field(&mut self, field: &str) {
        if self.begun {
            self.text.push(',');
        }
        self.begun = true;
        if field.contains([',', '"', '\r', '\n']) {
            self.text.push('"');
            self.text.push_str(&field.replace('"', "\"\""));
            self.text.push('"');
        } else {
            self.text.push_str(field);
        }
    }

    /// A number as a text, such as the value of a key, stays one. What steers a terminal is
    /// made visible; ends of lines stay, in quotes.
    pub(crate) fn text(&mut self, text: &str) {
        let steered = text.contains(|c| steers(c) && c != '\r' && c != '\n' && c != '\t');
        let text = match steered {
            true => &visible(text),
            false => text,
        };
        let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
        let number = text.parse().is_ok_and(f64::is_finite);
        match formula && !number {
            true => self.field(&format!("'{text}")),
            false => self.field(text),
        }
    }

    /// A value of an axis.
    pub(crate) fn value(&mut self, value: Option<&Value>) {
        self.text(&value.map_or(String::new(), Value::to_string));
    }

    pub(crate) fn number(&mut self, number: Option<f64>) {
        let number = number.filter(|number| number.is_finite());
        self.field(&number.map_or(String::new(), |number| number.to_string()));
    }

    /// A value and half of its interval.
    pub(crate) fn estimate(&mut self, estimate: Option<Estimate>) {
        self.number(estimate.map(|estimate| estimate.value));
        self.number(estimate.and_then(|estimate| estimate.half_width));
    }

    /// The names of what [`Csv::point`] writes.
    pub(crate) const POINT: &'static str = "tps tps.half_width \
        response_ms.mean response_ms.mean.half_width response_ms.p99 response_ms.p99.half_width \
        response_ms.p99.low response_ms.p99.high";

    /// The names of columns, separated by spaces.
    pub(crate) fn names(&mut self, names: &str) {
        names.split_whitespace().for_each(|name| self.text(name));
    }

    /// A whole number.
    pub(crate) fn count(&mut self, count: impl TryInto<u64>) {
        let count = count.try_into().ok();
        self.field(&count.map_or(String::new(), |count| count.to_string()));
    }

    /// Throughput and response times of a point.
    pub(crate) fn point(
        &mut self,
        tps: Option<Estimate>,
        mean_ms: Option<Estimate>,
        p99_ms: &Cell,
    ) {
        for estimate in [tps, mean_ms, p99_ms.estimate] {
            self.estimate(estimate);
        }
        self.number(p99_ms.range.map(|range| range.low));
        self.number(p99_ms.range.map(|range| range.high));
    }

    pub(crate) fn end_line(&mut self) {
        self.text.push_str("\r\n");
        self.begun = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_never_a_formula_and_never_ends_its_field() {
        let mut csv = Csv::default();
        for text in [
            "=1+1",
            "@SUM(A1)",
            "-2",
            "-x",
            "+4.5",
            "a,\"b\"\r\n",
            "plain",
            "",
            "\u{1b}[2J",
        ] {
            csv.text(text);
        }
        csv.number(Some(-0.5));
        csv.number(None);
        csv.end_line();
        let line = "'=1+1,'@SUM(A1),-2,'-x,+4.5,\"a,\"\"b\"\"\r\n\",plain,,\\u{1b}[2J,-0.5,\r\n";
        assert_eq!(csv.text, line);
    }
}

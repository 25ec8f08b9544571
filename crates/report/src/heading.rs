//! The columns of a table as people read them.

use measure::column::{self, changed, unit};
use measure::interval::Estimate;
use measure::quantile::Range;

use crate::grid::Head;

/// A column of a study's table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heading {
    /// Its name in the study, for example `response_ms.p99`.
    pub(crate) column: String,
    pub(crate) head: Head,
    /// Decimals that are shown at most: a tenth of a percent is enough.
    pub(crate) decimals: usize,
    /// A shown number is the measured one by this.
    scale: f64,
}

/// The unit that people read, and how much of the measured one it is.
pub(crate) fn shown_in(unit: &'static str) -> (&'static str, f64) {
    match unit {
        "bytes" => ("MiB", f64::from(1 << 20)),
        other => (other, 1.0),
    }
}

impl Heading {
    pub(crate) fn of(column: &str) -> Self {
        // A number stays on a line with its unit.
        let title = |column| column::heading(column).replace(" %", "\u{a0}%");
        if let Some(of) = changed(column) {
            return Self {
                column: column.to_owned(),
                head: Head {
                    title: format!("{} change", title(of)),
                    unit: "%",
                },
                decimals: usize::MAX,
                scale: 1.0,
            };
        }
        let title = title(column);
        let (unit, scale) = shown_in(unit(column));
        let said = unit == "1/s" || title.ends_with(unit);
        Self {
            column: column.to_owned(),
            head: Head {
                unit: if said { "" } else { unit },
                title,
            },
            decimals: if unit == "%" { 1 } else { usize::MAX },
            scale,
        }
    }

    /// A range in the unit of the heading.
    pub(crate) fn scaled_range(&self, range: Range) -> Range {
        Range {
            low: range.low / self.scale,
            high: range.high / self.scale,
        }
    }

    /// A number in the unit of the heading.
    pub(crate) fn scaled(&self, estimate: Estimate) -> Estimate {
        Estimate {
            value: estimate.value / self.scale,
            half_width: estimate.half_width.map(|half| half / self.scale),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_said_once() {
        let text = |column| Heading::of(column).head.text();
        assert_eq!(text("tps"), "tps");
        assert_eq!(text("response_ms.mean"), "response mean, ms");
        assert_eq!(text("cpu.user"), "CPU user, %");
        assert_eq!(text("cpu.user.change_pct"), "CPU user change, %");
        assert_eq!(text("disk.read_mb_per_s"), "disk read MB/s");
        assert_eq!(text("server.rss_bytes"), "server memory, MiB");
    }

    #[test]
    fn bytes_are_shown_in_mebibytes() {
        let bytes = Estimate {
            value: f64::from(3 << 20),
            half_width: Some(f64::from(1 << 19)),
        };
        let shown = Heading::of("server.rss_bytes").scaled(bytes);
        assert_eq!((shown.value, shown.half_width), (3.0, Some(0.5)));
    }
}

//! The columns of a table as people read them.

use measure::column::{self, changed, unit};

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
    pub(crate) scale: f64,
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
        let of = changed(column).unwrap_or(column);
        let mut title = column::heading(of).replace(" %", "\u{a0}%");
        let (mut unit, mut scale) = shown_in(unit(of));
        if changed(column).is_some() {
            title.push_str(" change");
            (unit, scale) = ("%", 1.0);
        }
        let said = unit == "1/s" || title.ends_with(unit);
        Self {
            column: column.to_owned(),
            decimals: if unit == "%" { 1 } else { usize::MAX },
            head: Head {
                unit: if said { "" } else { unit },
                title,
            },
            scale,
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
        assert_eq!(Heading::of("server.rss_bytes").scale, f64::from(1 << 20));
    }
}

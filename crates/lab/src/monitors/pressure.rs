//! Time in which work stood still for want of something (`/proc/pressure`).

use super::values::{Values, growth};

/// What the kernel tells of one resource, since its start in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Totals {
    some_us: Option<u64>,
    full_us: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Raw {
    pub(super) cpu: Totals,
    pub(super) io: Totals,
    pub(super) memory: Totals,
}

/// Reads the text of a file in `/proc/pressure`.
pub(super) fn parse(text: &str) -> Totals {
    let total = |kind: &str| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))?;
        line.rsplit_once("total=")?.1.trim().parse().ok()
    };
    Totals {
        some_us: total("some"),
        full_us: total("full"),
    }
}

pub(super) fn derive(before: &Raw, after: &Raw, seconds: f64, values: &mut Values) {
    let mut put = |name: &str, before: Option<u64>, after: Option<u64>| {
        let us = before
            .zip(after)
            .and_then(|(before, after)| growth(before, after));
        // The kernel's stretch may be a little longer than ours.
        let share = us.map(|us| (us / 1e4 / seconds).min(100.0));
        values.put(name, share);
    };
    put("psi.cpu.some", before.cpu.some_us, after.cpu.some_us);
    put("psi.io.some", before.io.some_us, after.io.some_us);
    put("psi.io.full", before.io.full_us, after.io.full_us);
    put(
        "psi.memory.some",
        before.memory.some_us,
        after.memory.some_us,
    );
    put(
        "psi.memory.full",
        before.memory.full_us,
        after.memory.full_us,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "some avg10=79.04 avg60=85.33 avg300=80.47 total=4593140966\n\
                        full avg10=0.00 avg60=0.00 avg300=0.00 total=53527824\n";

    #[test]
    fn shares_of_the_time() {
        let before = Raw {
            io: parse(TEXT),
            ..Raw::default()
        };
        assert_eq!(before.io.full_us, Some(53_527_824));
        let mut after = before;
        after.io.some_us = before.io.some_us.map(|us| us + 1_000_000);
        let mut values = Values::default();
        derive(&before, &after, 2.0, &mut values);
        assert_eq!(values.0["psi.io.some"], 50.0);
        assert_eq!(values.0["psi.io.full"], 0.0);
        assert_eq!(values.0.len(), 2, "what the kernel does not tell is absent");
    }

    #[test]
    fn damaged_text_is_absent() {
        for text in ["", "some", "some total=x", "somewhat total=1"] {
            assert_eq!(parse(text), Totals::default(), "{text}");
        }
    }
}

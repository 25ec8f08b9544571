//! Pressure stall information (`/proc/pressure`). Parsed by hand, because `procfs-core` requires
//! both lines, and kernels before 5.13 print only one for CPUs.

use measure::values::{Values, growth};

use crate::files::{Files, text};

/// Stall time on one resource since boot, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct StallTotals {
    some_us: Option<u64>,
    full_us: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Pressure {
    cpu: StallTotals,
    io: StallTotals,
    memory: StallTotals,
}

pub(super) fn read(files: &dyn Files) -> Pressure {
    let of = |resource: &str| {
        let text = text(files, format!("/proc/pressure/{resource}"));
        parse(&text.unwrap_or_default())
    };
    Pressure {
        cpu: of("cpu"),
        io: of("io"),
        memory: of("memory"),
    }
}

/// Parses a file in `/proc/pressure`.
fn parse(text: &str) -> StallTotals {
    let total = |kind: &str| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))?;
        line.rsplit_once("total=")?.1.trim().parse().ok()
    };
    StallTotals {
        some_us: total("some"),
        full_us: total("full"),
    }
}

pub(super) fn derive(before: &Pressure, after: &Pressure, seconds: f64, values: &mut Values) {
    let mut put = |name: &str, before: Option<u64>, after: Option<u64>| {
        let us = before
            .zip(after)
            .and_then(|(before, after)| growth(before, after));
        // The kernel updates its totals at other instants, so they may exceed the interval.
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
    fn shares_of_the_interval() {
        let before = Pressure {
            io: parse(TEXT),
            ..Pressure::default()
        };
        assert_eq!(before.io.full_us, Some(53_527_824));
        let mut after = before;
        after.io.some_us = before.io.some_us.map(|us| us + 1_000_000);
        let mut values = Values::default();
        derive(&before, &after, 2.0, &mut values);
        assert_eq!(values.0["psi.io.some"], 50.0);
        assert_eq!(values.0["psi.io.full"], 0.0);
        assert_eq!(values.0.len(), 2, "absent lines have no metrics");
    }

    #[test]
    fn damaged_text_is_absent() {
        for text in ["", "some", "some total=x", "somewhat total=1"] {
            assert_eq!(parse(text), StallTotals::default(), "{text}");
        }
    }
}

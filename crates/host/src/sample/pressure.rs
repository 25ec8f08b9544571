//! Pressure stall information (`/proc/pressure`). Parsed by hand, because `procfs-core` requires
//! both lines, and kernels before 5.13 print only one for CPUs.

use measure::values::{Values, growth};

use crate::files::{Files, text};

/// A resource, and whether some or all processes are stalled.
const STALLS: [(&str, &str); 5] = [
    ("cpu", "some"),
    ("io", "some"),
    ("io", "full"),
    ("memory", "some"),
    ("memory", "full"),
];

/// Stall times since boot, in microseconds.
pub(super) type Pressure = [Option<u64>; STALLS.len()];

pub(super) fn read(files: &dyn Files) -> Pressure {
    STALLS.map(|(resource, kind)| {
        let text = text(files, format!("/proc/pressure/{resource}"))?;
        total(&text, kind)
    })
}

fn total(text: &str, kind: &str) -> Option<u64> {
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))?;
    line.rsplit_once("total=")?.1.trim().parse().ok()
}

pub(super) fn derive(before: &Pressure, after: &Pressure, seconds: f64, values: &mut Values) {
    for ((resource, kind), (before, after)) in STALLS.iter().zip(before.iter().zip(after)) {
        let us = before
            .zip(*after)
            .and_then(|(before, after)| growth(before, after));
        // The kernel updates its totals at other instants, so they may exceed the interval.
        let share = us.map(|us| (us / 1e4 / seconds).min(100.0));
        values.put(format!("psi.{resource}.{kind}"), share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::TestMachine;

    #[test]
    fn shares_of_the_interval() {
        let text = "some avg10=79.04 avg60=85.33 avg300=80.47 total=4593140966\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=53527824\n";
        let before = read(&TestMachine::with(&[("/proc/pressure/io", text)]).files);
        assert_eq!(before[2], Some(53_527_824));
        let mut after = before;
        after[1] = before[1].map(|us| us + 1_000_000);
        let mut values = Values::default();
        derive(&before, &after, 2.0, &mut values);
        assert_eq!(values.0["psi.io.some"], 50.0);
        assert_eq!(values.0["psi.io.full"], 0.0);
        assert_eq!(values.0.len(), 2, "absent lines have no metrics");
    }

    #[test]
    fn damaged_text_is_absent() {
        for text in ["", "some", "some total=x", "somewhat total=1"] {
            assert_eq!(total(text, "some"), None, "{text}");
        }
    }
}

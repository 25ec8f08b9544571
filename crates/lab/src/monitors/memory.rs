//! The host's memory (`/proc/meminfo`).

use super::values::Values;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Raw {
    available_bytes: Option<u64>,
    dirty_bytes: Option<u64>,
}

/// Reads the text of `/proc/meminfo`.
pub(super) fn parse(text: &str) -> Raw {
    Raw {
        available_bytes: field_bytes(text, "MemAvailable"),
        dirty_bytes: field_bytes(text, "Dirty"),
    }
}

/// A line such as `MemTotal:       24684084 kB`.
pub(crate) fn field_bytes(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// All of it are levels.
pub(super) fn derive(after: &Raw, values: &mut Values) {
    let level = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
    values.put("memory.available_bytes", level(after.available_bytes));
    values.put("memory.dirty_bytes", level(after.dirty_bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_in_bytes() {
        let text = "MemTotal:       24684084 kB\nMemAvailable:   23820120 kB\nDirty:               300 kB\n";
        let mut values = Values::default();
        derive(&parse(text), &mut values);
        assert_eq!(values.0["memory.available_bytes"], 23_820_120.0 * 1024.0);
        assert_eq!(values.0["memory.dirty_bytes"], 307_200.0);
        for text in [
            "",
            "Dirty",
            "Dirty: x kB",
            "Dirty: 3",
            "Dirty: 18446744073709551615 kB",
        ] {
            assert_eq!(parse(text), Raw::default(), "{text}");
        }
    }
}

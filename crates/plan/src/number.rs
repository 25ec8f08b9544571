//! Numbers as people and servers write them: sizes, shares, and grouped digits.

/// Reads a size as servers do: plain bytes, or a number with K, M, G, T, P or E, which stand for
/// powers of 1024.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, shift) = match "KMGTPE".find(text.chars().last()?.to_ascii_uppercase()) {
        Some(place) => (&text[..text.len() - 1], 10 * (place + 1)),
        None => (text, 0),
    };
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    number.parse::<u64>().ok()?.checked_mul(1_u64 << shift)
}

/// A size for people: `1.5 GiB`.
pub fn shown_bytes(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(shift, _)| bytes >> shift > 0) {
        #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
        Some((shift, unit)) => format!("{:.1} {unit}", bytes as f64 / (1_u64 << shift) as f64),
        None => format!("{bytes} bytes"),
    }
}

/// Reads `2%` or `2.5 %` as a share (0.02, 0.025). `None` without the sign, or if it is not a
/// finite number.
pub fn parse_percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let percent: f64 = number.parse().ok()?;
    percent.is_finite().then_some(percent / 100.0)
}

/// Writes a share the way [`parse_percent`] reads it, with at most six decimals.
pub fn format_percent(share: f64) -> String {
    let digits = format!("{:.6}", share * 100.0);
    format!("{}%", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Groups digits by three, a form that TOML accepts.
pub fn grouped(n: u64) -> String {
    grouped_by('_', &n.to_string())
}

/// Groups digits by three, with a separator between the groups.
pub fn grouped_by(separator: char, digits: &str) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(separator);
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_servers_read_them() {
        assert_eq!(parse_bytes("256M"), Some(256 << 20));
        assert_eq!(parse_bytes(" 1g "), Some(1 << 30));
        assert_eq!(parse_bytes("4096"), Some(4096));
        assert_eq!(parse_bytes("20E"), None);
        for bad in ["", "M", "1.5G", "-1", "+1", "1GB", "ä", "1 G", "0x10"] {
            assert_eq!(parse_bytes(bad), None, "{bad}");
        }
        assert_eq!(shown_bytes(1536 << 20), "1.5 GiB");
        assert_eq!(shown_bytes(999), "999 bytes");
    }

    #[test]
    fn shares_are_read_and_written() {
        for (text, share) in [("2%", 0.02), ("7%", 0.07), ("0.1%", 0.001), ("50%", 0.5)] {
            assert_eq!(parse_percent(text), Some(share));
            assert_eq!(format_percent(share), text);
        }
        assert_eq!(parse_percent(" 2.5 % "), Some(0.025));
        for bad in ["", "2", "%", "x%", "inf%", "NaN%"] {
            assert_eq!(parse_percent(bad), None, "{bad}");
        }
    }
}

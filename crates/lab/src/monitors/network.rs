//! What network interfaces receive and send (`/proc/net/dev`).

use std::collections::BTreeMap;

use super::values::{Values, growth};

const MB: f64 = 1024.0 * 1024.0;
/// A host of containers has thousands of interfaces; nobody looks at them all.
const MAX_INTERFACES: usize = 64;

/// An interface's counters by its name.
pub(super) type Raw = BTreeMap<String, Counters>;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Counters {
    rx_bytes: u64,
    rx_packets: u64,
    tx_bytes: u64,
    tx_packets: u64,
}

/// Reads the text of `/proc/net/dev`, leaving out what never carried a packet.
pub(super) fn parse(text: &str) -> Raw {
    let interface = |line: &str| {
        let (name, numbers) = line.rsplit_once(':')?;
        let numbers: Vec<u64> = numbers
            .split_whitespace()
            .take(10)
            .map(|field| field.parse().ok())
            .collect::<Option<_>>()?;
        let number = |place: usize| numbers.get(place).copied();
        let counters = Counters {
            rx_bytes: number(0)?,
            rx_packets: number(1)?,
            tx_bytes: number(8)?,
            tx_packets: number(9)?,
        };
        let used = counters.rx_packets > 0 || counters.tx_packets > 0;
        used.then(|| (name.trim().to_owned(), counters))
    };
    text.lines()
        .filter_map(interface)
        .take(MAX_INTERFACES)
        .collect()
}

pub(super) fn derive(before: &Raw, after: &Raw, seconds: f64, values: &mut Values) {
    for (name, after) in after {
        let Some(before) = before.get(name) else {
            continue;
        };
        let rate = |before, after| growth(before, after).map(|grown| grown / seconds);
        let mut put = |what: &str, value| values.put(format!("net[{name}].{what}"), value);
        let received = rate(before.rx_bytes, after.rx_bytes);
        let sent = rate(before.tx_bytes, after.tx_bytes);
        put("rx_mb_per_s", received.map(|bytes| bytes / MB));
        put("tx_mb_per_s", sent.map(|bytes| bytes / MB));
        put(
            "rx_packets_per_s",
            rate(before.rx_packets, after.rx_packets),
        );
        put(
            "tx_packets_per_s",
            rate(before.tx_packets, after.tx_packets),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 162553625299 223320337    0    0    0     0          0         0 162553625299 223320337    0    0    0     0       0          0
  ifb0:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
eth0:1:621741270   23684    0    0    0     0          0         0  1557339   15811    0    0    0     0       0          0
";

    #[test]
    fn rates_of_what_carries_packets() {
        let before = parse(TEXT);
        assert_eq!(before.keys().collect::<Vec<_>>(), ["eth0:1", "lo"]);
        let mut after = before.clone();
        let lo = after.get_mut("lo").unwrap();
        lo.rx_bytes += 4 << 20;
        lo.tx_packets += 500;
        let mut values = Values::default();
        derive(&before, &after, 2.0, &mut values);
        assert_eq!(values.0["net[lo].rx_mb_per_s"], 2.0);
        assert_eq!(values.0["net[lo].tx_packets_per_s"], 250.0);
        assert_eq!(values.0["net[eth0:1].tx_mb_per_s"], 0.0);
    }

    #[test]
    fn an_interface_that_came_or_started_anew_is_absent() {
        let before = parse(TEXT);
        let mut after = before.clone();
        after.insert("new".into(), before["lo"]);
        after.get_mut("lo").unwrap().rx_bytes = 0;
        let mut values = Values::default();
        derive(&before, &after, 1.0, &mut values);
        assert!(!values.0.contains_key("net[new].rx_mb_per_s"));
        assert!(!values.0.contains_key("net[lo].rx_mb_per_s"));
        assert_eq!(parse("lo: 1 2 x\nlo: 1\n:"), Raw::new());
    }
}

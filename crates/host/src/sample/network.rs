//! Traffic of network interfaces (`/proc/net/dev`).

use std::collections::BTreeMap;

use measure::values::{Values, growth};
use procfs_core::FromBufRead;
use procfs_core::net::{DeviceStatus, InterfaceDeviceStatus};

const MB: f64 = 1024.0 * 1024.0;
/// Maximum number of interfaces with metrics; a container host may have thousands.
const MAX_INTERFACES: usize = 64;

pub(super) type Interfaces = BTreeMap<String, DeviceStatus>;

/// Parses `/proc/net/dev`, without interfaces that have had no traffic.
pub(super) fn parse(text: &str) -> Interfaces {
    let Ok(InterfaceDeviceStatus(all)) = InterfaceDeviceStatus::from_buf_read(text.as_bytes())
    else {
        return Interfaces::new();
    };
    let used = all
        .into_iter()
        .filter(|(_, status)| status.recv_packets > 0 || status.sent_packets > 0);
    let used: Interfaces = used.collect();
    used.into_iter().take(MAX_INTERFACES).collect()
}

pub(super) fn derive(before: &Interfaces, after: &Interfaces, seconds: f64, values: &mut Values) {
    for (name, after) in after {
        let Some(before) = before.get(name) else {
            continue;
        };
        let bytes = [before, after].map(|one| [one.recv_bytes, one.sent_bytes]);
        let packets = [before, after].map(|one| [one.recv_packets, one.sent_packets]);
        for (what, unit, [before, after]) in [("mb", MB, bytes), ("packets", 1.0, packets)] {
            for (place, direction) in ["rx", "tx"].iter().enumerate() {
                let rate = growth(before[place], after[place]).map(|grown| grown / unit / seconds);
                values.put(format!("net[{name}].{direction}_{what}_per_s"), rate);
            }
        }
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
  eth0: 621741270   23684    0    0    0     0          0         0  1557339   15811    0    0    0     0       0          0
";

    #[test]
    fn rates_of_interfaces_with_traffic() {
        let before = parse(TEXT);
        assert_eq!(before.keys().collect::<Vec<_>>(), ["eth0", "lo"]);
        let mut after = before.clone();
        let lo = after.get_mut("lo").unwrap();
        lo.recv_bytes += 4 << 20;
        lo.sent_packets += 500;
        let mut values = Values::default();
        derive(&before, &after, 2.0, &mut values);
        assert_eq!(values.0["net[lo].rx_mb_per_s"], 2.0);
        assert_eq!(values.0["net[lo].tx_packets_per_s"], 250.0);
        assert_eq!(values.0["net[eth0].tx_mb_per_s"], 0.0);
    }

    #[test]
    fn new_and_reset_interfaces_are_absent() {
        let before = parse(TEXT);
        let mut after = before.clone();
        after.insert("new".into(), before["lo"].clone());
        after.get_mut("lo").unwrap().recv_bytes = 0;
        let mut values = Values::default();
        derive(&before, &after, 1.0, &mut values);
        assert!(!values.0.contains_key("net[new].rx_mb_per_s"));
        assert!(!values.0.contains_key("net[lo].rx_mb_per_s"));
        for text in ["", "lo: 1 2\n\nlo: 1 2 x\n", "\n\nlo: 1\n", "\n\n:"] {
            assert!(parse(text).is_empty(), "{text}");
        }
    }
}

//! Traffic of network interfaces (`/proc/net/dev`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use measure::values::{Values, growth};
use procfs_core::FromBufRead;
use procfs_core::net::{DeviceStatus, InterfaceDeviceStatus};

use crate::files::{Files, entries, text};

const MB: f64 = 1024.0 * 1024.0;
/// Maximum number of interfaces with metrics; a container host may have thousands.
const MAX_INTERFACES: usize = 64;
const TRAFFIC: &str = "/proc/self/net/dev";
/// Lists virtual interfaces, such as bridges.
const SOFTWARE: &str = "/sys/devices/virtual/net";

pub(super) type Interfaces = BTreeMap<String, DeviceStatus>;

/// Reads the traffic of a machine. If there are more than [`MAX_INTERFACES`], the physical ones and
/// the loopback interface take precedence.
pub(super) fn read(files: &dyn Files) -> Interfaces {
    let used = parse(&text(files, TRAFFIC).unwrap_or_default());
    if used.len() <= MAX_INTERFACES {
        return used;
    }
    let software: BTreeSet<PathBuf> = entries(files, SOFTWARE).into_iter().collect();
    let is_software = |name: &str| software.contains(&Path::new(SOFTWARE).join(name));
    let mut used: Vec<_> = used.into_iter().collect();
    used.sort_by_cached_key(|(name, _)| name != "lo" && is_software(name));
    used.into_iter().take(MAX_INTERFACES).collect()
}

/// Parses `/proc/net/dev`, without interfaces that have had no traffic.
pub(super) fn parse(text: &str) -> Interfaces {
    let Ok(InterfaceDeviceStatus(all)) = InterfaceDeviceStatus::from_buf_read(text.as_bytes())
    else {
        return Interfaces::new();
    };
    let used = all
        .into_iter()
        .filter(|(_, status)| status.recv_packets > 0 || status.sent_packets > 0);
    used.collect()
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
    use crate::files::testing::TestMachine;

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
    fn software_interfaces_do_not_displace_others() {
        let machine = TestMachine::with(&[]);
        let names = (0..MAX_INTERFACES).map(|number| format!("br-{number}"));
        let names: Vec<String> = names.chain(["eth0", "lo"].map(str::to_owned)).collect();
        let line = |name: &String| format!("{name}: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n");
        let lines: String = names.iter().map(line).collect();
        machine.write(TRAFFIC, &format!("\n\n{lines}"));
        for name in names.iter().filter(|name| *name != "eth0") {
            machine.write(&format!("{SOFTWARE}/{name}/mtu"), "1500");
        }
        let read = read(&machine.files);
        assert_eq!(read.len(), MAX_INTERFACES);
        assert!(read.contains_key("eth0") && read.contains_key("lo"));
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

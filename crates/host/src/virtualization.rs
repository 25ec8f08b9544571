//! Detects the hypervisor and the container in which a machine runs.

use crate::files::{Files, entries, field, line, name, text};

/// The hypervisor and the container, for example `KVM, Docker`.
pub(crate) fn detect(files: &dyn Files, cpuinfo: &str) -> Option<String> {
    let found = [hypervisor(files, cpuinfo), container(files)];
    let found: Vec<String> = found.into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join(", "))
}

pub(crate) fn removable_drives(files: &dyn Files) -> Vec<String> {
    let devices = entries(files, "/sys/block");
    let drives = devices.iter().filter_map(|device| name(device));
    let drives = drives.filter(|name| name.starts_with("sr") || name.starts_with("fd"));
    drives.map(str::to_owned).collect()
}

fn hypervisor(files: &dyn Files, cpuinfo: &str) -> Option<String> {
    let flags = field(cpuinfo, "flags", ':').unwrap_or_default();
    let xen = line(files, "/sys/hypervisor/type");
    if !flags.split(' ').any(|flag| flag == "hypervisor") {
        return xen;
    }
    let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let known = xen.or_else(|| by_clock(&line(files, clocks)?).map(str::to_owned));
    Some(match (known, firmware(files)) {
        (Some(known), Some(machine)) => format!("{known} ({machine})"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "unknown hypervisor".to_owned(),
    })
}

/// Detects a hypervisor by the clock source that it provides.
fn by_clock(clocks: &str) -> Option<&'static str> {
    const CLOCKS: [(&str, &str); 3] = [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];
    let known = CLOCKS.iter().find(|(clock, _)| clocks.contains(clock));
    known.map(|(_, name)| *name)
}

/// Vendor and product name from the firmware, for example `Amazon EC2 m5.large`.
fn firmware(files: &dyn Files) -> Option<String> {
    let read = |name: &str| line(files, format!("/sys/class/dmi/id/{name}"));
    match (read("sys_vendor"), read("product_name")) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (vendor, product) => vendor.or(product),
    }
}

fn container(files: &dyn Files) -> Option<String> {
    let marked = |path: &str, name: &str| text(files, path).map(|_| name.to_owned());
    marked("/.dockerenv", "Docker")
        .or_else(|| marked("/run/.containerenv", "Podman"))
        .or_else(|| line(files, "/run/systemd/container"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::TestMachine;

    const GUEST: &str = "flags\t: fpu hypervisor sse\n";

    #[test]
    fn hypervisors_and_containers() {
        let machine = TestMachine::with(&[]);
        assert_eq!(detect(&machine.files, "flags\t: fpu\n"), None);
        let unnamed = detect(&machine.files, GUEST);
        assert_eq!(unnamed.as_deref(), Some("unknown hypervisor"));
        let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
        machine.write(clocks, "kvm-clock tsc\n");
        machine.write("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
        machine.write("/sys/class/dmi/id/product_name", "m5.large\n");
        machine.write("/.dockerenv", "");
        let found = detect(&machine.files, GUEST);
        assert_eq!(found.as_deref(), Some("KVM (Amazon EC2 m5.large), Docker"));
        assert_eq!(by_clock("tsc hpet"), None);
    }

    #[test]
    fn drives_for_removable_media() {
        let machine =
            TestMachine::with(&[("/sys/block/sr0/size", "0"), ("/sys/block/sda/size", "1")]);
        assert_eq!(removable_drives(&machine.files), ["sr0"]);
    }
}

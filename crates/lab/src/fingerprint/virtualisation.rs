//! Whether there is a hypervisor or a container around us. A hint: a hypervisor says
//! what it wants.

use std::path::Path;

use crate::kernel;

/// Both as far as they show, for example `KVM, Docker`.
pub(crate) fn detect(cpuinfo: &str) -> Option<String> {
    let found: Vec<String> = [hypervisor(cpuinfo), container()]
        .into_iter()
        .flatten()
        .collect();
    (!found.is_empty()).then(|| found.join(", "))
}

fn hypervisor(cpuinfo: &str) -> Option<String> {
    let flags = super::field(cpuinfo, "flags", ':').unwrap_or_default();
    let xen = super::line("/sys/hypervisor/type");
    if !flags.split(' ').any(|flag| flag == "hypervisor") {
        return xen;
    }
    let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let known = xen.or_else(|| by_clock(&super::line(clocks)?).map(str::to_owned));
    let machine = machine();
    Some(match (known, machine) {
        (Some(known), Some(machine)) => format!("{known} ({machine})"),
        (Some(known), None) => known,
        (None, Some(machine)) => machine,
        (None, None) => "a hypervisor that does not say which".to_owned(),
    })
}

/// A hypervisor's own clock betrays it.
fn by_clock(clocks: &str) -> Option<&'static str> {
    const CLOCKS: [(&str, &str); 3] = [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];
    let known = CLOCKS.iter().find(|(clock, _)| clocks.contains(clock));
    known.map(|(_, name)| *name)
}

/// As its firmware calls itself, for example `Amazon EC2 m5.large`.
fn machine() -> Option<String> {
    let read = |name: &str| super::line(format!("/sys/class/dmi/id/{name}"));
    match (read("sys_vendor"), read("product_name")) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (vendor, product) => vendor.or(product),
    }
}

fn container() -> Option<String> {
    let marked = |path: &str, name: &str| Path::new(path).exists().then(|| name.to_owned());
    marked("/.dockerenv", "Docker")
        .or_else(|| marked("/run/.containerenv", "Podman"))
        .or_else(|| kernel::line("/run/systemd/container"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hypervisors_clock_betrays_it() {
        assert_eq!(by_clock("kvm-clock tsc acpi_pm"), Some("KVM"));
        assert_eq!(by_clock("tsc hpet"), None);
    }
}

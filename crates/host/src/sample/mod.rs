//! Counters of a machine, and the metrics between two readings of them.

pub(crate) mod cpu;
pub(crate) mod disk;
mod network;
mod pressure;

use measure::values::Values;

use crate::files::{Files, text};
use crate::memory::field_bytes;

/// The counters at an instant. Those that could not be read are absent.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    cpu: Option<cpu::Cpus>,
    pressure: pressure::Pressure,
    available_bytes: Option<u64>,
    dirty_bytes: Option<u64>,
    network: network::Interfaces,
    disks: disk::Disks,
}

impl Sample {
    /// Reads the counters of a machine and of the named disks.
    pub fn take(files: &dyn Files, disks: &[String]) -> Self {
        let read = |name: &str| text(files, format!("/proc/{name}")).unwrap_or_default();
        let meminfo = read("meminfo");
        Self {
            cpu: cpu::parse(&read("stat")),
            pressure: pressure::read(files),
            available_bytes: field_bytes(&meminfo, "MemAvailable"),
            dirty_bytes: field_bytes(&meminfo, "Dirty"),
            network: network::read(files),
            disks: disk::parse(&read("diskstats"), disks),
        }
    }
}

/// Writes the metrics of the interval between two samples.
pub fn derive(before: &Sample, after: &Sample, seconds: f64, values: &mut Values) {
    if let Some((before, after)) = before.cpu.as_ref().zip(after.cpu.as_ref()) {
        cpu::derive(before, after, values);
    }
    pressure::derive(&before.pressure, &after.pressure, seconds, values);
    let mut level = |name: &str, bytes: Option<u64>| {
        values.put(name, bytes.map(|bytes| bytes as f64));
    };
    level("memory.available_bytes", after.available_bytes);
    level("memory.dirty_bytes", after.dirty_bytes);
    network::derive(&before.network, &after.network, seconds, values);
    disks(&before.disks, &after.disks, seconds, values);
}

fn disks(before: &disk::Disks, after: &disk::Disks, seconds: f64, values: &mut Values) {
    let mut all: Option<disk::DiskChange> = None;
    for (name, after) in after {
        if let Some(change) = before
            .get(name)
            .and_then(|before| disk::derive(before, after))
        {
            change.put(&format!("disk[{name}]"), seconds, values);
            all.get_or_insert_default().add(&change);
        }
    }
    if let Some(all) = all {
        all.put("disk", seconds, values);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::testing::TestMachine;

    #[test]
    fn metrics_of_a_machine() {
        let machine = TestMachine::of(
            "proc/meminfo MemTotal: 24684084 kB; MemAvailable: 23820120 kB; Dirty:  300 kB
             proc/stat cpu  1 2 3 4
             proc/pressure/io some total=1
             proc/diskstats 254 0 vda 1 2 3 4 5 6 7 8 9 10 11",
        );
        let before = Sample::take(&machine.files, &["vda".to_owned()]);
        machine.write_all(
            "/proc/",
            "stat cpu  2 2 3 5
             pressure/io some total=500001
             diskstats 254 0 vda 5 2 3 4 5 6 7 8 9 10 11",
        );
        let after = Sample::take(&machine.files, &["vda".to_owned()]);
        let mut values = Values::default();
        derive(&before, &after, 1.0, &mut values);
        for (name, value) in [
            ("memory.available_bytes", 23_820_120.0 * 1024.0),
            ("memory.dirty_bytes", 307_200.0),
            ("cpu.user", 50.0),
            ("psi.io.some", 50.0),
            ("disk[vda].read_iops", 4.0),
            ("disk.read_iops", 4.0),
        ] {
            assert_eq!(values.0[name], value, "{name}");
        }
    }

    #[test]
    fn a_machine_without_files_has_no_metrics() {
        let nothing = Sample::take(&TestMachine::with(&[]).files, &[]);
        let mut values = Values::default();
        derive(&nothing, &nothing, 1.0, &mut values);
        assert_eq!(values, Values::default());
    }

    proptest! {
        /// No file content causes a panic.
        #[test]
        fn no_text_panics(text in "([a-z:.\\\\ ()=-]|[0-9]{1,20}|cpu|vda|some|lo:|\\n| - ){0,200}") {
            let _ = cpu::parse(&text);
            let _ = disk::parse(&text, &["vda".to_owned()]);
            let _ = field_bytes(&text, "a");
            let _ = network::parse(&text);
            let _ = crate::process::parse(&text);
            let _ = crate::cgroup::count(&text, "a");
            let _ = crate::mounts::parse(&text);
            let _ = crate::files::list_length(&text);
        }
    }
}

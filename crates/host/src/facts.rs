//! The facts about a machine that do not change during a run.

use std::path::Path;

use measure::result::Environment;

use crate::cgroup;
use crate::cpu::Cpu;
use crate::files::{Files, LOCAL, field, line, list_length, text};
use crate::memory::Memory;
use crate::storage::Storage;
use crate::timekeeping::Timekeeping;
use crate::virtualization;

/// A machine. Fields that could not be read are absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostFacts {
    pub hostname: Option<String>,
    pub os: Option<String>,
    /// Name, release and architecture of the kernel.
    pub kernel: Option<String>,
    pub cpu: Cpu,
    pub memory: Memory,
    pub timekeeping: Timekeeping,
    /// The hypervisor and the container that it runs in, for example `KVM, Docker`.
    pub virtualization: Option<String>,
    pub removable_drives: Vec<String>,
    pub limits: Limits,
    pub system_disks: Vec<String>,
}

/// The limits on a process and its children.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
    /// Number of CPUs that it may use.
    pub cpus: Option<u64>,
    /// Hard limit on open files; absent without a limit.
    pub open_files: Option<u64>,
    /// Soft limit on processes and threads of its user; absent without a limit.
    pub processes: Option<u64>,
    /// The first and the last local port for outgoing connections.
    pub ports: Option<(u64, u64)>,
    /// The limits of control groups: names and values.
    pub groups: Vec<(String, String)>,
}

impl HostFacts {
    /// Reads a machine, which takes milliseconds.
    pub fn read(files: &dyn Files) -> Self {
        let read = |path: &str| text(files, path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let os =
            field(&read("/etc/os-release"), "PRETTY_NAME", '=').map(|name| name.replace('"', ""));
        let system = Storage::read(files, Path::new("/")).described.disks;
        Self {
            hostname: line(files, "/proc/sys/kernel/hostname"),
            os,
            kernel: kernel(files),
            cpu: Cpu::read(files, &cpuinfo),
            memory: Memory::read(files),
            timekeeping: Timekeeping::read(files),
            virtualization: virtualization::detect(files, &cpuinfo),
            removable_drives: virtualization::removable_drives(files),
            limits: Limits::read(files),
            system_disks: system.into_iter().map(|disk| disk.name).collect(),
        }
    }
}

fn kernel(files: &dyn Files) -> Option<String> {
    let part = |name: &str| line(files, format!("/proc/sys/kernel/{name}"));
    // Kernels before 6.1 do not report it.
    let arch = part("arch").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    Some(format!("{} {} {arch}", part("ostype")?, part("osrelease")?))
}

impl Limits {
    fn read(files: &dyn Files) -> Self {
        let own = text(files, "/proc/self/limits").unwrap_or_default();
        let ports = line(files, "/proc/sys/net/ipv4/ip_local_port_range");
        let groups = cgroup::limits(files);
        Self {
            cpus: cpus(files, &groups),
            open_files: limit(&own, "Max open files", 1),
            processes: limit(&own, "Max processes", 0),
            ports: ports.and_then(|ports| {
                let (first, last) = ports.split_once(char::is_whitespace)?;
                Some((first.parse().ok()?, last.trim().parse().ok()?))
            }),
            groups,
        }
    }
}

/// A limit on this process: column 0 is the soft limit, 1 the hard limit. `None` for `unlimited`.
fn limit(limits: &str, name: &str, column: usize) -> Option<u64> {
    let mut lines = limits.lines();
    let values = lines.find_map(|line| line.strip_prefix(name))?;
    values.split_whitespace().nth(column)?.parse().ok()
}

/// The number of CPUs by affinity and by CPU quotas. Quotas are rounded down, but to no less than 1.
fn cpus(files: &dyn Files, groups: &[(String, String)]) -> Option<u64> {
    let status = text(files, "/proc/self/status")?;
    let allowed = list_length(field(&status, "Cpus_allowed_list", ':')?)?;
    let quotas = groups.iter().filter_map(|(name, value)| {
        let (quota, period) = match name.starts_with("cpu.max") {
            true => value.split_once(' ')?,
            false => {
                let period = name.strip_prefix("cpu.cfs_quota")?;
                let period = format!("cpu.cfs_period{period}");
                let mut others = groups.iter();
                (
                    value.as_str(),
                    others.find(|(name, _)| *name == period)?.1.as_str(),
                )
            }
        };
        let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
        quota.checked_div(period)
    });
    Some(quotas.fold(allowed, u64::min).max(1))
}

/// The fingerprint of this host and of the storage below `dirs`, the directories of data and
/// results. `command` is stored verbatim and must not contain secrets.
pub fn fingerprint(dyno_version: &str, command: &str, dirs: &[&Path]) -> Environment {
    let storage = dirs.iter().map(|path| Storage::read(&LOCAL, path));
    let facts = HostFacts::read(&LOCAL);
    let HostFacts { cpu, memory, .. } = facts;
    Environment {
        dyno_version: dyno_version.to_owned(),
        started: jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string(),
        command: command.to_owned(),
        hostname: facts.hostname,
        os: facts.os,
        kernel: facts.kernel,
        cpu_model: cpu.model,
        cores: facts.limits.cpus,
        memory_bytes: memory.total_bytes,
        governor: cpu.governor,
        cpu_threads: cpu.threads,
        cpu_cores: cpu.cores,
        cpu_sockets: cpu.sockets,
        numa_nodes: cpu.numa_nodes,
        turbo: cpu.turbo.map(|(is_on, _)| is_on),
        virtualisation: facts.virtualization,
        transparent_hugepages: memory.transparent_hugepages,
        swap_bytes: memory.swap_bytes,
        swappiness: memory.swappiness,
        clock_source: facts.timekeeping.source,
        limits: facts.limits.groups,
        places: storage.map(|storage| storage.described).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::TestMachine;

    #[test]
    fn facts_of_this_host() {
        let facts = HostFacts::read(&LOCAL);
        let uname = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        assert_eq!(facts.hostname, Some(text(uname.nodename())));
        let kernel = [uname.sysname(), uname.release(), uname.machine()].map(text);
        assert_eq!(facts.kernel, Some(kernel.join(" ")));
        let cpus = std::thread::available_parallelism().unwrap().get();
        assert_eq!(facts.limits.cpus, Some(cpus as u64));
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        assert_eq!(facts.limits.open_files, files.maximum);
        assert!(facts.memory.available_bytes > Some(1 << 20));
        assert!(facts.cpu.threads >= facts.limits.cpus);
    }

    #[test]
    fn a_machine_without_files() {
        let found = HostFacts::read(&TestMachine::with(&[]).files);
        assert_eq!(found, HostFacts::default());
    }

    #[test]
    fn limits_of_a_process() {
        let machine = TestMachine::with(&[
            (
                "/proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max processes             5000                 unlimited            processes \n\
                 Max open files            1024                 4096                 files     \n",
            ),
            ("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-7\n"),
        ]);
        let limits = Limits::read(&machine.files);
        assert_eq!(limits.open_files, Some(4096));
        assert_eq!(limits.processes, Some(5000));
        assert_eq!(limits.ports, Some((32768, 60999)));
        assert_eq!(limits.cpus, Some(8));
        let cpus_with = |groups: &[(&str, &str)]| {
            let groups = groups.iter();
            let groups = groups.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            cpus(&machine.files, &groups.collect::<Vec<_>>())
        };
        assert_eq!(cpus_with(&[("cpu.max of /a", "350000 100000")]), Some(3));
        assert_eq!(cpus_with(&[("cpu.max", "50000 100000")]), Some(1));
        let version_1 = [
            ("cpu.cfs_quota_us of /", "200000"),
            ("cpu.cfs_period_us of /", "100000"),
        ];
        assert_eq!(cpus_with(&version_1), Some(2));
    }

    #[test]
    fn this_host_has_a_fingerprint() {
        let here = fingerprint("0.1.0", "dyno bench", &[Path::new("/")]);
        assert!(here.started.ends_with('Z'), "{}", here.started);
        assert!(here.kernel.unwrap().starts_with("Linux "));
        assert!(here.memory_bytes.unwrap() > 1 << 20);
        assert!(here.cores.unwrap() >= 1);
        assert!(here.cpu_threads >= here.cores, "{:?}", here.cpu_threads);
        assert_eq!(here.places[0].mount_point.as_deref(), Some("/"));
        assert!(here.places[0].options.as_deref().unwrap().contains("rw"));
    }
}

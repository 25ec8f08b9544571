//! The facts about a machine, and the table of its checks.

use host::{Activity, HostFacts};
use measure::checks;
use measure::finding::Level::{Note, Severe, Warning};
use measure::finding::check::Check;
use plan::shown_bytes;

use super::judges::{self, at_least, is};
use super::requirements::Requirements;

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Machine {
    pub(super) facts: HostFacts,
    pub(super) activity: Activity,
    pub(super) required: Option<Requirements>,
}

/// By family, in the order of the reference page.
pub(super) const FAMILIES: [(&str, &[Check<Machine>]); 6] = [
    ("Activity", ACTIVITY),
    ("CPUs", CPUS),
    ("Memory", MEMORY),
    ("Clocks", CLOCKS),
    ("Process limits", LIMITS),
    ("Virtualization and control groups", CONTAINER),
];

const ACTIVITY: &[Check<Machine>] = checks! { machine:
    "other-load", Severe => judges::others(&machine.activity),
        why: "Other processes take CPU time from the server and the load generator, and how much varies from trial to trial.",
        source: "Sun and VMware paper (both platforms set up alike); proc_stat(5)",
        remedy: Words("stop them, or measure when they have finished: top -o %CPU");
    "load-average", Note => judges::load_average(&machine.activity),
        why: "A machine that was busy a minute ago may become busy again, and its caches and temperature have not settled.",
        source: "proc_loadavg(5)",
        remedy: Words("wait a minute, then check again: uptime");
    "steal", Severe => at_least(machine.activity.steal_pct, &[(5.0, Severe), (1.0, Warning)], "/proc/stat", |share| {
            format!("{share:.1} % stolen by the hypervisor")
        }),
        why: "The hypervisor gives CPU time of this machine to other machines, so results depend on their load.",
        source: "Sun and VMware paper, best practices (no more vCPUs than needed); proc_stat(5)",
        remedy: Words("use dedicated CPUs: a dedicated host, or pinned vCPUs");
    "swapping", Severe => at_least(machine.activity.swapped_pages, &[(1, Severe)], "/proc/vmstat", |pages| {
            format!("{pages} pages swapped in {:.1} s", machine.activity.seconds)
        }),
        why: "On a machine that swaps, the speed of the swap device determines the results.",
        source: "VMware vSAN paper (memory left to the operating system)",
        remedy: Words("stop the processes that use the memory: ps -eo rss,comm --sort=-rss | head");
    "disk-busy", Severe => judges::busy_disks(&machine.activity),
        why: "I/O of other processes waits in the same queue as that of the database.",
        source: "Sun and VMware paper, AnandTech article (dedicated disks for the data)",
        remedy: Words("stop the processes that use the disk: iotop -o");
};

const CPUS: &[Check<Machine>] = checks! { machine:
    "cpu-governor", Severe => judges::governor(&machine.facts.cpu),
        why: "A governor that follows the load lowers the frequency of a CPU that waits for I/O or locks, so the same work takes longer under a lighter load.",
        source: "kernel docs, admin-guide/pm/cpufreq",
        remedy: Words("cpupower frequency-set -g performance");
    "cpu-turbo", Warning => judges::turbo(&machine.facts.cpu),
        why: "How far a CPU exceeds its nominal frequency depends on its temperature and on the number of busy cores, which vary from trial to trial and within a sweep.",
        source: "SanDisk paper (measured with turbo off); kernel docs, admin-guide/pm/intel_pstate",
        remedy: Words("echo VALUE > FILE");
    "cpu-idle-states", Warning => judges::idle_states(&machine.facts.cpu),
        why: "A CPU wakes slowly from a deep idle state, so response times under a light load may exceed those under a heavy one.",
        source: "kernel docs, admin-guide/pm/cpuidle",
        remedy: Words("cpupower idle-set -D 100");
    "power-saving", Severe => judges::power(&machine.facts.cpu.power),
        why: "A machine that saves power runs below its maximum frequency, and how far below varies over time.",
        source: "kernel docs, admin-guide/pm/intel_pstate (energy_performance_preference) and userspace-api/sysfs-platform_profile",
        remedy: Words("echo performance | tee FILES");
    "battery", Severe => judges::battery(&machine.facts.cpu),
        why: "A machine on battery runs slower, and slower still as the battery drains.",
        source: "kernel docs, ABI/testing/sysfs-class-power",
        remedy: Words("connect the machine to external power");
    "cpu-mitigations", Note => judges::mitigations(&machine.facts.cpu),
        why: "Mitigations of CPU vulnerabilities slow down system calls, so compare only machines with the same mitigations.",
        source: "kernel docs, admin-guide/hw-vuln",
        remedy: Nothing;
    "numa-nodes", Note => at_least(machine.facts.cpu.numa_nodes, &[(2, Note)], "/sys/devices/system/node/online", |nodes| {
            format!("number of nodes: {nodes}")
        }),
        why: "Access to memory on another NUMA node is slower, and the placement of the buffer pool changes with each start of the server.",
        source: "SanDisk paper (two nodes); numactl(8)",
        remedy: Words("start the server under numactl --interleave=all, or server and dyno under numactl --cpunodebind=0 --membind=0");
    "numa-balancing", Warning => is(machine.facts.cpu.numa_balancing, "/proc/sys/kernel/numa_balancing", |value| {
            Warning.when(value > 0 && machine.facts.cpu.numa_nodes != Some(1))
        }),
        why: "The kernel moves pages of the buffer pool between NUMA nodes during the measurement, and causes page faults to decide which pages to move.",
        source: "kernel docs, admin-guide/sysctl/kernel (numa_balancing)",
        remedy: Words("sysctl kernel.numa_balancing=0");
};

const MEMORY: &[Check<Machine>] = checks! { machine:
    "transparent-huge-pages", Warning => is(machine.facts.memory.transparent_hugepages.as_deref(), "/sys/kernel/mm/transparent_hugepage/enabled", |choice| {
            Warning.when(choice == "always")
        }),
        why: "The kernel stalls processes while it assembles huge pages, which increases tail latency, and servers use more memory than they account for.",
        source: "kernel docs, admin-guide/mm/transhuge",
        remedy: Words("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    "swap-used", Warning => at_least(machine.facts.memory.swap_used_bytes, &[(1, Warning)], "/proc/meminfo", |used| {
            format!("swap in use: {}", shown_bytes(used))
        }),
        why: "Swapped-out pages are read back from disk when they are needed again, which may be during the measurement.",
        source: "kernel docs, admin-guide/sysctl/vm",
        remedy: Words("swapoff -a && swapon -a");
    "swappiness", Warning => judges::swappiness(&machine.facts.memory),
        why: "With a high value, the kernel swaps out parts of the buffer pool to cache files that may never be read again.",
        source: "kernel docs, admin-guide/sysctl/vm (swappiness)",
        remedy: Words("sysctl vm.swappiness=1");
    "memory-for-servers", Severe => judges::buffer_pools(machine),
        why: "If the buffer pools do not fit into memory, the servers swap, and read their pages from disk twice.",
        source: "VMware vSAN paper (70-80 % of the memory for the buffer pool)",
        remedy: Words("reduce topology.instances, or the size of the buffer pool in server.config");
    "overcommit", Warning => is(machine.facts.memory.overcommit, "/proc/sys/vm/overcommit_memory", |policy| {
            Warning.when(policy >= 2)
        }),
        why: "With strict overcommit accounting the kernel may refuse a buffer pool that would fit.",
        source: "kernel docs, mm/overcommit-accounting",
        remedy: Words("sysctl vm.overcommit_memory=0");
    "dirty-pages", Note => at_least(machine.facts.memory.dirty_bytes, &[(4 << 30, Note)], "/proc/sys/vm/dirty_ratio", |limit| {
            format!("up to {}", shown_bytes(limit))
        }),
        why: "Buffered writes accumulate up to this limit. At the limit, all writers stall, for seconds if the limit is high.",
        source: "kernel docs, admin-guide/sysctl/vm (dirty_ratio)",
        remedy: Words("sysctl vm.dirty_bytes=1073741824 vm.dirty_background_bytes=268435456");
};

const CLOCKS: &[Check<Machine>] = checks! { machine:
    "clock-source", Severe => judges::clock_source(&machine.facts.timekeeping),
        why: "Server and load generator read the time several times per statement, and with a slow clock source, each reading is a system call.",
        source: "kernel docs, timers/timekeeping; Sun and VMware paper (timer interrupts)",
        remedy: Words("echo SOURCE > /sys/devices/system/clocksource/clocksource0/current_clocksource");
    "time-sync", Note => judges::time_sync(&machine.facts.timekeeping),
        why: "dyno measures with a clock that is never stepped, but logs of several machines can be compared only if their clocks are synchronized and never stepped.",
        source: "AnandTech article (times measured on the client, because clocks of virtual machines drift); chrony.conf(5), ntpd(8), systemd-timesyncd(8)",
        remedy: Words("apt-get install chrony, with makestep 1 3 in chrony.conf: it steps the clock only in its first three updates");
};

const LIMITS: &[Check<Machine>] = checks! { machine:
    "open-files", Severe => judges::open_files(machine),
        why: "Each connection is an open file in dyno and in the server, and each table is one more in the server; beyond the limit connections are refused, or tables are closed and reopened.",
        source: "getrlimit(2) (RLIMIT_NOFILE)",
        remedy: Words("ulimit -n NEEDED");
    "processes", Severe => judges::processes(machine),
        why: "A server has a thread or a process for each connection, and refuses the connection if it cannot create one.",
        source: "getrlimit(2) (RLIMIT_NPROC); kernel docs, admin-guide/cgroup-v2 (pids.max)",
        remedy: Words("ulimit -u NEEDED, and raise pids.max of the control group");
    "local-ports", Severe => judges::local_ports(machine),
        why: "Each TCP connection uses a local port, and the number of ports for connections to one server is limited.",
        source: "kernel docs, networking/ip-sysctl (ip_local_port_range)",
        remedy: Words("sysctl net.ipv4.ip_local_port_range='1024 65535'");
};

const CONTAINER: &[Check<Machine>] = checks! { machine:
    "virtualization", Note => judges::virtualization(machine),
        why: "A virtual machine is a few percent slower than the bare hardware, and shares that hardware with others.",
        source: "Sun and VMware paper (4.9 % less throughput on average)",
        remedy: Nothing;
    "virtual-devices", Note => judges::virtual_devices(machine),
        why: "Unused virtual drives cause interrupts.",
        source: "Sun and VMware paper, best practices (floppy, CD-ROM and USB off)",
        remedy: Words("remove them from the configuration of the virtual machine");
    "cgroup-cpu", Warning => judges::unlimited(machine, &["cpu.max", "cpu.cfs"], "no CPU quota"),
        why: "When a control group has used up its CPU quota, all its threads stop until the next period, which increases tail latency.",
        source: "kernel docs, admin-guide/cgroup-v2 (cpu.max) and scheduler/sched-bwc",
        remedy: Words("run in a control group without a CPU quota, or assign whole CPUs with cpuset");
    "server-quota", Warning => judges::quota(machine),
        why: "A quota of more CPUs than the machine has does not limit the server.",
        source: "kernel docs, scheduler/sched-bwc (quota over period)",
        remedy: Words("reduce site.cpus, or remove it");
    "cgroup-memory", Severe => judges::memory_limit(machine),
        why: "At the memory limit of a control group, its processes are first throttled and then killed. The page cache counts toward the limit.",
        source: "kernel docs, admin-guide/cgroup-v2 (memory.max, memory.high)",
        remedy: Words("raise the limit of the control group, or use smaller buffer pools");
    "cgroup-io", Warning => judges::unlimited(machine, &["io.max", "blkio."], "no I/O limit"),
        why: "With an I/O limit, the limit is measured instead of the disk.",
        source: "kernel docs, admin-guide/cgroup-v2 (io.max)",
        remedy: Words("run in a control group without the limit, unless you intend to measure it");
};

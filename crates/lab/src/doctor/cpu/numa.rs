//! The nodes of the CPUs, each with memory of its own.

use measure::finding::Level;

use super::Cpu;
use measure::finding::check::{About, Check, Mend, Seen};

pub(super) const CHECKS: &[Check<Cpu>] = &[
    Check {
        about: About {
            id: "numa-nodes",
            worst: Level::Note,
            why: "Memory of another node is slower, and where a buffer pool lies is decided anew with each start of a server.",
            source: "MySQL on Optimus SSDs (SanDisk) (two nodes); MySQL manual, innodb_numa_interleave",
            mend: Mend::Words(
                "innodb_numa_interleave = ON in the server's option file, or numactl --cpunodebind=0 --membind=0 for server and dyno",
            ),
        },
        judge: nodes,
    },
    Check {
        about: About {
            id: "numa-balancing",
            worst: Level::Careful,
            why: "The kernel moves pages of the buffer pool from node to node while it is measured, and takes page faults to find out which.",
            source: "kernel docs, admin-guide/sysctl/kernel (numa_balancing)",
            mend: Mend::Words("sysctl kernel.numa_balancing=0"),
        },
        judge: balancing,
    },
];

fn nodes(cpu: &Cpu) -> Seen {
    const FILE: &str = "/sys/devices/system/node/online";
    match cpu.numa_nodes {
        None => Seen::unseen(format!("{FILE} is not there")),
        Some(1) => Seen::passed(format!("{FILE}: one node")),
        Some(nodes) => Seen::note(format!("{FILE}: {nodes} nodes")),
    }
}

fn balancing(cpu: &Cpu) -> Seen {
    const FILE: &str = "/proc/sys/kernel/numa_balancing";
    match (cpu.numa_balancing, cpu.numa_nodes) {
        (None, _) => Seen::unseen(format!("{FILE} is not there")),
        (Some(0), _) => Seen::passed(format!("{FILE}: 0")),
        (Some(on), Some(1)) => Seen::passed(format!("{FILE}: {on}, with one node")),
        (Some(on), _) => Seen::careful(format!("{FILE}: {on}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Careful, Note, Passed, Unseen};

    #[test]
    fn nodes_and_their_balancing() {
        let with = |numa_nodes, numa_balancing| {
            let cpu = Cpu {
                numa_nodes,
                numa_balancing,
                ..Cpu::default()
            };
            (nodes(&cpu).level(), balancing(&cpu).level())
        };
        assert_eq!(with(None, None), (Unseen, Unseen));
        assert_eq!(with(Some(1), Some(1)), (Passed, Passed));
        assert_eq!(with(Some(2), Some(1)), (Note, Careful));
        assert_eq!(with(Some(2), Some(0)), (Note, Passed));
    }
}

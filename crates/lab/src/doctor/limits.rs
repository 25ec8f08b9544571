//! Limits of this process, which its servers inherit, against what the load needs.

use measure::finding::Level::Severe;

use super::check::{About, Check, Observed, Remedy};
use super::machine::Machine;
use super::rule::is_enough;
use crate::files::OWN_FILES;

/// Files that a server has open besides connections and tables.
const SERVER_FILES: u64 = 300;
/// Threads of a server besides those of its connections.
const SERVER_THREADS: u64 = 60;
/// Threads of dyno and of the user's other processes.
const OTHER_THREADS: u64 = 200;

pub(super) const CHECKS: &[Check<Machine>] = &[
    Check {
        about: About {
            id: "open-files",
            worst: Severe,
            why: "Each connection is an open file in dyno and in the server, and each table is one more in the server; beyond the limit connections are refused, or tables are closed and reopened.",
            source: "getrlimit(2) (RLIMIT_NOFILE)",
            remedy: Remedy::Words("ulimit -n NEEDED"),
        },
        judge: files,
    },
    Check {
        about: About {
            id: "processes",
            worst: Severe,
            why: "A server has a thread or a process for each connection, and refuses the connection if it cannot create one.",
            source: "getrlimit(2) (RLIMIT_NPROC); kernel docs, admin-guide/cgroup-v2 (pids.max)",
            remedy: Remedy::Words("ulimit -u NEEDED, and the group's pids.max"),
        },
        judge: processes,
    },
    Check {
        about: About {
            id: "local-ports",
            worst: Severe,
            why: "Each TCP connection takes a port of this machine, and the ports for connections to one server are limited.",
            source: "kernel docs, networking/ip-sysctl (ip_local_port_range)",
            remedy: Remedy::Words("sysctl net.ipv4.ip_local_port_range='1024 65535'"),
        },
        judge: local_ports,
    },
];

fn files(machine: &Machine) -> Observed {
    let Some(limit) = machine.facts.limits.open_files else {
        return Observed::passed("/proc/self/limits: no limit of open files");
    };
    let needed = machine.required.map(|asked| {
        let own = asked.load_files + OWN_FILES;
        let server = asked.users + asked.tables + SERVER_FILES;
        match asked.private_servers {
            0 => own,
            _ => own.max(server),
        }
    });
    is_enough(
        limit,
        needed,
        format!("/proc/self/limits: {limit} open files"),
    )
}

fn processes(machine: &Machine) -> Observed {
    let limits = &machine.facts.limits;
    let own = limits.processes;
    let own = own.map(|limit| ("/proc/self/limits", limit));
    let groups = limits.groups.iter();
    let groups = groups.filter(|(name, _)| name.starts_with("pids.max"));
    let groups = groups.filter_map(|(name, limit)| Some((name.as_str(), limit.parse().ok()?)));
    let lowest = own
        .into_iter()
        .chain(groups)
        .min_by_key(|(_, limit)| *limit);
    let Some((file, limit)) = lowest else {
        return Observed::passed("/proc/self/limits: no limit of processes");
    };
    let needed = machine.required.map(|asked| {
        let servers = asked.private_servers * (asked.users + SERVER_THREADS);
        servers + OTHER_THREADS
    });
    is_enough(limit, needed, format!("{file}: {limit} processes"))
}

fn local_ports(machine: &Machine) -> Observed {
    const FILE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
    let Some((first, last)) = machine.facts.limits.ports else {
        return Observed::unknown(format!("{FILE}: not available"));
    };
    let count = (last + 1).saturating_sub(first);
    let needed = machine.required.map(|asked| asked.users);
    is_enough(count, needed, format!("{FILE}: {count} ports"))
}

#[cfg(test)]
mod tests {
    use host::Limits;
    use measure::finding::Level::{Passed, Unknown};

    use super::*;
    use crate::doctor::requirements::Requirements;

    fn machine(limits: Limits, asked: Option<Requirements>) -> Machine {
        let mut machine = Machine {
            asked,
            ..Machine::default()
        };
        machine.facts.limits = limits;
        machine
    }

    fn asked(users: u64, tables: u64, servers: u64) -> Option<Requirements> {
        Some(Requirements {
            users,
            all_users: users * servers.max(1),
            load_files: users * servers.max(1),
            tables,
            private_servers: servers,
            ..Requirements::default()
        })
    }

    #[test]
    fn open_files_of_dyno_and_of_a_server() {
        let with = |open_files, asked| {
            let limits = Limits {
                open_files,
                ..Limits::default()
            };
            files(&machine(limits, asked))
        };
        assert_eq!(with(Some(1024), asked(100, 4, 0)).level(), Passed);
        assert_eq!(with(Some(1024), asked(1000, 4, 0)).level(), Severe);
        assert_eq!(with(Some(1024), asked(200, 4, 5)).level(), Severe);
        assert_eq!(with(Some(1024), asked(10, 4000, 1)).level(), Severe);
        assert_eq!(with(Some(10), None).level(), Passed);
        assert_eq!(with(None, asked(1000, 4, 0)).level(), Passed);
        assert_eq!(
            with(Some(1024), asked(1000, 4, 0)),
            Observed::severe("/proc/self/limits: 1024 open files; the load needs 1256")
                .with("NEEDED", 1256)
        );
    }

    #[test]
    fn threads_of_all_servers_against_the_lower_limit() {
        let with = |account, group: Option<u64>, asked| {
            let limits = Limits {
                processes: account,
                groups: group
                    .map(|limit| ("pids.max of /a".to_owned(), limit.to_string()))
                    .into_iter()
                    .collect(),
                ..Limits::default()
            };
            processes(&machine(limits, asked)).level()
        };
        assert_eq!(with(Some(4096), None, asked(100, 1, 8)), Passed);
        assert_eq!(with(Some(4096), Some(1000), asked(100, 1, 8)), Severe);
        assert_eq!(with(Some(1000), Some(4096), asked(100, 1, 8)), Severe);
        assert_eq!(with(Some(1000), None, asked(100, 1, 0)), Passed);
        assert_eq!(with(None, None, asked(100, 1, 8)), Passed);
    }

    #[test]
    fn ports_to_one_server() {
        let with = |ports, asked| {
            let limits = Limits {
                ports,
                ..Limits::default()
            };
            local_ports(&machine(limits, asked)).level()
        };
        assert_eq!(with(Some((32768, 60999)), asked(10_000, 1, 8)), Passed);
        assert_eq!(with(Some((32768, 60999)), asked(30_000, 1, 0)), Severe);
        assert_eq!(with(None, None), Unknown);
    }
}

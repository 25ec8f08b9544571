//! Limits on this process, which its servers inherit, compared with what the load requires.

use measure::finding::Level::Severe;

use super::check::{About, Check, Observed, Remedy};
use super::machine::Machine;
use super::rule::is_enough;
use crate::files::OWN_FILES;

/// Open files of a server in addition to connections and tables.
const SERVER_FILES: u64 = 300;
/// Threads of a server in addition to those of its connections.
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
            remedy: Remedy::Words("ulimit -u NEEDED, and raise pids.max of the control group"),
        },
        judge: processes,
    },
    Check {
        about: About {
            id: "local-ports",
            worst: Severe,
            why: "Each TCP connection uses a local port, and the number of ports for connections to one server is limited.",
            source: "kernel docs, networking/ip-sysctl (ip_local_port_range)",
            remedy: Remedy::Words("sysctl net.ipv4.ip_local_port_range='1024 65535'"),
        },
        judge: local_ports,
    },
];

fn files(machine: &Machine) -> Observed {
    let Some(limit) = machine.facts.limits.open_files else {
        return Observed::passed("/proc/self/limits: no limit on open files");
    };
    let needed = machine.required.map(|required| {
        let own = required.load_files + OWN_FILES;
        let server = required.server.users + required.server.tables + SERVER_FILES;
        match required.private_servers {
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
        return Observed::passed("/proc/self/limits: no limit on processes");
    };
    let needed = machine.required.map(|required| {
        let servers = required.private_servers * (required.server.users + SERVER_THREADS);
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
    let needed = machine.required.map(|required| required.server.users);
    is_enough(count, needed, format!("{FILE}: {count} ports"))
}

#[cfg(test)]
mod tests {
    use engine::checks::Demand;
    use host::Limits;
    use measure::finding::Level::{Passed, Unknown};

    use super::*;
    use crate::doctor::requirements::Requirements;

    fn machine(limits: Limits, required: Option<Requirements>) -> Machine {
        let mut machine = Machine {
            required,
            ..Machine::default()
        };
        machine.facts.limits = limits;
        machine
    }

    fn required(users: u64, tables: u64, servers: u64) -> Option<Requirements> {
        Some(Requirements {
            server: Demand {
                users,
                tables,
                ..Demand::default()
            },
            load_files: users * servers.max(1),
            private_servers: servers,
            ..Requirements::default()
        })
    }

    #[test]
    fn open_files_of_dyno_and_of_a_server() {
        let with = |open_files, required| {
            let limits = Limits {
                open_files,
                ..Limits::default()
            };
            files(&machine(limits, required))
        };
        assert_eq!(with(Some(1024), required(100, 4, 0)).level(), Passed);
        assert_eq!(with(Some(1024), required(1000, 4, 0)).level(), Severe);
        assert_eq!(with(Some(1024), required(200, 4, 5)).level(), Severe);
        assert_eq!(with(Some(1024), required(10, 4000, 1)).level(), Severe);
        assert_eq!(with(Some(10), None).level(), Passed);
        assert_eq!(with(None, required(1000, 4, 0)).level(), Passed);
        assert_eq!(
            with(Some(1024), required(1000, 4, 0)),
            Observed::severe("/proc/self/limits: 1024 open files; the load needs 1320")
                .with("NEEDED", 1320)
        );
    }

    #[test]
    fn threads_of_all_servers_against_the_lower_limit() {
        let with = |account, group: Option<u64>, required| {
            let limits = Limits {
                processes: account,
                groups: group
                    .map(|limit| ("pids.max of /a".to_owned(), limit.to_string()))
                    .into_iter()
                    .collect(),
                ..Limits::default()
            };
            processes(&machine(limits, required)).level()
        };
        assert_eq!(with(Some(4096), None, required(100, 1, 8)), Passed);
        assert_eq!(with(Some(4096), Some(1000), required(100, 1, 8)), Severe);
        assert_eq!(with(Some(1000), Some(4096), required(100, 1, 8)), Severe);
        assert_eq!(with(Some(1000), None, required(100, 1, 0)), Passed);
        assert_eq!(with(None, None, required(100, 1, 8)), Passed);
    }

    #[test]
    fn ports_for_connections_to_one_server() {
        let with = |ports, required| {
            let limits = Limits {
                ports,
                ..Limits::default()
            };
            local_ports(&machine(limits, required)).level()
        };
        assert_eq!(with(Some((32768, 60999)), required(10_000, 1, 8)), Passed);
        assert_eq!(with(Some((32768, 60999)), required(30_000, 1, 0)), Severe);
        assert_eq!(with(None, None), Unknown);
    }
}

//! Limits of this process, which its servers inherit, against what the load asks for.

use measure::finding::Level;

use super::asked::Asked;
use crate::files::OWN_FILES;
use measure::finding::check::{About, Check, Mend, Seen};

/// Files that a server has open besides connections and tables.
const SERVER_FILES: u64 = 300;
/// Threads of a server besides those of its connections.
const SERVER_THREADS: u64 = 60;
/// Threads of dyno and what else the account runs.
const OTHER_THREADS: u64 = 200;

/// What this process may have.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Limits {
    /// Most open files, after raising; `None` without a limit.
    pub(super) open_files: Option<u64>,
    /// Most processes and threads of an account; `None` without a limit.
    pub(super) processes: Option<u64>,
    /// Most of them in this control group, and the file that says so; `None` without a limit.
    pub(super) group_processes: Option<(String, u64)>,
    /// The first and the last port of connections to a server.
    pub(super) ports: Option<(u64, u64)>,
    pub(super) asked: Option<Asked>,
}

pub(super) const CHECKS: &[Check<Limits>] = &[
    Check {
        about: About {
            id: "open-files",
            worst: Level::Spoils,
            why: "Each connection is an open file in dyno and in the server, and each table one more in the server: beyond the limit connections are refused, or tables are closed and opened again.",
            source: "MySQL manual, File Not Found and Similar Errors; getrlimit(2)",
            mend: Mend::Words("ulimit -n NEEDED"),
        },
        judge: files,
    },
    Check {
        about: About {
            id: "processes",
            worst: Level::Spoils,
            why: "A server has a thread for each connection, and one that cannot be made is a connection refused.",
            source: "MySQL manual, Connection Interfaces; getrlimit(2)",
            mend: Mend::Words("ulimit -u NEEDED, and the group's pids.max"),
        },
        judge: processes,
    },
    Check {
        about: About {
            id: "local-ports",
            worst: Level::Spoils,
            why: "Each connection over TCP takes a port of this host, and there are only so many to one server.",
            source: "kernel docs, networking/ip-sysctl (ip_local_port_range)",
            mend: Mend::Words("sysctl net.ipv4.ip_local_port_range='1024 65535'"),
        },
        judge: ports,
    },
];

/// A limit against a need. Without a load there is nothing to compare it with.
fn compared(what: String, limit: u64, asked: Option<u64>) -> Seen {
    match asked {
        None => Seen::passed(what),
        Some(needed) if needed > limit => {
            Seen::spoils(format!("{what}, the load needs {needed}")).with("NEEDED", needed)
        }
        Some(needed) => Seen::passed(format!("{what}, the load needs {needed}")),
    }
}

fn files(limits: &Limits) -> Seen {
    let Some(limit) = limits.open_files else {
        return Seen::passed("/proc/self/limits: no limit of open files");
    };
    let needed = limits.asked.map(|asked| {
        let own = asked.load_files + OWN_FILES;
        let server = asked.users + asked.tables + SERVER_FILES;
        match asked.private_servers {
            0 => own,
            _ => own.max(server),
        }
    });
    compared(
        format!("/proc/self/limits: {limit} open files"),
        limit,
        needed,
    )
}

fn processes(limits: &Limits) -> Seen {
    let account = limits
        .processes
        .map(|limit| ("/proc/self/limits".to_owned(), limit));
    let group = limits.group_processes.clone();
    let lowest = account
        .into_iter()
        .chain(group)
        .min_by_key(|(_, limit)| *limit);
    let Some((file, limit)) = lowest else {
        return Seen::passed("/proc/self/limits: no limit of processes");
    };
    let needed = limits.asked.map(|asked| {
        let servers = asked.private_servers * (asked.users + SERVER_THREADS);
        servers + OTHER_THREADS
    });
    compared(format!("{file}: {limit} processes"), limit, needed)
}

fn ports(limits: &Limits) -> Seen {
    const FILE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
    let Some((first, last)) = limits.ports else {
        return Seen::unseen(format!("{FILE} is not there"));
    };
    let count = (last + 1).saturating_sub(first);
    let needed = limits.asked.map(|asked| asked.users);
    compared(format!("{FILE}: {count} ports"), count, needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Passed, Spoils, Unseen};

    fn asked(users: u64, tables: u64, servers: u64) -> Option<Asked> {
        Some(Asked {
            users,
            all_users: users * servers.max(1),
            load_files: users * servers.max(1),
            tables,
            private_servers: servers,
            ..Asked::default()
        })
    }

    #[test]
    fn files_of_dyno_and_of_a_server() {
        let with = |open_files, asked| {
            let limits = Limits {
                open_files,
                asked,
                ..Limits::default()
            };
            files(&limits)
        };
        assert_eq!(with(Some(1024), asked(100, 4, 0)).level(), Passed);
        assert_eq!(with(Some(1024), asked(1000, 4, 0)).level(), Spoils);
        assert_eq!(with(Some(1024), asked(200, 4, 5)).level(), Spoils);
        assert_eq!(with(Some(1024), asked(10, 4000, 1)).level(), Spoils);
        assert_eq!(with(Some(10), None).level(), Passed);
        assert_eq!(with(None, asked(1000, 4, 0)).level(), Passed);
        assert_eq!(
            with(Some(1024), asked(1000, 4, 0)),
            Seen::spoils("/proc/self/limits: 1024 open files, the load needs 1256")
                .with("NEEDED", 1256)
        );
    }

    #[test]
    fn threads_of_all_servers_under_the_lower_limit() {
        let with = |account, group: Option<u64>, asked| {
            let limits = Limits {
                processes: account,
                group_processes: group.map(|limit| ("pids.max".to_owned(), limit)),
                asked,
                ..Limits::default()
            };
            processes(&limits).level()
        };
        assert_eq!(with(Some(4096), None, asked(100, 1, 8)), Passed);
        assert_eq!(with(Some(4096), Some(1000), asked(100, 1, 8)), Spoils);
        assert_eq!(with(Some(1000), Some(4096), asked(100, 1, 8)), Spoils);
        assert_eq!(with(Some(1000), None, asked(100, 1, 0)), Passed);
        assert_eq!(with(None, None, asked(100, 1, 8)), Passed);
    }

    #[test]
    fn ports_to_one_server() {
        let with = |range, asked| {
            let limits = Limits {
                ports: range,
                asked,
                ..Limits::default()
            };
            ports(&limits).level()
        };
        assert_eq!(with(Some((32768, 60999)), asked(10_000, 1, 8)), Passed);
        assert_eq!(with(Some((32768, 60999)), asked(30_000, 1, 0)), Spoils);
        assert_eq!(with(None, None), Unseen);
    }
}

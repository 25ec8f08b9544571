//! Limits of this process.

use rustix::process::{Resource, getrlimit};

use crate::doctor::asked::Asked;
use crate::doctor::limits::Limits;
use crate::fingerprint::limits as groups;
use crate::kernel;

pub(in crate::doctor) fn read(asked: Option<Asked>) -> Limits {
    let of_groups = groups::all().into_iter();
    let processes = of_groups
        .filter(|(name, _)| name.starts_with("pids.max"))
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)));
    let ports = kernel::line("/proc/sys/net/ipv4/ip_local_port_range");
    Limits {
        // dyno raises its own to what it may have.
        open_files: getrlimit(Resource::Nofile).maximum,
        processes: getrlimit(Resource::Nproc).current,
        group_processes: processes.min_by_key(|(_, limit)| *limit),
        ports: ports.and_then(|ports| {
            let (first, last) = ports.split_once(char::is_whitespace)?;
            Some((first.parse().ok()?, last.trim().parse().ok()?))
        }),
        asked,
    }
}

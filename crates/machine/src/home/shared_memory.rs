//! Removes the shared memory of killed servers.
//!
//! A System V segment outlives the processes that use it, and a host allows a few thousand. A
//! server's directory records its process ID: a segment was the server's if that process created
//! it, it belongs to the servers' account, and no process has it attached.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::account::Account;
use crate::failure::Failure;
use crate::process::{self, NEVER, TOOL_LIMIT};

/// The kernel's list of segments.
const SEGMENTS: &str = "/proc/sysvipc/shm";
/// Removes a segment; doing so directly would require `unsafe` code.
const IPCRM: &str = "ipcrm";
/// The file in a server's directory that holds its process ID.
const PROCESS: &str = "process";

pub(crate) fn record(dir: &Path, pid: u32) -> Result<(), Failure> {
    let path = dir.join(PROCESS);
    fs::write(&path, pid.to_string()).map_err(Failure::at("write", &path))
}

/// Removes the segments of an ended process, whose ID a server's directory records.
pub(crate) fn remove_recorded(dir: &Path, account: &Account) {
    let pid = fs::read_to_string(dir.join(PROCESS)).ok();
    let Some(pid) = pid.and_then(|text| text.parse().ok()) else {
        return;
    };
    // A kernel without this list has no System V segments.
    let list = fs::read_to_string(SEGMENTS).unwrap_or_default();
    for id in unused(&list, pid, account.uid()) {
        let mut ipcrm = Command::new(IPCRM);
        ipcrm.args(["-m", &id.to_string()]);
        // Not fatal: some memory stays allocated.
        let _ = process::output(ipcrm, TOOL_LIMIT, &NEVER);
    }
}

/// The segments that `pid` created, that `uid` owns, and that no process has attached.
fn unused(list: &str, pid: u32, uid: u32) -> Vec<u32> {
    let segments = list.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let field = |at: usize| fields.get(at)?.parse::<u32>().ok();
        let (id, creator, users, owner) = (field(1)?, field(4)?, field(6)?, field(7)?);
        (creator == pid && users == 0 && owner == uid).then_some(id)
    });
    segments.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_detached_segments_of_the_process_are_removed() {
        let list = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n\
            9994426      98307   600                    56 17308 17311      0   101   104   101   104 1795336154 1795336154 1795336154                  4096                     0\n\
            9994427      98308   600                    56 17308 17311      6   101   104   101   104 1795336154 1795336154 1795336154                  4096                     0\n\
            9994428      98309   600                    56 17308 17311      0   102   104   101   104 1795336154 1795336154 1795336154                  4096                     0\n\
            9994429      98310   600                    56 17309 17311      0   101   104   101   104 1795336154 1795336154 1795336154                  4096                     0\n";
        assert_eq!(unused(list, 17308, 101), [98307]);
    }
}

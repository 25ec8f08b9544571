//! CPU time and memory of a process and its children (`/proc/PID/stat`).
//!
//! The memory is `rss`, which is cheap: reading `smaps_rollup` each second would walk all page
//! tables of a server with a large buffer pool. Parsed by hand, because `procfs-core` panics on
//! malformed text.

use std::fmt::Display;
use std::path::PathBuf;

use measure::values::{Values, growth, sum};

use crate::files::{Files, entries, field, name, text};

/// Maximum attempts to read a process and its children while none of them ends.
const FAMILY_TRIES: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessStat {
    pub pid: u32,
    /// Start time in clock ticks, which distinguishes processes that reuse a PID.
    started: u64,
    pub(crate) parent: u32,
    /// CPU time so far, in clock ticks.
    pub(crate) cpu_ticks: u64,
    /// CPU time of the children that ended and were waited for, in clock ticks.
    reaped_ticks: u64,
    rss_bytes: u64,
    /// Bytes written to disks, if the kernel reports them.
    written_bytes: Option<u64>,
    is_zombie: bool,
    /// Whether a signal has stopped it.
    pub is_stopped: bool,
}

/// The change of a process's counters in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProcessChange {
    /// CPU time in % of one CPU.
    cpu: Option<f64>,
    rss_bytes: Option<f64>,
    written_mb_per_s: Option<f64>,
}

/// Reads the counters of a process; `pid` is a number or `self`. `None` if it has ended.
pub fn read(files: &dyn Files, pid: impl Display) -> Option<ProcessStat> {
    read_any(files, pid).filter(|process| !process.is_zombie)
}

/// Also reads a zombie.
fn read_any(files: &dyn Files, pid: impl Display) -> Option<ProcessStat> {
    let process = parse(&text(files, format!("/proc/{pid}/stat"))?)?;
    let io = text(files, format!("/proc/{pid}/io"));
    Some(ProcessStat {
        written_bytes: io.and_then(|io| field(&io, "write_bytes", ':')?.parse().ok()),
        ..process
    })
}

pub(crate) fn pids(files: &dyn Files) -> impl Iterator<Item = u32> + use<> {
    let processes = entries(files, "/proc").into_iter();
    processes.filter_map(|path| name(&path)?.parse().ok())
}

/// The parent of a process; `None` if the process has ended.
pub fn parent(files: &dyn Files, pid: u32) -> Option<u32> {
    read(files, pid).map(|process| process.parent)
}

/// Reads the summed counters of a process and its children, for servers with a process per
/// connection; `None` if the process has ended.
///
/// When a parent waits for a child that ended, the kernel adds the child's time to the parent's, so
/// the CPU time never decreases when children end. Shared memory counts once.
pub fn read_family(files: &dyn Files, pid: u32) -> Option<ProcessStat> {
    for _ in 0..FAMILY_TRIES {
        let before = read(files, pid)?;
        let children = children(files, pid, &main_thread(pid));
        let after = read(files, pid)?;
        // A child that was reaped between the two readings would count twice or not at all.
        if before.reaped_ticks == after.reaped_ticks {
            return Some(after.with_children(files, &children));
        }
    }
    None
}

/// A process and its descendants that have not ended, each after its parent; none if the process
/// has ended.
pub fn family(files: &dyn Files, pid: u32) -> Vec<ProcessStat> {
    let mut found = Vec::from_iter(read(files, pid));
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|one| one.pid) {
        // Any thread may have forked, for example a script.
        let threads = entries(files, format!("/proc/{parent}/task"));
        let children = children(files, parent, &threads).into_iter();
        found.extend(children.filter(|process| !process.is_zombie));
        next += 1;
    }
    found
}

fn main_thread(pid: u32) -> [PathBuf; 1] {
    [format!("/proc/{pid}/task/{pid}").into()]
}

/// The children that these threads of a process have forked, including zombies.
fn children(files: &dyn Files, parent: u32, threads: &[PathBuf]) -> Vec<ProcessStat> {
    let lists: Vec<PathBuf> = threads.iter().map(|one| one.join("children")).collect();
    let lists = files.read_all(&lists).into_iter();
    let pids: Vec<u32> = match lists.collect::<Result<Vec<String>, _>>() {
        Ok(lists) => {
            let words = lists.iter().flat_map(|list| list.split_whitespace());
            words.flat_map(str::parse).collect()
        }
        // The kernel was built without CONFIG_PROC_CHILDREN, or a thread has just ended.
        Err(_) => pids(files).collect(),
    };
    let processes = pids.into_iter().filter_map(|pid| read_any(files, pid));
    processes
        .filter(|process| process.parent == parent)
        .collect()
}

fn shared_bytes(files: &dyn Files, pid: u32) -> Option<u64> {
    let statm = text(files, format!("/proc/{pid}/statm"))?;
    let pages: u64 = statm.split_whitespace().nth(2)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

impl ProcessStat {
    fn with_children(mut self, files: &dyn Files, children: &[Self]) -> Self {
        self.cpu_ticks = self.cpu_ticks.saturating_add(self.reaped_ticks);
        if children.is_empty() {
            return self;
        }
        let mut shared = 0_u64;
        let mut private = 0_u64;
        for process in std::iter::once(&self).chain(children) {
            let mapped = shared_bytes(files, process.pid).unwrap_or(0);
            shared = shared.max(mapped.min(process.rss_bytes));
            private = private.saturating_add(process.rss_bytes.saturating_sub(mapped));
        }
        self.rss_bytes = private.saturating_add(shared);
        for child in children {
            let ticks = child.cpu_ticks.saturating_add(child.reaped_ticks);
            self.cpu_ticks = self.cpu_ticks.saturating_add(ticks);
            let both = self.written_bytes.zip(child.written_bytes);
            self.written_bytes = both.map(|(own, of_child)| own.saturating_add(of_child));
        }
        self
    }
}

pub(crate) fn parse(text: &str) -> Option<ProcessStat> {
    // The program's name may contain spaces and parentheses.
    let (name, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().take(22).collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let state = *fields.first()?;
    Some(ProcessStat {
        pid: name.split_once(' ')?.0.parse().ok()?,
        started: number(19)?,
        parent: fields.get(1)?.parse().ok()?,
        cpu_ticks: number(11)?.checked_add(number(12)?)?,
        reaped_ticks: number(13)?.checked_add(number(14)?)?,
        rss_bytes: number(21)?.checked_mul(rustix::param::page_size() as u64)?,
        written_bytes: None,
        is_zombie: matches!(state, "Z" | "X" | "x"),
        is_stopped: matches!(state, "T" | "t"),
    })
}

/// The change between two readings; `None` if they are of different processes.
pub fn derive(before: &ProcessStat, after: &ProcessStat, seconds: f64) -> Option<ProcessChange> {
    let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
    let written = before.written_bytes.zip(after.written_bytes);
    let written = written.and_then(|(before, after)| growth(before, after));
    (before.started == after.started).then(|| ProcessChange {
        cpu: growth(before.cpu_ticks, after.cpu_ticks)
            .map(|ticks| 100.0 * ticks / ticks_per_s / seconds),
        rss_bytes: Some(after.rss_bytes as f64),
        written_mb_per_s: written.map(|bytes| bytes / 1e6 / seconds),
    })
}

impl ProcessChange {
    pub fn add(&mut self, other: &Self) {
        self.cpu = sum(self.cpu, other.cpu);
        self.rss_bytes = sum(self.rss_bytes, other.rss_bytes);
        self.written_mb_per_s = sum(self.written_mb_per_s, other.written_mb_per_s);
    }

    /// Writes the metrics of `owner`, for example `server[1]`.
    pub fn put(&self, owner: &str, values: &mut Values) {
        values.put(format!("{owner}.cpu"), self.cpu);
        values.put(format!("{owner}.rss_bytes"), self.rss_bytes);
    }

    /// Writes the metric of bytes written to disks, for servers.
    pub fn put_written(&self, owner: &str, values: &mut Values) {
        values.put(format!("{owner}.write_mb_per_s"), self.written_mb_per_s);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Command, Stdio};

    use tempfile::TempDir;

    use super::*;
    use crate::{LOCAL, files::RootDir};

    const STAT: &str = "9169 (odd) name) R 9148 9148 7600 0 -1 4194304 97 0 0 0 150 50 0 0 20 0 1 0 \
                        1580894 3133440 350 18446744073709551615 94076281307136 0 0 0";

    #[test]
    fn the_name_may_contain_anything() {
        let process = parse(STAT).unwrap();
        assert_eq!((process.started, process.cpu_ticks), (1_580_894, 200));
        assert_eq!(process.rss_bytes, 350 * rustix::param::page_size() as u64);
    }

    #[test]
    fn cpu_time_is_in_percent_of_one_cpu() {
        let before = parse(STAT).unwrap();
        let mut after = before;
        after.cpu_ticks += 3 * rustix::param::clock_ticks_per_second();
        let change = derive(&before, &after, 2.0).unwrap();
        assert_eq!(change.cpu, Some(150.0));
    }

    #[test]
    fn a_process_that_reuses_the_pid_is_not_compared() {
        let before = parse(STAT).unwrap();
        let after = ProcessStat {
            started: before.started + 1,
            ..before
        };
        assert_eq!(derive(&before, &after, 1.0), None);
    }

    #[test]
    fn damaged_text_is_absent() {
        for text in ["", ")", "1 (a) R", "1 (a) R 1 2 3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    /// A machine with these processes: PID, parent, state, ticks, ticks of reaped children, and
    /// resident pages, three of which are shared.
    fn machine(processes: &[(u32, u32, char, u64, u64, u64)], lists_children: bool) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (pid, parent, state, ticks, reaped, pages) in processes {
            let proc = dir.path().join(format!("proc/{pid}"));
            let task = proc.join(format!("task/{pid}"));
            fs::create_dir_all(&task).unwrap();
            let stat = format!(
                "{pid} (a) {state} {parent} 0 0 0 -1 0 0 0 0 0 {ticks} 0 {reaped} 0 20 0 1 0 7 0 \
                 {pages} 0"
            );
            fs::write(proc.join("stat"), stat).unwrap();
            fs::write(proc.join("statm"), format!("99 {pages} 3 1 0 9 0")).unwrap();
            let children = processes.iter().filter(|process| process.1 == *pid);
            let pids: Vec<String> = children.map(|process| process.0.to_string()).collect();
            if lists_children {
                fs::write(task.join("children"), pids.join(" ")).unwrap();
            }
        }
        dir
    }

    #[test]
    fn a_family_is_the_sum_of_its_processes_with_shared_memory_counted_once() {
        let processes = [
            (10, 1, 'S', 5, 40, 8),
            (11, 10, 'R', 100, 2, 4),
            (12, 10, 'S', 1000, 0, 6),
            // A zombie: its parent has not waited for it yet.
            (13, 10, 'Z', 10_000, 0, 0),
            (14, 1, 'R', 100_000, 0, 9),
        ];
        for lists_children in [true, false] {
            let machine = machine(&processes, lists_children);
            let files = RootDir::at(machine.path());
            let family = read_family(&files, 10).unwrap();
            assert_eq!(family.cpu_ticks, 5 + 40 + 100 + 2 + 1000 + 10_000);
            let page = rustix::param::page_size() as u64;
            assert_eq!(family.rss_bytes, (5 + 1 + 3 + 3) * page);
            assert_eq!(read_family(&files, 14).unwrap().rss_bytes, 9 * page);
            assert_eq!(read_family(&files, 13), None, "a zombie has ended");
            assert_eq!(read_family(&files, 15), None);
        }
    }

    #[test]
    fn a_family_has_the_children_of_all_threads() {
        let machine = machine(&[(10, 1, 'S', 0, 0, 1), (20, 10, 'S', 0, 0, 1)], true);
        let task = machine.path().join("proc/10/task");
        fs::create_dir(task.join("11")).unwrap();
        fs::rename(task.join("10/children"), task.join("11/children")).unwrap();
        fs::write(task.join("10/children"), "").unwrap();
        let family = family(&RootDir::at(machine.path()), 10);
        let pids = family.iter().map(|process| process.pid);
        assert_eq!(pids.collect::<Vec<_>>(), [10, 20]);
    }

    #[test]
    fn cpu_time_does_not_decrease_when_children_end() {
        let burns = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
        let script = format!("for a in 1 2 3 4 5 6 7 8; do ({burns}) & done; wait; read end");
        let mut shell = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut last, mut children_seen) = (0, 0);
        loop {
            let ended = children(&LOCAL, shell.id(), &main_thread(shell.id())).is_empty()
                && children_seen > 0;
            if let Some(family) = read_family(&LOCAL, shell.id()) {
                assert!(family.cpu_ticks >= last, "{} < {last}", family.cpu_ticks);
                last = family.cpu_ticks;
            }
            if ended {
                break;
            }
            children_seen =
                children_seen.max(children(&LOCAL, shell.id(), &main_thread(shell.id())).len());
        }
        let alone = read(&LOCAL, shell.id()).unwrap();
        assert_eq!(last, alone.cpu_ticks + alone.reaped_ticks);
        assert!(alone.reaped_ticks > 0);
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }
}

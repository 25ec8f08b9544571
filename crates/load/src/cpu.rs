//! Scheduling policy and CPU times of worker threads.

use std::time::Duration;

/// Sets the scheduling policy of the calling thread to SCHED_BATCH (sched(7)), so that it does not
/// preempt a server on the same host, which can then answer several users in one time slice. Needs
/// no privilege; has no effect if the kernel rejects it.
#[expect(
    unsafe_code,
    reason = "no crate in use wraps sched_setscheduler; the call only reads the struct behind the pointer"
)]
pub(crate) fn schedule_as_batch() {
    // SAFETY: sched_param is plain data for which all zeros are valid, and the pointer to it is
    // valid during the call.
    unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters);
    }
}

/// Asks for short time slices of the calling thread, so that it runs soon after it wakes although
/// other threads use the CPUs: with equal slices, it waits for the end of theirs. Needs no
/// privilege; Linux 6.12 and later honor it.
#[expect(
    unsafe_code,
    reason = "no crate in use wraps sched_setattr; the calls only use the struct behind the pointer"
)]
pub(crate) fn shorten_slices() {
    const SLICE_NS: u64 = 100_000;
    let size = size_of::<libc::sched_attr>();
    // SAFETY: sched_attr is plain data for which all zeros are valid, and the pointer to it is valid
    // during the calls.
    unsafe {
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        let pointer = &raw mut attributes;
        // The other attributes stay as they are.
        if libc::syscall(libc::SYS_sched_getattr, 0, pointer, size, 0) == 0 {
            (*pointer).sched_runtime = SLICE_NS;
            libc::syscall(libc::SYS_sched_setattr, 0, pointer, 0);
        }
    }
}

/// The CPU times of a thread so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CpuTime {
    /// Time on a CPU.
    pub(crate) running: Duration,
    /// Time runnable, waiting for a CPU.
    pub(crate) waiting: Duration,
}

/// Reads the CPU times of a thread of this process; `None` if the kernel does not report them.
pub(crate) fn thread_time(thread: u32) -> Option<CpuTime> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    parse(&text)
}

fn parse(schedstat: &str) -> Option<CpuTime> {
    let mut fields = schedstat.split_whitespace().map(str::parse);
    let (running_ns, waiting_ns) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(CpuTime {
        running: Duration::from_nanos(running_ns),
        waiting: Duration::from_nanos(waiting_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_gives_running_and_waiting() {
        let time = parse("1500 2500 7\n").unwrap();
        assert_eq!(time.running, Duration::from_nanos(1500));
        assert_eq!(time.waiting, Duration::from_nanos(2500));
        assert_eq!(parse("garbage"), None);
    }
}

//! All metrics. `docs/metrics.md` is generated from this table.

use super::Brackets::{Always, Never, Optional};
use super::Group::{
    Cache, Cpu, Disk, Locks, Log, Memory, Monitor, Network, Pressure, Processes, Replication,
    ServerIo, Vacuum, Work,
};
use super::Reading::{Growth, Level};
use super::{Brackets, Group, Metric, Reading};

const CORE: Brackets = Optional("core");
const SERVER: Brackets = Optional("server");
const DEVICE: Brackets = Optional("device");
const INTERFACE: Brackets = Always("interface");

/// All metrics, in the order of their groups.
#[rustfmt::skip] // A line or two for each, not nine.
pub const METRICS: &[Metric] = &[
    metric("cpu.user", CORE, "%", Growth, Cpu, "CPU user",
        "Running programs, including virtual machines' guests."),
    metric("cpu.nice", CORE, "%", Growth, Cpu, "CPU nice",
        "Running programs with lowered priority."),
    metric("cpu.system", CORE, "%", Growth, Cpu, "CPU system",
        "Running the kernel on behalf of programs."),
    metric("cpu.iowait", CORE, "%", Growth, Cpu, "CPU iowait",
        "Idle while a program waited for a disk."),
    metric("cpu.irq", CORE, "%", Growth, Cpu, "CPU irq",
        "Serving interrupts."),
    metric("cpu.softirq", CORE, "%", Growth, Cpu, "CPU softirq",
        "Serving deferred interrupt work, such as network packets."),
    metric("cpu.steal", CORE, "%", Growth, Cpu, "CPU steal",
        "Ready to run while the hypervisor ran something else."),
    metric("cpu.idle", CORE, "%", Growth, Cpu, "CPU idle",
        "Idle."),

    metric("server.cpu", SERVER, "% of one CPU", Growth, Processes, "server CPU",
        "CPU time of the server's processes; above 100 when they use several CPUs."),
    metric("server.rss_bytes", SERVER, "bytes", Level, Processes, "server memory",
        "Resident memory of the server's processes."),
    metric("server.write_mb_per_s", SERVER, "MB/s", Growth, Processes, "server write MB/s",
        "What the server's processes have had written to disks (`write_bytes` of `/proc/PID/io`), \
         before the file system adds copies, metadata, and its journal."),
    metric("server.throttled", SERVER, "%", Growth, Processes, "server throttled",
        "Periods (tenths of a second) in which the server used up its CPU quota (`server.cpus`) \
         and was throttled, as a share of those in which it ran; absent without a quota."),
    metric("generator.cpu", Never, "% of one CPU", Growth, Processes, "generator CPU",
        "CPU time of dyno itself, including its monitors."),
    metric("generator.rss_bytes", Never, "bytes", Level, Processes, "generator memory",
        "Resident memory of dyno."),

    metric("disk.read_iops", DEVICE, "1/s", Growth, Disk, "disk reads/s",
        "Completed reads."),
    metric("disk.write_iops", DEVICE, "1/s", Growth, Disk, "disk writes/s",
        "Completed writes."),
    metric("disk.read_mb_per_s", DEVICE, "MB/s", Growth, Disk, "disk read MB/s",
        "Read from the device."),
    metric("disk.write_mb_per_s", DEVICE, "MB/s", Growth, Disk, "disk write MB/s",
        "Written to the device."),
    metric("disk.read_size_kb", DEVICE, "kB", Growth, Disk, "disk read kB",
        "Mean size of a read."),
    metric("disk.write_size_kb", DEVICE, "kB", Growth, Disk, "disk write kB",
        "Mean size of a write."),
    metric("disk.read_await_ms", DEVICE, "ms", Growth, Disk, "disk read ms",
        "Mean time of a read, including its wait in the kernel's queue."),
    metric("disk.write_await_ms", DEVICE, "ms", Growth, Disk, "disk write ms",
        "Mean time of a write, including its wait in the kernel's queue."),
    metric("disk.queue", DEVICE, "", Growth, Disk, "disk queue",
        "Mean number of requests waiting or being served (`aqu-sz`)."),
    metric("disk.util", DEVICE, "%", Growth, Disk, "disk busy",
        "Time in which the device had at least one request; of several devices, that of the \
         busiest. A device that serves many requests at once is not saturated at 100 %."),
    metric("write_amplification", Never, "", Growth, Disk, "write amplification",
        "Bytes written to all of the data's devices divided by the bytes that the servers have had \
         written; other programs that write to these devices count, too."),
    metric("disk.flushes_per_s", DEVICE, "1/s", Growth, Disk, "disk flushes/s",
        "Flushes of the device's write cache, if the kernel counts them."),
    metric("disk.flush_await_ms", DEVICE, "ms", Growth, Disk, "disk flush ms",
        "Mean time of a flush."),

    metric("net.rx_mb_per_s", INTERFACE, "MB/s", Growth, Network, "received MB/s",
        "Received."),
    metric("net.tx_mb_per_s", INTERFACE, "MB/s", Growth, Network, "sent MB/s",
        "Sent."),
    metric("net.rx_packets_per_s", INTERFACE, "1/s", Growth, Network, "received packets/s",
        "Packets received."),
    metric("net.tx_packets_per_s", INTERFACE, "1/s", Growth, Network, "sent packets/s",
        "Packets sent."),

    metric("psi.cpu.some", Never, "%", Growth, Pressure, "waiting for CPU",
        "Time in which at least one task was ready to run but had no CPU."),
    metric("psi.io.some", Never, "%", Growth, Pressure, "waiting for IO",
        "Time in which at least one task waited for IO."),
    metric("psi.io.full", Never, "%", Growth, Pressure, "all waiting for IO",
        "Time in which all non-idle tasks waited for IO."),
    metric("psi.memory.some", Never, "%", Growth, Pressure, "waiting for memory",
        "Time in which at least one task waited for memory."),
    metric("psi.memory.full", Never, "%", Growth, Pressure, "all waiting for memory",
        "Time in which all non-idle tasks waited for memory."),

    metric("memory.available_bytes", Never, "bytes", Level, Memory, "memory available",
        "Memory available to programs without swapping, as the kernel estimates it."),
    metric("memory.dirty_bytes", Never, "bytes", Level, Memory, "memory dirty",
        "File pages waiting to be written."),

    metric("server.cache.hit_pct", SERVER, "%", Growth, Cache, "cache hit %",
        "Page requests that the server's cache answered without reading the page."),
    metric("server.cache.requests_per_s", SERVER, "1/s", Growth, Cache, "cache requests/s",
        "Page requests."),
    metric("server.cache.misses_per_s", SERVER, "1/s", Growth, Cache, "cache misses/s",
        "Page requests that had to read the page."),
    metric("server.cache.data_bytes", SERVER, "bytes", Level, Cache, "cached data",
        "Size of the pages in the cache that hold data."),
    metric("server.cache.dirty_pct", SERVER, "%", Level, Cache, "cache dirty",
        "Pages in the cache that have not been written yet."),
    metric("server.cache.working_set_ratio", SERVER, "", Level, Cache, "data/cache",
        "Size of the load's tables divided by the size of the cache, when the monitors started; \
         above 1, the data does not fit."),

    metric("server.io.pages_read_per_s", SERVER, "1/s", Growth, ServerIo, "pages read/s",
        "Pages read, including read-ahead."),
    metric("server.io.pages_written_per_s", SERVER, "1/s", Growth, ServerIo, "pages written/s",
        "Pages written to the data files."),
    metric("server.io.doublewrite_writes_per_s", SERVER, "1/s", Growth, ServerIo,
        "doublewrites/s", "Batches of pages written to the doublewrite buffer first, to protect \
         against torn pages."),
    metric("server.io.doublewrite_pages_per_s", SERVER, "1/s", Growth, ServerIo,
        "doublewrite pages/s", "Pages in these batches."),
    metric("server.io.reads_per_s", SERVER, "1/s", Growth, ServerIo, "file reads/s",
        "File reads, as the server counts them."),
    metric("server.io.writes_per_s", SERVER, "1/s", Growth, ServerIo, "file writes/s",
        "File writes, as the server counts them; whether these include the log's depends on the \
         engine."),
    metric("server.io.fsyncs_per_s", SERVER, "1/s", Growth, ServerIo, "fsyncs/s",
        "File flushes to disk, including the log's."),
    metric("server.io.read_pct", SERVER, "%", Growth, ServerIo, "IO reads %",
        "Reads as a share of all file reads and writes, including the log's."),
    metric("server.io.session_pages_written_per_s", SERVER, "1/s", Growth, ServerIo,
        "pages written by sessions/s",
        "Pages that sessions wrote themselves, to extend a table or because the cache had no clean \
         page for them; where checkpoints and a background writer do most of the writing."),
    metric("server.io.temp_mb_per_s", SERVER, "MB/s", Growth, ServerIo, "temporary MB/s",
        "Temporary files written by sorts and the like that did not fit into memory."),
    metric("server.io.read_wait_ms_per_s", SERVER, "ms/s", Growth, ServerIo, "read wait ms/s",
        "Time that sessions waited for pages to be read; 1000 is one session that waits all the \
         time. Sampled: once a second the server is asked what its sessions wait for."),

    metric("server.log.writes_per_s", SERVER, "1/s", Growth, Log, "log writes/s",
        "Writes to the log (redo log, write-ahead log)."),
    metric("server.log.fsyncs_per_s", SERVER, "1/s", Growth, Log, "log fsyncs/s",
        "Flushes of the log to disk; absent if the server counts them only in \
         `server.io.fsyncs_per_s`."),
    metric("server.log.mb_per_s", SERVER, "MB/s", Growth, Log, "log MB/s",
        "Log written."),
    metric("server.log.checkpoint_age_bytes", SERVER, "bytes", Level, Log, "checkpoint age",
        "Log written since the last checkpoint, which crash recovery would replay; when it nears \
         the log's size, writes stall."),
    metric("server.log.wait_ms_per_s", SERVER, "ms/s", Growth, Log, "log wait ms/s",
        "Time that sessions waited for the log to be written or flushed; 1000 is one session that \
         waits all the time. Sampled, like `server.io.read_wait_ms_per_s`."),
    metric("server.log.checkpoints_timed_per_min", SERVER, "1/min", Growth, Log,
        "timed checkpoints/min", "Checkpoints that were due by the clock."),
    metric("server.log.checkpoints_requested_per_min", SERVER, "1/min", Growth, Log,
        "requested checkpoints/min",
        "Checkpoints that were forced, usually because the log reached its maximum size."),
    metric("server.log.history_length", SERVER, "", Level, Log, "history length",
        "Old row versions that have not been purged yet, as the server counts them."),

    metric("server.locks.waits_per_s", SERVER, "1/s", Growth, Locks, "row lock waits/s",
        "Row lock waits that began."),
    metric("server.locks.wait_ms_per_s", SERVER, "ms/s", Growth, Locks, "row lock ms/s",
        "Time that statements waited for row locks, and for other locks where the server does not \
         tell them apart; 1000 is one user who waits all the time. A wait is counted when it ends, \
         or sampled, like `server.io.read_wait_ms_per_s`."),
    metric("server.locks.deadlocks_per_s", SERVER, "1/s", Growth, Locks, "deadlocks/s",
        "Deadlocks that the server resolved by failing a transaction."),
    metric("server.locks.latch_wait_ms_per_s", SERVER, "ms/s", Growth, Locks, "latch wait ms/s",
        "Time that sessions waited for latches, the server's locks on its own memory; 1000 is one \
         session that waits all the time. Sampled, like `server.io.read_wait_ms_per_s`."),

    metric("server.transactions.commits_per_s", SERVER, "1/s", Growth, Work, "commits/s",
        "Transactions that the server committed, including those of monitors and maintenance."),
    metric("server.transactions.rollbacks_per_s", SERVER, "1/s", Growth, Work, "rollbacks/s",
        "Transactions that were rolled back."),
    metric("server.rows.read_per_s", SERVER, "1/s", Growth, Work, "rows read/s",
        "Rows and index entries that scans returned, including those of catalogs."),
    metric("server.rows.inserted_per_s", SERVER, "1/s", Growth, Work, "rows inserted/s",
        "Rows inserted."),
    metric("server.rows.updated_per_s", SERVER, "1/s", Growth, Work, "rows updated/s",
        "Rows updated."),
    metric("server.rows.deleted_per_s", SERVER, "1/s", Growth, Work, "rows deleted/s",
        "Rows deleted."),
    metric("server.vacuum.dead_rows", SERVER, "", Level, Vacuum, "dead rows",
        "Old row versions in tables that a vacuum would remove, as the server estimates them."),
    metric("server.vacuum.running", SERVER, "", Level, Vacuum, "vacuums",
        "Vacuums that are running."),

    metric("server.replication.replicas", SERVER, "", Level, Replication, "replicas",
        "Replicas that receive the server's log; absent without any."),
    metric("server.replication.lag_bytes", SERVER, "bytes", Level, Replication, "replication lag",
        "Log of this primary that the replica farthest behind has not applied."),
    metric("server.replication.apply_queue_bytes", SERVER, "bytes", Level, Replication, "apply queue",
        "Log that this replica has received and not applied."),
    metric("server.replication.apply_queue_transactions", SERVER, "", Level, Replication, "apply queue",
        "Transactions that this member has received and not applied."),
    metric("server.replication.lag_s", SERVER, "s", Level, Replication, "replication lag",
        "How long ago the primary committed what this replica applies; 0 if nothing waits."),
    metric("server.replication.flow_control_pct", SERVER, "%", Growth, Replication, "flow control",
        "Share of time in which members paused writes because one of them could not keep up."),
    metric("server.replication.is_primary", SERVER, "", Level, Replication, "is primary",
        "1 while the server accepts writes, 0 while it is a replica or takes no part in its cluster."),

    metric("monitor.cpu_ms", Never, "ms/s", Growth, Monitor, "monitor CPU",
        "CPU time of the monitors themselves."),
    metric("monitor.late_ms", Never, "ms", Level, Monitor, "monitor late",
        "How late the sample was taken; intervals have their actual length."),
];

const fn metric(
    name: &'static str,
    brackets: Brackets,
    unit: &'static str,
    reading: Reading,
    group: Group,
    heading: &'static str,
    meaning: &'static str,
) -> Metric {
    Metric {
        name,
        brackets,
        unit,
        reading,
        group,
        heading,
        meaning,
    }
}

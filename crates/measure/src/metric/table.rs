//! All metrics. `docs/metrics.md` is generated from this table.

use super::Brackets::{Always, Never, Optional};
use super::{Brackets, Group, Metric, Reading};

const CORE: Brackets = Optional("core");
const SERVER: Brackets = Optional("server");
const DEVICE: Brackets = Optional("device");
const PROGRAM: Brackets = Always("program");
const INTERFACE: Brackets = Always("interface");

/// Each group, with what its names have in brackets, is followed by its metrics.
macro_rules! metrics {
    ($($group:ident, $brackets:ident: $($name:literal, $reading:ident $unit:literal, $heading:literal, $meaning:literal;)+)+) => {
        /// In the order of their groups.
        pub const METRICS: &[Metric] = &[$($(Metric {
            name: $name,
            brackets: $brackets,
            unit: $unit,
            reading: Reading::$reading,
            group: Group::$group,
            heading: $heading,
            meaning: $meaning,
        }),+),+];
    };
}

metrics! {
    Cpu, CORE:
        "cpu.user", Growth "%", "CPU user", "Running programs, including virtual machines' guests.";
        "cpu.nice", Growth "%", "CPU nice", "Running programs with lowered priority.";
        "cpu.system", Growth "%", "CPU system", "Running the kernel on behalf of programs.";
        "cpu.iowait", Growth "%", "CPU iowait", "Idle while a program waited for a disk.";
        "cpu.irq", Growth "%", "CPU irq", "Serving interrupts.";
        "cpu.softirq", Growth "%", "CPU softirq", "Serving deferred interrupt work, such as network packets.";
        "cpu.steal", Growth "%", "CPU steal", "Ready to run while the hypervisor ran something else.";
        "cpu.idle", Growth "%", "CPU idle", "Idle.";
    Cpu, SERVER:
        "site.cpu.user", Growth "%", "site CPU user",
            "As `cpu.user`, of the machine of a server that dyno runs on another machine; without a number, of \
             server 1's.";
        "site.cpu.system", Growth "%", "site CPU system", "As `cpu.system`, of the machine of such a server.";
        "site.cpu.iowait", Growth "%", "site CPU iowait", "As `cpu.iowait`, of the machine of such a server.";
        "site.cpu.softirq", Growth "%", "site CPU softirq", "As `cpu.softirq`, of the machine of such a server.";
        "site.cpu.steal", Growth "%", "site CPU steal", "As `cpu.steal`, of the machine of such a server.";
        "site.cpu.idle", Growth "%", "site CPU idle", "As `cpu.idle`, of the machine of such a server.";
    Processes, SERVER:
        "server.cpu", Growth "% of one CPU", "server CPU",
            "CPU time of the server's processes; above 100 when they use several CPUs.";
    Processes, Never:
        "server.idle_cpu", Growth "% of one CPU", "idle server CPU",
            "CPU time of the processes of a variant's servers in the turns of variants that have other servers \
             (`compare.alternate`); `server.cpu` is then that of its own turns.";
        "server.idle_write_mb_per_s", Growth "MB/s", "idle server write MB/s",
            "As `server.write_mb_per_s`, in the turns of variants that have other servers.";
    Processes, SERVER:
        "server.rss_bytes", Level "bytes", "server memory", "Resident memory of the server's processes.";
        "server.write_mb_per_s", Growth "MB/s", "server write MB/s",
            "What the server's processes have had written to disks (`write_bytes` of `/proc/PID/io`), before the \
             file system adds copies, metadata, and its journal. Absent where the disks wrote less: the kernel also \
             counts what it never wrote.";
    Processes, PROGRAM:
        "other.cpu", Growth "% of one CPU", "other CPU",
            "CPU time of a program of the host that is neither dyno nor a server of the trial, by its name; programs \
             are looked for only while others use more than a tenth of the CPUs.";
    Processes, SERVER:
        "server.throttled", Growth "%", "server throttled",
            "Periods (tenths of a second) in which the server used up its CPU quota (`site.cpus`) and was throttled, \
             as a share of those in which it ran; absent without a quota.";
        "server.group_cpu", Growth "% of one CPU", "server group CPU",
            "CPU time of the server's control group, as the kernel enforces its quota; like the metrics below, only \
             for servers in control groups that dyno created.";
        "server.group_memory_bytes", Level "bytes", "server group memory",
            "Memory of the server's control group, its page cache included.";
        "server.group_read_iops", Growth "1/s", "server group reads/s",
            "Reads from disks by the server's control group.";
        "server.group_write_iops", Growth "1/s", "server group writes/s",
            "Writes to disks by the server's control group. Version 1 of control groups counts only direct and \
             synchronous ones.";
        "server.group_read_mb_per_s", Growth "MB/s", "server group read MB/s",
            "Read from disks by the server's control group.";
        "server.group_write_mb_per_s", Growth "MB/s", "server group write MB/s",
            "Written to disks by the server's control group.";
    Processes, Never:
        "generator.cpu", Growth "% of one CPU", "generator CPU", "CPU time of dyno itself, including its monitors.";
        "generator.rss_bytes", Level "bytes", "generator memory", "Resident memory of dyno.";
    Disk, DEVICE:
        "disk.read_iops", Growth "1/s", "disk reads/s", "Completed reads.";
        "disk.write_iops", Growth "1/s", "disk writes/s", "Completed writes.";
        "disk.read_mb_per_s", Growth "MB/s", "disk read MB/s", "Read from the device.";
        "disk.write_mb_per_s", Growth "MB/s", "disk write MB/s", "Written to the device.";
        "disk.read_size_kb", Growth "kB", "disk read kB", "Mean size of a read.";
        "disk.write_size_kb", Growth "kB", "disk write kB", "Mean size of a write.";
        "disk.read_await_ms", Growth "ms", "disk read ms",
            "Mean time of a read, including its wait in the kernel's queue.";
        "disk.write_await_ms", Growth "ms", "disk write ms",
            "Mean time of a write, including its wait in the kernel's queue.";
        "disk.queue", Growth "", "disk queue", "Mean number of requests waiting or being served (`aqu-sz`).";
        "disk.util", Growth "%", "disk busy",
            "Time in which the device had at least one request; of several devices, that of the busiest. A device \
             that serves many requests at once is not saturated at 100 %.";
    Disk, Never:
        "write_amplification", Growth "", "write amplification",
            "Bytes written to all of the data's devices divided by the bytes that the servers have had written; \
             other programs that write to these devices count, too.";
    Disk, DEVICE:
        "disk.flushes_per_s", Growth "1/s", "disk flushes/s",
            "Flushes of the device's write cache, if the kernel counts them.";
        "disk.flush_await_ms", Growth "ms", "disk flush ms", "Mean time of a flush.";
    Disk, SERVER:
        "site.disk.read_iops", Growth "1/s", "site disk reads/s",
            "As `disk.read_iops`, of the machine of a server on another machine.";
        "site.disk.write_iops", Growth "1/s", "site disk writes/s",
            "As `disk.write_iops`, of the machine of a server on another machine.";
        "site.disk.read_mb_per_s", Growth "MB/s", "site disk read MB/s",
            "As `disk.read_mb_per_s`, of the machine of a server on another machine.";
        "site.disk.write_mb_per_s", Growth "MB/s", "site disk write MB/s",
            "As `disk.write_mb_per_s`, of the machine of a server on another machine.";
        "site.disk.read_await_ms", Growth "ms", "site disk read ms",
            "As `disk.read_await_ms`, of the machine of a server on another machine.";
        "site.disk.write_await_ms", Growth "ms", "site disk write ms",
            "As `disk.write_await_ms`, of the machine of a server on another machine.";
        "site.disk.util", Growth "%", "site disk busy",
            "As `disk.util`, of the machine of a server on another machine.";
    Network, INTERFACE:
        "net.rx_mb_per_s", Growth "MB/s", "received MB/s", "Received.";
        "net.tx_mb_per_s", Growth "MB/s", "sent MB/s", "Sent.";
        "net.rx_packets_per_s", Growth "1/s", "received packets/s", "Packets received.";
        "net.tx_packets_per_s", Growth "1/s", "sent packets/s", "Packets sent.";
    Pressure, Never:
        "psi.cpu.some", Growth "%", "waiting for CPU",
            "Time in which at least one task was ready to run but had no CPU.";
        "psi.io.some", Growth "%", "waiting for IO", "Time in which at least one task waited for IO.";
        "psi.io.full", Growth "%", "all waiting for IO", "Time in which all non-idle tasks waited for IO.";
        "psi.memory.some", Growth "%", "waiting for memory", "Time in which at least one task waited for memory.";
        "psi.memory.full", Growth "%", "all waiting for memory", "Time in which all non-idle tasks waited for memory.";
    Memory, Never:
        "memory.available_bytes", Level "bytes", "memory available",
            "Memory available to programs without swapping, as the kernel estimates it.";
        "memory.dirty_bytes", Level "bytes", "memory dirty", "File pages waiting to be written.";
    Memory, SERVER:
        "site.memory.available_bytes", Level "bytes", "site memory available",
            "As `memory.available_bytes`, of the machine of a server on another machine.";
    Cache, SERVER:
        "server.cache.hit_pct", Growth "%", "cache hit %",
            "Page requests that the server's cache answered without reading the page.";
        "server.cache.requests_per_s", Growth "1/s", "cache requests/s", "Page requests.";
        "server.cache.misses_per_s", Growth "1/s", "cache misses/s", "Page requests that had to read the page.";
        "server.cache.data_bytes", Level "bytes", "cached data", "Size of the pages in the cache that hold data.";
        "server.cache.dirty_pct", Level "%", "cache dirty", "Pages in the cache that have not been written yet.";
        "server.cache.working_set_ratio", Level "", "data/cache",
            "Size of the load's tables divided by the size of the cache, when the monitors started; above 1, the \
             data does not fit.";
    ServerIo, SERVER:
        "server.io.pages_read_per_s", Growth "1/s", "pages read/s", "Pages read, including read-ahead.";
        "server.io.pages_written_per_s", Growth "1/s", "pages written/s", "Pages written to the data files.";
        "server.io.doublewrite_writes_per_s", Growth "1/s", "doublewrites/s",
            "Batches of pages written to the doublewrite buffer first, to protect against torn pages.";
        "server.io.doublewrite_pages_per_s", Growth "1/s", "doublewrite pages/s", "Pages in these batches.";
        "server.io.reads_per_s", Growth "1/s", "file reads/s", "File reads, as the server counts them.";
        "server.io.writes_per_s", Growth "1/s", "file writes/s",
            "File writes, as the server counts them; whether these include the log's depends on the engine.";
        "server.io.fsyncs_per_s", Growth "1/s", "fsyncs/s", "File flushes to disk, including the log's.";
        "server.io.read_pct", Growth "%", "IO reads %",
            "Reads as a share of all file reads and writes, including the log's.";
        "server.io.session_pages_written_per_s", Growth "1/s", "pages written by sessions/s",
            "Pages that sessions wrote themselves, to extend a table or because the cache had no clean page for \
             them; where checkpoints and a background writer do most of the writing.";
        "server.io.temp_mb_per_s", Growth "MB/s", "temporary MB/s",
            "Temporary files written by sorts and the like that did not fit into memory.";
        "server.io.read_wait_ms_per_s", Growth "ms/s", "read wait ms/s",
            "Time that sessions waited for pages to be read; 1000 is one session that waits all the time. Sampled: \
             once a second the server is asked what its sessions wait for.";
    Log, SERVER:
        "server.log.writes_per_s", Growth "1/s", "log writes/s", "Writes to the log (redo log, write-ahead log).";
        "server.log.fsyncs_per_s", Growth "1/s", "log fsyncs/s",
            "Flushes of the log to disk; absent if the server counts them only in `server.io.fsyncs_per_s`.";
        "server.log.mb_per_s", Growth "MB/s", "log MB/s", "Log written.";
        "server.log.checkpoint_age_bytes", Level "bytes", "checkpoint age",
            "Log written since the last checkpoint, which crash recovery would replay; when it nears the log's size, \
             writes stall.";
        "server.log.wait_ms_per_s", Growth "ms/s", "log wait ms/s",
            "Time that sessions waited for the log to be written or flushed; 1000 is one session that waits all the \
             time. Sampled, like `server.io.read_wait_ms_per_s`.";
        "server.log.checkpoints_timed_per_min", Growth "1/min", "timed checkpoints/min",
            "Checkpoints that were due by the clock.";
        "server.log.checkpoints_requested_per_min", Growth "1/min", "requested checkpoints/min",
            "Checkpoints that were forced, usually because the log reached its maximum size.";
        "server.log.history_length", Level "", "history length",
            "Old row versions that have not been purged yet, as the server counts them.";
    Locks, SERVER:
        "server.locks.waits_per_s", Growth "1/s", "row lock waits/s", "Row lock waits that began.";
        "server.locks.wait_ms_per_s", Growth "ms/s", "row lock ms/s",
            "Time that statements waited for row locks, and for other locks where the server does not tell them \
             apart; 1000 is one user who waits all the time. A wait is counted when it ends, or sampled, like \
             `server.io.read_wait_ms_per_s`.";
        "server.locks.deadlocks_per_s", Growth "1/s", "deadlocks/s",
            "Deadlocks that the server resolved by failing a transaction.";
        "server.locks.latch_wait_ms_per_s", Growth "ms/s", "latch wait ms/s",
            "Time that sessions waited for latches, the server's locks on its own memory; 1000 is one session that \
             waits all the time. Sampled, like `server.io.read_wait_ms_per_s`.";
    Work, SERVER:
        "server.transactions.commits_per_s", Growth "1/s", "commits/s",
            "Transactions that the server committed, including those of monitors and maintenance.";
        "server.transactions.rollbacks_per_s", Growth "1/s", "rollbacks/s", "Transactions that were rolled back.";
        "server.rows.read_per_s", Growth "1/s", "rows read/s",
            "Rows and index entries that scans returned, including those of catalogs.";
        "server.rows.inserted_per_s", Growth "1/s", "rows inserted/s", "Rows inserted.";
        "server.rows.updated_per_s", Growth "1/s", "rows updated/s", "Rows updated.";
        "server.rows.deleted_per_s", Growth "1/s", "rows deleted/s", "Rows deleted.";
    Vacuum, SERVER:
        "server.vacuum.dead_rows", Level "", "dead rows",
            "Old row versions in tables that a vacuum would remove, as the server estimates them.";
        "server.vacuum.running", Level "", "vacuums", "Vacuums that are running.";
    Replication, SERVER:
        "server.replication.replicas", Level "", "replicas",
            "Replicas that receive the server's log; absent without any.";
        "server.replication.lag_bytes", Level "bytes", "replication lag",
            "Log of this primary that the replica farthest behind has not applied.";
        "server.replication.apply_queue_bytes", Level "bytes", "apply queue",
            "Log that this replica has received and not applied.";
        "server.replication.apply_queue_transactions", Level "", "apply queue",
            "Transactions that this member has received and not applied.";
        "server.replication.lag_s", Level "s", "replication lag",
            "How long ago the primary committed what this replica applies; 0 if nothing waits.";
        "server.replication.flow_control_pct", Growth "%", "flow control",
            "Share of time in which members paused writes because one of them could not keep up.";
        "server.replication.is_primary", Level "", "is primary",
            "1 while the server accepts writes, 0 while it is a replica or takes no part in its cluster.";
    Monitor, Never:
        "monitor.cpu_ms", Growth "ms/s", "monitor CPU", "CPU time of the monitors themselves.";
        "monitor.late_ms", Level "ms", "monitor late",
            "How late the sample was taken; intervals have their actual length.";
}

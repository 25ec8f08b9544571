//! Every metric there is. `docs/metrics.md` is written from this table.

use super::Brackets::{Always, Never, Optional};
use super::Group::{
    BufferPool, Cpu, Disk, Locks, Log, Memory, Monitor, Network, Pressure, Processes, ServerIo,
};
use super::Reading::{Growth, Level};
use super::{Brackets, Group, Metric, Reading};

const CORE: Brackets = Optional("core");
const SERVER: Brackets = Optional("server");
const DEVICE: Brackets = Optional("device");
const INTERFACE: Brackets = Always("interface");

/// Every metric there is, in the order of its groups.
#[rustfmt::skip] // A line or two for each, not nine.
pub const METRICS: &[Metric] = &[
    metric("cpu.user", CORE, "%", Growth, Cpu, "CPU user",
        "Running programs, guests of virtual machines included."),
    metric("cpu.nice", CORE, "%", Growth, Cpu, "CPU nice",
        "Running programs of lowered priority."),
    metric("cpu.system", CORE, "%", Growth, Cpu, "CPU system",
        "Running the kernel for programs."),
    metric("cpu.iowait", CORE, "%", Growth, Cpu, "CPU iowait",
        "Idle, while a program waited for a disk."),
    metric("cpu.irq", CORE, "%", Growth, Cpu, "CPU irq",
        "Serving interrupts."),
    metric("cpu.softirq", CORE, "%", Growth, Cpu, "CPU softirq",
        "Serving what interrupts left to do, such as network packets."),
    metric("cpu.steal", CORE, "%", Growth, Cpu, "CPU steal",
        "Ready to run, while the hypervisor ran something else."),
    metric("cpu.idle", CORE, "%", Growth, Cpu, "CPU idle",
        "Nothing to do."),

    metric("server.cpu", SERVER, "% of one CPU", Growth, Processes, "server CPU",
        "CPU time of the server's process; above 100 when it uses several CPUs."),
    metric("server.rss_bytes", SERVER, "bytes", Level, Processes, "server memory",
        "Main memory that the server's process holds."),
    metric("server.throttled", SERVER, "%", Growth, Processes, "server held back",
        "Tenths of a second in which the server used up its CPU time (`server.cpus`) and was \
         stopped until the next, of all in which it ran; absent where it has no such limit."),
    metric("generator.cpu", Never, "% of one CPU", Growth, Processes, "generator CPU",
        "CPU time of dyno itself, its monitors included."),
    metric("generator.rss_bytes", Never, "bytes", Level, Processes, "generator memory",
        "Main memory that dyno holds."),

    metric("disk.read_iops", DEVICE, "1/s", Growth, Disk, "disk reads/s",
        "Reads that the device ended."),
    metric("disk.write_iops", DEVICE, "1/s", Growth, Disk, "disk writes/s",
        "Writes that the device ended."),
    metric("disk.read_mb_per_s", DEVICE, "MB/s", Growth, Disk, "disk read MB/s",
        "Read from the device."),
    metric("disk.write_mb_per_s", DEVICE, "MB/s", Growth, Disk, "disk write MB/s",
        "Written to the device."),
    metric("disk.read_size_kb", DEVICE, "kB", Growth, Disk, "disk read kB",
        "Mean size of a read."),
    metric("disk.write_size_kb", DEVICE, "kB", Growth, Disk, "disk write kB",
        "Mean size of a write."),
    metric("disk.read_await_ms", DEVICE, "ms", Growth, Disk, "disk read ms",
        "Mean time of a read, its wait in the kernel's queue included."),
    metric("disk.write_await_ms", DEVICE, "ms", Growth, Disk, "disk write ms",
        "Mean time of a write, its wait in the kernel's queue included."),
    metric("disk.queue", DEVICE, "", Growth, Disk, "disk queue",
        "Requests that were waiting or served, in the mean over time (`aqu-sz`)."),
    metric("disk.util", DEVICE, "%", Growth, Disk, "disk busy",
        "Time in which the device had at least one request; of several devices the busiest's. A \
         device that serves many at once is not full at 100 %."),
    metric("disk.flushes_per_s", DEVICE, "1/s", Growth, Disk, "disk flushes/s",
        "Flushes of the device's own cache, where the kernel counts them."),
    metric("disk.flush_await_ms", DEVICE, "ms", Growth, Disk, "disk flush ms",
        "Mean time of a flush."),

    metric("net.rx_mb_per_s", INTERFACE, "MB/s", Growth, Network, "received MB/s",
        "Received by the interface."),
    metric("net.tx_mb_per_s", INTERFACE, "MB/s", Growth, Network, "sent MB/s",
        "Sent by the interface."),
    metric("net.rx_packets_per_s", INTERFACE, "1/s", Growth, Network, "received packets/s",
        "Packets received."),
    metric("net.tx_packets_per_s", INTERFACE, "1/s", Growth, Network, "sent packets/s",
        "Packets sent."),

    metric("psi.cpu.some", Never, "%", Growth, Pressure, "waiting for CPU",
        "Time in which at least one task was ready and had no CPU."),
    metric("psi.io.some", Never, "%", Growth, Pressure, "waiting for IO",
        "Time in which at least one task waited for IO."),
    metric("psi.io.full", Never, "%", Growth, Pressure, "all waiting for IO",
        "Time in which nothing ran because all tasks waited for IO."),
    metric("psi.memory.some", Never, "%", Growth, Pressure, "waiting for memory",
        "Time in which at least one task waited for memory."),
    metric("psi.memory.full", Never, "%", Growth, Pressure, "all waiting for memory",
        "Time in which nothing ran because all tasks waited for memory."),

    metric("memory.available_bytes", Never, "bytes", Level, Memory, "memory available",
        "What programs could still get without swapping, as the kernel estimates it."),
    metric("memory.dirty_bytes", Never, "bytes", Level, Memory, "memory dirty",
        "File pages that wait to be written."),

    metric("server.innodb.pool_hit_rate", SERVER, "%", Growth, BufferPool, "pool hit rate",
        "Page requests that the buffer pool answered without reading a page."),
    metric("server.innodb.pool_read_requests_per_s", SERVER, "1/s", Growth, BufferPool,
        "pool requests/s", "Requests for pages."),
    metric("server.innodb.pool_reads_per_s", SERVER, "1/s", Growth, BufferPool, "pool misses/s",
        "Requests that had to wait for a page to be read."),
    metric("server.innodb.pool_data_bytes", SERVER, "bytes", Level, BufferPool, "pool data",
        "Pages in the buffer pool that hold data."),
    metric("server.innodb.pool_dirty_pct", SERVER, "%", Level, BufferPool, "pool dirty",
        "Pages of the buffer pool that wait to be written."),
    metric("server.innodb.working_set_over_pool", SERVER, "", Level, BufferPool,
        "data over pool",
        "Size of the load's tables over size of the buffer pool, when the monitors began; above 1 \
         the data does not fit."),

    metric("server.innodb.pages_read_per_s", SERVER, "1/s", Growth, ServerIo, "pages read/s",
        "Pages read, those read ahead included."),
    metric("server.innodb.pages_written_per_s", SERVER, "1/s", Growth, ServerIo,
        "pages written/s", "Pages written to their places."),
    metric("server.innodb.doublewrite_writes_per_s", SERVER, "1/s", Growth, ServerIo,
        "doublewrites/s", "Writes of batches of pages to the doublewrite buffer."),
    metric("server.innodb.doublewrite_pages_per_s", SERVER, "1/s", Growth, ServerIo,
        "doublewrite pages/s", "Pages in these batches."),
    metric("server.innodb.data_reads_per_s", SERVER, "1/s", Growth, ServerIo, "data reads/s",
        "Reads of files, as the server counts them."),
    metric("server.innodb.data_writes_per_s", SERVER, "1/s", Growth, ServerIo, "data writes/s",
        "Writes of files, as the server counts them: MySQL's count holds those of the log, \
         MariaDB's from 10.8 does not."),
    metric("server.innodb.data_fsyncs_per_s", SERVER, "1/s", Growth, ServerIo, "fsyncs/s",
        "Flushes of files to the disk, those of the log included."),
    metric("server.innodb.io_read_share", SERVER, "%", Growth, ServerIo, "reads of IO",
        "Reads of all reads and writes of files, the log's writes included."),

    metric("server.innodb.log_writes_per_s", SERVER, "1/s", Growth, Log, "log writes/s",
        "Writes of the redo log."),
    metric("server.innodb.log_fsyncs_per_s", SERVER, "1/s", Growth, Log, "log fsyncs/s",
        "Flushes of the redo log to the disk. MariaDB from 10.8 counts them only in \
         `data_fsyncs_per_s`."),
    metric("server.innodb.log_mb_per_s", SERVER, "MB/s", Growth, Log, "log MB/s",
        "Redo log written."),
    metric("server.innodb.checkpoint_age_bytes", SERVER, "bytes", Level, Log, "checkpoint age",
        "Redo log that a crash would have to replay; near the log's size, writing waits."),
    metric("server.innodb.history_length", SERVER, "", Level, Log, "history length",
        "Old versions of rows that wait for purge, as the server counts them."),

    metric("server.innodb.row_lock_waits_per_s", SERVER, "1/s", Growth, Locks,
        "row lock waits/s", "Times that a statement began to wait for a row."),
    metric("server.innodb.row_lock_time_ms_per_s", SERVER, "ms/s", Growth, Locks,
        "row lock ms/s",
        "Time that statements waited for rows; 1000 is one user who waits all the time. It counts \
         when the wait ends."),

    metric("monitor.cpu_ms", Never, "ms/s", Growth, Monitor, "monitor CPU",
        "CPU time that the monitors themselves took."),
    metric("monitor.late_ms", Never, "ms", Level, Monitor, "monitor late",
        "How late the sample was taken; the stretches are as long as they were, not as they \
         should have been."),
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

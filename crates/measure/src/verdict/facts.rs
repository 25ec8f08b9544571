//! The facts that the rules of the verdict examine, computed from a trial's numbers.

use super::CPU_FULL_PCT;
use crate::others::{cpus, programs};
use crate::summary::TrialSummary;

/// `None` means that something was not measured.
impl TrialSummary {
    /// Whether the monitors see the servers' host.
    pub(super) fn sees_servers(&self) -> bool {
        self.setup.in_process || self.metric("server.cpu").is_some()
    }

    /// A metric's mean over the measure phase.
    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).map(|metric| metric.mean)
    }

    /// The servers' share of the busy CPU time (0 to 1).
    pub(super) fn servers_of_cpu(&self) -> Option<f64> {
        self.share_of_busy(self.metric("server.cpu")?)
    }

    /// The same; 0 of an engine inside dyno.
    pub(super) fn servers_beside_dyno(&self) -> Option<f64> {
        match self.setup.in_process {
            true => Some(0.0),
            false => self.servers_of_cpu(),
        }
    }

    /// The generator's share of the busy CPU time (0 to 1).
    pub(super) fn generator_of_cpu(&self) -> Option<f64> {
        self.share_of_busy(self.metric("generator.cpu")?)
    }

    /// Other programs with their shares of the busy CPU time (0 to 1), the busiest first.
    pub(super) fn other_programs(&self) -> Vec<(&str, f64)> {
        let metrics = self.metrics.iter();
        let programs = programs(metrics.map(|(name, metric)| (name.as_str(), metric.mean)));
        let of_busy = |(name, cpu_pct)| Some((name, self.share_of_busy(cpu_pct)?));
        programs.into_iter().filter_map(of_busy).collect()
    }

    /// Share of the time in which CPUs were neither idle nor waiting for a disk, in %. Stolen time
    /// is not idle, because it was wanted.
    pub(super) fn cpu_busy_pct(&self) -> Option<f64> {
        Some(100.0 - self.metric("cpu.idle")? - self.metric("cpu.iowait").unwrap_or(0.0))
    }

    /// The same if the CPUs were saturated.
    pub(super) fn full_cpus_pct(&self) -> Option<f64> {
        self.cpu_busy_pct().filter(|busy| *busy > CPU_FULL_PCT)
    }

    /// A share of one CPU in percent as a share (0 to 1) of the busy time.
    fn share_of_busy(&self, cpu_pct: f64) -> Option<f64> {
        let cpus = cpus(self.metrics.keys().map(String::as_str));
        let share = cpu_pct / (self.cpu_busy_pct()? * cpus as f64);
        Some(share).filter(|share| share.is_finite())
    }

    /// Waits for row locks as a share of the response time (0 to 1).
    pub(super) fn lock_share(&self) -> Option<f64> {
        self.share_of(self.metric("server.locks.wait_ms_per_s")?)
    }

    /// Waits for the server's locks on its own memory as a share of the response time (0 to 1).
    pub(super) fn latch_share(&self) -> Option<f64> {
        self.share_of(self.metric("server.locks.latch_wait_ms_per_s")?)
    }

    /// Waits for pages from the disk as a share of the response time (0 to 1).
    pub(super) fn read_share(&self) -> Option<f64> {
        let sampled = self.metric("server.io.read_wait_ms_per_s");
        let sampled = sampled.and_then(|waited| self.share_of(waited));
        sampled.or_else(|| self.share_of(self.disk_read_ms_per_s()?))
    }

    /// Waits for the log as a share of the response time (0 to 1).
    pub(super) fn log_share(&self) -> Option<f64> {
        let sampled = self.metric("server.log.wait_ms_per_s");
        let sampled = sampled.and_then(|waited| self.share_of(waited));
        sampled.or_else(|| self.log_share_by_commits())
    }

    /// Milliseconds per second as a share of the time that all transactions together take.
    fn share_of(&self, ms_per_s: f64) -> Option<f64> {
        // Without the wait for a free user, which is not the server's.
        let times = self.service_ms.or(self.response_ms)?;
        let all_ms_per_s = self.transactions.per_s?.value * times.mean.value;
        (all_ms_per_s > 0.0).then(|| (ms_per_s / all_ms_per_s).min(1.0))
    }

    /// A miss that the page cache serves does not read the disk, and a disk read may be another
    /// program's, so the smaller number counts.
    fn disk_read_ms_per_s(&self) -> Option<f64> {
        let misses = self.metric("server.cache.misses_per_s")?;
        let reads = misses.min(self.metric("disk.read_iops")?);
        match reads > 0.0 {
            _ if !self.sees_servers() => None,
            true => Some(reads * self.metric("disk.read_await_ms")?),
            false => Some(0.0),
        }
    }

    /// Commits take long for many reasons. The disk is blamed for no more than the time in which it
    /// was busy.
    fn log_share_by_commits(&self) -> Option<f64> {
        let commits = self.share_of(self.commit_ms_per_s()?)?;
        let at_work = match self.sees_servers() {
            true => self.disk_share()?,
            // Disks of another host are invisible; its server's own count must suffice.
            false => f64::from(self.metric("server.log.fsyncs_per_s")? > 0.0),
        };
        Some(commits.min(at_work))
    }

    /// Milliseconds that commits of all users take per second.
    fn commit_ms_per_s(&self) -> Option<f64> {
        let mut kinds = self.by_statement.iter();
        // Scripts may write it in capitals, or as END.
        let words = ["commit", "end"];
        let is_commit = |name: &str| words.iter().any(|word| name.eq_ignore_ascii_case(word));
        if let Some(commit) = kinds.find(|kind| is_commit(&kind.name)) {
            return Some(commit.per_s? * commit.latency_ms?.mean.value);
        }
        if self.writes == 0 {
            return Some(0.0);
        }
        // Without transactions, each statement commits by itself, and waits for at least one write
        // and one flush of the log.
        let write_ms = self.metric("disk.write_await_ms")?;
        let commit_ms = write_ms + self.metric("disk.flush_await_ms").unwrap_or(0.0);
        Some(self.writes as f64 / self.measured_s * commit_ms).filter(|ms| ms.is_finite())
    }

    /// Flushes of the log, or of all files if those of the log are not counted separately.
    pub(super) fn fsyncs_per_s(&self) -> Option<f64> {
        self.metric("server.log.fsyncs_per_s")
            .or_else(|| self.metric("server.io.fsyncs_per_s"))
    }

    /// Share of the time (0 to 1) in which a disk wrote, flushed, or was waited for.
    fn disk_share(&self) -> Option<f64> {
        let flushes = self.metric("disk.flushes_per_s");
        let flush_ms = self.metric("disk.flush_await_ms");
        let flushing = flushes.zip(flush_ms).map(|(count, ms)| count * ms / 1000.0);
        let percent = |name| self.metric(name).map(|percent| percent / 100.0);
        [flushing, percent("psi.io.some"), percent("disk.util")]
            .into_iter()
            .flatten()
            .reduce(f64::max)
    }

    /// The disks' reads and writes: their number per second, and the milliseconds that they take.
    pub(super) fn disk_times(&self) -> Option<[(f64, f64); 2]> {
        let times = |what: &str| {
            let count = self.metric(&format!("disk.{what}_iops"))?;
            let await_ms = self.metric(&format!("disk.{what}_await_ms"));
            Some((count, count * await_ms.unwrap_or(0.0)))
        };
        Some([times("read")?, times("write")?])
    }
}

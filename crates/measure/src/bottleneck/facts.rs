//! The facts that the rules of the verdict examine, computed from a trial's numbers.

use crate::others::{cpus, programs};
use crate::summary::TrialSummary;

/// `None` means that something was not measured.
pub(super) struct Facts<'a> {
    pub(super) trial: &'a TrialSummary,
    /// Whether the monitors see the servers' host.
    pub(super) sees_servers: bool,
}

impl<'a> Facts<'a> {
    pub(super) fn of(trial: &'a TrialSummary) -> Self {
        Self {
            trial,
            sees_servers: trial.setup.in_process || trial.metrics.contains_key("server.cpu"),
        }
    }

    /// The servers' share of the busy CPU time (0 to 1).
    pub(super) fn servers_of_cpu(&self) -> Option<f64> {
        self.of_cpu("server.cpu")
    }

    /// The generator's share of the busy CPU time (0 to 1).
    pub(super) fn generator_of_cpu(&self) -> Option<f64> {
        self.of_cpu("generator.cpu")
    }

    /// Other programs with their shares of the busy CPU time (0 to 1), the busiest first.
    pub(super) fn other_programs(&self) -> Vec<(&str, f64)> {
        let metrics = self.trial.metrics.iter();
        let programs = programs(metrics.map(|(name, metric)| (name.as_str(), metric.mean)));
        let of_busy = |(name, cpu_pct)| Some((name, self.share_of_busy(cpu_pct)?));
        programs.into_iter().filter_map(of_busy).collect()
    }

    /// Flushes of the log, or of all files if those of the log are not counted separately.
    pub(super) fn fsyncs_per_s(&self) -> Option<f64> {
        self.metric("server.log.fsyncs_per_s")
            .or_else(|| self.metric("server.io.fsyncs_per_s"))
    }

    /// A metric's mean over the measure phase.
    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        self.trial.metrics.get(name).map(|metric| metric.mean)
    }

    /// Share of the time in which CPUs were neither idle nor waiting for a disk, in %. Stolen time
    /// is not idle, because it was wanted.
    pub(super) fn cpu_busy_pct(&self) -> Option<f64> {
        Some(100.0 - self.metric("cpu.idle")? - self.metric("cpu.iowait").unwrap_or(0.0))
    }

    /// A process's share (0 to 1) of the time in which CPUs were busy.
    fn of_cpu(&self, process: &str) -> Option<f64> {
        self.share_of_busy(self.metric(process)?)
    }

    /// A share of one CPU in percent as a share (0 to 1) of the busy time.
    fn share_of_busy(&self, cpu_pct: f64) -> Option<f64> {
        let cpus = cpus(self.trial.metrics.keys().map(String::as_str));
        let share = cpu_pct / (self.cpu_busy_pct()? * cpus as f64);
        Some(share).filter(|share| share.is_finite())
    }

    /// Milliseconds that all transactions together take per second, of which waits are a share.
    /// Excludes the wait for a free user, which is not the server's.
    fn transaction_ms_per_s(&self) -> Option<f64> {
        let times = self.trial.service_ms.or(self.trial.response_ms)?;
        let ms_per_s = self.trial.transactions.per_s?.value * times.mean.value;
        Some(ms_per_s).filter(|ms_per_s| *ms_per_s > 0.0)
    }

    /// Waits for row locks as a share of the response time (0 to 1).
    pub(super) fn lock_share(&self) -> Option<f64> {
        self.share_of("server.locks.wait_ms_per_s")
    }

    /// Waits for the server's locks on its own memory as a share of the response time (0 to 1).
    pub(super) fn latch_share(&self) -> Option<f64> {
        self.share_of("server.locks.latch_wait_ms_per_s")
    }

    /// Waits for pages from the disk as a share of the response time (0 to 1).
    pub(super) fn read_share(&self) -> Option<f64> {
        self.share_of("server.io.read_wait_ms_per_s")
            .or_else(|| self.read_share_by_disk())
    }

    /// Waits for the log as a share of the response time (0 to 1).
    pub(super) fn log_share(&self) -> Option<f64> {
        self.share_of("server.log.wait_ms_per_s")
            .or_else(|| self.log_share_by_commits())
    }

    /// The share of a wait that the server counts or that was sampled, in milliseconds per second.
    fn share_of(&self, waited: &str) -> Option<f64> {
        Some((self.metric(waited)? / self.transaction_ms_per_s()?).min(1.0))
    }

    /// A miss that the page cache serves does not read the disk, and a disk read may be another
    /// program's, so the smaller number counts.
    fn read_share_by_disk(&self) -> Option<f64> {
        if !self.sees_servers {
            return None;
        }
        let misses = self.metric("server.cache.misses_per_s")?;
        let reads = misses.min(self.metric("disk.read_iops")?);
        let waited = match reads > 0.0 {
            true => reads * self.metric("disk.read_await_ms")?,
            false => 0.0,
        };
        Some((waited / self.transaction_ms_per_s()?).min(1.0))
    }

    /// Commits take long for many reasons. The disk is blamed for no more than the time in which it
    /// was busy.
    fn log_share_by_commits(&self) -> Option<f64> {
        let commits = self.commit_ms_per_s()? / self.transaction_ms_per_s()?;
        let at_work = match self.sees_servers {
            true => self.disk_share()?,
            // Disks of another host are invisible; its server's own count must suffice.
            false => match self.metric("server.log.fsyncs_per_s")? > 0.0 {
                true => 1.0,
                false => 0.0,
            },
        };
        Some(commits.min(at_work).min(1.0))
    }

    /// Milliseconds that commits of all users take per second.
    fn commit_ms_per_s(&self) -> Option<f64> {
        let trial = self.trial;
        let mut kinds = trial.by_statement.iter();
        if let Some(commit) = kinds.find(|kind| kind.name == "commit") {
            return Some(commit.per_s? * commit.latency_ms?.mean.value);
        }
        if trial.writes == 0 {
            return Some(0.0);
        }
        // Without transactions, each statement commits by itself, and waits for at least one write
        // and one flush of the log.
        let write_ms = self.metric("disk.write_await_ms")?;
        let commit_ms = write_ms + self.metric("disk.flush_await_ms").unwrap_or(0.0);
        Some(trial.writes as f64 / trial.measured_s * commit_ms).filter(|ms| ms.is_finite())
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
}

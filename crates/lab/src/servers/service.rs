//! Programs that the members of a cluster share, from before the first member starts until after
//! the last one has ended.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::manager::Service;

use super::files::append;
use super::{DataDir, Membership, ProcessId, log, running::Running};
use crate::error::LabError;
use crate::home::Home;
use crate::process::POLL_INTERVAL;
use crate::site::{Site, ThisHost};

/// How long a service may take until it is ready.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The services of a cluster. Dropping them kills them and removes their directory.
#[derive(Debug)]
pub(crate) struct Services {
    /// The first field: the processes end before their directory is removed.
    running: Vec<Running>,
    data: DataDir,
}

impl Services {
    /// Starts the services of a member's cluster, and waits until they are ready, at most 60 s each;
    /// `None` if it needs none. `keep` is the directory of the result for their logs.
    ///
    /// # Errors
    /// A program that is missing, that ends, or that does not become ready, with its log; an
    /// interrupt; errors of the operating system.
    pub(crate) fn start(
        member: &Membership,
        home: &Home,
        keep: &Path,
        interrupted: &AtomicBool,
    ) -> Result<Option<Self>, LabError> {
        if member.replication.service_ports() == 0 {
            return Ok(None);
        }
        fs::create_dir_all(keep).map_err(LabError::at("create", keep))?;
        let data = DataDir::new(home, "services.", &plan::Volume::default())?;
        data.hand_over()?;
        let services = member
            .replication
            .services(&member.formation, &data.own())?;
        let mut started = Self {
            running: Vec::new(),
            data,
        };
        for service in &services {
            started.add(service, keep, interrupted)?;
        }
        Ok(Some(started))
    }

    fn add(
        &mut self,
        service: &Service,
        keep: &Path,
        interrupted: &AtomicBool,
    ) -> Result<(), LabError> {
        let path = keep.join(format!("{}.log", service.name));
        let (log, home) = (append(&path)?, self.data.home());
        // Identifies its processes: see `survivors`.
        let site: Arc<dyn Site> = Arc::new(ThisHost::default());
        let first = site.spawn(home, &service.invocation, self.data.dir(), log)?;
        let mut running = Running::new(first, &site, &ProcessId::default(), &self.data)?;
        let words = || log::last_lines(&log::read_tail(&path, 0));
        let deadline = Instant::now() + START_LIMIT;
        while !service.is_ready() {
            if let Some(how) = running.ended() {
                let how = format!("{} {how}; its log ends:\n{}", service.name, words());
                return Err(LabError::Ended(how));
            }
            if interrupted.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            if Instant::now() > deadline {
                return Err(LabError::TooSlow {
                    server: service.name.to_owned(),
                    what: "answer",
                    limit_s: START_LIMIT.as_secs(),
                    log: words(),
                });
            }
            sleep(POLL_INTERVAL);
        }
        self.running.push(running);
        Ok(())
    }

    /// Kills them and removes their directory, as dropping them does.
    ///
    /// # Errors
    /// The first thing that could not be ended or removed; the rest was.
    pub(crate) fn end(mut self) -> Result<(), LabError> {
        let ended = self.running.iter_mut().map(Running::end);
        let ended = ended.fold(Ok(()), Result::and);
        ended.and(self.data.end())
    }
}

//! Programs that the members of a cluster share. They start before the first member and end after
//! the last one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::replication::Service;

use super::files::{append, write_for_server};
use super::process::{ProcessId, ServerProcess};
use super::{DataDir, Membership, log};
use crate::failure::{Failure, unless_canceled};
use crate::home::Home;
use crate::locked;
use crate::process::POLL_INTERVAL;
use crate::site::{Program, Site};

/// How long a service may take to become ready.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Dropping the services kills them and removes their site and directory.
#[derive(Debug)]
pub(crate) struct Services {
    /// The first field, so that the processes end before their site and directory are removed.
    running: Mutex<Vec<ServerProcess>>,
    services: Vec<Service>,
    /// The directory in the result for the services' logs.
    keep: PathBuf,
    pub(crate) site: Arc<dyn Site>,
    pub(super) data: DataDir,
}

impl Services {
    /// Starts the services of a member's cluster on a site, and waits at most 60 s for each until
    /// it is ready. `keep` is the directory in the result for their logs.
    pub(crate) fn start(
        member: &Membership,
        site: Arc<dyn Site>,
        home: &Home,
        keep: &Path,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        let services = |dir: &Path, own: &Path| {
            let manager = member.replication.traits().manager;
            let services = manager.map(|manager| manager.services(&member.layout, dir, own));
            Ok(services.transpose()?.unwrap_or_default())
        };
        Self::run_all(services, site, home, keep, interrupted)
    }

    /// Starts what `services` returns for a directory, and the part of it that belongs to the
    /// servers' account.
    pub(super) fn run_all(
        services: impl FnOnce(&Path, &Path) -> Result<Vec<Service>, Failure>,
        site: Arc<dyn Site>,
        home: &Home,
        keep: &Path,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        fs::create_dir_all(keep).map_err(Failure::at("create", keep))?;
        let data = DataDir::new(home, "services.", &plan::Node::default(), interrupted)?;
        data.hand_over()?;
        let started = Self {
            running: Mutex::default(),
            services: services(data.dir(), &data.own())?,
            keep: keep.to_owned(),
            site,
            data,
        };
        started.start_again(interrupted)?;
        Ok(started)
    }

    /// Kills the services; returns when the last one was killed.
    pub(crate) fn kill(&self) -> Instant {
        let mut running = locked(&self.running);
        let killed = running.iter_mut().map(ServerProcess::kill);
        killed.max().unwrap_or_else(Instant::now)
    }

    /// Ends what is left of the services and starts them with their stored data; returns when the
    /// last one was ready.
    pub(crate) fn start_again(&self, interrupted: &AtomicBool) -> Result<Instant, Failure> {
        let mut running = locked(&self.running);
        running.clear();
        for service in &self.services {
            running.push(self.run(service, interrupted)?);
        }
        Ok(Instant::now())
    }

    fn run(&self, service: &Service, interrupted: &AtomicBool) -> Result<ServerProcess, Failure> {
        let path = self.keep.join(format!("{}.log", service.name));
        let (log, home) = (append(&path)?, self.data.home());
        for file in &service.files {
            write_for_server(&self.data.dir().join(file.name), &file.text, home.account())?;
        }
        let program = Program {
            path: &service.invocation.program,
            arguments: &service.invocation.arguments,
            // Identifies the services' processes: see `survivors`.
            input: self.data.dir(),
            log,
        };
        let first = self.site.spawn(home, program)?;
        let mut running = ServerProcess::new(first, &self.site, &ProcessId::default(), &self.data)?;
        let words = || log::read_tail(&path, 0);
        let deadline = Instant::now() + START_LIMIT;
        while !service.is_ready() {
            if let Some(how) = running.ended(false) {
                return Err(Failure::server(log::ended(service.name, &how, &words())));
            }
            unless_canceled(interrupted)?;
            if Instant::now() > deadline {
                return Err(log::too_slow(service.name, "answer", START_LIMIT, &words()));
            }
            sleep(POLL_INTERVAL);
        }
        Ok(running)
    }

    /// Kills the services, takes down their site, and removes their directory, as dropping them
    /// does.
    pub(crate) fn end(self) -> Result<(), Failure> {
        let mut running = locked(&self.running);
        let ended = running.iter_mut().map(ServerProcess::end);
        let ended = ended.fold(Ok(()), Result::and);
        ended.and(self.site.end()).and(self.data.end())
    }
}

//! This host, with or without limits, and with or without a container.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use host::group::Usage;
use host::{Files, LOCAL};
use plan::{DiskLimits, Limits, SiteKind};

use super::cgroup::Groups;
use super::container::Container;
use super::{Launched, Program, Site};
use crate::failure::Failure;
use crate::home::{Home, survivors};
use crate::process;

/// This host. The default has no limits and cannot get any later.
#[derive(Debug, Default)]
pub struct ThisHost {
    /// Limit the processes and count what they use.
    groups: OnceLock<Groups>,
    /// What programs run in.
    container: Option<Container>,
    /// Whether there are processes, which would not be in a group that is created later.
    is_used: AtomicBool,
    /// Where groups are recorded; the last field, so that it outlives them.
    home: Option<Home>,
}

impl ThisHost {
    /// This host, with a site's limits for all its processes together.
    pub fn new(home: &Home, site: &plan::Site) -> Result<Self, Failure> {
        Self::with(home, site, false)
    }

    /// Like [`ThisHost::new`]; with `own_network`, for programs in a network namespace.
    pub(super) fn with(home: &Home, site: &plan::Site, own_network: bool) -> Result<Self, Failure> {
        let groups = match site.kind.value {
            SiteKind::Process | SiteKind::Vm | SiteKind::Ssh | SiteKind::Url => OnceLock::new(),
            SiteKind::Limited | SiteKind::Container => {
                Groups::new(&LOCAL, home, &site.limits, false)?.into()
            }
        };
        let container = match site.kind.value {
            SiteKind::Container => Some(Container::new(home, site.runtime, own_network)?),
            _ => None,
        };
        Ok(Self {
            container,
            home: Some(home.clone()),
            groups,
            is_used: AtomicBool::new(false),
        })
    }

    pub(super) fn admit(&self, readable: &[PathBuf], writable: &[PathBuf]) {
        if let Some(container) = &self.container {
            container.admit(readable, writable);
        }
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        Some(self.groups.get()?.usage(&LOCAL))
    }

    /// Creates a control group for this if the site has none.
    pub fn limit_io(&self, devices: &[(u32, u32)], limits: &DiskLimits) -> Result<(), Failure> {
        if self.groups.get().is_none() {
            let home = self.home.as_ref();
            let home = home.filter(|_| !self.is_used.load(Ordering::Relaxed));
            let home = home.ok_or_else(|| {
                let why = "a server that already runs without limits cannot get one";
                Failure::server(why)
            })?;
            let groups = Groups::new(&LOCAL, home, &Limits::default(), true)?;
            // Only one thread sets a site up.
            let _ = self.groups.set(groups);
        }
        let groups = self.groups.get();
        groups.map_or(Ok(()), |groups| groups.limit_io(&LOCAL, devices, limits))
    }

    /// Starts a program through an entry.
    pub(super) fn start(
        &self,
        home: &Home,
        entry: &[OsString],
        program: Program<'_>,
    ) -> Result<Launched, Failure> {
        let Program {
            path, input, log, ..
        } = program;
        let errors = log.try_clone();
        let errors = errors.map_err(Failure::at("write the log of", path))?;
        let groups = self.groups.get();
        let entry = match &self.container {
            Some(container) => container.entry(groups, entry),
            None => [&groups.map(Groups::entry).unwrap_or_default(), entry].concat(),
        };
        let mut command = home.command_via(&entry, path);
        command.args(program.arguments);
        command.env(survivors::INPUT, input);
        let input = File::open(input).map_err(Failure::at("read", input))?;
        command.stdin(input).stdout(log).stderr(errors);
        self.is_used.store(true, Ordering::Relaxed);
        match &self.container {
            Some(container) => container.start(command),
            None => Ok(Launched::here(process::spawn(command)?)),
        }
    }
}

impl Site for ThisHost {
    fn spawn(&self, home: &Home, program: Program<'_>) -> Result<Launched, Failure> {
        self.start(home, &[], program)
    }

    fn files(&self) -> &dyn Files {
        &LOCAL
    }

    fn end(&self) -> Result<(), Failure> {
        let container = self.container.as_ref().map_or(Ok(()), Container::end);
        container.and(self.groups.get().map_or(Ok(()), Groups::end))
    }

    fn platform(&self) -> Option<String> {
        self.container.as_ref().map(Container::platform)
    }

    fn this_host(&self) -> Option<&ThisHost> {
        Some(self)
    }
}

//! This host, with or without limits, a container, and a network of its own.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use host::group::Usage;
use host::{Files, LOCAL};
use ipnet::Ipv4Net;
use plan::{DiskLimits, Limits, SiteKind};

use super::cgroup::Groups;
use super::container::Container;
use super::{LOOPBACK, Launched, Namespace, Program, Site, Switch};
use crate::failure::Failure;
use crate::home::{Home, survivors};
use crate::process;

/// This host. The default has no limits and cannot get any later.
#[derive(Debug, Default)]
pub struct ThisHost {
    /// Limit the processes and count what they use.
    groups: OnceLock<Groups>,
    /// What programs run in.
    pub(super) container: Option<Container>,
    /// The network that programs are in; `None` for the host's.
    pub(super) network: Option<Namespace>,
    /// Whether there are processes, which would not be in a group that is created later.
    is_used: AtomicBool,
    /// Where groups are recorded; the last field, so that it outlives them.
    home: Option<Home>,
}

impl ThisHost {
    /// This host, with a site's limits for all its processes together, in a network namespace if
    /// there is a switch.
    pub fn new(
        home: &Home,
        site: &plan::Site,
        switch: Option<&Arc<Switch>>,
    ) -> Result<Self, Failure> {
        let groups = match site.kind.value {
            SiteKind::Process | SiteKind::Vm | SiteKind::Ssh | SiteKind::Url => OnceLock::new(),
            SiteKind::Limited | SiteKind::Container => {
                Groups::new(&LOCAL, home, &site.limits, false)?.into()
            }
        };
        let container = match site.kind.value {
            SiteKind::Container => Some(Container::new(home, site.runtime, switch.is_some())?),
            _ => None,
        };
        let network = switch.map(|switch| Namespace::new(home, switch));
        Ok(Self {
            container,
            network: network.transpose()?,
            home: Some(home.clone()),
            groups,
            is_used: AtomicBool::new(false),
        })
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
}

impl Site for ThisHost {
    fn spawn(&self, home: &Home, program: Program<'_>) -> Result<Launched, Failure> {
        let Program {
            path, input, log, ..
        } = program;
        let errors = log.try_clone();
        let errors = errors.map_err(Failure::at("write the log of", path))?;
        let groups = self.groups.get();
        let network = self.network.as_ref().map(Namespace::entry);
        let network = network.unwrap_or_default();
        let entry = match &self.container {
            Some(container) => container.entry(groups, &network),
            None => [groups.map(Groups::entry).unwrap_or_default(), network].concat(),
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

    fn files(&self) -> &dyn Files {
        &LOCAL
    }

    fn end(&self) -> Result<(), Failure> {
        let network = self.network.as_ref().map_or(Ok(()), Namespace::end);
        let container = self.container.as_ref().map_or(Ok(()), Container::end);
        let groups = self.groups.get().map_or(Ok(()), Groups::end);
        network.and(container).and(groups)
    }

    fn address(&self) -> Ipv4Net {
        self.network.as_ref().map_or(LOOPBACK, Namespace::address)
    }

    fn platform(&self) -> Option<String> {
        self.container.as_ref().map(Container::platform)
    }

    fn this_host(&self) -> Option<&ThisHost> {
        Some(self)
    }
}

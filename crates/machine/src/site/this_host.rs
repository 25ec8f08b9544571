//! This host, with or without limits, a container, and a network of its own.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use host::{Files, LOCAL};
use ipnet::Ipv4Net;
use plan::{Limits, SiteKind};

use super::cgroup::Groups;
use super::container::Container;
use super::{LOOPBACK, Launched, Namespace, Program, Site, Switch};
use crate::failure::Failure;
use crate::home::{Home, survivors};
use crate::process;

/// This host. The default has no limits.
#[derive(Debug, Default)]
pub struct ThisHost {
    /// Limit the processes and count what they use.
    pub(super) groups: Option<Groups>,
    /// What programs run in.
    pub(super) container: Option<Container>,
    /// The network that programs are in; `None` for the host's.
    pub(super) network: Option<Namespace>,
    /// The address that servers listen on without a network of their own; `None`: loopback.
    pub(super) address: Option<Ipv4Net>,
}

impl ThisHost {
    /// This host, with a site's limits for all its processes together, in a network namespace if
    /// there is a switch. With `limits_io`, it also has a control group that can limit requests to
    /// devices: processes do not enter one that is created later.
    pub fn new(
        home: &Home,
        site: &plan::Site,
        limits_io: bool,
        switch: Option<&Arc<Switch>>,
    ) -> Result<Self, Failure> {
        let groups = |limits: &Limits| Groups::new(&LOCAL, home, limits, limits_io);
        let groups = match site.kind.value {
            SiteKind::Limited | SiteKind::Container => Some(groups(&site.limits)?),
            _ if limits_io => Some(groups(&Limits::default())?),
            _ => None,
        };
        let container = match site.kind.value {
            SiteKind::Container => Some(Container::new(home, site.runtime, switch.is_some())?),
            _ => None,
        };
        let network = switch.map(|switch| Namespace::new(home, switch));
        Ok(Self {
            groups,
            container,
            network: network.transpose()?,
            address: None,
        })
    }

    /// Has servers listen on an address that other hosts reach.
    pub fn at(self, address: Ipv4Net) -> Self {
        let address = Some(address);
        Self { address, ..self }
    }

    /// The control groups of the site.
    pub fn group_dirs(&self) -> Vec<PathBuf> {
        self.groups.as_ref().map(Groups::dirs).unwrap_or_default()
    }
}

impl Site for ThisHost {
    fn spawn(&self, home: &Home, program: Program<'_>) -> Result<Launched, Failure> {
        let Program {
            path, input, log, ..
        } = program;
        let errors = log.try_clone();
        let errors = errors.map_err(Failure::at("write the log of", path))?;
        let groups = self.groups.as_ref();
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
        let groups = self.groups.as_ref().map_or(Ok(()), Groups::end);
        network.and(container).and(groups)
    }

    fn address(&self) -> Ipv4Net {
        let own = self.network.as_ref().map(Namespace::address);
        own.or(self.address).unwrap_or(LOOPBACK)
    }

    fn platform(&self) -> Option<String> {
        self.container.as_ref().map(Container::platform)
    }

    fn this_host(&self) -> Option<&ThisHost> {
        Some(self)
    }
}

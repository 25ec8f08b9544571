//! Servers on other hosts, and in guests of this one. Each runs dyno's own program
//! (`machine::site::far`), which does there what this process does here: it has a cache with templates,
//! and volumes, limits, and nodes of its own ([`desk`]). This side asks it ([`asks`]), and treats a node
//! there ([`node`]) like one here.
//!
//! ```text
//! HOST:/var/tmp/dyno-5e1c…-7/program    dyno's program, for this run
//! HOST:/var/tmp/dyno-cache/             its cache: see `machine::home`
//! GUEST:/var/tmp/program
//! GUEST:/var/tmp/dyno-cache/
//! ```

mod answer;
mod asks;
mod calls;
mod desk;
mod files;
mod node;
mod place;
mod reboot;
mod site;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use engine::Installed;
use ipnet::Ipv4Net;
use machine::site::far::Link;
use machine::site::far::reboot::Boot;
use plan::{EngineSpec, Topology, shown_bytes};
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::home::Home;
use crate::locked;
use crate::process::NEVER;
use crate::setup::needs::{self, Needs};
use crate::setup::spec::guest_image;
use crate::site::{Destination, GUEST_DIRECTORY, GuestPlan, Machine};
use crate::template::{About, Template};

use answer::Answer;
pub(crate) use asks::Ask;
use asks::{Found, Received};
pub(crate) use asks::{SentMembership, ServerStart, Source, Started};
pub use desk::serve;
pub(crate) use node::{FarNode, FarProcesses, MemberNode};
pub(crate) use place::{
    Data, FarData, Spot, check_each, check_room, connect, on_each, own_address, spots, together,
};
pub(crate) use reboot::Away;

/// The name of dyno's cache on other hosts, in the study's directory there.
const CACHE: &str = "dyno-cache";
/// What runs here, even if another build has taken its place meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// A host that runs dyno's program. Dropping it ends everything that the program has set up.
#[derive(Debug)]
pub(crate) struct Host {
    /// The first field, so that the program ends before its directory is removed. Another one once the host has
    /// restarted.
    link: Mutex<Arc<Link>>,
    machine: Machine,
    /// The study's directory there.
    directory: PathBuf,
    last: AtomicU64,
    /// What earlier runs have left there, once that is known.
    left: OnceLock<Vec<String>>,
}

/// What tells one connection from another: the host, and the study's directory there.
type Key = (Destination, PathBuf);

/// The hosts that this run is connected to.
pub(crate) type Hosts = BTreeMap<Key, Arc<Host>>;

impl Host {
    pub(crate) fn connect(
        home: &Home,
        to: &Destination,
        below: &Path,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        let machine = Machine::new(home, to, below)?;
        Self::new(machine, below, interrupted)
    }

    /// Boots a guest for the server with this number.
    pub(crate) fn guest(
        home: &Home,
        number: u32,
        topology: &Topology,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        let plan = GuestPlan {
            name: format!("guest{number}"),
            limits: topology.node.site.limits.clone(),
            image: guest_image(),
        };
        let machine = Machine::guest(home, plan, Path::new(OWN_PROGRAM), interrupted)?;
        Self::new(machine, Path::new(GUEST_DIRECTORY), interrupted)
    }

    fn new(machine: Machine, directory: &Path, interrupted: &AtomicBool) -> Result<Self, Failure> {
        let link = program(&machine, directory, None, interrupted)?;
        Ok(Self {
            link: Mutex::new(Arc::new(link)),
            machine,
            directory: directory.to_owned(),
            last: AtomicU64::new(0),
            left: OnceLock::new(),
        })
    }

    fn link(&self) -> Arc<Link> {
        Arc::clone(&locked(&self.link))
    }

    pub(crate) fn is_guest(&self) -> bool {
        self.machine.is_guest()
    }

    pub(crate) fn address(&self) -> Ipv4Net {
        self.machine.address()
    }

    pub(crate) fn name(&self) -> &str {
        self.machine.name()
    }

    /// What earlier runs have left there.
    pub(crate) fn left(&self) -> impl Iterator<Item = &String> {
        self.left.get().into_iter().flatten()
    }

    /// Checks that the host has the disk space and the memory for some `servers` of a trial, which has
    /// `nodes` in all, and for a template of their data.
    pub(crate) fn check_room(
        &self,
        node: &plan::Node,
        servers: usize,
        nodes: u32,
        needs: &Needs,
    ) -> Result<(), Failure> {
        let servers = u32::try_from(servers).unwrap_or(u32::MAX);
        let mut disks = BTreeMap::from([(&self.directory, needs.data_bytes(nodes))]);
        for (volume, bytes) in needs.on_volumes(node, nodes, servers)? {
            let directory = volume.directory.as_ref();
            let directory = directory.map_or(&self.directory, |directory| &directory.value);
            *disks.entry(directory).or_default() += bytes;
        }
        let fits = |needed: u64, of: &str, available: u64, remedy: &str| {
            let [wanted, left] = [needed, available].map(shown_bytes);
            let why = || format!("its servers need {wanted} of {of}; only {left} is available");
            let fits = (needed <= available).then_some(());
            fits.ok_or_else(|| self.machine.unusable(why(), remedy))
        };
        for (directory, bytes) in disks {
            let free_bytes = needs::space(self, directory)?.free_bytes;
            let remedy = "free disk space there, use less data, or name another disk: site.directory, or volume.directory for the servers' data";
            let of = format!("disk space in {}", directory.display());
            fits(bytes, &of, free_bytes, remedy)?;
        }
        let bytes = needs.memory_bytes / u64::from(nodes.max(1)) * u64::from(servers);
        let remedy = "use more hosts, fewer instances, or smaller buffer pools";
        fits(bytes, "memory", needs::available_memory(self)?, remedy)
    }

    fn new_data(self: &Arc<Self>) -> FarData {
        FarData {
            host: Arc::clone(self),
            id: self.last.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn ask<T: DeserializeOwned>(&self, ask: &Ask, interrupted: &AtomicBool) -> Result<T, Failure> {
        self.link().ask(ask, interrupted)
    }

    /// Like [`Host::ask`], for an answer with times of the host.
    fn call<T: Answer>(&self, ask: &Ask, interrupted: &AtomicBool) -> T {
        let link = self.link();
        T::received(link.ask(ask, interrupted), &link)
    }

    /// Like [`Host::ask`]; a failure names the host.
    fn prepare<T: DeserializeOwned>(
        &self,
        ask: &Ask,
        interrupted: &AtomicBool,
    ) -> Result<T, Failure> {
        self.ask(ask, interrupted)
            .map_err(|failure| match failure.is_interrupted() {
                true => failure,
                // Without another place in the study, that of the hosts.
                false => Failure {
                    key: failure.key.clone().or_else(|| Some("site.host".to_owned())),
                    ..failure.context(format!("on host {}", self.name()))
                },
            })
    }

    /// Checks that the host has the server's program, of the same build as this host's, and can have
    /// the sites and volumes of a study. A guest has nothing but its limits.
    pub(crate) fn check(
        &self,
        spec: &EngineSpec,
        installed: &Installed,
        topology: &Topology,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let found: Found = self.prepare(&Ask::Find(spec.clone()), interrupted)?;
        let _ = self.left.set(found.left);
        if found.build != installed.build {
            let why = format!(
                "its {} is version {}, but the data was prepared by {}",
                found.program, found.build, installed.build
            );
            let remedy = match self.is_guest() {
                true => "build the guest again: scripts/build-guest.sh".to_owned(),
                false => format!("install {} there as on this host", installed.shown()),
            };
            return Err(self.machine.unusable(why, &remedy));
        }
        if self.is_guest() {
            return Ok(());
        }
        let ask = Ask::Check {
            topology: Box::new(topology.clone()),
            reboots: self.may_restart(topology).then(Boot::own).transpose()?,
        };
        self.prepare(&ask, interrupted)
    }

    /// Has the host keep a template, which is copied to it unless it is there.
    pub(crate) fn hold(
        self: &Arc<Self>,
        (template, about): (&Template, &About),
        spec: &EngineSpec,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let ask = |received| Ask::Hold {
            spec: spec.clone(),
            about: Box::new(about.clone()),
            received,
        };
        let has: bool = self.prepare(&ask(None), interrupted)?;
        if has {
            return Ok(());
        }
        let received = self.receive(&template.data(), interrupted)?;
        self.prepare(&ask(Some(received.id)), interrupted)
            .map(|_: bool| ())
    }

    /// Copies a data directory to the host.
    pub(crate) fn receive(
        self: &Arc<Self>,
        data: &Path,
        interrupted: &AtomicBool,
    ) -> Result<FarData, Failure> {
        let copy = self.new_data();
        let there: Received = self.prepare(&Ask::Receive(copy.id), interrupted)?;
        self.machine
            .copy(data, &there.data, &there.owner, interrupted)?;
        Ok(copy)
    }

    /// Copies data for a server on the host.
    pub(crate) fn fill(
        self: &Arc<Self>,
        number: u32,
        spec: &EngineSpec,
        node: plan::Node,
        from: Source,
        interrupted: &AtomicBool,
    ) -> Result<FarData, Failure> {
        let data = self.new_data();
        let ask = Ask::Fill {
            id: data.id,
            number,
            spec: spec.clone(),
            node: Box::new(node),
            from,
        };
        self.prepare::<()>(&ask, interrupted)?;
        Ok(data)
    }

    /// Free ports of the host.
    pub(crate) fn ports(&self, count: usize) -> Result<Vec<u16>, Failure> {
        let at = self.address().addr();
        self.prepare(&Ask::Ports { count, at }, &NEVER)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // What is on a guest need not be taken down. The next run removes what remains.
        let _ = self.machine.end();
    }
}

/// Runs dyno's program on a machine, with its cache below `below`. See [`serve`] for `former`.
fn program(
    machine: &Machine,
    below: &Path,
    former: Option<&str>,
    interrupted: &AtomicBool,
) -> Result<Link, Failure> {
    let cache = below.join(CACHE).into_os_string();
    let words = ["host".into(), cache].into_iter();
    let words: Vec<OsString> = words.chain(former.map(OsString::from)).collect();
    machine.program(Path::new(OWN_PROGRAM), &words, interrupted)
}

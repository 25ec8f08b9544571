//! dyno's program on another host: does what it is asked, and takes everything down when the
//! connection ends.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use engine::Installed;
use machine::site::far::{self, reboot, reboot::Boot};
use plan::{EngineSpec, FaultKind, Node as NodePlan, SiteKind, Topology};
use serde_json::Value;

use super::answer::{Answer, packed};
use super::asks::{Ask, Found, Received, ServerStart, Source, Started};
use crate::failure::{Failure, not_running};
use crate::home::Home;
use crate::process::{self, NEVER};
use crate::servers::{
    self, DataDir, Membership, Node, NodeSpec, Password, ProcessId, freeze, read_end,
};
use crate::setup::data::settle;
use crate::setup::spec::{config, engine_of, installed};
use crate::site::{Silence, Site, ThisHost};
use crate::template::{About, Template, Templates};
use crate::{locked, port, tree, volume};

/// Bytes of a log that are sent: less than a message may have.
const KEPT_BYTES: u64 = 4 << 20;
/// Templates that no other dyno removes: those of trials that run at once.
const MAX_HELD: usize = 4;

/// How long the answer to a request to restart may take to leave the host.
const REBOOT_DELAY: Duration = Duration::from_millis(200);
/// How long a kernel may take to restart: meanwhile, nothing is taken down.
const REBOOT_LIMIT: Duration = Duration::from_secs(60);

/// Answers dyno on another host, with the cache at `root`, until the connection ends. `former` is the name of the run
/// directory in which the program went on before the host restarted.
pub fn serve(
    root: &Path,
    former: Option<&str>,
    from: impl Read + AsFd,
    to: impl Write + AsFd + Send,
) -> Result<(), Failure> {
    let desk = Desk {
        servers: Mutex::default(),
        processes: Mutex::default(),
        held: Mutex::default(),
        found: Mutex::default(),
        silence: Mutex::default(),
        restarts: Arc::default(),
        here: ThisHost::default(),
        // This machine's user does not choose the directory: dyno on the other machine says who does.
        home: Home::open_at(root, servers::account()?, former).map_err(|failure| Failure {
            remedy: None,
            ..failure
        })?,
        origin: Instant::now(),
    };
    let served = far::serve(from, to, desk.origin, |ask, over| {
        desk.answer(ask, over).map_err(as_seen_from_afar)
    });
    // A power failure takes nothing down either.
    let is_over = || (!desk.restarts.load(Ordering::Relaxed)).then_some(());
    process::poll(REBOOT_LIMIT, is_over);
    served
}

/// What was set up. Servers end first, the cache last.
#[derive(Debug)]
struct Desk {
    servers: Mutex<BTreeMap<u64, Arc<Mutex<Server>>>>,
    /// The processes of the servers, which are asked for while something happens to the nodes.
    processes: Mutex<BTreeMap<u64, ProcessId>>,
    held: Mutex<Vec<(About, Template)>>,
    found: Mutex<Vec<(EngineSpec, Installed)>>,
    silence: Mutex<Option<Silence>>,
    /// Whether the host is about to restart.
    restarts: Arc<AtomicBool>,
    /// Without limits.
    here: ThisHost,
    home: Home,
    origin: Instant,
}

#[derive(Debug)]
enum Server {
    /// That was received, or copied for a server.
    Data(DataDir),
    Runs(Box<Node>),
    Ended,
}

impl Desk {
    fn answer(&self, ask: Ask, over: &AtomicBool) -> Result<Value, Failure> {
        match ask {
            Ask::Find(spec) => packed(self.find(&spec).map(|found| {
                let left = self.home.swept().left.iter();
                Found {
                    program: found.program.display().to_string(),
                    build: found.build,
                    left: left.map(ToString::to_string).collect(),
                }
            })),
            Ask::Check { topology, reboots } => {
                packed(can_have(&self.home, &topology, reboots.as_ref()))
            }
            Ask::Hold {
                spec,
                about,
                received,
            } => packed(self.hold(&spec, *about, received, over)),
            Ask::Receive(id) => packed(self.receive(id)),
            Ask::Fill {
                id,
                number,
                spec,
                node,
                from,
            } => packed(self.fill((id, number), &spec, &node, from, over)),
            Ask::Settle { id, cold } => packed(self.settle(id, cold, over)),
            Ask::Ports { count, at } => packed(port::several(count, at)),
            Ask::Start { id, server } => packed(self.start(id, *server, over)),
            Ask::Call { id, call } => {
                self.with_node(id, |node| call.answer(node, self.origin, over))
            }
            Ask::Processes(id) => packed(Ok(self.process(id).ids())),
            Ask::Freeze { id, frozen } => packed(Ok(freeze(&self.here, &self.process(id), frozen))),
            Ask::Kept(id) => packed(Ok(kept(&self.kept(id)))),
            Ask::Read(paths) => {
                let texts = self.here.files().read_all(&paths).into_iter();
                packed(Ok(texts.map(Result::ok).collect::<Vec<_>>()))
            }
            Ask::List(dir) => packed(self.here.files().list(&dir).map_err(Failure::server)),
            Ask::Resolve(path) => packed(self.here.files().resolve(&path).map_err(Failure::server)),
            Ask::Space(path) => packed(self.here.files().space(&path).map_err(Failure::server)),
            Ask::FallSilent(limit) => self.fall_silent(limit).sent(self.origin),
            Ask::BeHeard => self.be_heard().sent(self.origin),
            Ask::Run => packed(Ok(self
                .home
                .run_dir()
                .file_name()
                .map(OsStr::to_string_lossy))),
            Ask::Reboot(dyno) => self.reboot(dyno).sent(self.origin),
            Ask::TakeOver { id, server, former } => packed(self.take_over(id, *server, &former)),
            Ask::End(id) => packed(self.end(id)),
            Ask::Forget(id) => packed(self.forget(id)),
        }
    }

    fn find(&self, spec: &EngineSpec) -> Result<Installed, Failure> {
        let mut found = locked(&self.found);
        if let Some((_, found)) = found.iter().find(|(known, _)| known == spec) {
            return Ok(found.clone());
        }
        let new = installed(spec)?;
        found.push((spec.clone(), new.clone()));
        Ok(new)
    }

    fn hold(
        &self,
        spec: &EngineSpec,
        about: About,
        received: Option<u64>,
        over: &AtomicBool,
    ) -> Result<bool, Failure> {
        let is_held = |(known, _): &(About, Template)| known.is_same(&about);
        if locked(&self.held).iter().any(is_held) {
            return Ok(true);
        }
        let received = received.map(|id| self.take_data(id)).transpose()?;
        let (found, config) = (self.find(spec)?, config(spec));
        let templates = Templates::new(&self.home, &found, &config)?;
        let Some(template) = templates.prepared(&about, received, over)? else {
            return Ok(false);
        };
        let mut held = locked(&self.held);
        held.push((about, template));
        let first = held.len().saturating_sub(MAX_HELD);
        held.drain(..first);
        Ok(true)
    }

    fn receive(&self, id: u64) -> Result<Received, Failure> {
        let data = DataDir::new(&self.home, "received", &NodePlan::default(), &NEVER)?;
        let received = Received {
            data: data.data(),
            owner: self.home.account().owner(),
        };
        self.keep(id, Server::Data(data));
        Ok(received)
    }

    fn fill(
        &self,
        (id, number): (u64, u32),
        spec: &EngineSpec,
        node: &NodePlan,
        from: Source,
        over: &AtomicBool,
    ) -> Result<(), Failure> {
        let data = match from {
            Source::Received(id) if has_no_volume(node) => self.take_data(id)?,
            Source::Received(id) => {
                let received = self.take_data(id)?;
                let data = DataDir::new(&self.home, &format!("s{number}."), node, over)?;
                data.fill(&received.data(), engine_of(spec)?, over)?;
                data
            }
            Source::Template(about) => {
                let held = locked(&self.held);
                let template = held.iter().find(|(known, _)| known.is_same(&about));
                let missing = || Failure::internal("the data was not copied to the host");
                let (_, template) = template.ok_or_else(missing)?;
                template.copy_to(number, node, self.here.files(), over)?.0
            }
        };
        data.deduplicate(over)?;
        self.keep(id, Server::Data(data));
        Ok(())
    }

    fn settle(&self, id: u64, cold: bool, over: &AtomicBool) -> Result<(), Failure> {
        let server = self.server(id)?;
        let Server::Data(data) = &*locked(&server) else {
            return Ok(());
        };
        let mut directories = data.directories().into_iter();
        directories.try_for_each(|directory| settle(&directory, cold, over))
    }

    fn start(&self, id: u64, ask: ServerStart, over: &AtomicBool) -> Result<Started, Failure> {
        let server = self.server(id)?;
        let mut server = locked(&server);
        let data = take_data(&mut server)?;
        let start = |found: &_, spec, data| servers::start(found, spec, data, over);
        let (node, started) = self.node(id, ask, data, start)?;
        // dyno's own files of the server must survive a restart of the host; its data was written before.
        settle(&started.dir, false, over)?;
        *server = Server::Runs(Box::new(node));
        Ok(started)
    }

    fn take_over(&self, id: u64, ask: ServerStart, former: &Started) -> Result<Started, Failure> {
        let data = DataDir::of_former(&self.home, &former.dir, &former.directories)?;
        let take_over = |found: &_, spec, data| servers::of_former(found, spec, data, former);
        let (node, started) = self.node(id, ask, data, take_over)?;
        self.keep(id, Server::Runs(Box::new(node)));
        Ok(started)
    }

    fn node(
        &self,
        id: u64,
        ask: ServerStart,
        data: DataDir,
        make: impl FnOnce(&Installed, NodeSpec, DataDir) -> Result<Node, Failure>,
    ) -> Result<(Node, Started), Failure> {
        let found = self.find(&ask.spec)?;
        let limits_io = ask.limits_io;
        let site = site(&ask.node.site, limits_io, &self.home)?.at(ask.address);
        let groups = site.group_dirs();
        data.limit_io(&site, &ask.node)?;
        let membership = ask
            .membership
            .map(|sent| Membership::of(sent, found.engine));
        let spec = NodeSpec {
            config: ask.config,
            port: ask.port,
            membership: membership.transpose()?,
            ..NodeSpec::new(ask.number, ask.connections, Arc::new(site), &self.kept(id))
        };
        let node = make(&found, spec, data)?;
        locked(&self.processes).insert(id, node.process().clone());
        let started = Started {
            port: node.port(),
            password: Password::known(node.password()),
            public_key: node.public_key().map(<[u8]>::to_vec),
            notes: node.notes().to_vec(),
            dir: node.dir().to_owned(),
            directories: node.directories(),
            groups,
        };
        Ok((node, started))
    }

    fn with_node<T>(
        &self,
        id: u64,
        work: impl FnOnce(&mut Node) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let server = self.server(id)?;
        match &mut *locked(&server) {
            Server::Runs(node) => work(node),
            _ => Err(not_running("the server")),
        }
    }

    fn keep(&self, id: u64, server: Server) {
        locked(&self.servers).insert(id, Arc::new(Mutex::new(server)));
    }

    fn take_data(&self, id: u64) -> Result<DataDir, Failure> {
        take_data(&mut locked(&*self.server(id)?))
    }

    fn process(&self, id: u64) -> ProcessId {
        let process = locked(&self.processes).get(&id).cloned();
        process.unwrap_or_default()
    }

    fn server(&self, id: u64) -> Result<Arc<Mutex<Server>>, Failure> {
        let server = locked(&self.servers).get(&id).cloned();
        server.ok_or_else(|| not_running("the server"))
    }

    fn fall_silent(&self, limit: Duration) -> Result<Instant, Failure> {
        let mut silence = locked(&self.silence);
        match *silence {
            Some(_) => Err(Failure::server("the host is silent already")),
            None => Ok(silence.insert(Silence::begin(&self.home, limit)?).since),
        }
    }

    fn be_heard(&self) -> Result<Instant, Failure> {
        let silence = locked(&self.silence).take();
        silence.map_or_else(|| Ok(Instant::now()), Silence::end)
    }

    fn reboot(&self, dyno: Boot) -> Result<Instant, Failure> {
        reboot::check(&dyno)?;
        self.restarts.store(true, Ordering::Relaxed);
        let restarts = Arc::clone(&self.restarts);
        let at = Instant::now() + REBOOT_DELAY;
        thread::spawn(move || {
            thread::sleep(REBOOT_DELAY);
            // dyno notices that the host is still up.
            let _ = reboot::restart(&dyno);
            restarts.store(false, Ordering::Relaxed);
        });
        Ok(at)
    }

    fn end(&self, id: u64) -> Result<(), Failure> {
        locked(&self.processes).remove(&id);
        let Some(server) = locked(&self.servers).remove(&id) else {
            return Ok(());
        };
        match std::mem::replace(&mut *locked(&server), Server::Ended) {
            Server::Runs(node) => node.end(),
            Server::Data(data) => data.end(),
            Server::Ended => Ok(()),
        }
    }

    fn forget(&self, id: u64) -> Result<(), Failure> {
        let ended = self.end(id);
        let kept = self.kept(id);
        let removed = kept.exists().then(|| tree::remove(&kept));
        ended.and(removed.unwrap_or(Ok(())))
    }

    /// Stands for the server's directory in the result.
    fn kept(&self, id: u64) -> PathBuf {
        self.home.run_dir().join(format!("kept{id}"))
    }
}

fn take_data(server: &mut Server) -> Result<DataDir, Failure> {
    match std::mem::replace(server, Server::Ended) {
        Server::Data(data) => Ok(data),
        _ => Err(Failure::internal("the server has no data")),
    }
}

/// A failure for the user of dyno on another host, who logs in to this one.
fn as_seen_from_afar(failure: Failure) -> Failure {
    let remedy = failure.remedy.as_ref();
    Failure {
        remedy: remedy.map(|remedy| remedy.replace("run dyno as root", "log in there as root")),
        ..failure
    }
}

/// A site of this host for a server of another one. A guest has its limits already.
fn site(planned: &plan::Site, limits_io: bool, home: &Home) -> Result<ThisHost, Failure> {
    let mut planned = planned.clone();
    let has_none = planned.limits == plan::Limits::default();
    planned.kind.value = match has_none || planned.kind.value == SiteKind::Vm {
        true => SiteKind::Process,
        false => SiteKind::Limited,
    };
    ThisHost::new(home, &planned, limits_io, None)
}

/// Whether the data of a node is in dyno's cache.
fn has_no_volume(node: &NodePlan) -> bool {
    node.log_volume.is_none() && node.volume == plan::Volume::default()
}

fn can_have(home: &Home, topology: &Topology, reboots: Option<&Boot>) -> Result<(), Failure> {
    site(&topology.node.site, topology.limits_io(), home)?.end()?;
    let mut faults = topology.faults.iter();
    let is_silent = |kind| matches!(kind, FaultKind::FailHost | FaultKind::Silence);
    if faults.any(|fault| is_silent(fault.kind())) {
        Silence::check()?;
    }
    if let Some(dyno) = reboots {
        reboot::check(dyno)?;
        let space = ThisHost::default().files().space(home.root());
        if space.is_ok_and(|space| space.is_memory) {
            let why = format!(
                "{} is in memory, which a restart empties",
                home.root().display()
            );
            return Err(Failure::usage(why)
                .remedy("name a directory on a disk: site.directory")
                .key("site.directory"));
        }
    }
    volume::check(&topology.node, home.account())?;
    volume::fillable::check_all(topology, home.root())
}

/// The names of a directory's files, with the ends of their texts.
fn kept(dir: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let file = |entry: DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, read_end(&entry.path(), 0, KEPT_BYTES))
    };
    entries.map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_right_on_another_host_logs_in_there_as_root() {
        let refused = Failure::usage("only root can").remedy("run dyno as root, or mount one");
        let remedy = as_seen_from_afar(refused).remedy.unwrap();
        assert_eq!(remedy, "log in there as root, or mount one");
    }
}

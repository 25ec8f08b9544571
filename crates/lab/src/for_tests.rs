//! For tests: a small trial, a server, and an observer that ignores everything.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Server;
use measure::summary::TrialSummary;
use workload::name::WorkloadName;
use workload::options::{Data, Options};

use crate::home::Home;
use crate::port::several;
use crate::servers::{MemberPlace, Membership, Node, NodeSpec};
use crate::site::{Site, ThisHost};
use crate::template::Templates;
use crate::{Cluster, Failure, Observer, Progress, Run, Target, Trial, Workload, servers};

/// A summary of which only the seconds matter.
pub(crate) fn input() -> TrialSummary {
    TrialSummary::new(trial().planned_setup())
}

/// A trial of an hour with two users on one preloaded table.
pub(crate) fn trial() -> Trial {
    let text = "title = 't'\nserver.url = 'any://server'\nmonitors.enabled = false\n\
                data.rows = 100\n[load]\nthreads = 2\npreload = true\nwarmup = '0s'\ntime = '1h'";
    let study = study::Study::parse("test", text, &[]).unwrap();
    Trial {
        planned: study.plan().trials.remove(0),
        target: Target::Temporary(engine::in_process().next().unwrap()),
        workload: Workload::Mix(WorkloadName::OltpPointSelect.into()),
        options: Options {
            data: Data {
                tables: 1,
                rows: 100,
                ..Data::default()
            },
            ..Options::default()
        },
        load_seed: 1,
        longest_wait: None,
        fleet: None,
        run_options: crate::trial::RunOptions {
            mode: None,
            load_connections: 1,
            connect_limit: 2,
            batch_scheduling: false,
            ..crate::trial::RunOptions::default()
        },
    }
}

/// Where the nodes of tests are: what one test has built, another one need not build.
pub(crate) fn home() -> Home {
    Home::open_in(&testkit::kept_root(), 2 << 30, servers::account().unwrap()).unwrap()
}

/// A home that nothing else uses, in a directory that servers can reach.
pub(crate) fn new_home() -> (tempfile::TempDir, Home) {
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    let dir = tempfile::Builder::new().permissions(open).tempdir();
    let dir = dir.unwrap();
    let account = servers::account().unwrap();
    let home = Home::open_in(&dir.path().join("cache"), u64::MAX, account).unwrap();
    (dir, home)
}

/// A private server without tables, of the first engine that has servers. Its log goes to `keep`.
pub(crate) fn node(keep: &Path) -> Node {
    let engine = engine::servers().next().unwrap();
    let site: Arc<dyn Site> = Arc::new(ThisHost::default());
    let mut nodes = nodes(&home(), engine, None, &[site], &[], keep);
    nodes.remove(0)
}

/// The members of a new cluster of a kind, or a single server, without tables. Their logs go to
/// directories in `keep`.
pub(crate) fn nodes(
    home: &Home,
    engine: &'static dyn Server,
    kind: Option<&str>,
    sites: &[Arc<dyn Site>],
    config: &[(&str, &str)],
    keep: &Path,
) -> Vec<Node> {
    let never = AtomicBool::new(false);
    let installed = servers::find(engine, None, None).unwrap();
    let mut listener = engine::data::Listener {
        tell: &mut |_| {},
        interrupted: &never,
    };
    let templates = Templates::new(home, &installed, &[]).unwrap();
    let template = templates.empty(&mut listener).unwrap();
    let config = config.iter();
    let config = config.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let config: Vec<_> = config.collect();
    let members = kind.map(|kind| {
        let replication = engine.replicates_as(kind).unwrap();
        let place = |site: &Arc<dyn Site>| MemberPlace {
            ip: site.address().addr(),
            port: None,
            free: several(Membership::ports(replication), site.address().addr()).unwrap(),
        };
        let (places, shared) = (sites.iter().map(place).collect(), Ipv4Addr::LOCALHOST);
        Membership::of_cluster(replication, places, shared, Duration::ZERO).unwrap()
    });
    let mut members = members.into_iter().flatten();
    let started = (1..).zip(sites).map(|(number, site)| {
        let keep = keep.join(number.to_string());
        let spec = NodeSpec {
            config: config.clone(),
            membership: members.next(),
            ..NodeSpec::new(number, 10, Arc::clone(site), &keep)
        };
        let data = template.copy(number).unwrap().0;
        let mut node = servers::start(&installed, spec, data, &never).unwrap();
        node.join(&never).unwrap();
        node
    });
    started.collect()
}

/// A cluster of `members` servers that dyno did not start.
pub(crate) fn found(dir: &tempfile::TempDir, members: u32) -> Cluster {
    let member = |number: u32| {
        let dir = dir.path().join(number.to_string());
        std::fs::create_dir(&dir).unwrap();
        Cluster::found(&database(&dir), number)
    };
    Cluster::joined((1..=members).map(member))
}

/// A database in a file in `dir`.
pub(crate) fn database(dir: &Path) -> Arc<dyn engine::Database> {
    let engine = engine::in_process().next().unwrap().engine;
    let url = format!("{}:{}", engine.scheme(), dir.join("data").display());
    engine.open(&url, &engine::Access::default(), None).unwrap()
}

pub(crate) fn run_of<'a>(observer: &'a mut Silent, interrupted: &'a AtomicBool) -> Run<'a> {
    Run {
        observer,
        interrupted,
    }
}

#[derive(Default)]
pub(crate) struct Silent {
    /// Whether the first connection makes it panic.
    pub(crate) panics: bool,
    pub(crate) ledger: PathBuf,
}

impl Observer for Silent {
    fn server_dir(&mut self, _: u32) -> Result<PathBuf, Failure> {
        Ok(PathBuf::new())
    }
    fn ledger_file(&mut self, _: u32) -> Result<PathBuf, Failure> {
        Ok(self.ledger.clone())
    }
    fn progress(&mut self, news: Progress<'_>) {
        let is_first = matches!(news, Progress::Connecting { .. });
        assert!(!(self.panics && is_first), "no connections, please");
    }
    fn end(&mut self, _: TrialSummary) -> Result<(), Failure> {
        Ok(())
    }
}

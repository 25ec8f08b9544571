//! What the tests of private servers share.

pub(crate) mod disk;
pub(crate) mod groups;
pub(crate) mod killed;

use lab::{Exit, Failure};
use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::mysql::{Connection, Target};
use client::reactor::Reactor;
use client::{ServerPublicKey, TlsOptions};
use engine::data::{Listener, Mode, Wanted};
use engine::{Installed, MARIADB, MYSQL, POSTGRES, Server};
use lab::servers::{self, DataDir, Node, NodeSpec};
use lab::template::{Template, Templates};
use machine::home::Home;
use machine::site::{Site, ThisHost};
use tempfile::TempDir;
use workload::name::WorkloadName;
use workload::options::{Data, Options};

pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);
/// The engines of MySQL's protocol.
pub(crate) const BOTH: [&dyn Server; 2] = [MARIADB, MYSQL];
pub(crate) const ALL: [&dyn Server; 3] = [MARIADB, MYSQL, POSTGRES];

/// A directory that servers can reach, gone with it.
pub(crate) fn open_dir() -> TempDir {
    tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir()
        .unwrap()
}

/// A home that nothing else uses, gone with its directory.
pub(crate) fn new_home() -> (TempDir, Home) {
    let dir = open_dir();
    let home = servers::open_home(&dir.path().join("cache"), u64::MAX).unwrap();
    (dir, home)
}

/// The place of a new cache, in a directory that goes with the first value.
pub(crate) fn cache() -> (TempDir, PathBuf) {
    let dir = open_dir();
    let root = dir.path().join("cache");
    (dir, root)
}

/// A home without a limit of its size.
pub(crate) fn home_in(root: &Path) -> Home {
    servers::open_home(root, u64::MAX).unwrap()
}

/// The home of the test kit, whose templates stay for the next tests.
pub(crate) fn kept_home() -> Home {
    servers::open_home(&testkit::kept_root(), 2 << 30).unwrap()
}

/// What this user may create; otherwise the error says how to get the right, and the test is skipped.
pub(crate) fn allowed<T>(
    created: Result<T, Failure>,
    is_denied: impl Fn(&Failure) -> bool,
    remedies: &[&str],
) -> Option<T> {
    let error = match created {
        Ok(created) => return Some(created),
        Err(error) => error,
    };
    assert!(is_denied(&error), "{error}");
    let remedy = error.remedy.as_deref().unwrap_or_default();
    let says = |word: &&str| remedy.contains(*word);
    let is_told = remedies.is_empty() || remedies.iter().any(says);
    assert!(is_told, "{error}: {remedy}");
    testkit::skip(&error.to_string());
    None
}

/// Whether an error says that only root may do this.
pub(crate) fn is_for_root(error: &Failure) -> bool {
    error.exit == Exit::Usage && !rustix::process::geteuid().is_root()
}

/// An error names the key of the study that is to blame.
#[track_caller]
pub(crate) fn assert_key(error: &Failure, key: &str) {
    assert_eq!(error.key.as_deref(), Some(key), "{error}");
}

pub(crate) fn installed(engine: &'static dyn Server) -> Installed {
    servers::find(engine, None, None).unwrap()
}

pub(crate) fn config(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    settings.iter().map(owned).collect()
}

/// Small tables of a read-write load.
pub(crate) fn options(tables: u32, rows: u64) -> Options {
    Options {
        data: Data {
            tables,
            rows,
            ..Data::default()
        },
        ..Options::default()
    }
}

pub(crate) fn wanted(options: &Options) -> Wanted<'_> {
    Wanted {
        workload: WorkloadName::OltpReadWrite,
        script: None,
        options,
        seed: 7,
        users: 1,
        mode: Mode::Missing,
        connections: 2,
        stall_limit: Duration::from_secs(300),
    }
}

/// Calls with a listener that says nothing and never interrupts.
pub(crate) fn quietly<T>(call: impl FnOnce(Listener<'_>) -> T) -> T {
    call(Listener {
        tell: &mut |_| {},
        interrupted: &NEVER,
    })
}

pub(crate) fn empty(home: &Home, installed: &Installed, config: &[(String, String)]) -> Template {
    let templates = Templates::new(home, installed, config).unwrap();
    quietly(|mut listener| templates.empty(&mut listener)).unwrap()
}

/// The data of a server without tables.
pub(crate) fn empty_data(home: &Home, installed: &Installed) -> DataDir {
    empty(home, installed, &[]).copy(1).unwrap().0
}

/// A copy for a server, on the volumes of a node.
pub(crate) fn copy(
    template: &Template,
    number: u32,
    node: &plan::Node,
) -> Result<DataDir, Failure> {
    let copied = template.copy_to(number, node, &host::LOCAL, &NEVER)?;
    Ok(copied.0)
}

/// Starts server 1 on this data.
pub(crate) fn start_on(
    data: DataDir,
    installed: &Installed,
    config: &[(String, String)],
    port: Option<u16>,
    keep: &Path,
) -> Result<Node, Failure> {
    let spec = NodeSpec {
        config: config.to_vec(),
        port,
        ..on_site(Arc::new(ThisHost::default()), keep)
    };
    servers::start(installed, spec, data, &NEVER)
}

/// Server 1 on this site, without settings.
pub(crate) fn on_site(site: Arc<dyn Site>, keep: &Path) -> NodeSpec {
    NodeSpec::new(1, 10, site, keep)
}

/// Starts a server without tables on a site.
pub(crate) fn start_at(
    home: &Home,
    engine: &'static dyn Server,
    site: impl Site + 'static,
    keep: &Path,
) -> Result<Node, Failure> {
    let installed = installed(engine);
    let data = empty_data(home, &installed);
    servers::start(&installed, on_site(Arc::new(site), keep), data, &NEVER)
}

/// The node of a study with these lines.
pub(crate) fn node_of(lines: &str) -> plan::Node {
    let text = format!("title = 't'\nserver.engine = 'mariadb'\n{lines}");
    let study = study::Study::parse("t", &text, engine::catalog()).unwrap();
    let mut trials = study.plan().trials;
    trials.remove(0).topology.node
}

/// Starts a server without tables, with these settings.
pub(crate) fn start(
    home: &Home,
    engine: &'static dyn Server,
    settings: &[(&str, &str)],
    keep: &Path,
) -> Result<Node, Failure> {
    let installed = installed(engine);
    let data = empty_data(home, &installed);
    start_on(data, &installed, &config(settings), None, keep)
}

/// How to reach a server of the laboratory as `root`.
pub(crate) fn target(server: &Node) -> Target {
    let mut tls = TlsOptions::disabled();
    if let Some(pem) = server.public_key() {
        tls.server_public_key = ServerPublicKey::Known(pem.to_vec());
    }
    Target::parse(&server.url("sbtest"), Some(server.password()), "root", &tls).unwrap()
}

/// The rows of a statement, or why the server refused it.
pub(crate) fn sql(server: &Node, statement: &str) -> Result<Vec<Vec<Option<String>>>, String> {
    let url = server.url("sbtest");
    let asked = Reactor::new().unwrap().block_on(async {
        if url.starts_with("postgres:") {
            let mut connection = postgres(&url, server.password()).await?;
            let rows = connection.rows(statement).await;
            connection.close().await;
            return rows.map_err(|error| error.to_string());
        }
        let opened = Connection::open(&target(server)).await;
        let mut connection = opened.map_err(|error| error.to_string())?;
        let rows = connection.rows(statement).await;
        connection.close().await;
        rows.map_err(|error| error.to_string())
    });
    asked.unwrap()
}

/// A client that stays as long as this value.
pub(crate) async fn client(server: &Node) -> Box<dyn Any> {
    let url = server.url("sbtest");
    match url.starts_with("postgres:") {
        true => Box::new(postgres(&url, server.password()).await.unwrap()),
        false => Box::new(Connection::open(&target(server)).await.unwrap()),
    }
}

/// A connection to a PostgreSQL server.
pub(crate) async fn postgres(
    url: &str,
    password: &str,
) -> Result<client::postgres::Connection, String> {
    let tls = TlsOptions::default();
    let target = client::postgres::Target::parse(url, Some(password), "me", &tls, &|_| None);
    let opened = client::postgres::Connection::open(&target.unwrap()).await;
    opened.map_err(|error| error.to_string())
}

/// A statement of a PostgreSQL server that never ends by itself, nor with its server.
pub(crate) fn keep_busy(server: &Node) -> JoinHandle<()> {
    let (url, password) = (server.url("sbtest"), server.password().to_owned());
    let (running, runs) = std::sync::mpsc::channel();
    let busy = std::thread::spawn(move || {
        let ended = Reactor::new().unwrap().block_on(async {
            let mut connection = postgres(&url, &password).await.unwrap();
            running.send(()).unwrap();
            connection.run("DO 'BEGIN LOOP END LOOP; END'").await
        });
        assert!(ended.unwrap().is_err());
    });
    runs.recv().unwrap();
    busy
}

/// How many segments of shared memory there are that a process made.
pub(crate) fn shared_memory(pid: u32) -> usize {
    let list = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let creator = |line: &&str| line.split_whitespace().nth(4) == Some(&pid.to_string());
    list.lines().filter(creator).count()
}

/// The first value of a statement.
pub(crate) fn value(server: &Node, statement: &str) -> String {
    let rows = sql(server, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    rows[0][0].clone().unwrap_or_default()
}

pub(crate) fn is_running(pid: u32) -> bool {
    // A process that ended and was not waited for has no command line.
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| !text.is_empty())
}

/// Waits for something that must come.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processes that were started on something below `dir`.
pub(crate) fn processes_below(dir: &Path) -> Vec<u32> {
    let dir = format!("{}/", dir.display());
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&text).contains(&dir)
    })
    .collect()
}

pub(crate) fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

/// Every file below a directory, by its relative path, with its content.
pub(crate) fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(at) = todo.pop() {
        for path in entries(&at) {
            if path.is_dir() {
                todo.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The only directory below a cache's `templates`.
pub(crate) fn only_template(root: &Path, part: &str) -> PathBuf {
    let mut found = entries(&root.join("templates"));
    found.retain(|path| path.is_dir() && path.display().to_string().contains(part));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

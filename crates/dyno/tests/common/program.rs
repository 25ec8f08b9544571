//! dyno itself: started in a directory of its own, watched, ended.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use measure::result::RunResult;
use measure::series::SeriesPoint;
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::markdown::root;
use super::{
    Cache, PATIENCE, Terminal, assert_no_file_has, has_second, shown, trial_dir, wait_until,
};

/// By its path, for a test may leave nothing on `PATH`.
const ENV: &str = "/usr/bin/env";

pub const NOBODY: u32 = 65534;

const DYNO: &str = env!("CARGO_BIN_EXE_dyno");

/// A command line of dyno; results go to `out` in a new directory.
pub struct Program {
    command: Command,
    dir: TempDir,
}

impl Program {
    pub fn new() -> Self {
        Self::of(heeding(Path::new(DYNO)), tempfile::tempdir().unwrap())
    }

    /// The same with these signals ignored from its start, as `nohup` does it.
    pub fn ignoring(signals: &str) -> Self {
        let mut command = Command::new(ENV);
        command.arg("--default-signal=HUP,INT");
        command.arg(format!("--ignore-signal={signals}")).arg(DYNO);
        Self::of(command, tempfile::tempdir().unwrap())
    }

    /// The same with limits, soft and hard, on its open files.
    pub fn with_open_files(soft: u32, hard: u32) -> Self {
        let mut command = Command::new("sh");
        let limits = format!("ulimit -S -n {soft}; ulimit -H -n {hard}; exec \"$0\" \"$@\"");
        command.args(["-c", &limits, DYNO]);
        Self::of(command, tempfile::tempdir().unwrap())
    }

    /// The same as user `nobody`, who may not read what root has built.
    pub fn as_nobody() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let own = dir.path().join("dyno");
        std::fs::copy(DYNO, &own).unwrap();
        let mut command = heeding(&own);
        command.uid(NOBODY).gid(NOBODY);
        Self::of(command, dir)
    }

    /// Another build of the program: with one byte more, which changes nothing but its digest.
    pub fn of_another_build() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("dyno");
        std::fs::copy(DYNO, &own).unwrap();
        let mut file = File::options().append(true).open(&own).unwrap();
        file.write_all(b"\n").unwrap();
        drop(file);
        Self::of(heeding(&own), dir)
    }

    /// The same in the network of a host of namespaces.
    pub fn on(hosts: &testkit::Hosts, number: u8) -> Self {
        let mut command = hosts.in_network(number);
        command.args([ENV, "--default-signal=HUP,INT", DYNO]);
        Self::of(command, tempfile::tempdir().unwrap())
    }

    /// Nothing that it does depends on the user's locale or servers.
    fn of(mut command: Command, dir: TempDir) -> Self {
        let starts = ["PG", "MYSQL_", "NO_COLOR"];
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        for name in names.filter(|name| starts.iter().any(|start| name.starts_with(start))) {
            command.env_remove(name);
        }
        command
            .current_dir(dir.path())
            .env_remove("DYNO_PASSWORD")
            .env("DYNO_CACHE_DIR", cache())
            .env("LC_ALL", "C.UTF-8");
        Self { command, dir }
    }

    /// `dyno bench URL --out out`.
    pub fn bench(url: &str) -> Self {
        Self::new().arg("bench").arg(url).args("--out out")
    }

    /// `dyno run STUDY --out out`.
    pub fn study(text: &str) -> Self {
        let program = Self::new().with_study(text);
        program.args("run study.toml --out out")
    }

    /// `dyno run` of a study of private servers with 100 rows, and these keys of `[load]` and sections.
    /// A semicolon ends a line.
    pub fn private(engine: &str, load: &str, rest: &str) -> Self {
        let text = format!(
            "title = 't'; [server]; engine = '{engine}'; [data]; rows = 100; [load]; {load}; {rest}"
        );
        Self::study(&text.replace("; ", "\n"))
    }

    /// `dyno run STUDY` with its result in this directory.
    pub fn study_to(text: &str, out: &Path) -> Self {
        let program = Self::new().with_study(text);
        program.args("run study.toml --out").arg(out)
    }

    /// `dyno plan STUDY`.
    pub fn plan(text: &str) -> Self {
        Self::new().with_study(text).args("plan study.toml")
    }

    /// With this study in its directory, as `study.toml`.
    pub fn with_study(self, text: &str) -> Self {
        std::fs::write(self.dir().join("study.toml"), text).unwrap();
        self
    }

    /// `dyno run` of one of our studies by its file's name.
    pub fn shipped(name: &str) -> Self {
        let path = root().join(format!("studies/{name}.toml"));
        Self::new().arg("run").arg(path).args("--out out")
    }

    /// With a laboratory's place of its own.
    pub fn cache(self, cache: &Cache) -> Self {
        let program = self.env("DYNO_CACHE_DIR", cache.path());
        match cache.limit() {
            Some(limit) => program.env("DYNO_CACHE_LIMIT", limit),
            None => program,
        }
    }

    /// Words, apart by spaces.
    pub fn args(mut self, words: &str) -> Self {
        self.command.args(words.split_whitespace());
        self
    }

    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.command.arg(word);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn start(self) -> Running {
        self.start_printing(Stdio::piped())
    }

    fn start_printing(mut self, stdout: Stdio) -> Running {
        self.command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::piped());
        let words = format!("{:?}", self.command);
        let mut child = self.command.spawn().expect("dyno can be started");
        let stderr = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&stderr);
        let errors = BufReader::new(child.stderr.take().unwrap());
        let listener = std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                let mut heard = heard.lock().unwrap();
                heard.push_str(&line);
                heard.push('\n');
            }
        });
        // Else this process would hold the pipe open.
        drop(self.command);
        let stdout = child.stdout.take();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stdout.map(|mut stdout| stdout.read_to_string(&mut text));
            text
        });
        Running {
            child,
            words,
            dir: Some(self.dir),
            started: Instant::now(),
            stderr,
            threads: Some((listener, reader)),
        }
    }

    pub fn run(self) -> Finished {
        self.start().wait()
    }

    /// Runs it to its end in a laboratory's place of its own, where nothing of it may stay.
    #[track_caller]
    pub fn run_alone(self) -> Finished {
        let place = Cache::kept();
        let done = self.cache(&place).run();
        place.assert_nothing_left();
        done
    }

    /// Runs it to its end, where it must have gone well.
    #[track_caller]
    pub fn succeeds(self) -> Finished {
        self.run().succeeds()
    }

    /// Runs it to its end, where it must have this code and have said all of `texts`.
    #[track_caller]
    pub fn fails(self, code: i32, texts: &[&str]) -> Finished {
        self.run().fails(code, texts)
    }

    /// Runs it to its end while nobody reads what it prints.
    pub fn run_unread(self) -> Finished {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        self.start_printing(writer.into()).wait()
    }

    /// Runs it to its end with both outputs on a terminal of so many columns; gives what it shows.
    pub fn run_on_terminal(mut self, columns: u16) -> String {
        let terminal = Terminal::new(columns);
        self.command
            .stdin(Stdio::null())
            .stdout(terminal.side())
            .stderr(terminal.side());
        let mut child = self.command.spawn().expect("dyno can be started");
        // Else this process would hold the terminal open.
        drop(self.command);
        let shown = terminal.read();
        let status = child.wait().unwrap();
        assert!(status.success(), "{status}\n{shown}");
        shown
    }

    /// The same with its stderr going somewhere else.
    pub fn run_telling(mut self, stderr: impl Into<Stdio>) -> Finished {
        let (words, started) = (format!("{:?}", self.command), Instant::now());
        self.command.stdin(Stdio::null()).stderr(stderr);
        let output = self.command.output().expect("dyno can be started");
        Finished {
            status: output.status,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::new(),
            took: started.elapsed(),
            words,
            dir: self.dir,
        }
    }
}

/// A dyno that signals stop, also where the tests run in the background.
fn heeding(dyno: &Path) -> Command {
    let mut command = Command::new(ENV);
    command.arg("--default-signal=HUP,INT").arg(dyno);
    command
}

/// The cache of all tests: what one has loaded another one need not load.
pub fn cache() -> std::path::PathBuf {
    use std::os::unix::fs::MetadataExt;
    let user = std::fs::metadata("/proc/self").unwrap().uid();
    std::env::temp_dir().join(format!("dyno-tests-cache-{user}"))
}

/// A dyno that runs; killed when it is dropped.
pub struct Running {
    child: Child,
    words: String,
    dir: Option<TempDir>,
    started: Instant,
    stderr: Arc<Mutex<String>>,
    threads: Option<(JoinHandle<()>, JoinHandle<String>)>,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    pub fn dir(&self) -> &Path {
        self.dir.as_ref().unwrap().path()
    }

    /// Waits until it says `text`.
    pub fn says(&mut self, text: &str) -> &mut Self {
        let what = format!("{text:?} from {}", self.words);
        let stderr = Arc::clone(&self.stderr);
        let child = &mut self.child;
        wait_until(&what, || {
            let heard = stderr.lock().unwrap().contains(text);
            let ended = !heard && child.try_wait().unwrap().is_some();
            assert!(!ended, "it ended: {}", stderr.lock().unwrap());
            heard
        });
        self
    }

    /// Waits until something comes while it runs.
    #[track_caller]
    pub fn comes_to(&mut self, what: &str, mut holds: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds() {
            assert!(!self.has_ended(), "{what}: it ended: {}", self.stderr());
            let is_late = Instant::now() > deadline;
            assert!(!is_late, "{what} did not come: {}", self.stderr());
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    /// Waits until the trial with this number has a second of this phase.
    #[track_caller]
    pub fn comes_to_second(&mut self, trial: usize, phase: &str) {
        let out = self.out();
        self.comes_to(&format!("{phase} of trial {trial}"), || {
            has_second(&out, trial, phase)
        });
    }

    /// Stops it once transactions have completed in a second that began after this call, however
    /// long a slow machine takes for that.
    #[track_caller]
    pub fn stopped_once_it_goes_on(mut self) -> Finished {
        let out = self.out();
        let series =
            || trial_dir(&out, 1).and_then(|dir| store::read_series(&dir, usize::MAX).ok());
        // The next second may have begun before.
        let begun = series().unwrap_or_default().len() + 1;
        self.comes_to("transactions", || {
            let mut later = series().unwrap_or_default().into_iter().skip(begun);
            later.any(|second| second.tps > Some(0.0))
        });
        self.signal(Signal::INT);
        let done = self.wait().fails(4, &[]);
        assert_eq!(done.trial().outcome, Outcome::Interrupted);
        done
    }

    pub fn out(&self) -> PathBuf {
        self.dir().join("out")
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid().cast_signed()).unwrap();
        kill_process(pid, signal).expect("dyno runs");
    }

    pub fn wait(mut self) -> Finished {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("{} does not end: {}", self.words, self.stderr());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let took = self.started.elapsed();
        let (listener, reader) = self.threads.take().unwrap();
        listener.join().unwrap();
        Finished {
            status,
            stdout: reader.join().unwrap(),
            stderr: self.stderr(),
            took,
            words: self.words.clone(),
            dir: self.dir.take().unwrap(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a dyno left behind.
pub struct Finished {
    status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
    words: String,
    dir: TempDir,
}

impl Finished {
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert_eq!(self.code(), Some(0), "{self}");
        self
    }

    /// It must have ended with this code, said all of `texts`, and not panicked.
    #[track_caller]
    pub fn fails(self, code: i32, texts: &[&str]) -> Self {
        assert_eq!(self.code(), Some(code), "{self}");
        self.tells(texts);
        assert!(!self.stderr.contains("panicked"), "{self}");
        self
    }

    /// It must have said all of these on stderr.
    #[track_caller]
    pub fn tells(&self, texts: &[&str]) {
        let missing = texts.iter().find(|text| !self.stderr.contains(**text));
        assert!(missing.is_none(), "{missing:?} is not in\n{self}");
    }

    /// It must have printed all of these, whatever the width of its lines.
    #[track_caller]
    pub fn prints(&self, texts: &[&str]) {
        let flat = flat(&self.stdout);
        let is_there = |text: &str| self.stdout.contains(text) || flat.contains(text);
        let missing = texts.iter().find(|text| !is_there(text));
        assert!(missing.is_none(), "{missing:?} is not in\n{self}");
    }

    /// It must not have shown this, nor kept it in its result.
    #[track_caller]
    pub fn hides(&self, secret: &str) {
        let mut texts = [&self.stderr, &self.stdout].into_iter();
        assert!(!texts.any(|text| text.contains(secret)), "{self}");
        if self.out().exists() {
            assert_no_file_has(&self.out(), &[secret]);
        }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    #[track_caller]
    pub fn file(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.out().join(name));
        text.unwrap_or_else(|error| panic!("{name}: {error}\n{self}"))
    }

    /// A file that is kept of a server of the trial with this number, such as `1/error.log`.
    #[track_caller]
    pub fn kept(&self, trial: usize, file: &str) -> String {
        let dir = trial_dir(&self.out(), trial).unwrap();
        let text = std::fs::read_to_string(dir.join("servers").join(file));
        text.unwrap_or_else(|error| panic!("{file}: {error}\n{self}"))
    }

    #[track_caller]
    pub fn result(&self) -> RunResult {
        store::read_result(&self.out()).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// The summary of the only trial.
    #[track_caller]
    pub fn trial(&self) -> TrialSummary {
        let mut trials = self.result().trials;
        assert_eq!(trials.len(), 1, "{self}");
        trials.remove(0)
    }

    /// The same, which must be complete.
    #[track_caller]
    pub fn completed(&self) -> TrialSummary {
        let trial = self.trial();
        assert_eq!(trial.outcome, Outcome::Completed, "{self}");
        trial
    }

    /// All trials, each of which must be complete, with transactions.
    #[track_caller]
    pub fn all_completed(&self) -> Vec<TrialSummary> {
        let trials = self.result().trials;
        for trial in &trials {
            assert_eq!(trial.outcome, Outcome::Completed, "{}", shown(trial));
            assert!(trial.transactions.count > 0, "{}", shown(trial));
        }
        trials
    }

    /// `dyno compare` of its variants.
    #[track_caller]
    pub fn compared(&self, words: &str) -> Finished {
        let program = Program::new().arg("compare").arg(self.out()).args(words);
        program.args("--out out").succeeds()
    }

    /// Whether transactions ended in a second of the first trial that began after this time.
    pub fn completes_after(&self, at_s: f64) -> bool {
        let mut later = self.series().into_iter().filter(|second| second.t_s > at_s);
        later.any(|second| second.tps > Some(0.0))
    }

    /// The seconds of the first trial.
    #[track_caller]
    pub fn series(&self) -> Vec<SeriesPoint> {
        let trials = store::trial_dirs(&self.out()).unwrap();
        store::read_series(&trials[0], usize::MAX).unwrap()
    }
}

/// Everything that it said and did, for a test's message.
impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}\n{}", self.words, self.status)?;
        write!(f, "stderr:\n{}\nstdout:\n{}", self.stderr, self.stdout)
    }
}

/// A text on one line.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

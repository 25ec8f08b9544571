//! Builds the servers of a trial: theirs, or our own from templates.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use data::{Listener, Mode, PrepareError};
use measure::instance::{Reset, ResetHow};
use study::EngineSpec;

use crate::database::{Access, Database, mysql_failure};
use crate::failure::{Cause, Failure};
use crate::home::Home;
use crate::keeper::Keeper;
use crate::platform;
use crate::rig::{DataFor, MadeFor, Member, Rig, reset};
use crate::servers::{self, DataDir, Installed};
use crate::settings;
use crate::template::{self, DATABASE, Template};
use crate::trial::{Place, Trial};

/// Where trials are run: dyno's place on this host, and what lasts from one trial to
/// the next.
#[derive(Debug, Default)]
pub struct Lab {
    /// The servers of the trial before, where the study keeps them.
    kept: Option<Rig>,
    /// The data that was copied last: nobody may take it away in between.
    template: Option<Template>,
    /// Taken when it is needed: a benchmark of somebody's server needs none.
    home: OnceCell<Home>,
}

/// What is given to every step on the way to a running server.
struct Building<'a> {
    spec: &'a EngineSpec,
    trial: &'a Trial,
    /// Where the servers' data lies; `None`: in the cache.
    directory: Option<PathBuf>,
    installed: Installed,
    config: Vec<(String, String)>,
    keeper: &'a mut dyn Keeper,
    interrupted: &'a AtomicBool,
}

impl Lab {
    /// dyno's place on this host. At the first call it is taken, and swept of what dead
    /// dynos left there.
    ///
    /// # Errors
    /// When the place cannot be made or is not ours.
    pub fn home(&self) -> Result<&Home, Failure> {
        if let Some(home) = self.home.get() {
            return Ok(home);
        }
        let home = Home::open()?;
        Ok(self.home.get_or_init(|| home))
    }

    /// Makes sure that this host can give the servers of a study the CPUs and the disk
    /// that it wants for them.
    ///
    /// # Errors
    /// What is missing, at its place in the study.
    pub fn check_platform(&self, spec: &EngineSpec) -> Result<(), Failure> {
        let home = self.home()?;
        if let Some(cpus) = &spec.cpus {
            platform::cgroup::check(home, cpus.value).map_err(|error| placed(spec, error))?;
        }
        if let Some(directory) = directory_of(spec) {
            platform::directory::check(directory, home.account())
                .map_err(|error| placed(spec, error))?;
        }
        Ok(())
    }

    /// Makes sure that somebody answers at a URL; `sqlite:` alone is a temporary
    /// database that goes when the laboratory does.
    ///
    /// # Errors
    /// When the URL names no database, or nobody answers.
    pub fn open(&self, url: &str, access: &Access) -> Result<Database, Failure> {
        Database::open(url, access, || Ok(self.home()?.run_dir()))
    }

    /// Has the servers of a trial run, with their data in them.
    pub(crate) fn build(
        &mut self,
        trial: &Trial,
        keeper: &mut dyn Keeper,
        interrupted: &AtomicBool,
    ) -> Result<Rig, Failure> {
        let mut rig = match &trial.place {
            Place::Given(database) => found(trial, database, keeper, interrupted),
            Place::Sqlite => self.files(trial, keeper, interrupted),
            Place::Private(spec) => self.private(spec, trial, keeper, interrupted),
        }?;
        for member in &mut rig.members {
            if let (true, Some(target)) = (trial.monitors, member.database.target()) {
                // A server that does not tell is driven all the same.
                member.settings = settings::not_default(target).unwrap_or_default();
            }
        }
        Ok(rig)
    }

    /// The trial is over: the next one begins from its own bytes, unless the study
    /// wants it otherwise.
    pub(crate) fn take_down(&mut self, rig: Rig) {
        let goes_on = |made_for: &MadeFor| made_for.spec.reset == study::Reset::None;
        if rig.made_for.as_ref().is_some_and(goes_on) {
            self.kept = Some(rig);
        }
    }

    /// A temporary database of SQLite for each instance.
    fn files(
        &self,
        trial: &Trial,
        keeper: &mut dyn Keeper,
        interrupted: &AtomicBool,
    ) -> Result<Rig, Failure> {
        let began = Instant::now();
        let mut members = Vec::new();
        for _ in 0..trial.instances {
            let database = self.open("sqlite:", &Access::default())?;
            prepare_for(keeper, trial, &database, Mode::Missing, interrupted)?;
            members.push(Member::given(database));
        }
        let file = members.first().and_then(|member| member.database.file());
        let bytes = file.and_then(|file| std::fs::metadata(file).ok());
        Ok(Rig {
            reset: Some(Reset {
                bytes: bytes.map_or(0, |file| file.len()),
                ..reset(ResetHow::Rebuilt, began.elapsed(), began.elapsed())
            }),
            members,
            made_for: None,
        })
    }

    /// Servers of our own, each on data of its own.
    fn private(
        &mut self,
        spec: &EngineSpec,
        trial: &Trial,
        keeper: &mut dyn Keeper,
        interrupted: &AtomicBool,
    ) -> Result<Rig, Failure> {
        let made_for = MadeFor {
            spec: spec.clone(),
            data: DataFor {
                engine: spec.engine,
                instances: trial.instances,
                tables: trial.options.tables,
                rows: trial.options.rows,
                seed: trial.seed,
                directory: directory_of(spec).map(Path::to_owned),
            },
        };
        let kept = self.kept.take();
        let kept = kept.filter(|kept| goes_on_from(kept, &made_for));
        let (data, reset) = match kept {
            Some(kept) if kept.made_for.as_ref() == Some(&made_for) => return Ok(still(kept)),
            Some(kept) => {
                keeper.stage("stopping the servers to start them with other settings");
                let reset = still_reset(kept.reset.as_ref());
                (Some(kept.into_data()?), reset)
            }
            None => (None, None),
        };
        let home = self.home()?.clone();
        let directory = directory_of(spec).map(|directory| {
            let checked = platform::directory::check(directory, home.account());
            checked.map_err(|error| placed(spec, error))
        });
        let mut building = Building {
            spec,
            directory: directory.transpose()?,
            trial,
            installed: installed(spec)?,
            config: config(spec),
            keeper,
            interrupted,
        };
        let (data, reset) = match (data, reset) {
            (Some(data), Some(reset)) => (data, reset),
            _ if spec.reset == study::Reset::Rebuild => building.rebuilt(&home)?,
            _ => building.copied(&home, &mut self.template)?,
        };
        Ok(Rig {
            members: building.start(data)?,
            reset: Some(reset),
            made_for: Some(made_for),
        })
    }
}

/// Whether the next trial goes on with the data of servers that were kept.
fn goes_on_from(kept: &Rig, next: &MadeFor) -> bool {
    let before = kept.made_for.as_ref();
    next.spec.reset == study::Reset::None && before.is_some_and(|before| before.data == next.data)
}

fn still(kept: Rig) -> Rig {
    Rig {
        reset: still_reset(kept.reset.as_ref()),
        ..kept
    }
}

fn still_reset(before: Option<&Reset>) -> Option<Reset> {
    before.map(|before| Reset {
        how: ResetHow::Kept,
        took_s: 0.0,
        ..before.clone()
    })
}

impl Building<'_> {
    /// Loads the data of each server anew.
    fn rebuilt(&mut self, home: &Home) -> Result<(Vec<DataDir>, Reset), Failure> {
        let began = Instant::now();
        let wanted = self.trial.wanted(Mode::Missing);
        let mut data = Vec::new();
        let mut each = Duration::ZERO;
        for _ in 0..self.trial.instances {
            let listener = Listener {
                tell: &mut |news| self.keeper.preparing(&news),
                interrupted: self.interrupted,
            };
            let directory = self.directory.as_deref();
            let built = template::rebuild(
                home,
                &self.installed,
                &wanted,
                &self.config,
                directory,
                listener,
            );
            let (built, took) = built.map_err(|error| placed(self.spec, error))?;
            each = took;
            data.push(built);
        }
        Ok((data, reset(ResetHow::Rebuilt, began.elapsed(), each)))
    }

    /// Copies the data of each server from a template, which is built if need be.
    fn copied(
        &mut self,
        home: &Home,
        held: &mut Option<Template>,
    ) -> Result<(Vec<DataDir>, Reset), Failure> {
        let wanted = self.trial.wanted(Mode::Missing);
        let listener = Listener {
            tell: &mut |news| self.keeper.preparing(&news),
            interrupted: self.interrupted,
        };
        let template = template::obtain(home, &self.installed, &wanted, &self.config, listener)
            .map_err(|error| placed(self.spec, error))?;
        self.keeper.stage("copying the data");
        let began = Instant::now();
        let directory = self.directory.as_deref();
        let copies = (1..=self.trial.instances).map(|number| {
            let copy = template.copy_to(number, directory);
            Ok(copy.map_err(|error| placed(self.spec, error))?.0)
        });
        let copies: Vec<DataDir> = copies.collect::<Result<_, Failure>>()?;
        let how = match template.was_built {
            true => ResetHow::BuiltAndCopied,
            false => ResetHow::Copied,
        };
        let reset = Reset {
            bytes: template.bytes,
            checksum: template.checksum.clone(),
            ..reset(how, began.elapsed(), template.build_time)
        };
        *held = Some(template);
        Ok((copies, reset))
    }

    /// Starts a server on each directory.
    fn start(&mut self, data: Vec<DataDir>) -> Result<Vec<Member>, Failure> {
        self.keeper.stage("starting the servers");
        let mut members = Vec::new();
        for (number, data) in (1..).zip(data) {
            let keep = self.keeper.server_dir(number)?;
            let wanted = servers::Wanted {
                number,
                data,
                config: &self.config,
                port: port(self.spec, number),
                connections: self.trial.load.users,
                cpus: self.spec.cpus.as_ref().map(|cpus| cpus.value),
                keep: &keep,
                interrupted: self.interrupted,
            };
            let server = servers::start(&self.installed, wanted)
                .map_err(|error| placed(self.spec, error))?;
            for note in server.notes() {
                self.keeper.note(note);
            }
            members.push(Member {
                database: Database::mysql(server.target(DATABASE)?)?,
                server: Some(server),
                settings: Vec::new(),
            });
        }
        Ok(members)
    }
}

/// The server program that a study asks for.
///
/// # Errors
/// When it is not installed, at its place in the study.
pub fn installed(spec: &EngineSpec) -> Result<Installed, Failure> {
    let engine = match spec.engine {
        study::Engine::MariaDb => servers::Engine::MariaDb,
        study::Engine::MySql => servers::Engine::MySql,
        study::Engine::Sqlite => {
            return Err(Failure::new(Cause::Internal, "SQLite is no server"));
        }
    };
    let basedir = spec.basedir.as_ref().map(|basedir| basedir.value.as_path());
    let version = spec.version.as_ref().map(|version| version.as_str());
    servers::find(engine, basedir, version).map_err(|error| placed(spec, error))
}

/// Where the servers of a study have their data; `None`: in the cache.
fn directory_of(spec: &EngineSpec) -> Option<&Path> {
    let directory = spec.directory.as_ref();
    directory.map(|directory| directory.value.as_path())
}

/// The settings of a study as the server's option file has them.
#[must_use]
pub fn config(spec: &EngineSpec) -> Vec<(String, String)> {
    let settings = spec.config.iter();
    settings
        .map(|(name, value)| (name.clone(), value.value.clone()))
        .collect()
}

/// The port of a server, where the study names one.
fn port(spec: &EngineSpec, number: u32) -> Option<u16> {
    let first = spec.port.as_ref()?.value;
    first.checked_add(u16::try_from(number - 1).ok()?)
}

/// A failure at the place of the study that it is about.
fn placed(spec: &EngineSpec, error: crate::error::LabError) -> Failure {
    use crate::error::LabError;
    let span = match &error {
        LabError::RejectedSetting { name, .. }
        | LabError::ReservedSetting { name, .. }
        | LabError::BadSetting { name, .. } => spec
            .config
            .iter()
            .find(|(known, _)| servers::same_name(known, name))
            .map(|(_, value)| value.span),
        LabError::WrongVersion { .. } => spec.version.as_ref().map(|version| version.span),
        LabError::NoCpuQuota { .. } => spec.cpus.as_ref().map(|cpus| cpus.span),
        LabError::UnfitDirectory { .. } => spec.directory.as_ref().map(|dir| dir.span),
        LabError::DiskFull { path, .. } => {
            let directory = spec.directory.as_ref();
            directory
                .filter(|dir| path.canonicalize().ok() == dir.value.canonicalize().ok())
                .map(|dir| dir.span)
        }
        LabError::PortTaken { .. } => spec.port.as_ref().map(|port| port.span),
        LabError::NoServer { .. } => match &spec.basedir {
            Some(basedir) => Some(basedir.span),
            None => Some(spec.span),
        },
        _ => None,
    };
    let failure = Failure::from(error);
    match span {
        Some(span) => failure.at(span),
        None => failure,
    }
}

/// A database that is there, with the rows that were missing.
fn found(
    trial: &Trial,
    database: &Database,
    keeper: &mut dyn Keeper,
    interrupted: &AtomicBool,
) -> Result<Rig, Failure> {
    let began = Instant::now();
    if let Some(mode) = trial.mode {
        prepare_for(keeper, trial, database, mode, interrupted)?;
    }
    Ok(Rig {
        members: vec![Member::given(database.clone())],
        reset: Some(reset(ResetHow::Found, began.elapsed(), Duration::ZERO)),
        made_for: None,
    })
}

fn prepare_for(
    keeper: &mut dyn Keeper,
    trial: &Trial,
    database: &Database,
    mode: Mode,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let mut tell = |news| keeper.preparing(&news);
    let prepared = prepare(trial, database, mode, &mut tell, interrupted)?;
    keeper.prepared(&prepared);
    Ok(())
}

/// Has the rows of a trial in a database.
///
/// # Errors
/// When what is there does not fit, or the rows cannot be loaded.
pub fn prepare(
    trial: &Trial,
    database: &Database,
    mode: Mode,
    tell: &mut dyn FnMut(data::Progress),
    interrupted: &AtomicBool,
) -> Result<data::Prepared, Failure> {
    let wanted = trial.wanted(mode);
    let listener = Listener { tell, interrupted };
    let prepared = match database {
        Database::Mysql { target, .. } => data::prepare_mysql(target, &wanted, listener),
        Database::Sqlite(target) => data::prepare_sqlite(target, &wanted, listener),
    };
    prepared.map_err(|error| prepare_failure(database, error))
}

fn prepare_failure(database: &Database, error: PrepareError) -> Failure {
    match error {
        PrepareError::Unfit { problem, remedy } => {
            Failure::new(Cause::Usage, problem).remedy(Some(remedy))
        }
        PrepareError::Mysql(error) => mysql_failure(error),
        PrepareError::Sqlite(error) => {
            let remedy = database.remedy(&error);
            let place = database
                .file()
                .map_or(String::new(), |file| format!("{}: ", file.display()));
            Failure::new(Cause::Server, format!("{place}{error}")).remedy(remedy)
        }
        PrepareError::Damaged(_) => Failure::new(Cause::Server, error),
        PrepareError::Interrupted => Failure::new(Cause::Interrupted, error),
        PrepareError::Io(_) => Failure::new(Cause::Internal, error),
        PrepareError::Distribution(_) => Failure::new(Cause::Usage, error),
    }
}

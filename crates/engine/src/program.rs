//! Finds server programs on this host.

use std::fs;
use std::path::{Path, PathBuf};

use plan::Failure;

use crate::launch::Invocation;
use crate::server::Server;
use crate::version;

/// Where packages and tarballs install server programs.
const USUAL_PLACES: [&str; 7] = [
    "/usr/sbin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/mysql/bin",
    "/usr/local/mariadb/bin",
];
/// Where a server program may be below a base directory.
const BELOW_BASEDIR: [&str; 6] = [
    "bin",
    "sbin",
    "libexec",
    "usr/sbin",
    "usr/bin",
    "usr/libexec",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub engine: &'static dyn Server,
    /// Version number, for example `10.11.14`.
    pub version: String,
    /// Version with the packager's additions, for example `10.11.14-MariaDB-0+deb12u2`.
    pub build: String,
    pub program: PathBuf,
    /// The base directory in which it was found; `None` for the system's directories.
    pub basedir: Option<PathBuf>,
}

impl Installed {
    /// The directory with all files of the server: its base directory, or that of its programs.
    pub fn directory(&self) -> PathBuf {
        let programs = self.program.parent();
        let directory = self.basedir.as_deref().or(programs);
        directory.unwrap_or(&self.program).to_owned()
    }

    /// For example `MariaDB 10.11.14`.
    pub fn shown(&self) -> String {
        format!("{} {}", self.engine, self.version)
    }
}

/// Finds an engine's server program: below `basedir` if given, otherwise on `PATH`, in the usual
/// places, or where `scripts/install-servers.sh` installs it. `version` is a version or its first
/// components: `10.11` matches 10.11.14, not 10.1. `run` runs a program and returns its output, or
/// why it does not run.
pub fn find(
    engine: &'static dyn Server,
    basedir: Option<&Path>,
    version: Option<&str>,
    run: impl Fn(&Invocation) -> Result<Result<String, String>, Failure>,
) -> Result<Installed, Failure> {
    let (mut others, mut broken) = (Vec::new(), None);
    for (program, base) in places(engine, basedir) {
        let printed = run(&Invocation::new(
            &program,
            engine.traits().version_arguments,
        ));
        let build = match printed.map(|printed| printed.and_then(|text| engine.build(&text))) {
            Ok(Ok(Some(build))) => build,
            Ok(Ok(None)) => continue,
            Ok(Err(words)) => {
                broken.get_or_insert(bad_program(&program, &words));
                continue;
            }
            Err(error) => {
                broken.get_or_insert(error);
                continue;
            }
        };
        let number = version::number(&build).to_owned();
        if version.is_none_or(|wanted| version::begins_with(&number, wanted)) {
            return Ok(Installed {
                engine,
                version: number,
                build,
                program,
                basedir: base,
            });
        }
        others.push(format!("{number} ({})", program.display()));
    }
    Err(match (version, broken) {
        (Some(wanted), _) if !others.is_empty() => wrong_version(engine, wanted, &others),
        (_, Some(error)) => error,
        _ => no_server(engine, basedir),
    })
}

/// Checks that a file with the name of an engine's server program exists where [`find`] searches.
/// The file is not executed, so it may be another engine's, or broken.
pub fn exists(engine: &'static dyn Server, basedir: Option<&Path>) -> Result<(), Failure> {
    match places(engine, basedir).is_empty() {
        true => Err(no_server(engine, basedir)),
        false => Ok(()),
    }
}

fn places(engine: &'static dyn Server, basedir: Option<&Path>) -> Vec<Place> {
    match basedir {
        Some(dir) => below(engine, dir),
        None => on_host(engine),
    }
}

fn no_server(engine: &'static dyn Server, basedir: Option<&Path>) -> Failure {
    let (searched, key) = match basedir {
        Some(dir) => (format!("below {}", dir.display()), "server.basedir"),
        None => (
            "on PATH or in the usual directories".to_owned(),
            "server.engine",
        ),
    };
    let message = format!("no {} server was found {searched}", engine.title());
    let failure = Failure::server(message).remedy(engine.traits().how_to_install);
    failure.key(key)
}

fn wrong_version(engine: &'static dyn Server, wanted: &str, found: &[String]) -> Failure {
    let (title, found) = (engine.title(), found.join(" and "));
    Failure::server(format!(
        "the study requires {title} {wanted}, but found only {found}"
    ))
    .remedy(
        "install that version and name its directory with server.basedir, or change server.version",
    )
    .key("server.version")
}

/// The failure for a server program that does not run, with its output.
pub(crate) fn bad_program(program: &Path, words: &str) -> Failure {
    Failure::server(format!("{} does not run: {words}", program.display()))
        .remedy("make sure that the user that servers run as may execute it and read its libraries")
}

/// A program and its base directory.
type Place = (PathBuf, Option<PathBuf>);

fn below(engine: &'static dyn Server, dir: &Path) -> Vec<Place> {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let names = engine.traits().programs.iter();
    let programs = BELOW_BASEDIR.iter().flat_map(|sub| {
        let sub = dir.join(sub);
        names.clone().map(move |name| sub.join(name))
    });
    programs
        .filter(|program| program.is_file())
        .map(|program| (program, Some(dir.clone())))
        .collect()
}

fn on_host(engine: &'static dyn Server) -> Vec<Place> {
    let (mut places, mut known) = (Vec::<Place>::new(), Vec::new());
    // A program may have several names, and so may a directory.
    let mut add = |program: PathBuf| match program.canonicalize() {
        Ok(file) if file.is_file() && !known.contains(&file) => {
            known.push(file);
            places.push((program, None));
        }
        _ => {}
    };
    let directories = (engine.traits().directories)();
    let usual = USUAL_PLACES.iter().map(PathBuf::from);
    let directories: Vec<PathBuf> = directories.into_iter().chain(usual).collect();
    for name in engine.traits().programs {
        on_path(name).into_iter().for_each(&mut add);
        directories.iter().for_each(|dir| add(dir.join(name)));
    }
    let prefixes = installed_prefixes();
    // The program that a first one runs may not run by itself.
    places.extend(
        prefixes
            .iter()
            .filter_map(|prefix| below(engine, prefix).into_iter().next()),
    );
    places
}

/// The directory that `scripts/install-servers.sh` and `scripts/build-guest.sh` install into, by
/// the same rule. `None` if the environment names none.
pub fn installations() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match (set("DYNO_SERVERS"), set("HOME")) {
        (Some(dir), _) => Some(PathBuf::from(dir)),
        (None, _) if rustix::process::geteuid().is_root() => Some("/opt/dyno/servers".into()),
        (None, home) => Some(PathBuf::from(home?).join(".cache/dyno/servers")),
    }
}

fn installed_prefixes() -> Vec<PathBuf> {
    let Some(servers) = installations() else {
        return Vec::new();
    };
    let entries = fs::read_dir(servers).into_iter().flatten().flatten();
    let whole = entries
        .map(|entry| entry.path())
        .filter(|path| path.join(".complete").exists());
    let mut prefixes: Vec<PathBuf> = whole.collect();
    prefixes.sort();
    prefixes
}

/// A program other than an engine's servers, on `PATH` or in the usual directories.
pub fn helper(name: &str, remedy: &str) -> Result<PathBuf, Failure> {
    let usual = USUAL_PLACES.iter().map(|dir| Path::new(dir).join(name));
    let mut found = on_path(name).into_iter().chain(usual);
    found.find(|program| program.is_file()).ok_or_else(|| {
        let message =
            format!("the program {name} was not found on PATH or in the usual directories");
        Failure::usage(message).remedy(remedy)
    })
}

/// In the order of `PATH`.
pub(crate) fn on_path(name: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .filter(|program| program.is_file())
        .collect()
}

//! Which server programs this host has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::account::Account;
use crate::error::{LabError, Searched};
use crate::process;
use crate::servers::Engine;

/// Where packages and tarballs put server programs.
const USUAL_PLACES: [&str; 7] = [
    "/usr/sbin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/mysql/bin",
    "/usr/local/mariadb/bin",
];
/// Where a server program is below a base directory.
const BELOW_BASEDIR: [&str; 6] = [
    "bin",
    "sbin",
    "libexec",
    "usr/sbin",
    "usr/bin",
    "usr/libexec",
];
/// How long a program may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// The most of what a program says that is read.
const WORDS_BYTES: usize = 2000;

/// A server program that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Which engine it is.
    pub engine: Engine,
    /// Its version in numbers, `10.11.14`.
    pub version: String,
    /// Its version with the builder's additions, `10.11.14-MariaDB-0+deb12u2`.
    pub build: String,
    /// The program.
    pub program: PathBuf,
    /// The directory it was found below; `None` for one of the system's.
    basedir: Option<PathBuf>,
}

/// Finds an engine's server program: below `basedir` if it is given, else on `PATH`, in
/// the usual places, or where `scripts/install-servers.sh` puts it. `version` is a
/// version or the beginning of one by components: `10.11` takes 10.11.14, not 10.1.
///
/// # Errors
/// When there is none, only other versions, or one that does not run.
pub fn find(
    engine: Engine,
    basedir: Option<&Path>,
    version: Option<&str>,
) -> Result<Installed, LabError> {
    let account = Account::for_servers()?;
    let places = places(engine, basedir);
    let (mut others, mut broken) = (Vec::new(), None);
    for (program, base) in places {
        let (build, is_mariadb) = match version_of(&program, &account) {
            Ok(known) => known,
            Err(error) => {
                broken.get_or_insert(error);
                continue;
            }
        };
        if is_mariadb != (engine == Engine::MariaDb) {
            continue;
        }
        let number = number_of(&build).to_owned();
        if version.is_none_or(|wanted| is_version(&number, wanted)) {
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
        (Some(wanted), _) if !others.is_empty() => LabError::WrongVersion {
            engine,
            wanted: wanted.to_owned(),
            found: others,
        },
        (_, Some(error)) => error,
        _ => no_server(engine, basedir),
    })
}

/// Makes sure that there is a file by the name of an engine's server program where [`find`]
/// looks; does not run it, so it may be another engine's, or broken.
///
/// # Errors
/// When there is none.
pub(crate) fn find_file(engine: Engine, basedir: Option<&Path>) -> Result<(), LabError> {
    match places(engine, basedir).is_empty() {
        true => Err(no_server(engine, basedir)),
        false => Ok(()),
    }
}

fn places(engine: Engine, basedir: Option<&Path>) -> Vec<Place> {
    match basedir {
        Some(dir) => below(engine, dir),
        None => on_host(engine),
    }
}

fn no_server(engine: Engine, basedir: Option<&Path>) -> LabError {
    LabError::NoServer {
        engine,
        searched: basedir.map_or(Searched::Host, |dir| Searched::Basedir(dir.to_owned())),
    }
}

/// A program, and the directory it belongs to.
type Place = (PathBuf, Option<PathBuf>);

fn below(engine: Engine, dir: &Path) -> Vec<Place> {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let programs = BELOW_BASEDIR.iter().flat_map(|sub| {
        let sub = dir.join(sub);
        engine.programs().iter().map(move |name| sub.join(name))
    });
    programs
        .filter(|program| program.is_file())
        .map(|program| (program, Some(dir.clone())))
        .collect()
}

fn on_host(engine: Engine) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut add = |program: PathBuf| {
        if program.is_file() && places.iter().all(|(known, _)| *known != program) {
            places.push((program, None));
        }
    };
    for name in engine.programs() {
        process::on_path(name).into_iter().for_each(&mut add);
        for dir in USUAL_PLACES {
            add(Path::new(dir).join(name));
        }
    }
    let prefixes = installed_prefixes();
    places.extend(prefixes.iter().flat_map(|prefix| below(engine, prefix)));
    places
}

/// The directories `scripts/install-servers.sh` fills: the same rule as there.
fn installed_prefixes() -> Vec<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let servers = match (set("DYNO_SERVERS"), set("HOME")) {
        (Some(dir), _) => PathBuf::from(dir),
        (None, _) if rustix::process::geteuid().is_root() => PathBuf::from("/opt/dyno/servers"),
        (None, Some(home)) => PathBuf::from(home).join(".cache/dyno/servers"),
        (None, None) => return Vec::new(),
    };
    let entries = fs::read_dir(servers).into_iter().flatten().flatten();
    let whole = entries
        .map(|entry| entry.path())
        .filter(|path| path.join(".complete").exists());
    let mut prefixes: Vec<PathBuf> = whole.collect();
    prefixes.sort();
    prefixes
}

/// What the program calls its version, and whether it is MariaDB.
fn version_of(program: &Path, account: &Account) -> Result<(String, bool), LabError> {
    let bad = |words: String| LabError::BadProgram {
        program: program.to_owned(),
        words,
    };
    let said = say_version(program, account)?.map_err(bad)?;
    let (_, version) = said
        .split_once("Ver ")
        .ok_or_else(|| bad(format!("it should tell its version, and says {said:?}")))?;
    let build = version.split_whitespace().next().unwrap_or_default();
    Ok((build.to_owned(), said.contains("MariaDB")))
}

/// Runs `program --version`: what it says, or why it does not run.
fn say_version(program: &Path, account: &Account) -> Result<Result<String, String>, LabError> {
    let mut command = process::command(account, program);
    command.args(["--no-defaults", "--version"]);
    let at = LabError::at("run", program);
    let (reader, writer) = match std::io::pipe() {
        Ok(pipe) => pipe,
        Err(error) => return Err(at(error)),
    };
    let errors = match writer.try_clone() {
        Ok(errors) => errors,
        Err(error) => return Err(at(error)),
    };
    command
        .stdout(Stdio::from(writer))
        .stderr(Stdio::from(errors));
    let listening = std::thread::spawn(move || {
        let mut words = Vec::new();
        let limit = u64::try_from(WORDS_BYTES).unwrap_or(u64::MAX);
        let _ = std::io::Read::read_to_end(&mut std::io::Read::take(reader, limit), &mut words);
        words
    });
    let never = AtomicBool::new(false);
    let status = process::run(command, VERSION_LIMIT, &never)?;
    let words = listening.join().unwrap_or_default();
    let words = String::from_utf8_lossy(&words).trim().to_owned();
    Ok(match status {
        Some(status) if status.success() => Ok(words),
        Some(status) => Err(format!("it {}: {words}", process::how_it_ended(status))),
        None => Err(format!("it did not end in {} s", VERSION_LIMIT.as_secs())),
    })
}

/// `10.11.14` of `10.11.14-MariaDB-0+deb12u2`.
fn number_of(build: &str) -> &str {
    let end = build.find(|c: char| !c.is_ascii_digit() && c != '.');
    build[..end.unwrap_or(build.len())].trim_end_matches('.')
}

/// Whether a version begins with the components of `wanted`.
fn is_version(version: &str, wanted: &str) -> bool {
    let mut components = version.split('.');
    wanted
        .split('.')
        .all(|wanted| components.next() == Some(wanted))
}

impl Installed {
    /// Options that tell a server outside the system's directories where its own files are.
    pub(super) fn place_options(&self) -> Vec<(&'static str, String)> {
        let Some(base) = &self.basedir else {
            return Vec::new();
        };
        // A package's tree, unpacked: its server was built for /usr.
        let tree = base.join("usr");
        if !tree.join("share/mysql").is_dir() {
            return vec![("basedir", base.display().to_string())];
        }
        let below = |sub: &str| tree.join(sub).display().to_string();
        vec![
            ("basedir", tree.display().to_string()),
            ("lc_messages_dir", below("share/mysql")),
            ("character_sets_dir", below("share/mysql/charsets")),
            ("plugin_dir", below("lib/mysql/plugin")),
        ]
    }

    /// MariaDB's program that fills a data directory.
    pub(crate) fn install_program(&self) -> Result<PathBuf, LabError> {
        let names = ["mariadb-install-db", "mysql_install_db"];
        let places = match &self.basedir {
            Some(base) => ["bin", "scripts", "usr/bin"]
                .map(|sub| base.join(sub))
                .to_vec(),
            None => {
                let beside = self.program.parent().unwrap_or(Path::new("/"));
                vec![
                    beside.to_owned(),
                    beside.join("../bin"),
                    beside.join("../scripts"),
                ]
            }
        };
        let all = names
            .iter()
            .flat_map(|name| places.iter().map(move |dir| dir.join(name)));
        let mut programs = all.chain(names.iter().flat_map(|name| process::on_path(name)));
        programs
            .find(|program| program.is_file())
            .ok_or_else(|| LabError::BadProgram {
                program: self.program.clone(),
                words: "its mariadb-install-db is missing".to_owned(),
            })
    }

    /// The tarball's directory that MariaDB's installation program asks for.
    pub(crate) fn basedir(&self) -> Option<&Path> {
        self.basedir.as_deref()
    }

    /// One that is nowhere.
    #[cfg(test)]
    pub(crate) fn for_tests(engine: Engine, version: &str) -> Self {
        Self {
            engine,
            version: version.to_owned(),
            build: version.to_owned(),
            program: PathBuf::from("/nowhere/server"),
            basedir: None,
        }
    }

    /// `MariaDB 10.11.14`.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("{} {}", self.engine, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_version_is_matched_by_components() {
        assert!(is_version("10.11.14", "10.11") && is_version("10.11.14", "10"));
        assert!(is_version("9.7.0", "9.7.0"));
        assert!(!is_version("10.11.14", "10.1") && !is_version("9.7", "9.7.0"));
        assert_eq!(number_of("10.11.14-MariaDB-0+deb12u2"), "10.11.14");
        assert_eq!(number_of("9.7.4-2"), "9.7.4");
        assert_eq!(number_of("8.0.36"), "8.0.36");
    }

    /// A base directory with a program of that text.
    fn base_with(name: &str, text: &str) -> tempfile::TempDir {
        let dir = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir()
            .unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        let program = dir.path().join("bin").join(name);
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        dir
    }

    #[test]
    fn a_program_is_what_it_says_it_is() {
        let says = "#!/bin/sh\necho \"$0  Ver 11.4.2-MariaDB for Linux on x86_64\"\n";
        let dir = base_with("mysqld", says);
        let found = find(Engine::MariaDb, Some(dir.path()), Some("11.4")).unwrap();
        assert_eq!(found.shown(), "MariaDB 11.4.2");
        assert_eq!(found.build, "11.4.2-MariaDB");
        let error = find(Engine::MySql, Some(dir.path()), None).unwrap_err();
        assert!(matches!(error, LabError::NoServer { .. }), "{error}");
        let error = find(Engine::MariaDb, Some(dir.path()), Some("11.5")).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("asks for MariaDB 11.5") && text.contains("11.4.2 ("),
            "{text}"
        );
    }

    #[test]
    fn a_program_that_does_not_run_says_why() {
        let dir = base_with("mysqld", "#!/bin/sh\necho no libaio here >&2\nexit 127\n");
        let error = find(Engine::MySql, Some(dir.path()), None).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("exit code 127") && text.contains("no libaio here"),
            "{text}"
        );
        let dir = base_with("mysqld", "#!/bin/sh\necho hello\n");
        let error = find(Engine::MySql, Some(dir.path()), None).unwrap_err();
        assert!(error.to_string().contains("hello"), "{error}");
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let dir = base_with("other", "");
        for (engine, package) in [
            (Engine::MariaDb, "mariadb-server"),
            (Engine::MySql, "mysql-server-core"),
        ] {
            let error = find(engine, Some(dir.path()), None).unwrap_err();
            let shown = dir.path().display().to_string();
            assert!(error.to_string().contains(&shown), "{error}");
            let remedy = error.remedy().unwrap();
            assert!(remedy.contains(package), "{remedy}");
            assert!(remedy.contains("scripts/install-servers.sh"), "{remedy}");
        }
    }
}

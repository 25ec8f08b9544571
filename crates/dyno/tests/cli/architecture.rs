//! The house's rules that a compiler does not know: which crate may use which, and
//! what the documentation promises.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::common::markdown::root;
use crate::common::{Program, files_below, flat};

/// The arrows of ARCHITECTURE.md; `dyno` may use all.
const ALLOWED: [(&str, &[&str]); 17] = [
    ("plan", &[]),
    ("study", &["plan"]),
    ("workload", &["plan"]),
    ("script", &["workload"]),
    ("sysbench", &["plan", "script", "workload"]),
    ("wire", &[]),
    ("measure", &["plan"]),
    ("client", &["plan", "wire", "workload"]),
    ("engine", &["client", "load", "measure", "plan", "workload"]),
    ("load", &["client", "measure", "plan", "workload"]),
    ("fleet", &["measure", "plan"]),
    ("host", &["measure"]),
    ("machine", &["host", "measure", "plan"]),
    (
        "lab",
        &[
            "client", "engine", "fleet", "host", "load", "machine", "measure", "plan", "script",
            "workload",
        ],
    ),
    ("store", &["measure"]),
    ("report", &["measure", "plan"]),
    ("testkit", &["engine", "lab", "machine"]),
];
/// For tests only.
const TESTKIT: &str = "testkit";
/// Where everything comes together.
const BINARY: &str = "dyno";

/// The exit codes and the words that both the help and docs/command-line.md must contain.
const EXIT_CODES: [(u8, &str); 6] = [
    (0, "done"),
    (1, "threshold failed"),
    (2, "bad usage or"),
    (3, "server could not be started or reached"),
    (4, "interrupted"),
    (5, "internal error"),
];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .expect("cargo metadata")
}

#[test]
fn dependencies_point_one_way() {
    let metadata = metadata();
    let packages = metadata.workspace_packages();
    let members: BTreeSet<&str> = packages.iter().map(|one| one.name.as_str()).collect();
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into_iter().collect();
    for package in packages {
        let from = package.name.as_str();
        let is_listed = from == BINARY || allowed.contains_key(from);
        assert!(
            is_listed,
            "{from} is not in the table here and in ARCHITECTURE.md"
        );
        for dependency in &package.dependencies {
            let to = dependency.name.as_str();
            if !members.contains(to) || dependency.kind == DependencyKind::Development {
                continue;
            }
            assert!(to != TESTKIT, "{from} uses {to} outside its tests");
            let may = from == BINARY || allowed[from].contains(&to);
            assert!(may, "the arrow {from} -> {to} is not in ARCHITECTURE.md");
        }
    }
}

#[test]
fn the_table_of_the_architecture_is_this_one() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (from, to) in ALLOWED {
        let row = row(&page, &format!("`{from}`"));
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
        let listed = cell
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        assert!(listed.eq(to.iter().copied()), "{row}");
    }
}

/// The row of a page's table that begins with this cell.
#[track_caller]
fn row<'a>(page: &'a str, cell: &str) -> &'a str {
    let mut rows = page.lines();
    let row = rows.find(|line| line.starts_with(&format!("| {cell} |")));
    row.unwrap_or_else(|| panic!("the page has no row {cell}"))
}

/// Paths in backquotes are the repository's, or start with a crate whose `src` they leave out.
#[test]
fn the_architecture_names_only_files_that_exist() {
    let internals = std::fs::read_dir(root().join("docs/internals")).unwrap();
    let mut pages: Vec<_> = internals.map(|entry| entry.unwrap().path()).collect();
    pages.extend(["ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    let mut count = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        let paths: Vec<&str> = text.split('`').skip(1).step_by(2).filter(is_path).collect();
        count += paths.len();
        let stale: Vec<&&str> = paths.iter().filter(|path| !exists(path)).collect();
        assert!(stale.is_empty(), "{} names {stale:?}", page.display());
    }
    assert!(count > 200, "{count}");
    assert!(exists("lab/trial.rs") && exists("load/tests/") && exists("client/ENGINE/error.rs"));
    assert!(!exists("lab/trail.rs") && !exists("lab/trial.rs/") && !exists("lab/ENGINE/trial.rs"));
}

/// Whether a piece of code is a relative path: it has a folder, or the extension of a source file.
fn is_path(code: &&str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let is_named = code.contains('/') || code.ends_with(".rs") || code.ends_with(".md");
    is_named && !code.starts_with('/') && code.chars().all(is_word)
}

/// Whether there is such a file or folder; `ENGINE` is the folder of any engine.
fn exists(path: &str) -> bool {
    if path.contains("ENGINE") {
        let mut engines = ENGINE_WORDS.iter();
        return engines.any(|engine| exists(&path.replace("ENGINE", engine)));
    }
    let (in_crate, rest) = path.split_once('/').unwrap_or((path, ""));
    let folder = root().join("crates").join(in_crate);
    let sources = folder.join("src");
    let module = rest.strip_suffix(".rs").unwrap_or(rest);
    let places = [
        root().join(path),
        folder.join(rest),
        sources.join(rest),
        sources.join(module).join("mod.rs"),
    ];
    places.iter().any(|place| place.exists())
}

/// Where an engine may be named, besides files of unit tests.
const ENGINE_CRATES: [&str; 6] = ["engine", "wire", "client", "script", "sysbench", TESTKIT];
const ENGINE_WORDS: [&str; 5] = ["innodb", "mysql", "mariadb", "sqlite", "postgres"];

#[test]
fn engines_are_named_where_they_are_at_home() {
    let mut naming = Vec::new();
    for package in metadata().packages {
        if !ENGINE_CRATES.contains(&package.name.as_str()) {
            let names_engine = |code: &str| {
                let code = code.to_lowercase();
                ENGINE_WORDS.iter().any(|word| code.contains(word))
            };
            naming.extend(files_with(&sources(&package), &names_engine));
        }
    }
    assert!(naming.is_empty(), "these files name an engine: {naming:#?}");
}

/// A site passes its own files, so that one that is another machine needs no change elsewhere. Only
/// this host's site names this host, and what cleans up on it.
#[test]
fn the_laboratory_reads_machines_through_their_sites() {
    let sources = ["lab", "machine"].map(|name| root().join("crates").join(name).join("src"));
    let names_this_host = |code: &str| {
        let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| word == "LOCAL")
    };
    let naming: Vec<String> = sources
        .iter()
        .flat_map(|dir| files_with(dir, &names_this_host))
        .collect();
    let allowed = ["home/mounted.rs", "home/scheduler.rs", "site/this_host.rs"];
    let allowed = allowed.map(|file| format!("crates/machine/src/{file}"));
    assert_eq!(naming, allowed);
}

/// Files of sources below `dir` whose code is as wanted; files of unit tests are not looked at.
fn files_with(dir: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let name = |path: PathBuf| path.strip_prefix(root()).unwrap().to_owned();
    let mut found: Vec<PathBuf> = files_below(dir).into_iter().map(name).collect();
    found.retain(|path| {
        let stem = path.file_stem().unwrap().to_string_lossy();
        let mut names = path.iter();
        let is_test = stem.ends_with("tests") || names.any(|name| name == "tests");
        let is_source = path.extension().is_some_and(|ending| ending == "rs");
        let text = || std::fs::read_to_string(root().join(path)).unwrap();
        is_source && !is_test && is_wanted(&text())
    });
    found
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

/// The folder of a package's sources.
fn sources(package: &Package) -> PathBuf {
    let sources = package.manifest_path.parent().unwrap().join("src");
    sources.as_std_path().canonicalize().unwrap()
}

/// Clippy's lints keep every crate from printing and exiting; only the binary may
/// say otherwise, and only where it expects to.
#[test]
fn only_the_binary_prints_and_exits() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    for lint in ["print_stdout", "print_stderr", "exit"] {
        assert!(manifest.contains(&format!("{lint} = ")), "{lint}");
    }
    let printing = [
        "clippy::print_stdout",
        "clippy::print_stderr",
        "clippy::exit",
    ];
    let is_excused = |code: &str| printing.iter().any(|lint| code.contains(lint));
    for package in metadata().packages {
        let name = &package.name;
        let text = std::fs::read_to_string(&package.manifest_path).unwrap();
        let inherits = text.contains("[lints]\nworkspace = true");
        assert!(inherits, "{name} does not take the workspace's lints");
        if ![BINARY, TESTKIT].contains(&name.as_str()) {
            let excused = files_with(&sources(&package), &is_excused);
            assert!(excused.is_empty(), "{excused:?}");
        }
    }
}

#[test]
fn the_help_and_the_reference_list_the_same_exit_codes() {
    let help = flat(&Program::new().arg("--help").succeeds().stdout);
    let page = std::fs::read_to_string(root().join("docs/command-line.md")).unwrap();
    for (code, words) in EXIT_CODES {
        let row = row(&page, &code.to_string());
        assert!(row.contains(words), "{row}");
        let number = format!("{code} ");
        let mut said = help.split(&number).skip(1);
        let is_said = said.any(|rest| rest.split(',').next().unwrap().contains(words));
        assert!(is_said, "{code} {words}: {help}");
    }
}

/// The script runs with stand-ins for apt and systemd; one service of each group is in use.
#[test]
fn installing_servers_disables_only_what_it_has_enabled() {
    let text = r#"
        . scripts/install-servers.sh
        enabled=" etcd containerd.service "
        id() { echo 0; }
        apt_install() {
            case $1 in
                etcd-server) enabled+=" etcd " ;;
                docker.io) enabled+=" docker.service docker.socket containerd.service " ;;
                openssh-server) enabled+=" ssh " ;;
                *) enabled+=" $1 " ;;
            esac
        }
        systemctl() {
            case $2 in
                is-enabled) [[ $enabled = *" $3 "* ]] ;;
                disable) echo "$3" ;;
            esac
        }
        install_patroni
        install_docker
        install_ssh
    "#;
    let mut bash = Command::new("bash");
    let output = bash.args(["-c", text]).current_dir(root()).output();
    let output = output.unwrap();
    let disabled = String::from_utf8(output.stdout).unwrap();
    let expected = "haproxy\npatroni\ndocker.service\ndocker.socket\nssh\n";
    assert_eq!((output.status.success(), &*disabled), (true, expected));
}

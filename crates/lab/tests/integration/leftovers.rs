//! What a dyno leaves that is killed, and that the next one, or `clean`, removes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use engine::{MARIADB, MYSQL, POSTGRES};
use lab::clean_in;
use lab::template::Templates;
use machine::home::Cleaned;

use crate::private::killed::{self, Dyno};
use crate::private::{
    self, empty, entries, installed, is_running, open_dir, options, processes_below, quietly,
    start, value, wait_until, wanted,
};

/// What a dyno does that is to be killed; nothing in a test run.
#[test]
fn a_dyno() {
    killed::play(|home, does, keep| match does {
        "initialize" => {
            empty(home, &installed(MYSQL), &[]);
        }
        "load" => {
            let (many, installed) = (options(8, 2_000_000), installed(MARIADB));
            let templates = Templates::new(home, &installed, &[]).unwrap();
            quietly(|listener| templates.obtain(&wanted(&many), listener)).unwrap();
        }
        _ => {
            let engine = match does {
                POSTGRES_SERVER => POSTGRES,
                _ => MARIADB,
            };
            let server = start(home, engine, &[], keep).unwrap();
            let _busy = (engine == POSTGRES).then(|| private::keep_busy(&server));
            killed::ready();
            std::thread::sleep(Duration::from_secs(3600));
        }
    });
}

/// A dyno with a server, in a cache of its own.
const SERVER: &str = "serve";
/// The same with a busy connection.
const POSTGRES_SERVER: &str = "serve postgres";

/// Where the dynos of a test keep what they keep, below what the test removes.
fn dyno(root: &Path, does: &str) -> Dyno {
    killed::dyno(root, does, &root.with_file_name("keep"))
}

fn runs(root: &Path) -> Vec<PathBuf> {
    entries(&root.join("run"))
}

/// A server that outlived its dyno: the kernel's signal does not reach one that was just
/// being started.
fn survivor(run: &Path) -> Child {
    let option = format!("--defaults-file={}/s1.0/my.cnf", run.display());
    let mut command = Command::new("sh");
    command.args(["-c", "read line", "sh", &option]);
    // As every program of a run has it.
    command.env("DYNO_RUN_DIR", run);
    command.stdin(Stdio::piped()).spawn().unwrap()
}

#[test]
fn servers_die_with_dyno_and_what_they_leave_with_the_next_one() {
    for does in [SERVER, POSTGRES_SERVER] {
        let (_dir, root) = private::cache();
        let one = dyno(&root, does);
        let servers = processes_below(&root);
        assert_eq!(servers.len(), 1);
        one.kill();
        wait_until("the server's end", || !is_running(servers[0]));
        assert_eq!(runs(&root).len(), 1);

        let home = private::home_in(&root);
        assert_eq!(home.swept().run_dirs, 1);
        assert!(home.swept().bytes > 1 << 20);
        // A busy child of the server need not have noticed its end.
        let had_children = home.swept().processes > 0;
        assert!(!had_children || does == POSTGRES_SERVER);
        assert_eq!(private::shared_memory(servers[0]), 0, "{does}");
        assert_eq!(runs(&root).len(), 1);
        drop(home);
        assert!(runs(&root).is_empty());
    }
}

#[test]
fn a_process_that_outlived_its_dyno_is_ended() {
    let (_dir, root) = private::cache();
    let one = dyno(&root, SERVER);
    let mut survivor = survivor(&runs(&root)[0]);
    let pid = survivor.id();
    wait_until("the survivor", || processes_below(&root).contains(&pid));
    one.kill();
    // It reads from here until it is ended.
    let _input = survivor.stdin.take();
    let reaper = std::thread::spawn(move || survivor.wait().unwrap());
    let cleaned = clean_in(&root, false).unwrap();
    assert!(
        cleaned.processes >= 1 && cleaned.run_dirs == 1,
        "{cleaned:?}"
    );
    assert!(!reaper.join().unwrap().success());
    assert!(runs(&root).is_empty() && processes_below(&root).is_empty());
    assert_eq!(clean_in(&root, false).unwrap(), Cleaned::default());
}

#[test]
fn a_dyno_that_lives_is_not_disturbed() {
    let (_dir, root) = private::cache();
    let other = dyno(&root, SERVER);
    let theirs = processes_below(&root);
    let home = private::home_in(&root);
    assert_eq!(*home.swept(), Cleaned::default());
    assert_eq!(clean_in(&root, false).unwrap(), Cleaned::default());
    assert_eq!(runs(&root).len(), 2);
    let keep = tempfile::tempdir().unwrap();
    let server = start(&home, MARIADB, &[], keep.path()).unwrap();
    other.kill();
    wait_until("the other's end", || !is_running(theirs[0]));
    assert_eq!(clean_in(&root, true).unwrap().run_dirs, 1);
    assert_eq!(value(&server, "SELECT 1"), "1");
    drop(server);
    assert_eq!(
        entries(home.root()).len(),
        4,
        "marker, lock, run, templates"
    );
}

/// Kills a dyno when the first process below its cache has an argument with this word.
fn killed_while(does: &str, word: &str) -> (tempfile::TempDir, PathBuf) {
    let (dir, root) = private::cache();
    let one = killed::start(&root, does, dir.path());
    wait_until(word, || {
        processes_below(&root).iter().any(|pid| {
            let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(word)
        })
    });
    one.kill();
    (dir, root)
}

fn assert_clean(root: &Path) {
    let cleaned = clean_in(root, true).unwrap();
    assert_eq!(cleaned.run_dirs, 1);
    assert_eq!(processes_below(root), [] as [u32; 0]);
    assert!(runs(root).is_empty());
    assert!(entries(&root.join("templates")).is_empty());
}

#[test]
fn a_dyno_killed_while_it_initializes_leaves_nothing() {
    let (_dir, root) = killed_while("initialize", "--initialize-insecure");
    assert_clean(&root);
}

#[test]
fn a_dyno_killed_while_it_loads_leaves_nothing_and_no_half_template() {
    let (_dir, root) = killed_while("load", "--defaults-file=");
    let whole = |path: &PathBuf| !path.is_dir() || path.join("template.json").exists();
    assert!(entries(&root.join("templates")).iter().all(whole));
    assert_clean(&root);
}

#[test]
fn nothing_to_clean_is_no_error_and_makes_nothing() {
    let dir = open_dir();
    let root = dir.path().join("never");
    assert_eq!(clean_in(&root, true).unwrap(), Cleaned::default());
    assert!(!root.exists());
}

/// Many dynos that come and go at once: none takes another's directory for a dead one's.
#[test]
fn many_dynos_open_and_close_at_once() {
    let (_dir, root) = private::cache();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let home = private::home_in(&root);
                    assert_eq!(*home.swept(), Cleaned::default());
                }
            });
        }
    });
    assert!(runs(&root).is_empty());
}

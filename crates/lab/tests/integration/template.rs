//! Templates: built once, equal copies, a cache with a limit, and what goes wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use engine::data::{Listener, Progress};
use engine::{Installed, MARIADB, POSTGRES};
use lab::servers::Node;
use lab::template::{Template, Templates};
use lab::{Failure, clean_in, shown_bytes};
use machine::home::Home;
use testkit::SmallDisk;
use workload::options::Options;
use workload::rows::Checksum;

use crate::private::{
    self, ALL, NEVER, config, contents, empty, entries, installed, kept_home, new_home,
    only_template, options, processes_below, quietly, start_on, value, wanted,
};

fn obtain(home: &Home, installed: &Installed, options: &Options) -> Result<Template, Failure> {
    let templates = Templates::new(home, installed, &[])?;
    quietly(|listener| templates.obtain(&wanted(options), listener))
}

/// The checksum of the rows that a server has, as the template tells it.
fn checksum(server: &Node, tables: u32) -> String {
    let mut all = Checksum::default();
    for table in 1..=tables {
        all.merge(match server.url("").starts_with("postgres:") {
            true => of_postgres(server, table),
            false => of_mysql(server, table),
        });
    }
    format!("{} rows, crc {:08x}", all.count, all.xor)
}

fn of_mysql(server: &Node, table: u32) -> Checksum {
    let columns = testkit::CHECKSUM_COLUMNS;
    let rows = private::sql(server, &format!("SELECT {columns} FROM sbtest{table}")).unwrap();
    let number = |at: usize| rows[0][at].clone().unwrap();
    Checksum {
        count: number(0).parse().unwrap(),
        xor: number(1).parse().unwrap(),
    }
}

/// It has no such function before version 18.
fn of_postgres(server: &Node, table: u32) -> Checksum {
    let columns = "concat_ws(',', id, k, rtrim(c), rtrim(pad))";
    let rows = private::sql(server, &format!("SELECT {columns} FROM sbtest{table}")).unwrap();
    let mut checksum = Checksum::default();
    for line in rows.iter().flatten().flatten() {
        let xor = crc32fast::hash(line.as_bytes());
        checksum.merge(Checksum { count: 1, xor });
    }
    checksum
}

#[test]
fn every_copy_has_the_same_bytes_and_is_nobody_elses() {
    for engine in ALL {
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let installed = installed(engine);
        let template = obtain(&home, &installed, &options(2, 3000)).unwrap();
        let (one, copied) = template.copy(1).unwrap();
        let (two, _) = template.copy(2).unwrap();
        let first = contents(&one.data());
        assert!(first == contents(&two.data()), "{engine}");
        assert!(copied.bytes > 1 << 20, "{copied:?}");
        // A server's identity and its memory of its pages are not copied.
        for name in ["auto.cnf", "ib_buffer_pool", "postmaster.opts"] {
            assert!(!first.contains_key(Path::new(name)), "{engine}: {name}");
        }
        let server = start_on(one, &installed, &[], None, keep.path()).unwrap();
        assert_eq!(Some(checksum(&server, 2)), template.checksum);
        private::sql(&server, "DELETE FROM sbtest1").unwrap();
        server.stop(&NEVER).unwrap();
        let (three, _) = template.copy(1).unwrap();
        assert!(first == contents(&three.data()), "{engine}");
    }
}

#[test]
fn a_template_is_built_once_and_found_from_then_on() {
    let (_dir, root) = private::cache();
    let installed = installed(MARIADB);
    let built = {
        let home = private::home_in(&root);
        let before = cached(&home, &installed);
        let template = obtain(&home, &installed, &options(1, 500)).unwrap();
        assert!(template.was_built && before.is_none());
        assert!(template.bytes > 1 << 20 && !template.build_time.is_zero());
        // Nobody else reads with which settings.
        let about = only_template(&root, "1x500").join("template.json");
        let mode = fs::metadata(about).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(cached(&home, &installed), Some(template.bytes));
        template.checksum.clone()
    };
    let home = private::home_in(&root);
    let template = obtain(&home, &installed, &options(1, 500)).unwrap();
    assert!(!template.was_built);
    assert_eq!(template.checksum, built);
    let other = obtain(&home, &installed, &options(1, 501)).unwrap();
    assert!(other.was_built);
    // Nothing but the whole templates and this run's lock is left of building them.
    assert_nothing_half(&home);
}

fn cached(home: &Home, installed: &Installed) -> Option<u64> {
    let templates = Templates::new(home, installed, &[]).unwrap();
    templates.cached_bytes(&wanted(&options(1, 500))).unwrap()
}

/// What another process does for [`two_dynos_build_it_once`]; nothing in a test run.
#[test]
fn another_dyno() {
    let Some(root) = std::env::var_os("TEMPLATE_TEST_ROOT") else {
        return;
    };
    let home = lab::servers::open_home(Path::new(&root), u64::MAX).unwrap();
    let template = obtain(&home, &installed(MARIADB), &options(1, 20_000)).unwrap();
    println!("was_built={} {:?}", template.was_built, template.checksum);
}

fn another(root: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "template::another_dyno", "--nocapture"]);
    command.env("TEMPLATE_TEST_ROOT", root);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn two_dynos_build_it_once() {
    let (_dir, home) = new_home();
    let processes = [another(home.root()), another(home.root())];
    let installed = installed(MARIADB);
    let threads = || obtain(&home, &installed, &options(1, 20_000)).unwrap();
    let (one, two) = std::thread::scope(|scope| {
        let (one, two) = (scope.spawn(threads), scope.spawn(threads));
        (one.join().unwrap(), two.join().unwrap())
    });
    let mut built = u32::from(one.was_built) + u32::from(two.was_built);
    assert_eq!(one.checksum, two.checksum);
    for process in processes {
        let said = process.wait_with_output().unwrap();
        assert!(said.status.success());
        let said = String::from_utf8(said.stdout).unwrap();
        built += u32::from(said.contains("was_built=true"));
        assert!(said.contains(&format!("{:?}", one.checksum)), "{said}");
    }
    assert_eq!(built, 1);
}

#[test]
fn an_interrupted_build_leaves_nothing_and_is_done_anew() {
    let (_dir, home) = new_home();
    let (installed, options) = (installed(MARIADB), options(2, 100_000));
    let interrupted = AtomicBool::new(false);
    let mut stop_in_the_middle = |news| {
        if !matches!(news, Progress::Note(_) | Progress::Loading { rows: 0, .. }) {
            interrupted.store(true, Ordering::Relaxed);
        }
    };
    let listener = Listener {
        tell: &mut stop_in_the_middle,
        interrupted: &interrupted,
    };
    let templates = Templates::new(&home, &installed, &[]).unwrap();
    let stopped = templates.obtain(&wanted(&options), listener);
    assert!(
        stopped.as_ref().is_err_and(Failure::is_interrupted),
        "{stopped:?}"
    );
    only_template(home.root(), "empty");
    assert_nothing_half(&home);
    let again = obtain(&home, &installed, &options).unwrap();
    assert!(again.was_built);
    assert!(again.checksum.as_ref().unwrap().starts_with("200000 rows"));
}

#[test]
fn a_full_cache_loses_what_was_used_longest_ago_but_nothing_in_use() {
    let (_dir, root) = private::cache();
    let installed = installed(MARIADB);
    let names = |home: &Home| {
        let all = entries(&home.root().join("templates"));
        let dirs = all.into_iter().filter(|path| path.is_dir());
        let mut names: Vec<String> = dirs
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        names.iter_mut().for_each(|name| {
            *name = name.split('-').nth(2).unwrap().to_owned();
        });
        names
    };
    let each = {
        let home = private::home_in(&root);
        let each = obtain(&home, &installed, &options(1, 10)).unwrap().bytes;
        obtain(&home, &installed, &options(1, 20)).unwrap();
        // Used again, it is no longer the oldest.
        obtain(&home, &installed, &options(1, 10)).unwrap();
        assert_eq!(names(&home), ["1x10", "1x20", "empty"]);
        each
    };
    // Room for two and a little.
    let home = lab::servers::open_home(&root, each * 5 / 2).unwrap();
    let held = obtain(&home, &installed, &options(1, 10)).unwrap();
    let new = obtain(&home, &installed, &options(1, 30)).unwrap();
    drop(new);
    let kept = names(&home);
    assert!(
        kept.contains(&"1x10".to_owned()) && !kept.contains(&"1x20".to_owned()),
        "{kept:?}"
    );

    // One that is larger than all of the cache works as long as it is used.
    let small = lab::servers::open_home(&root, 1000).unwrap();
    let large = obtain(&small, &installed, &options(1, 40)).unwrap();
    assert!(
        names(&small).contains(&"1x10".to_owned()),
        "another dyno uses it"
    );
    large.copy(1).unwrap();
    drop(large);
    assert_eq!(names(&small), ["1x10"]);
    assert_eq!(clean_in(&root, true).unwrap().templates, 0);
    drop((held, home, small));
    let cleaned = clean_in(&root, true).unwrap();
    assert!(entries(&root.join("templates")).is_empty(), "{cleaned:?}");
}

#[test]
fn a_damaged_template_is_built_anew() {
    let (_dir, home) = new_home();
    let installed = installed(MARIADB);
    drop(obtain(&home, &installed, &options(1, 10)).unwrap());
    let about = only_template(home.root(), "1x10").join("template.json");
    fs::write(&about, "{\"recipe\": tru").unwrap();
    let again = obtain(&home, &installed, &options(1, 10)).unwrap();
    assert!(again.was_built);
    again.copy(1).unwrap();
}

#[test]
fn a_form_that_the_server_refuses_is_told_in_its_words() {
    for engine in ALL {
        let name = match engine == POSTGRES {
            true => "wal_segment_size",
            false => "innodb_data_file_path",
        };
        let (_dir, home) = new_home();
        let settings = config(&[(name, "x")]);
        let installed = installed(engine);
        let templates = Templates::new(&home, &installed, &settings);
        let refused = templates.and_then(|templates| quietly(|mut one| templates.empty(&mut one)));
        let error = refused.unwrap_err();
        let key = error.key.as_deref().unwrap_or_default();
        assert!(key.starts_with("server.config."), "{error}");
        assert!(error.to_string().contains(name), "{error}");
        let left = entries(&home.root().join("templates"));
        assert!(left.iter().all(|path| !path.is_dir()), "{left:?}");
    }
}

#[test]
fn a_rebuild_has_the_same_rows_past_the_cache() {
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let (installed, options) = (installed(MARIADB), options(2, 700));
    let template = obtain(&home, &installed, &options).unwrap();
    let (templates, node) = (
        Templates::new(&home, &installed, &[]).unwrap(),
        plan::Node::default(),
    );
    let wanted = wanted(&options);
    let rebuilt = quietly(|mut listener| templates.build(&wanted, &node, &mut listener)).unwrap();
    assert!(!rebuilt.took.is_zero());
    let server = start_on(rebuilt.data, &installed, &[], None, keep.path()).unwrap();
    assert_eq!(Some(checksum(&server, 2)), template.checksum);
    assert_eq!(value(&server, "SELECT COUNT(*) FROM dyno_tables"), "2");
}

/// `1;00112233445566778899aabbccddeeff`, as `openssl enc -aes-256-cbc -md sha1` encrypts it
/// with the password `sesame`.
const KEYS: &[u8] = b"Salted__\x01\x02\x03\x04\x05\x06\x07\x08\
    \x0a\xff\xb6\x71\x2f\xd8\xbc\x85\xcb\xa5\x31\xce\xac\x71\x52\x9c\
    \xf8\x3b\x21\xa9\x55\x80\xfe\x7b\x2f\x02\x51\x75\x23\xb0\x65\x77\
    \xb4\xdd\x87\x8e\xe9\x3c\xa2\xf4\xe1\xd1\x6b\xb3\x03\x02\x0c\x23";

#[test]
fn a_secret_that_decides_the_files_form_reaches_the_server_and_no_other_file() {
    let ((dir, home), keep) = (new_home(), tempfile::tempdir().unwrap());
    let keys = dir.path().join("keys");
    fs::write(&keys, KEYS).unwrap();
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o644)).unwrap();
    let config = config(&[
        ("plugin_load_add", "file_key_management"),
        ("file_key_management_filename", keys.to_str().unwrap()),
        ("file_key_management_filekey", "sesame"),
        ("innodb_encrypt_tables", "FORCE"),
    ]);
    let (installed, options) = (installed(MARIADB), options(1, 10));
    let templates = Templates::new(&home, &installed, &config).unwrap();
    let template = quietly(|listener| templates.obtain(&wanted(&options), listener)).unwrap();
    let (data, _) = template.copy(1).unwrap();
    let server = start_on(data, &installed, &config, None, keep.path()).unwrap();
    let scheme = "SELECT ENCRYPTION_SCHEME FROM information_schema.INNODB_TABLESPACES_ENCRYPTION \
                  WHERE NAME = 'sbtest/sbtest1'";
    assert_eq!(value(&server, scheme), "1");
    for part in ["empty", "1x10"] {
        let about = only_template(home.root(), part).join("template.json");
        let about = fs::read_to_string(about).unwrap();
        assert!(about.contains("file_key_management_filekey"), "{about}");
        assert!(!about.contains("sesame"), "{about}");
    }
}

/// There are templates that are whole, and nothing of this run but its lock, host, and journal.
fn assert_nothing_half(home: &Home) {
    let runs = entries(&home.root().join("run"));
    assert_eq!(runs.len(), 1);
    assert_eq!(
        entries(&runs[0]),
        ["host", "lock", "undo"].map(|name| runs[0].join(name))
    );
    for template in entries(&home.root().join("templates")) {
        assert!(!template.is_dir() || template.join("template.json").exists());
    }
    assert!(processes_below(home.root()).is_empty());
}

#[test]
fn a_disk_that_is_too_small_is_refused_before_anything_starts() {
    let Some(disk) = SmallDisk::new("300m") else {
        return;
    };
    let home = private::home_in(&disk.path().join("cache"));
    let error = obtain(&home, &installed(MARIADB), &options(4, 1_000_000)).unwrap_err();
    let text = error.to_string();
    private::assert_key(&error, "volume.directory");
    assert!(
        text.contains("needs 1.2 GiB") && text.contains("MiB is available"),
        "{text}"
    );
    assert!(error.remedy.as_deref().unwrap().contains("DYNO_CACHE_DIR"));
    assert_nothing_half(&home);
}

#[test]
fn a_disk_that_fills_while_the_data_is_built_is_reported_with_the_numbers() {
    // Takes any server far longer than the first report of progress, and needs far more than is left.
    const ROWS: u64 = 4_000_000;
    for engine in ALL {
        let Some(disk) = SmallDisk::new("3g") else {
            return;
        };
        let home = private::home_in(&disk.path().join("cache"));
        let installed = installed(engine);
        empty(&home, &installed, &[]);
        let free_bytes = disk.free_bytes();
        let mut is_full = false;
        let mut fill = |news| {
            let is_loading = !matches!(news, Progress::Note(_));
            if is_loading && !std::mem::replace(&mut is_full, true) {
                disk.fill_except(4 << 20);
            }
        };
        let options = options(1, ROWS);
        let listener = Listener {
            tell: &mut fill,
            interrupted: &private::NEVER,
        };
        let templates = Templates::new(&home, &installed, &[]).unwrap();
        let built = templates.obtain(&wanted(&options), listener);
        let error = built.unwrap_err();
        let shown = format!("only {} is available", shown_bytes(free_bytes));
        for text in ["building the data", &shown] {
            assert!(error.message.contains(text), "{engine}: {error}");
        }
        let remedy = error.remedy.unwrap_or_default();
        assert!(
            remedy.contains("free some disk space"),
            "{engine}: {remedy}"
        );
        assert_nothing_half(&home);
    }
}

#[test]
fn a_copy_that_finds_no_room_is_told_with_the_numbers() {
    let Some(disk) = SmallDisk::new("400m") else {
        return;
    };
    let home = private::home_in(&disk.path().join("cache"));
    let template = empty(&home, &installed(MARIADB), &[]);
    let copies: Result<Vec<_>, Failure> = (1..400).map(|number| template.copy(number)).collect();
    let error = copies.unwrap_err();
    assert!(
        error.message.contains("the copy of the data for server"),
        "{error}"
    );
    let needed = format!("needs {};", shown_bytes(template.bytes));
    assert!(error.message.contains(&needed), "{error}");
    assert_nothing_half(&home);
}

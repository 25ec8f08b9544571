//! Node servers of both engines: their settings, their ends, and what their errors say.

use lab::{Fact, Failure};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use client::reactor::Reactor;
use engine::{MARIADB, MYSQL, POSTGRES, Server};
use lab::servers;
use machine::site::ThisHost;
use rustix::process::{Pid, Signal, kill_process};

use crate::private::{
    self, ALL, BOTH, NEVER, config, empty, empty_data, installed, is_running, kept_home, open_dir,
    sql, start, start_on, value,
};

/// Settings of a study, and what a server with them says.
struct Study {
    engine: &'static dyn Server,
    settings: &'static [(&'static str, &'static str)],
    /// Questions and their answers.
    answers: &'static [(&'static str, &'static str)],
    /// What its configuration, as the result keeps it, contains.
    kept: [&'static str; 2],
    last_words: &'static str,
}

const OF_MYSQL: Study = Study {
    engine: MYSQL,
    settings: &[
        ("innodb-buffer-pool-size", "64M"),
        ("max_connections", "1500"),
        ("init_connect", "SET @said = '#1; \"two\" \\\\ three'"),
        ("sql_mode", ""),
    ],
    answers: &[
        ("SELECT @@innodb_buffer_pool_size", "67108864"),
        ("SELECT @@max_connections", "1500"),
        (
            "SELECT @@init_connect",
            "SET @said = '#1; \"two\" \\\\ three'",
        ),
        ("SELECT @@sql_mode", ""),
        ("SELECT @@skip_name_resolve", "1"),
        ("SELECT @@log_bin", "0"),
    ],
    kept: ["innodb-buffer-pool-size = 64M", "init_connect = (hidden)"],
    last_words: "shutdown complete",
};
const STUDIES: [Study; 3] = [
    OF_MYSQL,
    Study {
        engine: MARIADB,
        ..OF_MYSQL
    },
    Study {
        engine: POSTGRES,
        settings: &[
            ("Shared_Buffers", "64MB"),
            ("max_connections", "1500"),
            ("search_path", "\"it's \\ #1\", public"),
            ("my.secret", "sesame"),
        ],
        answers: &[
            ("SHOW shared_buffers", "64MB"),
            ("SHOW max_connections", "1500"),
            ("SHOW search_path", "\"it's \\ #1\", public"),
            ("SHOW listen_addresses", "127.0.0.1"),
            ("SHOW server_encoding", "UTF8"),
            (
                "SELECT rolsuper FROM pg_roles WHERE rolname = current_user",
                "f",
            ),
        ],
        kept: ["Shared_Buffers = '64MB'", "my.secret = '(hidden)'"],
        last_words: "database system is shut down",
    },
];

#[test]
fn a_server_runs_with_the_studys_settings_and_leaves_only_what_is_kept() {
    for study in STUDIES {
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let server = start(&home, study.engine, study.settings, keep.path()).unwrap();
        for (question, answer) in study.answers {
            assert_eq!(value(&server, question), *answer, "{question}");
        }
        assert!(server.notes().is_empty(), "{:?}", server.notes());

        let (pid, dir) = (server.pid().unwrap(), server.data_dir());
        let meta = fs::metadata(dir.parent().unwrap()).unwrap();
        assert_eq!(meta.mode() & 0o777, 0o700);
        let process = fs::metadata(format!("/proc/{pid}")).unwrap();
        assert_eq!(process.uid(), meta.uid());
        assert_ne!(process.uid(), 0);
        assert!(server.socket().exists());
        // What may be a secret is for the server's eyes.
        let name = study.engine.traits().config_file;
        let config = dir.ancestors().nth(2).unwrap().join(name);
        let (_, secret) = study.settings[2];
        let read = fs::read_to_string(&config).unwrap();
        assert!(read.contains(secret.split('\'').next().unwrap()), "{read}");
        assert_eq!(fs::metadata(config).unwrap().mode() & 0o037, 0);

        // A client that stays does not keep the server.
        let stopped = Reactor::new().unwrap().block_on(async {
            let _client = private::client(&server).await;
            server.stop(&NEVER)
        });
        stopped.unwrap().unwrap();
        assert!(!is_running(pid) && !dir.ancestors().nth(2).unwrap().exists());
        let kept = fs::read_to_string(keep.path().join(name)).unwrap();
        assert!(study.kept.iter().all(|line| kept.contains(line)), "{kept}");
        let log = fs::read_to_string(keep.path().join("error.log")).unwrap();
        assert!(log.to_lowercase().contains(study.last_words), "{log}");
    }
}

#[test]
fn what_is_not_set_has_room_for_every_user() {
    for engine in BOTH {
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let server = start(&home, engine, &[], keep.path()).unwrap();
        assert_eq!(value(&server, "SELECT @@max_connections"), "1000");
        let files: u64 = value(&server, "SELECT @@open_files_limit").parse().unwrap();
        assert!(files > 2000, "{files}");
        let pool: u64 = value(&server, "SELECT @@innodb_buffer_pool_size")
            .parse()
            .unwrap();
        assert_eq!(pool, 128 << 20);
    }
}

/// The first seconds of a server's counters and of its log are the load's alone.
#[test]
fn waiting_for_a_server_leaves_no_aborted_connection() {
    for engine in BOTH {
        let dir = open_dir();
        // A socket's path stands in a URL on the way.
        let root = dir.path().join("a+b=%41");
        let account = servers::account().unwrap();
        let home = machine::home::Home::open_in(&root, u64::MAX, account).unwrap();
        let server = start(&home, engine, &[], dir.path()).unwrap();
        for counter in ["Aborted_connects", "Aborted_clients"] {
            let rows = sql(&server, &format!("SHOW GLOBAL STATUS LIKE '{counter}'")).unwrap();
            assert_eq!(rows[0][1].as_deref(), Some("0"), "{engine} {counter}");
        }
    }
}

#[test]
fn two_servers_run_side_by_side() {
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let start = |name: &str| start(&home, MARIADB, &[], &keep.path().join(name)).unwrap();
    let (one, two) = (start("1"), start("2"));
    assert_ne!(one.port(), two.port());
    sql(&one, "CREATE TABLE here (a INT)").unwrap();
    assert!(sql(&two, "SELECT * FROM here").is_err());
    drop(one);
    assert_eq!(value(&two, "SELECT 1"), "1");
}

/// A setting that is refused, and the server's words about it.
type Refused = (&'static str, &'static str, &'static str);

const REFUSED_BY_MYSQL: [Refused; 5] = [
    ("no_such_option", "1", "unknown variable 'no_such_option=1'"),
    (
        "innodb_flush_method",
        "bogus",
        "value 'bogus' to 'innodb-flush-method'",
    ),
    ("innodb_buffer_pool_size", "12X", "Unknown suffix 'X'"),
    ("sql_mode", "BOGUS", "value 'BOGUS' to 'sql_mode'"),
    ("collation_connection", "klingon", "collation_connection"),
];
const REFUSED_BY_POSTGRES: [Refused; 7] = [
    (
        "no_such_option",
        "1",
        "unrecognized configuration parameter \"no_such_option\"",
    ),
    (
        "shared_buffers",
        "12X",
        "invalid value for parameter \"shared_buffers\": \"12X\"",
    ),
    (
        "Work_Mem",
        "1kB",
        "is outside the valid range for parameter \"Work_Mem\"",
    ),
    (
        "wal_level",
        "bogus",
        "invalid value for parameter \"wal_level\": \"bogus\"",
    ),
    ("block_size", "8192", "\"block_size\" cannot be changed"),
    // A combination that the server rejects.
    (
        "superuser_reserved_connections",
        "200",
        "superuser_reserved_connections",
    ),
    (
        "shared_preload_libraries",
        "no_such_library",
        "no_such_library",
    ),
];

#[test]
fn a_setting_that_is_refused_is_told_in_the_servers_words() {
    for engine in ALL {
        let cases: &[Refused] = match engine == POSTGRES {
            true => &REFUSED_BY_POSTGRES,
            false => &REFUSED_BY_MYSQL,
        };
        for (name, given, words) in cases {
            let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
            let settings = [(*name, *given), ("max_connections", "99")];
            let error = start(&home, engine, &settings, keep.path()).unwrap_err();
            assert_eq!(
                error.key,
                Some(format!("server.config.{name}")),
                "{engine}: {error}"
            );
            assert!(error.message.contains(words), "{engine}: {error}");
            assert!(error.remedy.as_deref().unwrap().contains("server.config"));
            assert!(keep.path().join("error.log").exists());
        }
    }
}

#[test]
fn a_value_that_the_server_corrects_is_noted() {
    for engine in BOTH {
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let settings = [("innodb_flush_log_at_trx_commit", "7")];
        let server = start(&home, engine, &settings, keep.path()).unwrap();
        let notes = server.notes().join("\n");
        assert!(notes.contains("unsigned value 7 adjusted to"), "{notes}");
    }
}

#[test]
fn a_taken_port_says_by_whom() {
    for engine in [MARIADB, POSTGRES] {
        check_taken_port(engine);
    }
}

fn check_taken_port(engine: &'static dyn Server) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let installed = installed(engine);
    let start = |data| start_on(data, &installed, &[], Some(port), keep.path());
    let error = start(empty_data(&home, &installed)).unwrap_err();
    let text = error.to_string();
    let by = format!("(process {})", std::process::id());
    assert!(
        text.contains(&format!("port {port} is taken by")) && text.contains(&by),
        "{text}"
    );
    assert!(error.remedy.as_deref().unwrap().contains("server.port"));

    drop(listener);
    let server = start(empty_data(&home, &installed)).unwrap();
    assert_eq!(server.port(), port);
    let error = start(empty_data(&home, &installed)).unwrap_err();
    let by = format!("(process {})", server.pid().unwrap());
    assert!(error.to_string().contains(&by), "{error}");
}

#[test]
fn engines_are_found_and_other_versions_are_refused() {
    for engine in ALL {
        let found = installed(engine);
        let (first, _) = found.version.split_once('.').unwrap();
        assert_eq!(servers::find(engine, None, Some(first)).unwrap(), found);
        let error = servers::find(engine, None, Some("5.1")).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("requires {engine} 5.1")), "{text}");
        assert!(text.contains(&found.version), "{text}");
        assert!(error.remedy.as_deref().unwrap().contains("server.basedir"));
    }
    // The one that scripts/install-servers.sh made is a base directory too.
    let prefix = installed(MYSQL);
    let prefix = prefix.program.parent().unwrap().parent().unwrap();
    servers::find(MYSQL, Some(prefix), Some("9")).unwrap();
    assert!(servers::find(MARIADB, Some(prefix), None).is_err());
    servers::find(MARIADB, Some("/usr".as_ref()), None).unwrap();
}

#[test]
fn a_base_directory_is_used_to_the_end() {
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let installed = servers::find(MARIADB, Some("/usr".as_ref()), None).unwrap();
    let data = empty_data(&home, &installed);
    let server = start_on(data, &installed, &[], None, keep.path()).unwrap();
    assert_eq!(
        value(&server, "SELECT @@basedir").trim_end_matches('/'),
        "/usr"
    );
}

#[test]
fn a_server_that_dies_at_its_start_shows_its_last_words() {
    for engine in ALL {
        let (damaged, words) = match engine == POSTGRES {
            true => ("PG_VERSION", "PG_VERSION"),
            false => ("ibdata1", "InnoDB"),
        };
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let installed = installed(engine);
        let data = empty_data(&home, &installed);
        fs::write(data.data().join(damaged), [1; 100]).unwrap();
        let error = start_on(data, &installed, &[], None, keep.path()).unwrap_err();
        let text = error.to_string();
        assert!(error.is(Fact::NotStarted), "{text}");
        assert!(
            text.contains("server 1") && text.contains("exit code"),
            "{text}"
        );
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_server_that_dies_while_it_runs_is_noticed_and_can_start_again() {
    for engine in ALL {
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let mut server = start(&home, engine, &[], keep.path()).unwrap();
        assert_eq!(server.exited(), None);
        sql(&server, "CREATE TABLE t (a INT)").unwrap();
        let busy = (engine == POSTGRES).then(|| private::keep_busy(&server));
        let id = server.pid().unwrap();
        let pid = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        let how = server.died(true).unwrap();
        assert!(how.contains("was killed by signal 9"), "{how}");
        assert!(how.contains("ready"), "{how}");
        assert_eq!(server.exited(), Some(how));

        server.restart(&NEVER).unwrap();
        assert_eq!(private::shared_memory(id), 0, "{engine}");
        assert!(busy.is_none_or(|busy| busy.join().is_ok()));
        assert_eq!(value(&server, "SELECT COUNT(*) FROM t"), "0");
        let id = server.pid().unwrap();
        let busy = (engine == POSTGRES).then(|| private::keep_busy(&server));
        server.kill();
        assert!(busy.is_none_or(|busy| busy.join().is_ok()));
        assert_eq!(private::shared_memory(id), 0, "{engine}");
        assert_eq!(server.pid(), None);
        assert!(server.exited().unwrap().contains("killed by dyno"));
        server.stop(&NEVER).unwrap();
    }
}

#[test]
fn who_has_had_enough_does_not_wait_for_a_server_to_stop() {
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let server = start(&home, MARIADB, &[], keep.path()).unwrap();
    let id = server.pid().unwrap();
    let pid = Pid::from_raw(id.cast_signed()).unwrap();
    // It hears of nothing any more.
    kill_process(pid, Signal::STOP).unwrap();
    let stopped = server.stop(&AtomicBool::new(true));
    assert!(
        stopped.as_ref().is_err_and(Failure::is_interrupted),
        "{stopped:?}"
    );
    assert!(!is_running(id));
}

#[test]
fn what_dyno_decides_is_not_the_studys() {
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let error = start(
        &home,
        MARIADB,
        &[("datadir", "/var/lib/mysql")],
        keep.path(),
    );
    let error = error.unwrap_err();
    private::assert_key(&error, "server.config.datadir");
}

#[test]
fn the_user_can_stop_a_start() {
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let installed = installed(MARIADB);
    let data = empty_data(&home, &installed);
    let dir = data.data();
    let spec = private::on_site(Arc::new(ThisHost::default()), keep.path());
    let stopped = servers::start(&installed, spec, data, &AtomicBool::new(true));
    assert!(stopped.as_ref().is_err_and(Failure::is_interrupted));
    assert!(!dir.exists());
}

#[test]
fn settings_of_the_files_form_make_other_templates() {
    for (engine, settings, question, answer) in [
        (
            POSTGRES,
            vec![("data_checksums", "on"), ("Wal_Segment_Size", "1MB")],
            "SELECT current_setting('data_checksums') || current_setting('wal_segment_size')",
            "on1MB",
        ),
        (
            MARIADB,
            vec![
                ("innodb_page_size", "8192"),
                ("innodb-undo-tablespaces", "3"),
            ],
            "SELECT @@innodb_page_size",
            "8192",
        ),
        (
            MYSQL,
            vec![
                ("innodb-page-size", "8192"),
                ("lower_case_table_names", "1"),
            ],
            "SELECT @@innodb_page_size",
            "8192",
        ),
    ] {
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let (installed, settings) = (installed(engine), config(&settings));
        let data = empty(&home, &installed, &settings).copy(1).unwrap().0;
        let server = start_on(data, &installed, &settings, None, keep.path()).unwrap();
        assert_eq!(value(&server, question), answer);
    }
}

/// Somebody else's program that calls itself a server: it never answers, and ends with dyno.
#[test]
fn a_program_that_is_no_server_is_no_server() {
    let dir = open_dir();
    fs::create_dir(dir.path().join("bin")).unwrap();
    let program = dir.path().join("bin/mariadbd");
    let text = "#!/bin/sh\ncase \"$*\" in *--version*) echo 'x Ver 10.11.1-MariaDB for x';; \
                *) echo 'no such thing' >&2; exit 3;; esac\n";
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let impostor = servers::find(MARIADB, Some(dir.path()), None).unwrap();
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let data = empty_data(&home, &installed(MARIADB));
    let error = start_on(data, &impostor, &[], None, keep.path()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("exit code 3") && text.contains("no such thing"),
        "{text}"
    );
}

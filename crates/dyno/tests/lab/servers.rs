//! Servers that are not there, do not start, or die in the middle: a study says so in
//! the server's own words, and goes on with the next trial.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;

use crate::common::{Cache, Finished, Program, each, kill_server, trial_dir};
use measure::instance::{NodeEventKind, ResetHow};
use measure::setup::Outcome;
use measure::summary::TrialSummary;

const USAGE: i32 = 2;
const SERVER: i32 = 3;

/// A study of one short trial, with these lines more.
fn study(server: &str, rest: &str) -> Program {
    let program = Program::study(&format!(
        "title = \"t\"\n[data]\nrows = 100\n[load]\nworkload = \"oltp_point_select\"\n\
         warmup = \"0s\"\ntime = \"1s\"\n[server]\n{server}\n{rest}\n"
    ));
    program.args("--set load.think=20ms")
}

/// How each trial ended: `None` if it is whole.
fn reasons(done: &Finished) -> Vec<Option<String>> {
    let reason = |outcome| match outcome {
        Outcome::Completed => None,
        Outcome::Failed { reason } => Some(reason),
        other => panic!("{other:?}"),
    };
    let trials = done.result().trials.into_iter();
    trials.map(|trial| reason(trial.outcome)).collect()
}

/// The second of these trials failed for this reason, and the third was run.
#[track_caller]
fn only_the_second_failed(done: &Finished, words: &[&str]) {
    let reasons = reasons(done);
    let [None, Some(reason), None] = &reasons[..] else {
        panic!("{reasons:?}\n{done}");
    };
    let missing = words.iter().find(|word| !reason.contains(**word));
    assert_eq!(missing, None, "{reason}");
    let page = done.file("report.html");
    assert!(
        page.contains(words[0]),
        "the report tells of the failed trial"
    );
}

#[test]
fn a_server_that_is_not_installed() {
    let place = tempfile::tempdir().unwrap();
    let empty = place.path().display().to_string();
    for (engine, package) in [
        ("mariadb", "mariadb-server"),
        ("mysql", "mysql-server-core"),
        ("postgres", "package postgresql"),
    ] {
        let server = format!("engine = \"{engine}\"\nbasedir = \"{empty}\"");
        let texts = ["study.toml:10:11", &empty, package, "install-servers.sh"];
        study(&server, "").fails(SERVER, &texts);
    }
    // MySQL stands nowhere but where the script has put it.
    std::os::unix::fs::symlink("/usr/bin/setpriv", place.path().join("setpriv")).unwrap();
    let program = study("engine = \"mysql\"", "").env("DYNO_SERVERS", &empty);
    let texts = ["no MySQL server was found", "on PATH", "mysql-server-core"];
    program.env("PATH", &empty).fails(SERVER, &texts);
}

#[test]
fn a_server_of_another_version() {
    let done = study("engine = \"mariadb\"\nversion = \"9.1\"", "").run();
    let done = done.fails(SERVER, &["study.toml:10:11", "MariaDB 9.1", "found only 1"]);
    assert!(!done.out().exists());
}

#[test]
fn a_setting_that_the_server_refuses_stops_the_run_before_its_first_trial() {
    let misspelled = "[[variant]]\nname = \"one\"\n\
        [[variant]]\nname = \"two\"\nserver.config.innodb_bufer_pool_sise = \"64M\"\n\
        [[variant]]\nname = \"three\"\n";
    let swept = "[sweep]\n\"server.config.binlog_format\" = [\"ROW\", \"NONSENSE\"]\n";
    let did_you_mean = "did you mean `innodb_buffer_pool_size`?";
    let cases = [
        (
            misspelled,
            "14:40",
            "unknown variable 'innodb_bufer_pool_sise=64M'",
            did_you_mean,
        ),
        (
            swept,
            "11:41",
            "value 'NONSENSE' to 'binlog_format'",
            "server.config",
        ),
    ];
    let misspelled = "[[variant]]\nname = \"one\"\n\
        [[variant]]\nname = \"two\"\nserver.config.shared_bufers = \"64MB\"\n";
    let swept =
        |other: &str| format!("[sweep]\n\"server.config.wal_level\" = [\"replica\", {other:?}]\n");
    let (unknown, other) = (swept("NONSENSE"), swept("minimal"));
    let unrecognized = "unrecognized configuration parameter \"shared_bufers\"";
    let invalid = "invalid value for parameter \"wal_level\": \"NONSENSE\"";
    let senders = "(max_wal_senders > 0) requires wal_level";
    let of_postgres = [
        (
            misspelled,
            "14:31",
            unrecognized,
            "did you mean `shared_buffers`?",
        ),
        (&unknown, "11:41", invalid, "server.config"),
        (&other, "11:41", senders, "server.config"),
    ];
    for (engine, cases) in [
        ("mariadb", &cases[..]),
        ("mysql", &cases),
        ("postgres", &of_postgres),
    ] {
        let place = Cache::new();
        for (rest, at, words, help) in cases {
            let server = format!("engine = \"{engine}\"");
            let done = study(&server, rest).cache(&place).run();
            let done = done.fails(USAGE, &[&format!("study.toml:{at}"), words, help]);
            assert!(!done.out().exists(), "{done}");
            assert!(!done.stderr.contains("data:"), "{done}");
            // A plan starts nothing, so it leaves that to the run.
            let plan = Program::new()
                .arg("plan")
                .arg(done.dir().join("study.toml"));
            let plan = plan.cache(&place).succeeds();
            plan.prints(&["server.config: dyno run checks it"]);
        }
        place.assert_nothing_left();
        assert!(place.templates().is_empty(), "no data was built");
    }
    let refused = study("engine = \"mariadb\"", "config.datadir = \"/tmp\"").run();
    let texts = ["study.toml:10:8", "datadir", "a directory of its own"];
    refused.fails(USAGE, &texts);
}

#[test]
fn a_setting_that_the_server_does_not_know_any_more_is_noted_once() {
    let config = "engine = \"mariadb\"\nconfig = { loose_innodb_buffer_pool_instances = 8 }";
    let done = study(config, "[topology]\ninstances = 2").succeeds();
    let note = "'innodb-buffer-pool-instances' was removed";
    assert_eq!(done.stderr.matches(note).count(), 1, "{done}");
}

/// A free port, and the one after it, taken.
fn neighbors() -> (u16, TcpListener) {
    let mut pairs = (0..1000).filter_map(|_| {
        let port = machine::port::free(Ipv4Addr::LOCALHOST).unwrap();
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port + 1)).ok()?;
        Some((port, taken))
    });
    pairs.next().expect("two free ports side by side")
}

#[test]
fn a_port_that_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let own = format!("(process {})", std::process::id());
    let done = study(&format!("engine = \"mariadb\"\nport = {port}"), "").run();
    let text = format!("port {port} is taken");
    let texts = ["study.toml:10:8", &text, &own, "remove server.port"];
    done.fails(SERVER, &texts);
    // The server before it has started by then.
    let (first, taken) = neighbors();
    let port = taken.local_addr().unwrap().port();
    let text = format!("port {port} is taken");
    let place = Cache::kept();
    let server = format!("engine = \"mariadb\"\nport = {first}");
    let done = study(&server, "[topology]\ninstances = 2").cache(&place);
    done.fails(SERVER, &["study.toml:10:8", &text]);
    place.assert_nothing_left();
}

/// A program that is a server but for the trial whose settings tell it to die.
fn mortal() -> tempfile::TempDir {
    let found = lab::servers::find(engine::MARIADB, None, None).unwrap();
    let dir = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir()
        .unwrap();
    let program = dir.path().join("mariadbd");
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in --defaults-file=*)\n\
         if grep -qs ^loose_die \"${{1#*=}}\"; then\n\
         echo '2026-01-01 [ERROR] the disk hangs upside down' >&2; exit 7\nfi;;\nesac\n\
         exec {} \"$@\"\n",
        found.program.display()
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

/// With the others run, of which each repeat of it would fail in the same way.
#[test]
fn a_server_that_dies_at_its_start_is_not_started_again() {
    let bin = mortal();
    let path = std::env::var("PATH").unwrap();
    let variants = "[[variant]]\nname = \"one\"\n\
        [[variant]]\nname = \"two\"\nserver.config.loose_die = 1\n\
        [[variant]]\nname = \"three\"\n";
    let done = study("engine = \"mariadb\"", variants)
        .args("--set load.repeats=2 --set load.order=written")
        .env("PATH", format!("{}:{path}", bin.path().display()))
        .run();
    let words = ["server 1", "exit code 7", "the disk hangs upside down"];
    let done = done.fails(SERVER, &words);
    done.tells(&["note: trial 5 is skipped"]);
    assert_eq!(done.stderr.matches("upside down").count(), 2, "{done}");
    let log = done.kept(2, "1/error.log");
    assert!(log.contains("upside down"), "{log}");
    assert!(done.file("report.html").contains(words[0]));
    let [first, failed, others @ ..] = &reasons(&done)[..] else {
        panic!("{done}")
    };
    let reason = failed.as_ref().unwrap();
    assert!(words.iter().all(|word| reason.contains(word)), "{reason}");
    assert!(first.is_none() && others.iter().all(Option::is_none));
    let numbers = done.result().trials.into_iter();
    let numbers: Vec<u32> = numbers.map(|trial| trial.setup.planned.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 6]);
}

/// Three trials, of which the second lasts until its server dies.
const SECOND_NEVER_ENDS: &str = "[sweep]\n\"load.time\" = [\"500ms\", \"1h\", \"600ms\"]\n";

#[test]
fn a_server_that_is_killed_in_the_middle_of_a_trial() {
    std::thread::scope(|scope| {
        scope.spawn(|| kill_in_the_middle("mariadb", "my.cnf", "ready for connections"));
        let (config, ready) = ("postgresql.conf", "ready to accept connections");
        kill_in_the_middle("postgres", config, ready);
    });
}

fn kill_in_the_middle(engine: &str, config: &str, ready: &str) {
    let place = Cache::kept();
    let rest = format!("[topology]\ninstances = 2\n{SECOND_NEVER_ENDS}");
    let program = study(&format!("engine = \"{engine}\""), &rest);
    let mut dyno = program.cache(&place).start();
    dyno.comes_to_second(2, "measure");
    kill_server(&place, 2);
    let words = ["server 2", "was killed by signal 9", ready];
    let done = dyno.wait().fails(SERVER, &words);
    only_the_second_failed(&done, &words);
    // What it gave until then is kept.
    let dir = trial_dir(&done.out(), 2).unwrap();
    let trial = store::read_trial(&dir).unwrap().unwrap();
    assert!(trial.transactions.count > 0);
    let [death] = each(&trial.events);
    assert_eq!((death.node, death.what), (2, NodeEventKind::Died));
    assert!(
        death.at_s > 0.0 && death.reason.contains("signal 9"),
        "{death:?}"
    );
    assert!(!store::read_series(&dir, usize::MAX).unwrap().is_empty());
    for name in [config, "error.log"] {
        assert!(dir.join("servers/2").join(name).exists(), "{name}");
    }
    place.assert_nothing_left();
}

#[test]
fn no_trial_goes_on_with_what_a_dead_server_left() {
    let place = Cache::kept();
    let server = "engine = \"mariadb\"\nreset = \"none\"";
    let mut dyno = study(server, SECOND_NEVER_ENDS).cache(&place).start();
    dyno.comes_to_second(2, "measure");
    kill_server(&place, 1);
    let words = ["server 1", "was killed by signal 9"];
    let done = dyno.wait().fails(SERVER, &words);
    done.tells(&["note: trial 3 starts with a new copy of the data"]);
    only_the_second_failed(&done, &words);
    let trials = done.result().trials.into_iter();
    let resets = trials.map(|trial| trial.reset.unwrap());
    let resets = resets.map(|reset| (reset.how, reset.settle_s.is_some()));
    let expected = [(ResetHow::Kept, false), (ResetHow::Copied, true)];
    assert_eq!(resets.collect::<Vec<_>>()[1..], expected);
    place.assert_nothing_left();
}

#[test]
fn no_trial_goes_on_with_tables_of_another_kind() {
    let server = "engine = \"mariadb\"\nreset = \"none\"\ncold_data = false";
    let rest = "[sweep]\n\"data.storage_engine\" = [\"innodb\", \"myisam\"]\n";
    let trials = study(server, rest).run_alone().succeeds().result().trials;
    let is_kept = |trial: &TrialSummary| trial.reset.as_ref().unwrap().how == ResetHow::Kept;
    assert!(trials.len() == 2 && !trials.iter().any(is_kept));
}

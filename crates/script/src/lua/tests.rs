//! Scripts against a load that answers requests without a database.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use workload::program::{Answer, Request};
use workload::session::{FailureKind, Param, Reply, Rows, SessionError};

use super::*;

mod interface;
mod statements;

/// What takes the text that a script prints, and where it puts it.
fn capture() -> (Print, Arc<Mutex<String>>) {
    let printed = Arc::<Mutex<String>>::default();
    let text = Arc::clone(&printed);
    let print = move |more: &str| text.lock().unwrap().push_str(more);
    (Arc::new(print), printed)
}

/// What was printed since the last time.
fn take(printed: &Mutex<String>) -> String {
    std::mem::take(&mut *printed.lock().unwrap())
}

/// What answers the requests of a script.
#[derive(Default)]
struct Server {
    /// The requests since the last look.
    log: Vec<String>,
    opened: u32,
    prepared: u32,
    /// How the statement begins that fails, once, and how.
    failing: Option<(&'static str, SessionError)>,
    rows: Rows,
}

enum Event {
    Replied(Reply, Rows),
    Opened(u32),
    Continued,
    Failed(SessionError),
}

impl Server {
    /// Resumes a program until it has done what `begin` asks for; returns how that ended.
    fn run(&mut self, program: &mut Box<dyn Program>, begin: Answer<'static>) -> String {
        let mut request = program.resume(begin);
        loop {
            let mut event = match request {
                Request::Fail(message) => return message.to_owned(),
                Request::Ready => return "Ready".to_owned(),
                Request::Done { .. } => return "Done".to_owned(),
                Request::Last => return "Last".to_owned(),
                Request::Restart => return "Restart".to_owned(),
                other => self.serve(other),
            };
            request = program.resume(match &mut event {
                Event::Replied(reply, rows) => Answer::Replied {
                    reply: *reply,
                    rows,
                },
                Event::Opened(number) => Answer::Opened(*number),
                Event::Continued => Answer::Continued,
                Event::Failed(error) => Answer::Failed(error),
            });
        }
    }

    fn serve(&mut self, request: Request<'_>) -> Event {
        let reply = |rows| Reply {
            has_result: rows > 0,
            rows,
            affected: if rows > 0 { 0 } else { 3 },
        };
        let (line, event) = match request {
            Request::Run {
                connection,
                sql,
                wants_rows,
            } => {
                let wants_rows = wants_rows && sql.to_lowercase().contains("select");
                let failing = self.failing.take_if(|(text, _)| sql.starts_with(*text));
                let rows = if wants_rows {
                    self.rows.clone()
                } else {
                    Rows::default()
                };
                let replied = Event::Replied(reply(u64::from(wants_rows) * 2), rows);
                let event = failing.map_or(replied, |(_, error)| Event::Failed(error));
                (format!("{connection}: {sql}"), event)
            }
            Request::Execute {
                connection,
                statement,
                params,
            } => {
                let sql = format!("#{statement} {params:?}");
                let failing = self.failing.take_if(|(text, _)| sql.starts_with(*text));
                let replied = Event::Replied(reply(0), Rows::default());
                let event = failing.map_or(replied, |(_, error)| Event::Failed(error));
                (format!("{connection}: {sql}"), event)
            }
            Request::Prepare { connection, sql } => {
                self.prepared += 1;
                let line = format!("{connection}: prepare {sql}");
                (line, Event::Opened(self.prepared - 1))
            }
            Request::Open => {
                self.opened += 1;
                ("open".to_owned(), Event::Opened(self.opened - 1))
            }
            other => (format!("{other:?}"), Event::Continued),
        };
        self.log.push(line);
        event
    }

    /// The requests since the last look, one in a line.
    fn log(&mut self) -> String {
        std::mem::take(&mut self.log).join("\n")
    }
}

fn error(number: u32, kind: FailureKind) -> SessionError {
    SessionError {
        kind,
        sqlstate: Some(*b"40001"),
        number: Some(number),
        message: "no luck".to_owned(),
        statement: None,
    }
}

fn source(text: &str) -> Source {
    Source {
        name: "t.lua".to_owned(),
        text: text.to_owned(),
        search_dirs: vec![std::env::temp_dir()],
    }
}

/// A script, and what it prints.
fn script(text: &str, mode: Mode) -> (Arc<LuaScript>, Arc<Mutex<String>>) {
    let (print, printed) = capture();
    let options = [
        ("n", Value::Number(5.0)),
        ("word", Value::Text("x".into())),
        ("list", Value::List(vec!["a".to_owned(), "b".to_owned()])),
    ];
    let settings = Settings {
        options: options.map(|(name, value)| (name.to_owned(), value)).into(),
        driver: "mysql".to_owned(),
        ignored_errors: vec!["1213".to_owned()],
        version: "1.0.20",
        print: Some(print),
        ..Settings::default()
    };
    (LuaScript::new(source(text), settings, mode), printed)
}

/// The first user of a script.
fn user(script: &LuaScript) -> Box<dyn Program> {
    script.programs(0..1).unwrap().remove(0)
}

/// Runs the start, one transaction and the end; returns how the transaction ended, the requests and
/// what was printed.
fn run(text: &str, mode: Mode) -> (String, String, String) {
    let (script, printed) = script(text, mode);
    let (mut server, mut user) = (Server::default(), user(&script));
    let mut end = server.run(&mut user, Answer::Start);
    if end == "Ready" {
        end = server.run(&mut user, Answer::Transaction);
    }
    if end == "Done" {
        assert_eq!(server.run(&mut user, Answer::Finish), "Ready");
    }
    (end, server.log(), take(&printed))
}

const LIFE: &str = "
print(sysbench.tid, sysbench.opt.n)
function thread_init(tid)
  con = sysbench.sql.driver():connect()
  print(tid, sysbench.opt.n, sysbench.opt.list[2], tostring(con))
end
function event(tid)
  count = (count or 0) + 1
  con:query('UPDATE t')
  return count == 2
end
function thread_done() con:disconnect() print(count) end
";

#[test]
fn a_user_starts_runs_events_and_ends_when_an_event_says_so() {
    let (script, printed) = script(LIFE, Mode::Coroutines);
    let mut users = script.programs(3..5).unwrap();
    let mut server = Server::default();
    for user in &mut users {
        assert_eq!(server.run(user, Answer::Start), "Ready");
        assert_eq!(server.log(), "open");
    }
    assert_eq!(
        take(&printed),
        "3\tnil\n3\t5\tb\t<sql_connection>\n4\tnil\n4\t5\tb\t<sql_connection>\n"
    );
    for (connection, user) in users.iter_mut().enumerate() {
        assert_eq!(server.run(user, Answer::Transaction), "Done");
        assert_eq!(server.run(user, Answer::Transaction), "Last");
        assert_eq!(server.run(user, Answer::Finish), "Ready");
        let update = format!("{connection}: UPDATE t");
        let close = format!("Close {{ connection: {connection} }}");
        assert_eq!(server.log(), [update.clone(), update, close].join("\n"));
    }
    assert_eq!(take(&printed), "2\n2\n");
}

const RESTARTS: &str = "
function thread_init() con = sysbench.sql.driver():connect() end
function event() tries = (tries or 0) + 1 con:query('BEGIN') con:query('UPDATE t') print(tries) end
function sysbench.hooks.before_restart_event(err) print(err.sql_errno, err.sql_state) end
";

#[test]
fn an_event_restarts_after_an_ignored_error() {
    let (script, printed) = script(RESTARTS, Mode::Coroutines);
    let (mut server, mut user) = (Server::default(), user(&script));
    server.run(&mut user, Answer::Start);
    server.failing = Some(("UPDATE", error(1213, FailureKind::Restart)));
    assert_eq!(server.run(&mut user, Answer::Transaction), "Restart");
    assert_eq!(server.run(&mut user, Answer::Transaction), "Done");
    assert_eq!(take(&printed), "1213\t40001\n2\n");
}

#[test]
fn an_error_that_is_not_ignored_is_told_with_its_place_and_one_traceback() {
    let (script, printed) = script(RESTARTS, Mode::Coroutines);
    let (mut server, mut user) = (Server::default(), user(&script));
    server.run(&mut user, Answer::Start);
    server.failing = Some(("UPDATE", error(1051, FailureKind::Refused)));
    let end = server.run(&mut user, Answer::Transaction);
    let begin = "`thread_run' function failed: t.lua:3: SQL error, errno = 1051, state = '40001': \
                 no luck\nstack traceback:";
    assert!(end.starts_with(begin), "{end}");
    assert_eq!(end.matches("stack traceback:").count(), 1, "{end}");
    // Only the script's own calls are in it.
    assert!(end.contains("\n\tt.lua:3: in function"), "{end}");
    assert!(
        !end.contains("\tsysbench:") && !end.contains("xpcall"),
        "{end}"
    );
    let fatal = "FATAL: mysql_drv_query() returned error 1051 (no luck) for query 'UPDATE t'\n";
    assert_eq!(take(&printed), fatal);
}

#[test]
fn a_script_catches_errors_itself() {
    let text = "
        function thread_init() con = sysbench.sql.driver():connect() end
        function event(tid)
          local ok, err = pcall(con.query, con, 'UPDATE t')
          ffi.C.sb_counter_inc(tid, ffi.C.SB_CNT_ERROR)
          con:query('ROLLBACK')
          if first == nil then first = false error(err) end
        end";
    let (script, _) = script(text, Mode::Coroutines);
    let (mut server, mut user) = (Server::default(), user(&script));
    server.run(&mut user, Answer::Start);
    server.failing = Some(("UPDATE", error(1213, FailureKind::Restart)));
    // The load does not repeat what the script has undone.
    assert_eq!(server.run(&mut user, Answer::Transaction), "Done");
    let log = "open\n0: UPDATE t\n0: ROLLBACK\n0: UPDATE t\n0: ROLLBACK";
    assert_eq!(server.log(), log);
    let [.., errors, _, drivers] = script.counters();
    assert_eq!(errors.load(Ordering::Relaxed), 2);
    assert_eq!(drivers.load(Ordering::Relaxed), 1);
}

#[test]
fn rows_stay_until_the_next_statement_of_their_connection() {
    let text = "
        function thread_init()
          a, b = sysbench.sql.driver():connect(), sysbench.sql.driver():connect()
        end
        function event()
          local rs = a:query(' select 1')
          print(b:query_row('SELECT 2'))
          ffi.C.usleep(1500)
          print(rs.nrows, rs.nfields, unpack(rs:fetch_row(), 1, 2))
          print(#rs:fetch_row(), rs:fetch_row(), rs:free(), pcall(rs.free, rs))
          a:query('UPDATE t')
          print(rs.nrows, rs:fetch_row())
        end";
    let (script, printed) = script(text, Mode::Coroutines);
    let (mut server, mut user) = (Server::default(), user(&script));
    let row = vec![Some("v".to_owned()), None];
    server.rows = Rows {
        columns: vec!["x".to_owned(), "y".to_owned()],
        rows: vec![row, vec![Some("w".to_owned()), Some("z".to_owned())]],
    };
    server.run(&mut user, Answer::Start);
    assert_eq!(server.run(&mut user, Answer::Transaction), "Done");
    let alert = "ALERT: attempt to free an invalid result set\n";
    let lines = "2\tnil\ttrue\tfalse\tdb_free_results() failed\n3\tnil\n";
    assert_eq!(
        take(&printed),
        format!("v\tnil\n2\t2\tv\tnil\n{alert}{lines}")
    );
    assert!(server.log().contains("Pause(1.5ms)"));
}

#[test]
fn own_coroutines_work_in_threads_and_so_does_an_own_thread_run() {
    let text = "
        function event() end
        function thread_run(tid)
          local con = sysbench.sql.driver():connect()
          while ffi.C.sb_more_events(tid) do
            ffi.C.sb_event_start(tid)
            local ids = coroutine.wrap(function()
              for i = 1, 2 do con:query('SELECT ' .. i) coroutine.yield(i) end
            end)
            print(ids(), ids())
            ffi.C.sb_event_stop(tid)
          end
        end";
    let (end, log, printed) = run(text, Mode::Threads);
    assert_eq!((end.as_str(), printed.as_str()), ("Done", "1\t2\n"));
    assert_eq!(log, "open\n0: SELECT 1\n0: SELECT 2");
    let (end, log, _) = run(text, Mode::Coroutines);
    assert!(end.starts_with("cannot suspend: "), "{end}");
    assert_eq!(log, "open");
}

#[test]
fn scripts_of_the_version_before_find_their_functions() {
    let text = "
        function thread_init() db_connect() end
        function event()
          db_query('BEGIN')
          local stmt, values = db_prepare('SELECT ?'), {1, 'a'}
          db_bind_param(stmt, values)
          values[1] = n
          db_free_results(db_execute(stmt))
          db_bulk_insert_init('INSERT INTO ' .. word .. ' VALUES')
          db_bulk_insert_next('(1)') db_bulk_insert_next('(2)') db_bulk_insert_done()
          print(thread_id, test, db_driver, sb_rand(3, 3), sb_rand_str('x@#') ~= 'x@#')
          db_disconnect()
        end";
    let (end, log, printed) = run(text, Mode::Coroutines);
    assert_eq!(
        (end.as_str(), printed.as_str()),
        ("Done", "0\tt.lua\tmysql\t3\ttrue\n")
    );
    let params = [Param::Int(5), Param::Text(b"a")];
    let execute = format!("0: #0 {params:?}");
    let insert = "0: INSERT INTO x VALUES(1),(2)\nClose { connection: 0 }";
    assert_eq!(
        log,
        format!("open\n0: BEGIN\n0: prepare SELECT ?\n{execute}\n{insert}")
    );
}

#[test]
fn a_neighbor_is_loaded_once_for_each_user() {
    let name = format!("dyno_neighbor_{}", std::process::id());
    let path = std::env::temp_dir().join(format!("{name}.lua"));
    std::fs::write(&path, "loads = (loads or 0) + 1 return {loads = loads}").unwrap();
    let event = format!("function event() print(loads, require('{name}').loads) end");
    let text = format!("require('{name}') {event}");
    let (script, printed) = script(&text, Mode::Coroutines);
    let mut server = Server::default();
    for mut user in script.programs(0..2).unwrap() {
        assert_eq!(server.run(&mut user, Answer::Start), "Ready");
        server.run(&mut user, Answer::Transaction);
    }
    std::fs::remove_file(path).unwrap();
    assert_eq!(take(&printed), "1\t1\n1\t1\n");
}

#[test]
fn users_share_options_and_change_them_for_themselves() {
    let text = "
        sysbench.cmdline.options = {n = {'A number', 1}}
        function event(tid)
          print(sysbench.opt.n, sysbench.cmdline.options.n[1])
          sysbench.opt.n = tid
        end";
    let (script, printed) = script(text, Mode::Coroutines);
    let mut server = Server::default();
    for mut user in script.programs(0..2).unwrap() {
        assert_eq!(server.run(&mut user, Answer::Start), "Ready");
        server.run(&mut user, Answer::Transaction);
    }
    assert_eq!(take(&printed), "5\tA number\n5\tA number\n");
}

#[test]
fn waits_in_functions_that_c_code_calls_need_threads() {
    let text = "
        function event()
          local con = sysbench.sql.driver():connect()
          pcall(string.gsub, 'a', 'a', function() con:query('SELECT 1') end)
          con:query('COMMIT')
        end";
    let (end, log, _) = run(text, Mode::Coroutines);
    assert!(end.starts_with("cannot suspend: "), "{end}");
    assert_eq!(log, "open");
    let (end, log, _) = run(text, Mode::Threads);
    assert_eq!(
        (end.as_str(), log.as_str()),
        ("Done", "open\n0: SELECT 1\n0: COMMIT")
    );
}

#[test]
fn a_script_can_begin_again_after_whatever_a_load_repeats() {
    let (script, _) = script(RESTARTS, Mode::Coroutines);
    let script = script.anew(|settings| {
        settings.ignored_errors = vec![super::RESTARTS.to_owned()];
        settings.print = None;
    });
    for (kind, is_repeated) in [
        (FailureKind::Restart, true),
        (FailureKind::Lost, true),
        (FailureKind::Refused, false),
    ] {
        let (mut server, mut user) = (Server::default(), user(&script));
        server.run(&mut user, Answer::Start);
        server.failing = Some(("UPDATE", error(7, kind)));
        let end = server.run(&mut user, Answer::Transaction);
        assert_eq!(end == "Restart", is_repeated, "{end}");
    }
}

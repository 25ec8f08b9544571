//! Scripts of the user's own.

use rustix::process::Signal;

use crate::common::{
    Finished, Program, Served, SmallDisk, database, mariadb, postgres, wait_until,
};
use crate::{address, number, sysbench};

/// `dyno sysbench` with a script in its directory.
fn script(text: &str, words: &str) -> Program {
    let program = sysbench(&format!("own.lua {words}"));
    std::fs::write(program.dir().join("own.lua"), text).unwrap();
    program
}

const COUNTER: &str = r#"
sysbench.cmdline.options = {
  rows = {"Rows of each user", 10},
  note = {"What done prints", "bye"},
}
sysbench.cmdline.commands = {prepare = {function() fill() end, sysbench.cmdline.PARALLEL_COMMAND}}
local con
local function connect() con = con or sysbench.sql.driver():connect() end
function fill()
  connect()
  local t = "own" .. sysbench.tid
  con:query("CREATE TABLE " .. t .. " (id INTEGER NOT NULL PRIMARY KEY, n INTEGER)")
  con:bulk_insert_init("INSERT INTO " .. t .. " VALUES ")
  for i = 1, sysbench.opt.rows do con:bulk_insert_next(("(%d, 0)"):format(i)) end
  con:bulk_insert_done()
end
function init() print("init " .. sysbench.opt.rows) end
function thread_init() connect() end
function event(tid)
  local id = sysbench.rand.uniform(1, sysbench.opt.rows)
  con:query(("UPDATE own%d SET n = n + 1 WHERE id = %d"):format(tid, id))
  local n = con:query_row(("SELECT n FROM own%d WHERE id = %d"):format(tid, id))
  assert(tonumber(n) > 0)
end
function done() print(sysbench.opt.note) end
function cleanup()
  connect()
  for tid = 0, sysbench.opt.threads - 1 do con:query("DROP TABLE own" .. tid) end
end
"#;

#[test]
fn a_script_lives_its_whole_life() {
    lives(&*mariadb());
    lives(&*postgres());
}

fn lives(server: &impl Served) {
    database(server, "lives");
    let options = format!(
        "{} --threads=3 --rows=20 --events=90",
        address(server, "lives")
    );
    let command = |words: &str| script(COUNTER, &format!("{options} {words}")).succeeds();
    command("prepare").prints(&["Initializing worker threads..."]);
    let run = command("--note=farewell run");
    run.prints(&["init 20", "farewell"]);
    let report = &run.stdout;
    assert!(
        report.find("init 20") < report.find("Running the test"),
        "{run}"
    );
    assert!(
        report.find("Threads fairness:") < report.find("farewell"),
        "{run}"
    );
    let counts = ["read:", "write:", "other:", "transactions:"].map(|label| number(report, label));
    assert_eq!(counts, [90.0, 90.0, 0.0, 90.0]);
    let sum = "SELECT SUM(n) FROM (SELECT n FROM own0 UNION ALL SELECT n FROM own1 \
               UNION ALL SELECT n FROM own2) t";
    assert_eq!(server.sql_in("lives", sum).concat(), ["90"]);
    command("cleanup");
    let left = "SELECT COUNT(*) FROM information_schema.tables \
                WHERE table_schema IN ('lives', 'public')";
    assert_eq!(server.sql_in("lives", left).concat(), ["0"]);
}

#[test]
fn hooks_replace_reports() {
    let text = "function event() end
        function sysbench.hooks.report_intermediate(stat) sysbench.report_csv(stat) end
        function sysbench.hooks.report_cumulative(stat) print('events ' .. stat.events) end";
    let done = script(text, "--report-interval=1 --time=2 --rate=50 run").succeeds();
    let csv = |line: &&str| line.split(',').count() == 10;
    assert!(
        (1..=2).contains(&done.stdout.lines().filter(csv).count()),
        "{done}"
    );
    assert!(number(&done.stdout, "events ") > 0.0);
    assert!(!done.stdout.contains("General statistics:"), "{done}");
}

#[test]
fn mistakes_have_their_place_once() {
    let said = |text: &str, words: &str| script(text, words).fails(1, &[]);
    let syntax = said("function event(\nend", "run");
    syntax.prints(&["FATAL: ", "own.lua:2:"]);
    let failing = "function event()\n  local t = nil\n  return t.x\nend";
    let runtime = said(failing, "--threads=4 run");
    runtime.prints(&["`thread_run' function failed: ", "own.lua:3:"]);
    let count = |done: &Finished, text: &str| done.stdout.matches(text).count();
    assert_eq!(count(&runtime, "stack traceback:"), 1, "{runtime}");
    assert_eq!(count(&runtime, "General statistics:"), 0, "{runtime}");
    said("x = 1", "run").prints(&["cannot find the event() function in own.lua"]);
    let own = "sysbench.cmdline.options = {a = {'An option', 1}}\nfunction event() end";
    script(own, "--b=1 run").fails(1, &["invalid option: --b=1"]);
    script(own, "help")
        .succeeds()
        .prints(&["own.lua options:", "--a=N"]);
    script("function event() end", "walk").fails(1, &["Unknown command: walk"]);
    let refused = "function prepare() error('no') end";
    said(refused, "prepare").prints(&["`prepare' function failed: "]);
}

#[test]
fn a_server_that_is_away_is_the_scripts_error() {
    let text = "function thread_init() sysbench.sql.driver():connect() end\nfunction event() end";
    let away = "--threads=3 --mysql-host=127.0.0.1 --mysql-port=1 run";
    let done = script(text, away).fails(1, &[]);
    let texts = [
        "connection creation failed",
        "FATAL: Thread initialization failed!",
    ];
    done.prints(&texts);
    let fatal = "\nFATAL: unable to connect to the database server, aborting...\n";
    assert_eq!(done.stdout.matches(fatal).count(), 1, "{done}");
    // It is not missed where nobody connects.
    let done = script("function event() end", "--mysql-port=1 --events=10 run").succeeds();
    assert_eq!(number(&done.stdout, "total number of events:"), 10.0);
    assert!(!done.stdout.contains("SQL statistics:"), "{done}");
}

#[test]
fn an_endless_loop_before_the_run_ends_with_ctrl_c() {
    let text = "function init() io.open('begun', 'w'):close() while true do end end
        function event() end";
    let running = script(text, "run").start();
    wait_until("init", || running.dir().join("begun").exists());
    running.signal(Signal::INT);
    running.wait().fails(130, &[]);
}

#[test]
fn a_script_that_blocks_has_a_thread_for_each_user() {
    let text = "function event() os.execute('sleep 0.2') end";
    let done = script(text, "--threads=8 --events=16 run").succeeds();
    done.prints(&["WARNING: Each virtual user has a thread of its own: the script uses"]);
    assert!(number(&done.stdout, "total time:") < 3.0, "{done}");
    let text = "function event()
          table.sort({3, 2, 1}, function(a, b) ffi.C.usleep(1000) return a < b end)
        end";
    let done = script(text, "--threads=2 --events=4 run").succeeds();
    done.prints(&["WARNING: Each virtual user has a thread of its own: the script waits where"]);
    assert_eq!(number(&done.stdout, "total number of events:"), 4.0);
}

#[test]
fn a_script_that_begins_again_with_threads_has_one_result() {
    let server = mariadb();
    let text = "local con
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
          table.sort({3, 2, 1}, function(a, b) con:query('SELECT 1') return a < b end)
        end";
    let address = address(&*server, "sbtest");
    let words = format!("{address} --threads=2 --events=4 --dyno-out=out run");
    let done = script(text, &words).succeeds();
    done.prints(&["WARNING: Each virtual user has a thread of its own: the script waits where"]);
    let trial = done.trial();
    assert_eq!((trial.transactions.count, trial.setup.tables), (4, 0));
    assert_eq!(trial.setup.workers, 2);
}

#[test]
fn modules_are_found_beside_the_script() {
    let program = script(
        "require('other')\nfunction event() used() end",
        "--events=3 run",
    );
    let other = program.dir().join("other.lua");
    std::fs::write(other, "function used() os.execute('true') end").unwrap();
    let done = program.succeeds();
    done.prints(&["thread of its own: the script uses os.execute"]);
    let by_name = sysbench("own --events=3 run");
    std::fs::write(by_name.dir().join("own.lua"), "function event() end").unwrap();
    by_name.succeeds();
}

#[test]
fn a_result_that_finds_no_room_is_no_interruption() {
    let Some(disk) = SmallDisk::new("1m") else {
        return;
    };
    let server = mariadb();
    let (address, out) = (address(&*server, "sbtest"), disk.shown());
    let words = format!("{address} --events=1 --dyno-out={out} run");
    let done = script("function event() db_query('SELECT 1') end", &words).fails(1, &[]);
    done.prints(&["FATAL: ", "No space left"]);
}

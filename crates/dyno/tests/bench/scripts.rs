//! Scripts of users' own: their data, what they execute, and what the results call it.

use std::fs;

use measure::instance::ResetHow;
use measure::summary::TrialSummary;

use crate::common::{Cache, Finished, Program, Served, database, mariadb, postgres};

const USAGE: i32 = 2;
const STOPPED: i32 = 4;
/// Each event adds 1 to a row.
const OWN: &str = "
sysbench.cmdline.options = {rows = {'Number of rows', 10}}
local function connect() return sysbench.sql.driver():connect() end
function prepare()
  local con = connect()
  con:query('CREATE TABLE own (id INT PRIMARY KEY, n INT)')
  con:bulk_insert_init('INSERT INTO own VALUES')
  for i = 1, sysbench.opt.rows do con:bulk_insert_next('(' .. i .. ', 0)') end
  con:bulk_insert_done()
end
function cleanup() connect():query('DROP TABLE IF EXISTS own') end
function init() connect():query('CREATE TABLE running (n INT)') end
function done() connect():query('DROP TABLE running') end
function thread_init() con = connect() end
function event()
  local id = sysbench.rand.uniform(1, sysbench.opt.rows)
  con:query('BEGIN')
  con:query('UPDATE own SET n = n + 1 WHERE id = ' .. id)
  assert(con:query_row('SELECT n FROM own WHERE id = ' .. id))
  con:query('COMMIT')
end
";
const OWN_SQL: &str = "\\set id random(1, :top)
SELECT abalance FROM pgbench_accounts WHERE aid = :id;
";

fn with_files(program: Program) -> Program {
    for (name, text) in [("own.lua", OWN), ("own.sql", OWN_SQL)] {
        fs::write(program.dir().join(name), text).unwrap();
    }
    program
}

fn bench(url: &str, words: &str) -> Finished {
    let program = Program::bench(url).args("--threads 3 --warmup 0s --events 60");
    with_files(program).args(words).run()
}

fn counts(trial: &TrialSummary) -> Vec<(&str, u64)> {
    let kinds = trial.by_statement.iter();
    kinds.map(|kind| (kind.name.as_str(), kind.count)).collect()
}

fn a_script_in_lua<S: Served>(server: &S) {
    let url = database(server, "lua");
    let sum = || {
        server
            .sql_in("lua", "SELECT SUM(n) FROM own")
            .concat()
            .concat()
    };
    let own = |words: &str| bench(&url, &format!("--workload own.lua {words}"));
    own("--prepare never").fails(STOPPED, &["stopped by its script", "own.lua:", "own"]);
    let first = own("").succeeds();
    first.tells(&["data: prepared by the script"]);
    let trial = first.trial();
    assert_eq!(trial.setup.planned.load.workload.value, "own.lua");
    assert_eq!((trial.transactions.count, trial.setup.tables), (60, 0));
    assert_eq!(
        counts(&trial),
        [("read", 60), ("write", 60), ("other", 120)]
    );
    assert_eq!(sum(), "60");
    own("").succeeds();
    assert_eq!(sum(), "120");
    own("--prepare only").tells(&["data: prepared by the script before"]);
    own("--prepare always").succeeds();
    assert_eq!(sum(), "60");
    let texts = ["data of own.lua", "other options", "--prepare always"];
    own("--script-option rows=20").fails(USAGE, &texts);
    own("--prepare always --script-option rows=20").succeeds();
    let rows = server.sql_in("lua", "SELECT COUNT(*) FROM own").concat();
    assert_eq!(rows, ["20"]);
    assert!(first.file("study.toml").contains("#| function cleanup()"));
}

fn scripts_of_pgbench<S: Served>(server: &S, commit: &str) {
    let url = database(server, "bench");
    let words = "--script tpcb-like@2 --script own.sql -D top=9 --script-option scale=1";
    let trial = bench(&url, words).succeeds().trial();
    assert_eq!(
        trial.setup.planned.load.workload.value,
        "tpcb-like@2, own.sql"
    );
    let history = server.sql_in("bench", "SELECT COUNT(*) FROM pgbench_history");
    let commits = counts(&trial).into_iter().find(|(name, _)| *name == commit);
    assert_eq!(history.concat(), [commits.unwrap().1.to_string()]);
    let parts = trial.by_workload.iter();
    let parts: Vec<_> = parts
        .map(|part| (part.name.as_str(), part.transactions.count))
        .collect();
    assert_eq!(parts[0], ("tpcb-like@2", commits.unwrap().1));
    assert_eq!(parts[1], ("own.sql", 60 - parts[0].1));
    let again = bench(&url, &format!("{words} --prepare only"));
    again.tells(&["data: prepared by the script before"]);
    let other = bench(&url, "--script select-only --script-option scale=2");
    other.fails(USAGE, &["data of pgbench", "--prepare always"]);
}

#[test]
fn in_lua_on_mariadb() {
    a_script_in_lua(&*mariadb());
}

#[test]
fn in_lua_on_postgres() {
    a_script_in_lua(&*postgres());
}

#[test]
fn of_pgbench_on_mariadb() {
    scripts_of_pgbench(&*mariadb(), "COMMIT");
}

#[test]
fn of_pgbench_on_postgres() {
    scripts_of_pgbench(&*postgres(), "END");
}

#[test]
fn a_script_that_blocks_has_a_thread_for_each_user() {
    let server = mariadb();
    let url = database(&*server, "threads");
    let program = with_files(Program::bench(&url).args("--threads 3 --warmup 0s --events 30"));
    let text = format!("{OWN}\nfunction thread_done() os.execute('true') end\n");
    fs::write(program.dir().join("own.lua"), text).unwrap();
    let done = program.args("--workload own.lua").succeeds();
    done.tells(&[
        "each virtual user has a thread",
        "the script uses os.execute",
    ]);
    assert_eq!(done.trial().setup.workers, 3);
}

#[test]
fn a_study_prepares_the_data_of_a_script_once() {
    let place = Cache::new();
    let study = "title = 't'\nserver.engine = 'mariadb'\n[load]\nworkload = 'own.lua'\n\
                 options.rows = 30\nthreads = 2\nwarmup = '0s'\ntime = '1s'\nrepeats = 2\n";
    let program = with_files(Program::study(study));
    let done = program.cache(&place).succeeds();
    let trials = done.all_completed();
    let reset = trials.iter().map(|trial| trial.reset.as_ref().unwrap().how);
    let expected = [ResetHow::BuiltAndCopied, ResetHow::Copied];
    assert_eq!(reset.collect::<Vec<_>>(), expected);
    // With another script, it is another study.
    let program = with_files(Program::new().with_study(study));
    fs::write(program.dir().join("own.lua"), format!("{OWN}-- changed\n")).unwrap();
    let resumed = program
        .args("run study.toml --resume --out")
        .arg(done.out());
    resumed
        .cache(&place)
        .fails(USAGE, &["the result of another study"]);
    place.assert_nothing_left();
}

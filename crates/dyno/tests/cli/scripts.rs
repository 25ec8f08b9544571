//! Scripts that a study cannot run: what is wrong, in the study and in the script.

use std::fs;

use crate::common::Program;

const USAGE: i32 = 2;

/// What is said of a study with these lines in `[load]`, and a script in Lua and one of pgbench.
fn refused(load: &str, lua: &str, sql: &str, texts: &[&str]) {
    let study = format!("title = 't'\nserver.engine = 'sqlite'\n[load]\n{load}\n");
    let program = Program::plan(&study);
    fs::write(program.dir().join("own.lua"), lua).unwrap();
    fs::write(program.dir().join("own.sql"), sql).unwrap();
    program.fails(USAGE, texts);
}

#[test]
fn mistakes_have_their_places() {
    let event = "sysbench.cmdline.options = {rows = {'Rows', 10}}\nfunction event() end\n";
    let lua = "workload = 'own.lua'";
    let at_workload = "study.toml:4:12";
    let unknown = ["there is no workload 'oltp_x'", "study.toml:4:7"];
    refused("mix = 'oltp_insert, oltp_x'", "", "", &unknown);
    let missing = ["cannot read the script no.lua", "No such file", at_workload];
    refused("workload = 'no.lua'", "", "", &missing);
    let syntax = ["own.lua:1: unexpected symbol near '='", at_workload];
    refused(lua, "x = = 1", "", &syntax);
    refused(
        lua,
        "x = 1",
        "",
        &["own.lua: cannot find the event() function"],
    );
    let unknown = [
        "own.lua has no option `colour`; it has `rows`",
        "study.toml:5:",
    ];
    refused(&format!("{lua}\noptions.colour = 1"), event, "", &unknown);
    let kind = ["`many` is not a value of `rows`", "study.toml:5:"];
    refused(&format!("{lua}\noptions.rows = 'many'"), event, "", &kind);
    let sql = "SELECT 1;\n\\set x 1 +\n";
    refused(
        "script = 'own.sql'",
        "",
        sql,
        &["own.sql:2", "study.toml:4:10"],
    );
    let scale = ["`scale` must be from 1", "study.toml:5:"];
    refused("script = 'tpcb-like'\noptions.scale = 0", "", "", &scale);
    let defined = "script = 'own.sql'\nvariables.\"a.b\" = 1";
    refused(
        defined,
        "",
        "SELECT 1;",
        &["invalid variable name", "study.toml:4:10"],
    );
}

#[test]
fn a_plan_and_a_run_on_an_engine_in_process() {
    let study = "title = 't'\nserver.engine = 'sqlite'\n[load]\nscript = 'tpcb-like'\n\
                 threads = 2\nwarmup = '0s'\nevents = 20\n";
    Program::plan(study).succeeds();
    let trial = Program::study(study).succeeds().completed();
    assert_eq!(trial.transactions.count, 20);
}

//! What the front end sees of scripts.

use super::*;

#[test]
fn five_thousand_users_fit_in_one_state() {
    let text = "
        local function helper(i) return i end
        function thread_init()
          con = sysbench.sql.driver():connect()
          stmt = con:prepare('SELECT ?')
          id = stmt:bind_create(sysbench.sql.type.INT)
          stmt:bind_param(id)
        end
        function execute() id:set(helper(1)) stmt:execute() end
        function event() execute() collectgarbage() print(collectgarbage('count')) end";
    let (script, printed) = script(text, Mode::Coroutines);
    let mut users = script.programs(0..5_000).unwrap();
    let mut server = Server::default();
    for user in &mut users {
        assert_eq!(server.run(user, Answer::Start), "Ready");
    }
    server.run(users.last_mut().unwrap(), Answer::Transaction);
    let used_kib: f64 = take(&printed).trim().parse().unwrap();
    assert!(used_kib < 60.0 * 1024.0, "{used_kib} KiB");
}

#[test]
fn the_global_state_lives_from_init_to_done() {
    let text = "
        print('load')
        function init() started = 'yes' sysbench.sql.driver():connect():query('SELECT 1') end
        function event() end
        function done() print(started) end
        sysbench.cmdline.commands = {refuse = {function() return false end}}";
    let (script, printed) = script(text, Mode::Coroutines);
    let global = script.global().unwrap();
    let mut server = Server::default();
    let mut call = |name| {
        let mut program = user(&global.of_command(name));
        assert_eq!(server.run(&mut program, Answer::Start), "Ready");
        let end = server.run(&mut program, Answer::Transaction);
        if end == "Last" {
            assert_eq!(server.run(&mut program, Answer::Finish), "Ready");
        }
        (end, server.log())
    };
    let ended = ("Last".to_owned(), "open\n0: SELECT 1".to_owned());
    assert_eq!(call("init"), ended);
    assert_eq!(call("missing").0, "Last");
    assert_eq!(call("done"), ("Last".to_owned(), String::new()));
    assert_eq!(call("refuse").0, "`refuse' function failed");
    assert_eq!(take(&printed), "load\nyes\n");
}

#[test]
fn an_endless_loop_of_init_ends_when_the_run_is_interrupted() {
    let settings = Settings::default();
    let interrupted = Arc::clone(&settings.interrupted);
    // Its thread should not outlive the tests by much.
    let text = "function init() local ends = os.time() + 10 while os.time() < ends do end end";
    let script = LuaScript::new(source(text), settings, Mode::Coroutines);
    let mut program = user(&script.global().unwrap().of_command("init"));
    let mut server = Server::default();
    server.run(&mut program, Answer::Start);
    interrupted.store(true, Ordering::Relaxed);
    let end = server.run(&mut program, Answer::Transaction);
    assert!(end.contains("interrupted"), "{end}");
}

#[test]
fn parallel_commands_run_once_for_each_user() {
    for mode in [Mode::Coroutines, Mode::Threads] {
        let text = "
            local function load() print(sysbench.tid) end
            sysbench.cmdline.commands = {load = {load, sysbench.cmdline.PARALLEL_COMMAND}}";
        let (script, printed) = script(text, mode);
        let mut server = Server::default();
        for mut user in script.of_command("load").programs(0..2).unwrap() {
            assert_eq!(server.run(&mut user, Answer::Start), "Ready");
            assert_eq!(server.run(&mut user, Answer::Transaction), "Last");
            assert_eq!(server.run(&mut user, Answer::Finish), "Ready");
        }
        assert_eq!(take(&printed), "0\n1\n");
    }
}

#[test]
fn a_script_declares_options_commands_and_functions() {
    let text = "#!/usr/bin/env sysbench
        print(sysbench.version, sysbench.cmdline.command)
        sysbench.cmdline.options = {
          size = {'Rows', 10}, ['d-x'] = {'A word', nil, sysbench.cmdline.ARG_STRING},
          on = {'A switch', true}, which = {'Names', {'a', 'b'}},
        }
        sysbench.cmdline.commands = {warm = {print, sysbench.cmdline.PARALLEL_COMMAND}}
        function event() end";
    let settings = Settings {
        version: "1.0.20",
        ..Settings::default()
    };
    let declared = |text| declared(&source(text), &settings);
    let found = declared(text).unwrap();
    let option = |name: &str, description: &str, kind, default: &str| OptionDeclaration {
        name: name.to_owned(),
        description: description.to_owned(),
        kind,
        default: default.to_owned(),
    };
    let options = vec![
        option("d-x", "A word", Kind::String, ""),
        option("on", "A switch", Kind::Bool, "on"),
        option("size", "Rows", Kind::Double, "10"),
        option("which", "Names", Kind::List, "a,b"),
    ];
    assert_eq!(found.options, Some(options));
    assert_eq!(found.commands.get("warm"), Some(&true));
    assert_eq!(found.defines, ["event"]);
    assert_eq!(found.printed, "1.0.20\tnil\n");
    assert_eq!(declared("").unwrap().options, None);
    for (text, message) in [
        ("x = = 1", "t.lua:1: unexpected symbol near '='"),
        ("\nerror('no')", "t.lua:2: no"),
        (
            "sysbench.cmdline.options = {a = {}}",
            "nil description for option a",
        ),
        (
            "sysbench.cmdline.options = 1",
            "wrong type for sysbench.cmdline.options: number",
        ),
    ] {
        assert_eq!(declared(text), Err(ScriptError(message.to_owned())));
    }
}

#[test]
fn a_script_writes_reports_of_its_own() {
    let text = "function init() word = 'begun' end
        sysbench.hooks.report_intermediate = sysbench.report_csv
        function sysbench.hooks.report_checkpoint(stat) print(word, stat.events) end
        function sysbench.hooks.report_cumulative(stat) print(stat.missing.field) end
        function sysbench.hooks.report_more(stat) sysbench.sql.driver():connect() end";
    let mut hooks = declared(&source(text), &Settings::default()).unwrap().hooks;
    hooks.sort_unstable();
    assert_eq!(hooks[2..], ["report_intermediate", "report_more"]);
    let (script, printed) = script(text, Mode::Coroutines);
    let global = script.global().unwrap();
    let (mut server, mut init) = (Server::default(), user(&global.of_command("init")));
    for (begin, end) in [
        (Answer::Start, "Ready"),
        (Answer::Transaction, "Last"),
        (Answer::Finish, "Ready"),
    ] {
        assert_eq!(server.run(&mut init, begin), end);
    }
    let names = "threads_running time_interval time_total latency_pct events reads writes other \
                 errors reconnects";
    let stat: Vec<_> = names.split(' ').map(|name| (name, 2.0)).collect();
    let csv = "2,2,1.00,3.00,1.00,1.00,1.00,2000.00,1.00,1.00\n";
    global.report("report_intermediate", &stat).unwrap();
    assert_eq!(take(&printed), csv);
    for failing in ["report_cumulative", "report_more"] {
        assert!(global.report(failing, &stat).is_err());
    }
    // A hook sees what `init` has set, and one that fails does not end the state.
    take(&printed);
    global.report("report_checkpoint", &stat).unwrap();
    let mut done = user(&global.of_command("done"));
    assert_eq!(server.run(&mut done, Answer::Start), "Ready");
    assert_eq!(server.run(&mut done, Answer::Transaction), "Last");
    assert_eq!(take(&printed), "begun\t2\n");
}

#[test]
fn what_needs_threads_shows_in_the_text() {
    for (text, reason) in [
        ("os.execute('sleep 1')", Some("the script uses os.execute")),
        (
            "local co = coroutine.create(print)",
            Some("the script uses coroutine"),
        ),
        (
            "ffi.C.usleep(1) ffi.C.sb_counter_inc(0, ffi.C.SB_CNT_READ)",
            None,
        ),
        ("ffi.C.poll(nil, 0, 1)", Some("the script uses ffi.C.poll")),
    ] {
        assert_eq!(source(text).must_block().as_deref(), reason);
    }
}

#[test]
fn what_needs_threads_shows_in_modules() {
    let name = format!("dyno_blocking_{}", std::process::id());
    let path = |name: &str| std::env::temp_dir().join(format!("{name}.lua"));
    let (outer, inner) = (format!("{name}_outer"), format!("{name}_inner"));
    std::fs::write(
        path(&outer),
        format!("require('{inner}') require('{outer}')"),
    )
    .unwrap();
    std::fs::write(path(&inner), "io.popen('true')").unwrap();
    let reason = source(&format!("require \"{outer}\"")).must_block();
    for name in [outer, inner] {
        std::fs::remove_file(path(&name)).unwrap();
    }
    assert_eq!(reason.as_deref(), Some("the script uses io.popen"));
}

#[test]
fn a_script_may_connect_at_its_top_level() {
    let text = "con = sysbench.sql.driver():connect()
        rows = con:query('SELECT 1').nrows
        function event() con:query('UPDATE t') print(rows) end";
    let (end, log, printed) = run(text, Mode::Coroutines);
    assert_eq!((end.as_str(), printed.as_str()), ("Done", "2\n"));
    assert_eq!(log, "open\n0: SELECT 1\n0: UPDATE t");
    let settings = Settings {
        command: Some("run".to_owned()),
        ..Settings::default()
    };
    let declared = declared(&source(text), &settings).unwrap();
    assert_eq!(declared.defines, ["event"]);
}

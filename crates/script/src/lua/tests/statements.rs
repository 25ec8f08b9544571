//! Prepared statements of scripts, and when they are executed.

use super::*;

#[test]
fn statements_take_all_types() {
    let text = "
        function event()
          local con, kind = sysbench.sql.driver():connect(), sysbench.sql.type
          local stmt = con:prepare('INSERT ?')
          local int, double = stmt:bind_create(kind.INT), stmt:bind_create(kind.DOUBLE)
          local text, null = stmt:bind_create(kind.VARCHAR, 3), stmt:bind_create(kind.INT)
          stmt:bind_param(int, double, text, null)
          int:set(-2.7) double:set(2.5) text:set('\\255bcdef') null:set(nil)
          print(stmt:execute().nrows)
          int:set(7) text:set_rand_str('a')
          stmt:execute() stmt:close()
          con:prepare('COMMIT'):execute()
          print(pcall(stmt.bind_create, stmt, kind.DATE))
        end";
    let (end, log, printed) = run(text, Mode::Coroutines);
    assert_eq!(end, "Done");
    let params = |int, text: &'static [u8]| {
        [
            Param::Int(int),
            Param::Double(2.5),
            Param::Text(text),
            Param::Null,
        ]
    };
    let expected = [
        "open\n0: prepare INSERT ?".to_owned(),
        format!("0: #0 {:?}", params(-2, b"\xffbc")),
        format!("0: #0 {:?}", params(7, b"a")),
        "Free { connection: 0, statement: 0 }".to_owned(),
        "0: prepare COMMIT\n0: #1 []".to_owned(),
    ];
    assert_eq!(log, expected.join("\n"));
    assert_eq!(printed, "3\nfalse\tUnsupported argument type: 8\n");
}

#[test]
fn parameters_can_be_bound_again() {
    let text = "
        function event()
          local con, kind = sysbench.sql.driver():connect(), sysbench.sql.type
          local stmt = con:prepare('SELECT ?')
          local int, text = stmt:bind_create(kind.INT), stmt:bind_create(kind.CHAR, '2')
          int:set(1) text:set('abc')
          print(stmt:bind_param(int, text), stmt:bind_param())
          stmt:execute()
          stmt:bind_param(text)
          stmt:execute()
        end";
    let (_, log, printed) = run(text, Mode::Coroutines);
    let (int, text) = (Param::Int(1), Param::Text(b"ab"));
    let executed = format!("0: #0 {:?}\n0: #0 {:?}", [int, text], [text]);
    assert_eq!(log, format!("open\n0: prepare SELECT ?\n{executed}"));
    assert_eq!(printed, "0\tnil\n");
}

#[test]
fn a_statement_needs_little_memory() {
    let text = "
        function event()
          local con, kind, kept = sysbench.sql.driver():connect(), sysbench.sql.type, {}
          collectgarbage()
          local used_kib = collectgarbage('count')
          for i = 1, 1000 do
            local stmt = con:prepare('SELECT ?, ?')
            local int, text = stmt:bind_create(kind.INT), stmt:bind_create(kind.CHAR, 120)
            stmt:bind_param(int, text)
            int:set(i) text:set('x')
            kept[i] = stmt
          end
          collectgarbage()
          print(collectgarbage('count') - used_kib)
        end";
    let (_, _, printed) = run(text, Mode::Coroutines);
    let used_kib: f64 = printed.trim().parse().unwrap();
    assert!(used_kib < 400.0, "{used_kib} KiB for 1,000 statements");
}

/// A script with two prepared statements, `a` and `b`, which has started.
fn prepared(event: &str, mode: Mode) -> (Server, Box<dyn Program>, Arc<Mutex<String>>) {
    let text = format!(
        "function thread_init()
          con = sysbench.sql.driver():connect()
          a, b = con:prepare('UPDATE t SET a = ?'), con:prepare('UPDATE t')
          n = a:bind_create(sysbench.sql.type.INT)
          a:bind_param(n)
        end
        function event() n:set(0) {event} end"
    );
    let (script, printed) = script(&text, mode);
    let (mut server, mut user) = (Server::default(), user(&script));
    assert_eq!(server.run(&mut user, Answer::Start), "Ready");
    server.log();
    (server, user, printed)
}

#[test]
fn deferred_statements_keep_their_order_and_values() {
    let event = "
        for i = 1, 500 do n:set(i) a:execute() if i % 100 == 0 then b:execute() end end
        con:query('COMMIT')
        b:execute()";
    let mut expected: Vec<String> = Vec::new();
    for i in 1..=500 {
        expected.push(format!("0: #0 {:?}", [Param::Int(i)]));
        expected.extend((i % 100 == 0).then(|| "0: #1 []".to_owned()));
    }
    expected.extend(["0: COMMIT".to_owned(), "0: #1 []".to_owned()]);
    for mode in [Mode::Coroutines, Mode::Threads] {
        let (mut server, mut user, _) = prepared(event, mode);
        assert_eq!(server.run(&mut user, Answer::Transaction), "Done");
        assert_eq!(server.log(), expected.join("\n"));
    }
}

#[test]
fn a_deferred_statement_fails_where_the_script_catches_it() {
    let event = "
        a:execute()
        local ok, err = pcall(b.execute, b)
        local is_same = select(2, xpcall(function() a:execute() error('own') end, type))
        print(ok, err.sql_errno, is_same)";
    for mode in [Mode::Coroutines, Mode::Threads] {
        let (mut server, mut user, printed) = prepared(event, mode);
        server.failing = Some(("#1", error(1213, FailureKind::Restart)));
        assert_eq!(server.run(&mut user, Answer::Transaction), "Done");
        assert_eq!(take(&printed), "false\t1213\tstring\n");
        let update = format!("0: #0 {:?}", [Param::Int(0)]);
        assert_eq!(server.log(), format!("{update}\n0: #1 []\n{update}"));
    }
}

#[test]
fn a_deferred_statement_that_fails_ends_its_event() {
    let event = "a:execute() b:execute() a:execute() count = (count or 0) + 1
        if count == 2 then print(count) end";
    let (mut server, mut user, printed) = prepared(event, Mode::Coroutines);
    server.failing = Some(("#1", error(1213, FailureKind::Restart)));
    assert_eq!(server.run(&mut user, Answer::Transaction), "Restart");
    let update = format!("0: #0 {:?}", [Param::Int(0)]);
    assert_eq!(server.log(), format!("{update}\n0: #1 []"));
    assert_eq!(server.run(&mut user, Answer::Transaction), "Done");
    assert_eq!(server.log(), format!("{update}\n0: #1 []\n{update}"));
    let mut refused = error(1051, FailureKind::Refused);
    refused.statement = Some("UPDATE t".to_owned());
    server.failing = Some(("#1", refused));
    let end = server.run(&mut user, Answer::Transaction);
    let begin = "`thread_run' function failed: SQL error, errno = 1051";
    assert!(end.starts_with(begin), "{end}");
    let fatal = "FATAL: mysql_stmt_execute() returned error 1051 (no luck) for query 'UPDATE t'\n";
    assert_eq!(take(&printed), format!("2\n{fatal}"));
}

#[test]
fn deferred_statements_wait_where_the_script_cannot() {
    let event = "
        a:execute()
        string.gsub('x', 'x', function() print(pcall(type, 1)) end)
        xpcall(function() b:execute() error('own', 0) end, function(err) print(err) end)";
    let (mut server, mut user, printed) = prepared(event, Mode::Coroutines);
    assert_eq!(server.run(&mut user, Answer::Transaction), "Done");
    assert_eq!(take(&printed), "true\tnumber\nown\n");
    let update = format!("0: #0 {:?}", [Param::Int(0)]);
    assert_eq!(server.log(), format!("{update}\n0: #1 []"));
}

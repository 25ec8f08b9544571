use super::*;
use crate::Instance;

#[test]
fn everything_is_written_unless_the_server_is_dead() {
    let server = testkit::MariaDb::start(&[]);
    let (engine, access) = (
        engine::by_name("mariadb").unwrap(),
        engine::Access::default(),
    );
    let database = engine.open(&server.url("sbtest"), &access, None).unwrap();
    let setting = "SELECT @@GLOBAL.innodb_max_dirty_pages_pct, @@GLOBAL.innodb_io_capacity";
    let ask = |sql: &str| {
        let mut connection = database.connect(LIMIT).unwrap();
        connection.rows(sql, LIMIT).unwrap()
    };
    let before = ask(setting);
    ask("CREATE TABLE t ENGINE=InnoDB SELECT seq FROM seq_1_to_20000");
    let rig = Rig {
        instances: vec![Instance::found(database.clone(), 1)],
        reset: None,
        reuse_key: None,
    };
    let never = AtomicBool::new(false);
    all(&rig, Instant::now() + LIMIT, &never).unwrap();
    let (query, column) = engine.about().flush.left.unwrap();
    assert_eq!(ask(query)[0][column].as_deref(), Some("0"));
    assert_eq!(ask(setting), before);
    drop(server);
    let dead = all(&rig, Instant::now() + LIMIT, &never);
    assert!(dead.is_err_and(|reason| !reason.is_empty()));
}

#[test]
fn a_flush_that_a_reader_blocks_is_incomplete() {
    let dir = tempfile::tempdir().unwrap();
    let database = crate::for_tests::database(dir.path());
    let connect = || database.connect(LIMIT).unwrap();
    let (mut writer, mut reader) = (connect(), connect());
    for sql in ["CREATE TABLE t (x)", "INSERT INTO t VALUES (1)"] {
        writer.rows(sql, LIMIT).unwrap();
    }
    for sql in ["BEGIN", "SELECT x FROM t"] {
        reader.rows(sql, LIMIT).unwrap();
    }
    for sql in ["INSERT INTO t VALUES (2)", "PRAGMA busy_timeout = 0"] {
        writer.rows(sql, LIMIT).unwrap();
    }
    let flush = &database.engine().about().flush;
    let blocked = wait(&mut *writer, flush, Instant::now()).unwrap_err();
    assert!(blocked.contains("still returned 1"), "{blocked}");
    drop(reader);
    wait(&mut *writer, flush, Instant::now()).unwrap();
}

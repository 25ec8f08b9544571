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
    let dirty = ask(engine.about().flush.left.unwrap());
    assert_eq!(dirty[0][1].as_deref(), Some("0"));
    assert_eq!(ask(setting), before);
    drop(server);
    let dead = all(&rig, Instant::now() + LIMIT, &never);
    assert!(dead.is_err_and(|reason| !reason.is_empty()));
}

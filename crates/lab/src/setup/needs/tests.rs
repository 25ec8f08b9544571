use super::*;
use crate::site::{Site, ThisHost};

fn needs(instances: u32, config: &[(String, String)]) -> Needs {
    let server = engine::MARIADB.needs(config, 16, 1_000_000);
    of_servers(server, instances, 1_000_000, Duration::from_secs(60), None)
}

#[test]
fn needs_grow_with_servers_rows_and_settings() {
    let pool = |value: &str| [("innodb-buffer-pool-size".to_owned(), value.to_owned())];
    let (one, eight) = (needs(1, &[]), needs(8, &[]));
    assert_eq!(eight.memory_bytes, one.memory_bytes * 8);
    assert!(one.disk_bytes > 2 * 250_000_000 && one.time > Duration::from_secs(65));
    let large = needs(1, &pool("2G"));
    assert!(large.memory_bytes - one.memory_bytes > 1900 << 20);
    assert_eq!(needs(1, &pool("banana")).memory_bytes, one.memory_bytes);
    assert_eq!(
        needs(u32::MAX, &pool("16E")).memory_bytes,
        needs(u32::MAX, &[]).memory_bytes
    );
    let log = [("innodb_log_file_size".to_owned(), "1G".to_owned())];
    assert!(needs(1, &log).disk_bytes - one.disk_bytes > 900 << 20);
}

#[test]
fn a_cached_template_is_neither_built_nor_stored_again() {
    let server = engine::MYSQL.needs(&[], 1, 1_000_000);
    let cached = of_servers(server, 2, 1_000_000, Duration::ZERO, Some(1 << 30));
    assert_eq!(cached.disk_bytes, 2 << 30);
    assert_eq!(
        (cached.build_time, cached.template_bytes),
        (Duration::ZERO, 0)
    );
}

#[test]
fn this_host_has_memory_and_disk_space() {
    let host = ThisHost::default();
    let files = host.files();
    assert!(available_memory(files).unwrap() > 1 << 20);
    let (memory, root) = (
        space(files, Path::new("/dev/shm")),
        space(files, Path::new("/")),
    );
    let (memory, root) = (memory.unwrap(), root.unwrap());
    assert!(memory.is_memory && root.device != memory.device);
    let error = space(files, Path::new("/there/is/none")).unwrap_err();
    assert!(error.to_string().contains("/there/is/none"), "{error}");
}

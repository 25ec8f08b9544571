//! Statements and their replies: long, many, prepared, loaded from memory.

use crate::common::{assert_has, assert_told, both, one_value, root, run, violation};
use client::mysql::Connection;
use testkit::Server;
use wire::mysql::packet::MAX_PAYLOAD_BYTES;
use workload::session::Param;

const OPTIONS: &[&str] = &["--max-allowed-packet=64M", "--local-infile=ON"];

#[test]
fn statements() {
    for server in both(OPTIONS) {
        let target = root(&server);
        run(async {
            let mut connection = Connection::open(&target).await.unwrap();
            statements_over_several_packets(&mut connection).await;
            parameters_over_several_packets(&mut connection).await;
            a_row_over_several_packets_is_one_row(&mut connection).await;
            several_results_are_one_reply(&mut connection).await;
            prepared_statements_with_numbers_and_texts(&mut connection).await;
            many_rows_are_all_counted(&mut connection).await;
            a_table_is_loaded_from_memory(&mut connection).await;
            connection.close().await;
        });
        what_is_too_long_is_refused_and_can_be_told(&server);
        a_server_that_forbids_local_files_says_so(&server);
    }
}

async fn statements_over_several_packets(connection: &mut Connection) {
    // The command's own byte makes the message full.
    let full = MAX_PAYLOAD_BYTES - "xSELECT length('')".len();
    for length in [full - 1, full, full + 1, 17 << 20, 34 << 20] {
        let sql = format!("SELECT length('{}')", "x".repeat(length));
        assert_eq!(one_value(connection, &sql).await, length.to_string());
    }
}

async fn parameters_over_several_packets(connection: &mut Connection) {
    let sql = "INSERT INTO long_text VALUES (?, ?)";
    let create = "CREATE TABLE long_text (id BIGINT, c LONGTEXT)";
    connection.run(create).await.unwrap();
    let mut insert = connection.prepare(sql).await.unwrap();
    let text = "y".repeat(18 << 20);
    for (id, length) in [(-1, 0), (i64::MIN, 17 << 20), (i64::MAX, 18 << 20)] {
        let values = [Param::Int(id), Param::Text(&text.as_bytes()[..length])];
        let done = connection.execute(&mut insert, &values, sql).await.unwrap();
        assert_eq!((done.rows, done.affected), (0, 1));
    }
    let sums = "SELECT GROUP_CONCAT(id, ':', length(c) ORDER BY id) FROM long_text";
    let expected = "-9223372036854775808:17825792,-1:0,9223372036854775807:18874368";
    assert_eq!(one_value(connection, sums).await, expected);
}

async fn a_row_over_several_packets_is_one_row(connection: &mut Connection) {
    for length in [MAX_PAYLOAD_BYTES - 4, MAX_PAYLOAD_BYTES, 17 << 20, 40 << 20] {
        let sql = format!("SELECT repeat('x', {length}) UNION ALL SELECT 'y'");
        let done = connection.run(&sql).await.unwrap();
        assert_eq!(done.rows, 2, "{length} bytes");
        let mut statement = connection.prepare(&sql).await.unwrap();
        let done = connection.execute(&mut statement, &[], &sql).await;
        assert_eq!(done.unwrap().rows, 2, "{length} bytes, prepared");
    }
}

fn what_is_too_long_is_refused_and_can_be_told(server: &Server) {
    server.sql("SET GLOBAL max_allowed_packet = 1048576");
    let target = root(server);
    run(async {
        for length in [2 << 20, 17 << 20, 34 << 20] {
            let mut connection = Connection::open(&target).await.unwrap();
            let sql = format!("SELECT length('{}')", "x".repeat(length));
            let error = connection.run(&sql).await.unwrap_err();
            assert_eq!(error.number(), Some(1153), "{length} bytes: {error}");
            assert!(error.to_string().len() < 1000, "the statement is shortened");
            assert_told(&error, &[], &["max_allowed_packet"]);
        }
    });
}

async fn several_results_are_one_reply(connection: &mut Connection) {
    let two = "CREATE PROCEDURE two() BEGIN SELECT 1 UNION SELECT 2; SELECT 'x', 'y'; \
               CREATE TEMPORARY TABLE t (i INT); INSERT INTO t VALUES (1), (2), (3); \
               DROP TEMPORARY TABLE t; END";
    connection.run(two).await.unwrap();
    assert_eq!(connection.run("CALL two()").await.unwrap().rows, 3);
    let rows = connection.rows("CALL two()").await.unwrap();
    let texts: Vec<_> = rows.into_iter().flatten().flatten().collect();
    assert_eq!(texts, ["x", "y"], "those of the last result");
    let mut call = connection.prepare("CALL two()").await.unwrap();
    for _ in 0..2 {
        let done = connection.execute(&mut call, &[], "CALL two()").await;
        assert_eq!(done.unwrap().rows, 3);
    }
    // An error behind a result is the reply's, and the connection goes on.
    let fails = "CREATE PROCEDURE fails() BEGIN SELECT 1; SELECT * FROM no_such_table; END";
    connection.run(fails).await.unwrap();
    let error = connection.run("CALL fails()").await.unwrap_err();
    assert_eq!(error.number(), Some(1146), "{error}");
    assert_eq!(one_value(connection, "SELECT 7").await, "7");
}

async fn prepared_statements_with_numbers_and_texts(connection: &mut Connection) {
    let create = "CREATE TABLE p (id BIGINT PRIMARY KEY, c VARCHAR(200) CHARACTER SET utf8mb4)";
    connection.run(create).await.unwrap();
    let insert_sql = "INSERT INTO p VALUES (?, ?)";
    let mut insert = connection.prepare(insert_sql).await.unwrap();
    let texts = ["", "it's", "\\", "ü € 𝄞", "a\0b\r\n", &"x".repeat(199)];
    for (id, text) in texts.iter().enumerate() {
        let values = [Param::Int(id as i64), Param::Text(text.as_bytes())];
        let inserted = connection.execute(&mut insert, &values, insert_sql).await;
        inserted.unwrap();
    }
    let rows = connection.rows("SELECT c FROM p ORDER BY id").await;
    let stored: Vec<_> = rows.unwrap().into_iter().flatten().flatten().collect();
    assert_eq!(stored, texts);

    // UPDATE reports the rows that it found, also those that it left as they were.
    let sql = "UPDATE p SET c = c WHERE id < ?";
    let mut update = connection.prepare(sql).await.unwrap();
    let done = connection.execute(&mut update, &[Param::Int(4)], sql).await;
    let done = done.unwrap();
    assert_eq!((done.rows, done.affected), (0, 4));

    // A value for each of many parameters; the NULLs' bits fill several bytes.
    let sql = format!("SELECT * FROM p WHERE id IN ({})", ["?"; 100].join(","));
    let mut select = connection.prepare(&sql).await.unwrap();
    for _ in 0..3 {
        let values: Vec<_> = (0..100).map(Param::Int).collect();
        let done = connection.execute(&mut select, &values, &sql).await;
        assert_eq!(done.unwrap().rows, 6);
    }
    let error = connection.prepare("SELECT FROM WHERE").await.unwrap_err();
    assert_eq!(error.number(), Some(1064));
    assert_has(&error.to_string(), &["SELECT FROM WHERE"]);
    let duplicate = [Param::Int(0), Param::Text(b"")];
    let refused = connection
        .execute(&mut insert, &duplicate, insert_sql)
        .await;
    assert_eq!(refused.unwrap_err().number(), Some(1062));
    // More statements than one byte counts, and wide rows.
    let wide = format!("SELECT {}", ["1"; 1000].join(","));
    for _ in 0..300 {
        connection.prepare("SELECT ?, ?").await.unwrap();
    }
    let mut statement = connection.prepare(&wide).await.unwrap();
    let done = connection.execute(&mut statement, &[], &wide).await;
    assert_eq!(done.unwrap().rows, 1);
}

async fn many_rows_are_all_counted(connection: &mut Connection) {
    connection.run("CREATE TABLE n (id INT)").await.unwrap();
    connection.run("INSERT INTO n VALUES (1)").await.unwrap();
    for _ in 0..14 {
        let double = "INSERT INTO n SELECT * FROM n";
        connection.run(double).await.unwrap();
    }
    let sql = "SELECT id, NULL, 'text' FROM n";
    assert_eq!(connection.run(sql).await.unwrap().rows, 1 << 14);
    let mut statement = connection.prepare(sql).await.unwrap();
    let done = connection.execute(&mut statement, &[], sql).await.unwrap();
    assert_eq!(done.rows, 1 << 14);
    let rows = connection.rows(sql).await.unwrap();
    assert_eq!(rows.len(), 1 << 14);
    let row = [Some("1"), None, Some("text")];
    assert_eq!(rows[77], row.map(|cell| cell.map(str::to_owned)));
}

/// Lines of a table and the checksum that the server must come to.
struct Lines {
    next: u64,
    checksum: u32,
}

impl Lines {
    /// Appends lines of about `length` bytes, or of exactly as many.
    fn put(&mut self, out: &mut Vec<u8>, length: usize) {
        let start = out.len();
        while out.len() - start + 200 < length {
            self.line(out, 100);
        }
        let left = length - (out.len() - start);
        self.line(out, left);
    }

    fn line(&mut self, out: &mut Vec<u8>, length: usize) {
        let id = self.next.to_string();
        let text = "z".repeat(length - id.len() - 2);
        let line = format!("{id}\t{text}\n");
        self.checksum ^= crc32fast::hash(&line.as_bytes()[..line.len() - 1]);
        self.next += 1;
        out.extend_from_slice(line.as_bytes());
    }
}

async fn a_table_is_loaded_from_memory(connection: &mut Connection) {
    let create = "CREATE TABLE l (id INT PRIMARY KEY, c TEXT)";
    connection.run(create).await.unwrap();
    let (next, checksum) = (1, 0);
    let mut lines = Lines { next, checksum };
    // Pieces of less than a packet, of just one, and of more.
    let full = MAX_PAYLOAD_BYTES;
    let mut lengths = vec![300, full, 5000, full + 1, 17 << 20, 1000];
    let sql = "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE l";
    let loaded = connection.load(sql, |out| {
        if let Some(length) = lengths.pop() {
            lines.put(out, length);
        }
    });
    let done = loaded.await.unwrap();
    assert_eq!(done.affected, lines.next - 1);
    let sums = "SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT(id, '\t', c)))) FROM l";
    let wanted = format!("{} {}", lines.next - 1, lines.checksum);
    assert_eq!(one_value(connection, sums).await, wanted);

    // More packets than their number counts.
    connection.run("TRUNCATE l").await.unwrap();
    let mut left = 1..=1000;
    let loaded = connection.load(sql, |out| {
        if let Some(id) = left.next() {
            out.extend_from_slice(format!("{id}\tx\n").as_bytes());
        }
    });
    assert_eq!(loaded.await.unwrap().affected, 1000);
    let loaded = connection.load(sql, |_| {});
    assert_eq!(loaded.await.unwrap().affected, 0, "nothing is a table too");

    // Refused before a line is sent; and a statement that wants no lines.
    let refused = connection.load("LOAD DATA LOCAL INFILE 'x' INTO TABLE none", |_| {
        panic!("nobody asked for lines")
    });
    assert_eq!(refused.await.unwrap_err().number(), Some(1146));
    let other = connection.load("SELECT 1", |_| panic!("nobody asked for lines"));
    assert_eq!(other.await.unwrap().rows, 1);
    // A file that nobody offers is not sent.
    violation(&connection.run(sql).await.unwrap_err());
}

fn a_server_that_forbids_local_files_says_so(server: &Server) {
    server.sql("SET GLOBAL local_infile = OFF");
    let target = root(server);
    run(async {
        let mut connection = Connection::open(&target).await.unwrap();
        let sql = "LOAD DATA LOCAL INFILE 'x' INTO TABLE l";
        let refused = connection.load(sql, |_| panic!("no lines")).await;
        assert_told(&refused.unwrap_err(), &[], &["local_infile"]);
    });
}

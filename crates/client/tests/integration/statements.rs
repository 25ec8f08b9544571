//! Statements and their replies: long, many, prepared, loaded from memory.

use crate::common::{assert_has, one_value, root, run, told};
use client::mysql::{Connection, Error};
use testkit::{MariaDb, MySql, Server};
use wire::mysql::packet::MAX_PAYLOAD_BYTES;
use workload::session::Param;

const OPTIONS: &[&str] = &["--max-allowed-packet=64M", "--local-infile=ON"];

fn both() -> [Server; 2] {
    [MariaDb::start(OPTIONS), MySql::start(OPTIONS)]
}

/// Runs a test on a connection of each server.
fn on_both(test: impl AsyncFn(&mut Connection)) {
    for server in both() {
        let target = root(&server);
        run(async {
            let mut connection = Connection::open(&target).await.unwrap();
            test(&mut connection).await;
            connection.close().await;
        });
    }
}

#[test]
fn statements_over_several_packets() {
    on_both(async |connection| {
        // The command's own byte makes the message full.
        let full = MAX_PAYLOAD_BYTES - "xSELECT length('')".len();
        for length in [full - 1, full, full + 1, 17 << 20, 34 << 20] {
            let sql = format!("SELECT length('{}')", "x".repeat(length));
            assert_eq!(one_value(connection, &sql).await, length.to_string());
        }
    });
}

#[test]
fn parameters_over_several_packets() {
    on_both(async |connection| {
        let sql = "INSERT INTO long_text VALUES (?, ?)";
        connection
            .run("CREATE TABLE long_text (id BIGINT, c LONGTEXT)")
            .await
            .unwrap();
        let mut insert = connection.prepare(sql).await.unwrap();
        let text = "y".repeat(18 << 20);
        for (id, length) in [(-1, 0), (i64::MIN, 17 << 20), (i64::MAX, 18 << 20)] {
            let values = [Param::Int(id), Param::Text(&text[..length])];
            let done = connection.execute(&mut insert, &values, sql).await.unwrap();
            assert_eq!((done.rows, done.affected), (0, 1));
        }
        let sums = "SELECT GROUP_CONCAT(id, ':', length(c) ORDER BY id) FROM long_text";
        assert_eq!(
            one_value(connection, sums).await,
            "-9223372036854775808:17825792,-1:0,9223372036854775807:18874368"
        );
    });
}

#[test]
fn a_row_over_several_packets_is_one_row() {
    on_both(async |connection| {
        for length in [MAX_PAYLOAD_BYTES - 4, MAX_PAYLOAD_BYTES, 17 << 20, 40 << 20] {
            let sql = format!("SELECT repeat('x', {length}) UNION ALL SELECT 'y'");
            assert_eq!(
                connection.run(&sql).await.unwrap().rows,
                2,
                "{length} bytes"
            );
            let mut statement = connection.prepare(&sql).await.unwrap();
            let done = connection.execute(&mut statement, &[], &sql).await;
            assert_eq!(done.unwrap().rows, 2, "{length} bytes, prepared");
        }
    });
}

#[test]
fn what_is_too_long_is_refused_and_can_be_told() {
    for server in [
        MariaDb::start(&["--max-allowed-packet=1M"]),
        MySql::start(&["--max-allowed-packet=1M"]),
    ] {
        let target = root(&server);
        run(async {
            for length in [2 << 20, 17 << 20, 34 << 20] {
                let mut connection = Connection::open(&target).await.unwrap();
                let sql = format!("SELECT length('{}')", "x".repeat(length));
                let error = connection.run(&sql).await.unwrap_err();
                assert_eq!(error.number(), Some(1153), "{length} bytes: {error}");
                let (text, remedy) = told(&error);
                assert!(text.len() < 1000, "the statement is shortened");
                assert_has(remedy, &["max_allowed_packet"]);
            }
        });
    }
}

#[test]
fn several_results_are_one_reply() {
    on_both(async |connection| {
        connection
            .run(
                "CREATE PROCEDURE two() BEGIN SELECT 1 UNION SELECT 2; SELECT 'x', 'y';                  CREATE TEMPORARY TABLE t (i INT); INSERT INTO t VALUES (1), (2), (3); DROP TEMPORARY TABLE t; END",
            )
            .await
            .unwrap();
        assert_eq!(connection.run("CALL two()").await.unwrap().rows, 3);
        let rows = connection.rows("CALL two()").await.unwrap();
        let texts: Vec<_> = rows
            .iter()
            .flatten()
            .flatten()
            .map(String::as_str)
            .collect();
        assert_eq!(texts, ["1", "2", "x", "y"]);
        let mut call = connection.prepare("CALL two()").await.unwrap();
        for _ in 0..2 {
            let done = connection.execute(&mut call, &[], "CALL two()").await;
            assert_eq!(done.unwrap().rows, 3);
        }
        // An error behind a result is the reply's, and the connection goes on.
        connection
            .run("CREATE PROCEDURE fails() BEGIN SELECT 1; SELECT * FROM no_such_table; END")
            .await
            .unwrap();
        let error = connection.run("CALL fails()").await.unwrap_err();
        assert_eq!(error.number(), Some(1146), "{error}");
        assert_eq!(one_value(connection, "SELECT 7").await, "7");
    });
}

#[test]
fn prepared_statements_with_numbers_and_texts() {
    on_both(async |connection| {
        connection
            .run("CREATE TABLE p (id BIGINT PRIMARY KEY, c VARCHAR(200) CHARACTER SET utf8mb4)")
            .await
            .unwrap();
        let insert_sql = "INSERT INTO p VALUES (?, ?)";
        let mut insert = connection.prepare(insert_sql).await.unwrap();
        let texts = ["", "it's", "\\", "ü € 𝄞", "a\0b\r\n", &"x".repeat(199)];
        for (id, text) in texts.iter().enumerate() {
            let values = [Param::Int(id as i64), Param::Text(text)];
            connection
                .execute(&mut insert, &values, insert_sql)
                .await
                .unwrap();
        }
        let rows = connection
            .rows("SELECT c FROM p ORDER BY id")
            .await
            .unwrap();
        let stored: Vec<_> = rows
            .iter()
            .flatten()
            .flatten()
            .map(String::as_str)
            .collect();
        assert_eq!(stored, texts);

        // UPDATE reports the rows that it found, also those that it left as they were.
        let sql = "UPDATE p SET c = c WHERE id < ?";
        let mut update = connection.prepare(sql).await.unwrap();
        let done = connection
            .execute(&mut update, &[Param::Int(4)], sql)
            .await
            .unwrap();
        assert_eq!((done.rows, done.affected), (0, 4));

        // A value for each of many parameters; the NULLs' bits fill several bytes.
        let sql = format!("SELECT * FROM p WHERE id IN ({})", ["?"; 100].join(","));
        let mut select = connection.prepare(&sql).await.unwrap();
        for _ in 0..3 {
            let values: Vec<_> = (0..100).map(Param::Int).collect();
            let done = connection
                .execute(&mut select, &values, &sql)
                .await
                .unwrap();
            assert_eq!(done.rows, 6);
        }
        let error = connection.prepare("SELECT FROM WHERE").await.unwrap_err();
        assert_eq!(error.number(), Some(1064));
        assert_has(&error.to_string(), &["SELECT FROM WHERE"]);
        let duplicate = [Param::Int(0), Param::Text("")];
        let error = connection
            .execute(&mut insert, &duplicate, insert_sql)
            .await
            .unwrap_err();
        assert_eq!(error.number(), Some(1062));
        // More statements than one byte counts, and wide rows.
        let wide = format!("SELECT {}", ["1"; 1000].join(","));
        for _ in 0..300 {
            connection.prepare("SELECT ?, ?").await.unwrap();
        }
        let mut statement = connection.prepare(&wide).await.unwrap();
        let done = connection
            .execute(&mut statement, &[], &wide)
            .await
            .unwrap();
        assert_eq!(done.rows, 1);
    });
}

#[test]
fn many_rows_are_all_counted() {
    on_both(async |connection| {
        connection.run("CREATE TABLE n (id INT)").await.unwrap();
        connection.run("INSERT INTO n VALUES (1)").await.unwrap();
        for _ in 0..14 {
            connection
                .run("INSERT INTO n SELECT * FROM n")
                .await
                .unwrap();
        }
        let sql = "SELECT id, NULL, 'text' FROM n";
        assert_eq!(connection.run(sql).await.unwrap().rows, 1 << 14);
        let mut statement = connection.prepare(sql).await.unwrap();
        let done = connection.execute(&mut statement, &[], sql).await.unwrap();
        assert_eq!(done.rows, 1 << 14);
        let rows = connection.rows(sql).await.unwrap();
        assert_eq!(rows.len(), 1 << 14);
        assert_eq!(
            rows[77],
            [Some("1".to_owned()), None, Some("text".to_owned())]
        );
    });
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

#[test]
fn a_table_is_loaded_from_memory() {
    on_both(async |connection| {
        connection
            .run("CREATE TABLE l (id INT PRIMARY KEY, c TEXT)")
            .await
            .unwrap();
        let mut lines = Lines {
            next: 1,
            checksum: 0,
        };
        // Pieces of less than a packet, of just one, and of more.
        let mut lengths = vec![
            300,
            MAX_PAYLOAD_BYTES,
            5000,
            MAX_PAYLOAD_BYTES + 1,
            17 << 20,
            1000,
        ];
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
        let unexpected = connection.run(sql).await.unwrap_err();
        assert!(matches!(unexpected, Error::Protocol(_)), "{unexpected}");
    });
}

#[test]
fn a_server_that_forbids_local_files_says_so() {
    for server in [
        MariaDb::start(&["--local-infile=OFF"]),
        MySql::start(&["--local-infile=OFF"]),
    ] {
        server.sql("CREATE TABLE l (id INT)");
        let target = root(&server);
        run(async {
            let mut connection = Connection::open(&target).await.unwrap();
            let sql = "LOAD DATA LOCAL INFILE 'x' INTO TABLE l";
            let error = connection
                .load(sql, |_| panic!("no lines"))
                .await
                .unwrap_err();
            let (_, remedy) = told(&error);
            assert_has(remedy, &["local_infile"]);
        });
    }
}

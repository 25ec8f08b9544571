//! Limits that keep a hostile study small.

use crate::common::{SMALLEST, fails, plan};

#[test]
fn everything_is_bounded() {
    let lines = |n: usize, line: fn(usize) -> String| (0..n).map(line).collect::<String>();
    let settings = |n| {
        let settings = lines(n, |i| format!("a{i} = 1\n"));
        format!("{SMALLEST}[server.config]\n{settings}")
    };
    assert_eq!(plan(&settings(100), &[]).trials.len(), 1);
    let variants = lines(101, |i| format!("[[variant]]\nname = \"{i}\"\n"));
    let axes = lines(21, |i| format!("server.config.a{i} = [1]\n"));
    let long_name = format!("server.config.{}", "x".repeat(101));
    let tables = "{ rows = \"load.time\", columns = [\"tps\"] },".repeat(21);
    for (text, key, value, limit) in [
        (settings(101), "data.rows", "1", "100 settings"),
        (
            settings(100),
            "sweep.server.config.b",
            "[1]",
            "100 settings",
        ),
        (
            SMALLEST.to_owned(),
            "server.config.a",
            &"x".repeat(1001),
            "1000 bytes",
        ),
        (SMALLEST.to_owned(), &long_name, "1", "100 characters"),
        (
            format!("{SMALLEST}{variants}"),
            "data.rows",
            "1",
            "100 variants",
        ),
        (
            format!("{SMALLEST}[sweep]\n{axes}"),
            "data.rows",
            "1",
            "20 axes",
        ),
        (
            SMALLEST.to_owned(),
            "report.tables",
            &format!("[{tables}]"),
            "20 tables",
        ),
    ] {
        let error = fails(&text, &[(key, value)]);
        assert!(error.contains(&format!("at most {limit}")), "{error}");
    }
}

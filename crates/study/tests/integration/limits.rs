//! Limits that keep a hostile study small.

use crate::common::{SMALLEST, fails, plan};

#[test]
fn everything_is_bounded() {
    let settings = |n: usize| (0..n).map(|i| format!("a{i} = 1\n")).collect::<String>();
    let with = |n| format!("{SMALLEST}[server.config]\n{}", settings(n));
    assert_eq!(plan(&with(100), &[]).trials.len(), 1);
    assert!(fails(&with(101), &[]).contains("at most 100 settings"));
    assert!(fails(&with(100), &[("sweep.server.config.b", "[1]")]).contains("at most 100"));
    let long = "x".repeat(1001);
    assert!(fails(SMALLEST, &[("server.config.a", &long)]).contains("at most 1000 bytes"));
    let long = format!("server.config.{}", "x".repeat(101));
    assert!(fails(SMALLEST, &[(&long, "1")]).contains("at most 100 characters"));
    let variants: String = (0..101)
        .map(|i| format!("[[variant]]\nname = \"{i}\"\n"))
        .collect();
    assert!(fails(&format!("{SMALLEST}{variants}"), &[]).contains("at most 100"));
    let axes: String = (0..21)
        .map(|i| format!("server.config.a{i} = [1]\n"))
        .collect();
    assert!(fails(&format!("{SMALLEST}[sweep]\n{axes}"), &[]).contains("at most 20 axes"));
    let table = "{ rows = \"load.time\", columns = [\"tps\"] },".repeat(21);
    assert!(fails(SMALLEST, &[("report.tables", &format!("[{table}]"))]).contains("at most 20"));
}

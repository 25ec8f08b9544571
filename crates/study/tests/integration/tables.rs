//! Tables that a study wants in its report.

use crate::common::{fails, labels, plan};

const TABLES: &str = r#"
title = "t"
server.engine = "mariadb"
[sweep]
"topology.instances" = [1, 2]
server.config.sync-binlog = [0, 1]
[report]
tables = [
    { rows = "topology.instances", columns = ["tps", "cpu.usr"] },
    { rows = "server.config.sync-binlog", columns = ["response_ms.p9"] },
]
"#;

#[test]
fn tables_of_the_report() {
    let plan = plan(TABLES, &[]);
    let rows: Vec<_> = plan.tables.iter().map(|t| t.rows.as_str()).collect();
    assert_eq!(rows, ["topology.instances", "server.config.sync_binlog"]);
    assert_eq!(plan.tables[0].columns[0].as_str(), "tps");
}

#[test]
fn a_table_keeps_its_rows_when_their_axis_is_overridden() {
    let one = plan(TABLES, &[("topology.instances", "2")]);
    assert_eq!(
        one.axes,
        ["topology.instances", "server.config.sync_binlog"]
    );
    assert_eq!(
        labels(&one),
        ["instances=2, sync_binlog=0", "instances=2, sync_binlog=1"]
    );
    let none = plan(TABLES, &[("report.tables", "[]")]);
    assert!(none.tables.is_empty());
    let other = "[{ rows = \"topology.instances\", columns = [\"errors\"] }]";
    let other = plan(TABLES, &[("report.tables", other)]);
    assert_eq!(other.tables.len(), 1);
    assert_eq!(other.tables[0].columns[0].as_str(), "errors");
    let gone = fails(
        TABLES,
        &[(
            "report.tables",
            "[{ rows = \"load.time\", columns = [\"tps\"] }]",
        )],
    );
    assert!(
        gone.contains("`load.time` is not an axis of this study"),
        "{gone}"
    );
}

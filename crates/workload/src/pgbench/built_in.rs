//! pgbench's own scripts, and their tables.

use super::Source;
use crate::dialect::Dialect;
use crate::options::OptionsError;
use crate::session::Param;

/// The scale from which account numbers need 64 bits.
const BIG_SCALE: u32 = 20_000;

/// A script of pgbench.
#[derive(Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    /// What pgbench's report calls it.
    pub description: &'static str,
    /// Which lines of [`TPCB_LIKE`] it has.
    has: fn(&str) -> bool,
}

/// The first is what pgbench runs by default.
pub static SCRIPTS: [BuiltIn; 3] = [
    BuiltIn {
        name: "tpcb-like",
        description: "<builtin: TPC-B (sort of)>",
        has: |_| true,
    },
    BuiltIn {
        name: "simple-update",
        description: "<builtin: simple update>",
        has: |line| !line.contains("pgbench_tellers") && !line.contains("pgbench_branches"),
    },
    BuiltIn {
        name: "select-only",
        description: "<builtin: select only>",
        has: |line| line.starts_with("\\set aid") || line.starts_with("SELECT"),
    },
];

const TPCB_LIKE: &str = "\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
{begin};
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
{end};
";

impl BuiltIn {
    /// The only script whose name begins with `prefix`.
    pub fn find(prefix: &str) -> Result<&'static Self, OptionsError> {
        let is_meant = |script: &&Self| script.name.starts_with(prefix);
        let found: Vec<_> = SCRIPTS.iter().filter(is_meant).collect();
        let problem = match found.as_slice() {
            [script] => return Ok(*script),
            [] => format!("no builtin script found for name \"{prefix}\""),
            [..] => format!(
                "ambiguous builtin name: {} builtin scripts found for prefix \"{prefix}\"",
                found.len()
            ),
        };
        Err(OptionsError::Script(problem))
    }

    /// Its text for an engine.
    pub fn source(&self, dialect: &Dialect, weight: u32) -> Source {
        let lines = TPCB_LIKE.split_inclusive('\n');
        let text: String = lines.filter(|line| (self.has)(line)).collect();
        let is_postgres = dialect.has_numbered_placeholders;
        let text = text.replace("{begin}", dialect.begin(true));
        Source {
            name: self.description.to_owned(),
            text: text.replace("{end}", if is_postgres { "END" } else { "COMMIT" }),
            weight,
        }
    }
}

/// A table of the built-in scripts.
#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    columns: &'static str,
    key: Option<&'static str>,
    /// Rows for each unit of the scale.
    unit_rows: u64,
    filler: Param<'static>,
}

/// Branches, tellers, accounts, and the history.
pub static TABLES: [Table; 4] = [
    Table {
        name: "pgbench_branches",
        columns: "bid int not null, bbalance int, filler char(88)",
        key: Some("bid"),
        unit_rows: 1,
        filler: Param::Null,
    },
    Table {
        name: "pgbench_tellers",
        columns: "tid int not null, bid int, tbalance int, filler char(84)",
        key: Some("tid"),
        unit_rows: 10,
        filler: Param::Null,
    },
    Table {
        name: "pgbench_accounts",
        columns: "aid int not null, bid int, abalance int, filler char(84)",
        key: Some("aid"),
        unit_rows: 100_000,
        filler: Param::Text(""),
    },
    Table {
        name: "pgbench_history",
        columns: "tid int, bid int, aid int, delta int, mtime timestamp, filler char(22)",
        key: None,
        unit_rows: 0,
        filler: Param::Null,
    },
];

impl Table {
    /// Creates the table, before its rows are loaded.
    pub fn create(&self, dialect: &Dialect, scale: u32) -> String {
        let mut columns = self.columns.to_owned();
        if scale >= BIG_SCALE {
            columns = columns.replace("aid int", "aid bigint");
        }
        if !dialect.has_numbered_placeholders {
            // MySQL would update a timestamp with its row.
            columns = columns.replace("timestamp", "datetime");
        }
        if let Some(key) = self.key.filter(|_| !dialect.adds_primary_key) {
            columns += &format!(", primary key ({key})");
        }
        let engine = dialect.storage_engine("");
        let options = dialect.table_options.replace("{engine}", engine);
        format!("create table {} ({columns}){options}", self.name)
    }

    /// Adds the primary key, if that is faster once the rows are loaded.
    pub fn add_key(&self, dialect: &Dialect) -> Option<String> {
        let key = self.key.filter(|_| dialect.adds_primary_key)?;
        Some(format!("alter table {} add primary key ({key})", self.name))
    }

    /// How many rows [`Table::rows`] returns.
    pub fn row_count(&self, scale: u32) -> u64 {
        u64::from(scale) * self.unit_rows
    }

    /// Its rows before the first transaction, with values for all columns.
    pub fn rows(&self, scale: u32) -> impl Iterator<Item = Vec<Param<'static>>> {
        (0..self.row_count(scale)).map(move |row| {
            let (id, unit) = (row as i64 + 1, (row / self.unit_rows) as i64 + 1);
            let (id, branch) = (Param::Int(id), Param::Int(unit));
            match self.unit_rows {
                1 => vec![branch, Param::Int(0), self.filler],
                _ => vec![id, branch, Param::Int(0), self.filler],
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgbench::Pgbench;
    use crate::program::Script;

    const POSTGRES: Dialect = Dialect {
        adds_primary_key: true,
        has_numbered_placeholders: true,
        ..Dialect::STANDARD
    };

    const MYSQL: Dialect = Dialect {
        table_options: " /*! ENGINE = {engine} */",
        default_storage_engine: "innodb",
        has_on_conflict: false,
        ..Dialect::STANDARD
    };

    #[test]
    fn built_in_scripts_have_the_statements_of_pgbench() {
        for (name, dialect, statements) in [
            ("tpcb-like", &POSTGRES, 7),
            ("tpcb-like", &MYSQL, 7),
            ("simple-update", &POSTGRES, 5),
            ("select-only", &POSTGRES, 1),
        ] {
            let source = BuiltIn::find(name).unwrap().source(dialect, 1);
            let script = Pgbench::new(vec![source], &[], 1, dialect, 1).unwrap();
            assert_eq!(script.catalog().statements.len(), statements, "{name}");
        }
        let end = |dialect| {
            let source = BuiltIn::find("t").unwrap().source(dialect, 1);
            source.text.lines().last().map(str::to_owned)
        };
        assert_eq!(end(&POSTGRES).as_deref(), Some("END;"));
        assert_eq!(end(&MYSQL).as_deref(), Some("COMMIT;"));
    }

    #[test]
    fn names_may_be_shortened_while_they_are_clear() {
        assert_eq!(BuiltIn::find("si").unwrap().name, "simple-update");
        for (prefix, message) in [
            ("x", "no builtin script found for name \"x\""),
            (
                "s",
                "ambiguous builtin name: 2 builtin scripts found for prefix \"s\"",
            ),
        ] {
            assert_eq!(BuiltIn::find(prefix).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn tables_suit_their_engine() {
        let [branches, _, accounts, history] = &TABLES;
        assert_eq!(
            branches.create(&POSTGRES, 1),
            "create table pgbench_branches (bid int not null, bbalance int, filler char(88))"
        );
        assert_eq!(
            accounts.add_key(&POSTGRES).as_deref(),
            Some("alter table pgbench_accounts add primary key (aid)")
        );
        assert_eq!(
            accounts.create(&MYSQL, BIG_SCALE),
            "create table pgbench_accounts (aid bigint not null, bid int, abalance int, \
             filler char(84), primary key (aid)) /*! ENGINE = innodb */"
        );
        assert_eq!(accounts.add_key(&MYSQL), None);
        assert!(history.create(&MYSQL, 1).contains("mtime datetime"));
        assert!(history.create(&POSTGRES, 1).contains("mtime timestamp"));
        assert_eq!(history.add_key(&POSTGRES), None);
    }

    #[test]
    fn rows_belong_to_their_branch() {
        let [branches, tellers, accounts, history] = &TABLES;
        let int = Param::Int;
        assert!(branches.rows(2).eq([1, 2].map(|id| vec![int(id), int(0), Param::Null])));
        let tellers: Vec<_> = tellers.rows(2).collect();
        assert_eq!(tellers.len(), 20);
        assert_eq!(tellers[9], [int(10), int(1), int(0), Param::Null]);
        assert_eq!(tellers[10], [int(11), int(2), int(0), Param::Null]);
        let last = accounts.rows(1).last().unwrap();
        assert_eq!(last, [int(100_000), int(1), int(0), Param::Text("")]);
        assert_eq!(history.rows(5).count(), 0);
    }
}

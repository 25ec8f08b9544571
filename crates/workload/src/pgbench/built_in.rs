//! pgbench's own scripts.

use super::Source;
use crate::dialect::Dialect;
use crate::options::OptionsError;

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
}

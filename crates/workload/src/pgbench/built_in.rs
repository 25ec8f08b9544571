//! pgbench's own scripts.

use super::Source;
use crate::dialect::Dialect;

/// A script of pgbench.
#[derive(Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    /// What precedes the lines of [`TEXT`] that it has.
    marks: &'static [char],
}

/// The first is what pgbench runs by default.
pub static SCRIPTS: [BuiltIn; 3] = [
    built_in("tpcb-like", &['1', '2', '3']),
    built_in("simple-update", &['1', '2']),
    built_in("select-only", &['1']),
];

const TEXT: &str = "\
1\\set aid random(1, 100000 * :scale)
2\\set bid random(1, 1 * :scale)
2\\set tid random(1, 10 * :scale)
2\\set delta random(-5000, 5000)
2{begin};
2UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
1SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
3UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
3UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
2INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
2{end};
";

const fn built_in(name: &'static str, marks: &'static [char]) -> BuiltIn {
    BuiltIn { name, marks }
}

impl BuiltIn {
    /// Its text for an engine.
    pub fn source(&self, dialect: &Dialect, weight: u32) -> Source {
        let own = |line: &'static str| line.strip_prefix(self.marks);
        let text: String = TEXT.split_inclusive('\n').filter_map(own).collect();
        let is_pgbenchs_own = dialect.has_numbered_placeholders;
        let text = text.replace("{begin}", dialect.begin(true));
        Source {
            name: self.name.to_owned(),
            text: text.replace("{end}", if is_pgbenchs_own { "END" } else { "COMMIT" }),
            weight,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgbench::Pgbench;
    use crate::program::Script;

    const NUMBERED: Dialect = Dialect {
        has_numbered_placeholders: true,
        ..Dialect::STANDARD
    };

    const UNNUMBERED: Dialect = Dialect {
        has_on_conflict: false,
        ..Dialect::STANDARD
    };

    #[test]
    fn built_in_scripts_have_the_statements_of_pgbench() {
        for (built_in, statements) in SCRIPTS.iter().zip([7, 5, 1]) {
            for dialect in [&NUMBERED, &UNNUMBERED] {
                let source = built_in.source(dialect, 1);
                let script = Pgbench::new(vec![source], &[], 1, dialect, 1).unwrap();
                assert_eq!(
                    script.catalog().statements.len(),
                    statements,
                    "{built_in:?}"
                );
            }
        }
    }

    #[test]
    fn a_transaction_ends_as_the_engine_understands_it() {
        for (dialect, end) in [(&NUMBERED, "END;"), (&UNNUMBERED, "COMMIT;")] {
            let source = SCRIPTS[0].source(dialect, 1);
            assert_eq!(source.text.lines().next_back(), Some(end));
        }
    }
}

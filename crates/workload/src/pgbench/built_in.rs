//! pgbench's own scripts.

use crate::dialect::Dialect;

/// Their names, each with what precedes the lines of [`TEXT`] that it has.
const SCRIPTS: [(&str, &[char]); 3] = [
    ("tpcb-like", &['1', '2', '3']),
    ("simple-update", &['1', '2']),
    ("select-only", &['1']),
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

/// Whether a script is one of them.
pub fn is_built_in(name: &str) -> bool {
    SCRIPTS.iter().any(|(known, _)| *known == name)
}

/// The text of one of them for an engine.
pub(super) fn text(name: &str, dialect: &Dialect) -> Option<String> {
    let (_, marks) = SCRIPTS.iter().find(|(known, _)| *known == name)?;
    let own = |line: &'static str| line.strip_prefix(*marks);
    let text: String = TEXT.split_inclusive('\n').filter_map(own).collect();
    let is_pgbenchs_own = dialect.has_numbered_placeholders;
    let text = text.replace("{begin}", dialect.begin(true));
    Some(text.replace("{end}", if is_pgbenchs_own { "END" } else { "COMMIT" }))
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
        for ((name, _), statements) in SCRIPTS.iter().zip([7, 5, 1]) {
            for dialect in [&NUMBERED, &UNNUMBERED] {
                let scripts = [plan::Script::new(name, 1)];
                let script = Pgbench::new(&scripts, &[], 1, dialect, 1).unwrap();
                assert_eq!(script.catalog().statements.len(), statements, "{name}");
            }
        }
    }

    #[test]
    fn a_transaction_ends_as_the_engine_understands_it() {
        for (dialect, end) in [(&NUMBERED, "END;"), (&UNNUMBERED, "COMMIT;")] {
            let text = text("tpcb-like", dialect).unwrap();
            assert_eq!(text.lines().next_back(), Some(end));
        }
    }
}

//! Scripts from their texts to what their users ask for.

use super::*;
use crate::catalog::StatementClass;
use crate::program::{Answer, Request};
use crate::session::{FailureKind, Param, Reply, Rows, SessionError};

const NUMBERED: Dialect = Dialect {
    has_numbered_placeholders: true,
    ..Dialect::STANDARD
};

fn source(text: &str, weight: u32) -> plan::Script {
    plan::Script {
        text: text.into(),
        ..plan::Script::new("e.sql", weight)
    }
}

fn pgbench(texts: &[&str], definitions: &[&str]) -> Result<Pgbench, OptionsError> {
    let sources: Vec<_> = texts.iter().map(|text| source(text, 1)).collect();
    let definitions: Vec<_> = definitions.iter().map(|it| (*it).to_owned()).collect();
    Pgbench::new(&sources, &definitions, 3, &NUMBERED, 11)
}

fn user(texts: &[&str], definitions: &[&str], number: u32) -> Box<dyn Program> {
    let pgbench = pgbench(texts, definitions).unwrap();
    pgbench.programs(number..number + 1).unwrap().remove(0)
}

fn replied(rows: &mut Rows) -> Answer<'_> {
    let reply = Reply::default();
    Answer::Replied { reply, rows }
}

/// What the user asks for in a transaction, whose statements return `rows`.
fn requests(user: &mut dyn Program, rows: &Rows) -> Vec<String> {
    let (mut rows, mut asked) = (rows.clone(), Vec::new());
    let mut answer = Answer::Transaction;
    loop {
        let request = user.resume(answer);
        asked.push(match &request {
            Request::Execute {
                statement, params, ..
            } => format!("{statement} {params:?}"),
            Request::Run {
                sql, wants_rows, ..
            } => format!("{sql} {wants_rows}"),
            Request::Pause(length) => format!("{length:?}"),
            Request::Done { kind } => format!("done {kind}"),
            Request::Fail(message) => (*message).to_owned(),
            other => format!("{other:?}"),
        });
        answer = match request {
            Request::Execute { .. } | Request::Run { .. } => replied(&mut rows),
            Request::Pause(_) => Answer::Continued,
            _ => return asked,
        };
    }
}

fn rows(columns: &[&str], values: &[&[Option<&str>]]) -> Rows {
    let owned = |row: &&[Option<&str>]| -> Vec<Option<String>> {
        row.iter().map(|cell| cell.map(str::to_owned)).collect()
    };
    Rows {
        columns: columns.iter().map(|it| (*it).to_owned()).collect(),
        rows: values.iter().map(owned).collect(),
    }
}

fn error(kind: FailureKind) -> SessionError {
    SessionError {
        kind,
        ..SessionError::of_script(String::new())
    }
}

#[test]
fn commands_become_requests() {
    let text = "\\set x 2 * :scale\n\\if :x > 5\nSELECT :x, :y;\n\\else\nB;\n\\endif\n\
                \\sleep 10 ms\nSELECT ':x', :z, '?';\n";
    let mut user = user(&[text], &["z=it's"], 0);
    assert_eq!(
        requests(&mut *user, &Rows::default()),
        [
            "0 [Int(6), Null]",
            "10ms",
            "SELECT '6', 'it''s', '?' false",
            "done 0"
        ]
    );
}

#[test]
fn a_branch_runs_if_none_before_it_does() {
    let text = "\\if :x = 1\nA;\n\\if :y\nB;\n\\endif\n\\elif :x < 3\nC;\n\\else\nD;\n\\endif\nE;";
    for (definitions, statements) in [
        (["x=1", "y=0"], vec!["0 []", "4 []"]),
        (["x=1", "y=t"], vec!["0 []", "1 []", "4 []"]),
        (["x=2", "y=t"], vec!["2 []", "4 []"]),
        (["x=3", "y=t"], vec!["3 []", "4 []"]),
    ] {
        let asked = requests(&mut *user(&[text], &definitions, 0), &Rows::default());
        assert_eq!(asked[..asked.len() - 1], statements, "{definitions:?}");
    }
}

#[test]
fn a_text_is_a_parameter() {
    let mut user = user(&["SELECT :a;"], &["a=it's"], 0);
    let asked = requests(&mut *user, &Rows::default());
    assert_eq!(asked[0], format!("0 {:?}", [Param::Text(b"it's")]));
}

#[test]
fn the_catalog_has_labels_and_placeholders() {
    let text = "SELECT  a\n FROM t WHERE b = :x::int;\nupdate t set a = :x; SELECT ':x'";
    let catalog = pgbench(&[text], &["x=1"]).unwrap().catalog();
    let texts: Vec<_> = catalog
        .statements
        .iter()
        .map(|it| it.sql.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "SELECT  a\n FROM t WHERE b = $1::int",
            "update t set a = $1"
        ]
    );
    let labels: Vec<_> = catalog
        .labels
        .iter()
        .skip(program::labels().count())
        .collect();
    assert_eq!(
        labels,
        [
            ("SELECT a FROM t WHERE b = :x::int", StatementClass::Read),
            ("update t set a = :x", StatementClass::Write)
        ]
    );
}

#[test]
fn a_result_becomes_variables() {
    let one = rows(&["a", "b"], &[&[Some("5"), None]]);
    let two = rows(&["a"], &[&[Some("1")], &[Some("2")]]);
    let text = "SELECT 1 \\gset p_\nSELECT ':p_a', ':p_b', ':p_c';";
    let mut user = user(&[text], &[], 0);
    assert_eq!(
        requests(&mut *user, &one),
        ["SELECT 1 true", "SELECT '5', '', ':p_c' false", "done 0"]
    );
    assert_eq!(
        requests(&mut *user, &two)[1..],
        ["e.sql:1: expected one row, got 2"]
    );
}

#[test]
fn errors_have_their_place() {
    let mut user = user(&["SELECT 1;\n\\set x 1 / 0\n"], &[], 0);
    let asked = requests(&mut *user, &Rows::default());
    assert_eq!(asked[1..], ["e.sql:2: division by zero"]);
    for (definition, message) in [
        ("x", "invalid variable definition: \"x\""),
        ("1x=3", "invalid variable name: \"1x\""),
    ] {
        let error = pgbench(&["A"], &[definition]).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let none = Pgbench::new(&[source("A", 0)], &[], 1, &NUMBERED, 1).unwrap_err();
    assert_eq!(none.to_string(), "total script weight must not be zero");
}

#[test]
fn a_script_runs_again_unless_it_was_refused() {
    let mut user = user(&["A; B;", "C; D;"], &[], 4);
    let mut none = Rows::default();
    let mut changes = 0;
    for kind in [FailureKind::Restart, FailureKind::Refused].repeat(20) {
        let first = format!("{:?}", user.resume(Answer::Transaction));
        let _ = user.resume(replied(&mut none));
        assert!(matches!(
            user.resume(Answer::Failed(&error(kind))),
            Request::Restart
        ));
        let again = format!("{:?}", user.resume(Answer::Transaction));
        match kind {
            FailureKind::Restart => assert_eq!(again, first),
            _ => changes += u32::from(again != first),
        }
        let _ = user.resume(replied(&mut none));
        assert!(matches!(
            user.resume(replied(&mut none)),
            Request::Done { .. }
        ));
    }
    assert!((1..20).contains(&changes), "{changes}");
}

#[test]
fn a_script_that_runs_again_repeats_its_draws() {
    let text = "\\set r random(1, 1000000)\n\\set s :s + 1\nSELECT :r, :s;";
    let mut user = user(&[text], &["s=0"], 0);
    let first = format!("{:?}", user.resume(Answer::Transaction));
    let failure = error(FailureKind::Restart);
    assert!(matches!(
        user.resume(Answer::Failed(&failure)),
        Request::Restart
    ));
    assert_eq!(format!("{:?}", user.resume(Answer::Transaction)), first);
    let _ = user.resume(replied(&mut Rows::default()));
    assert_ne!(format!("{:?}", user.resume(Answer::Transaction)), first);
}

#[test]
fn seed_and_number_decide_what_a_user_does() {
    let text = "\\set r random(1, 1000000)\nSELECT :r, :client_id, :scale, :random_seed;";
    let asked = |number, definitions: &[&str]| {
        requests(&mut *user(&[text], definitions, number), &Rows::default())
    };
    assert_eq!(asked(3, &[]), asked(3, &[]));
    assert_ne!(asked(3, &[]), asked(4, &[]));
    assert!(asked(3, &[])[0].ends_with("Int(3), Int(3), Int(11)]"));
    assert!(asked(3, &["scale=8"])[0].ends_with("Int(3), Int(8), Int(11)]"));
}

#[test]
fn scripts_run_by_their_weights() {
    let sources = [source("A", 3), source("B", 0), source("C", 1)];
    let pgbench = Pgbench::new(&sources, &[], 1, &NUMBERED, 5).unwrap();
    assert_eq!(pgbench.kinds(), 3);
    let mut user = pgbench.programs(0..1).unwrap().remove(0);
    let mut counts = [0; 3];
    for _ in 0..4_000 {
        let asked = requests(&mut *user, &Rows::default());
        let kind: usize = asked[1].trim_start_matches("done ").parse().unwrap();
        counts[kind] += 1;
    }
    assert!((2_850..3_150).contains(&counts[0]), "{counts:?}");
    assert_eq!(counts[1], 0);
}

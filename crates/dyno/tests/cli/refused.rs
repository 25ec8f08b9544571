//! Mistakes on the command line: each is refused before anything starts, with what to write instead.
//! The tables beside the tests have a line for each, `WORDS => TEXT & TEXT`.

use crate::common::{Finished, Program, cases};

/// Words apart by spaces; those in single quotes are one.
fn refused(words: &str, texts: &[&str]) -> Finished {
    let mut program = Program::new();
    for (number, part) in words.split('\'').enumerate() {
        program = match number % 2 {
            0 => program.args(part),
            _ => program.arg(part),
        };
    }
    let refused = program.fails(2, texts);
    // A benchmark without `--out` makes a directory of its own.
    let made = std::fs::read_dir(refused.dir()).unwrap().count();
    assert_eq!(made, 0, "{words}");
    refused
}

#[test]
fn mistakes_are_told() {
    for (words, texts) in cases(include_str!("../refused/mistakes.txt")) {
        refused(words, &texts);
    }
}

/// What other tools take, or take in another place.
#[test]
fn what_means_something_else_is_answered_with_what_to_write() {
    for (words, texts) in cases(include_str!("../refused/hints.txt")) {
        let refused = refused(words, &texts);
        refused.hides("hush");
        assert!(!refused.stderr.contains("similar"), "{refused}");
    }
}

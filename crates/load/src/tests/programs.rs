//! Users of a script: their connections, their statements, and what is counted.

use std::ops::Range;

use workload::catalog::Catalog;
use workload::options::OptionsError;
use workload::program::{self, Answer, Program, Request, Script};
use workload::session::{FailureKind, Reply};

use super::script::{self, fails};
use super::*;

/// What a program asks for: its step, and the numbers of what it has opened or prepared.
type Next = fn(usize, &[u32]) -> Request<'static>;

/// Its steps count from 0 to start, from 10 for a transaction, and from 20 to finish.
struct Steps {
    step: usize,
    opened: Vec<u32>,
    next: Next,
}

impl Program for Steps {
    fn resume(&mut self, answer: Answer<'_>) -> Request<'_> {
        self.step = match answer {
            Answer::Start => 0,
            Answer::Transaction => 10,
            Answer::Finish => 20,
            Answer::Failed(error) if error.kind == FailureKind::Script => {
                assert_eq!(error.message, "the statement is not prepared");
                self.step + 1
            }
            Answer::Failed(_) => return Request::Restart,
            Answer::Opened(number) => {
                self.opened.push(number);
                self.step + 1
            }
            Answer::Replied { rows, .. } => {
                assert_eq!(rows.columns.len(), usize::from(self.step == 11));
                self.step + 1
            }
            Answer::Continued => self.step + 1,
        };
        (self.next)(self.step, &self.opened)
    }
}

#[derive(Debug)]
struct OfSteps(Next);

impl Script for OfSteps {
    fn catalog(&self) -> Catalog {
        Catalog {
            labels: program::labels(),
            statements: Vec::new(),
        }
    }

    fn programs(&self, users: Range<u32>) -> Result<Vec<Box<dyn Program>>, OptionsError> {
        let next = self.0;
        let program = |_| -> Box<dyn Program> {
            let (step, opened) = (0, Vec::new());
            Box::new(Steps { step, opened, next })
        };
        Ok(users.map(program).collect())
    }
}

/// One user on a server that loses the connection of a statement; its second connection reads.
fn drive_steps(next: Next, lost: u32) -> (Scripted, Slice) {
    let server = Scripted::answering(&simulation(), move |request| {
        if request.number == lost {
            return fails(FailureKind::Lost, 0);
        }
        let has_result = request.connection == 1;
        let reply = Reply {
            has_result,
            rows: 0,
            affected: u64::from(!has_result),
        };
        script::Answer::After(MS, Ok(reply))
    });
    let mut spec = lasting_s(1);
    spec.users = 1;
    let workload = BuiltIn::of_script(Arc::new(OfSteps(next)));
    let driven = drive_own(&workload, &spec, &server, &Stop::default(), |_, _| {});
    assert_eq!(driven.outcome().end, End::Completed);
    let mut total = driven.measured();
    total.merge(&driven.total(Phase::Drain));
    (server, total)
}

/// Opens two connections, prepares a statement on the first, and uses both in each transaction.
fn both(step: usize, opened: &[u32]) -> Request<'static> {
    match step {
        0 | 1 => Request::Open,
        2 => Request::Prepare {
            connection: 0,
            sql: "p",
        },
        10 => Request::Execute {
            connection: 0,
            statement: opened[2],
            params: Vec::new(),
        },
        11 => Request::Run {
            connection: 1,
            sql: "q",
            wants_rows: true,
        },
        12 => Request::Pause(Duration::from_millis(98)),
        13 => Request::Done { kind: 0 },
        20 => Request::Close { connection: 1 },
        _ => Request::Ready,
    }
}

#[test]
fn a_script_keeps_its_connections_and_statements() {
    let (server, total) = drive_steps(both, 5);
    let log: Vec<_> = server
        .log()
        .iter()
        .map(|entry| (entry.request.asked, entry.request.connection))
        .collect();
    let begin = [
        (Asked::Connection, 0),
        (Asked::Connection, 1),
        (Asked::Statement, 0),
        (Asked::Statement, 0),
        (Asked::Statement, 1),
        (Asked::Statement, 0),
        (Asked::Statement, 1),
        // The connection is lost. The statement is prepared again on the new one.
        (Asked::Statement, 0),
        (Asked::Connection, 2),
        (Asked::Statement, 2),
        (Asked::Statement, 2),
        (Asked::Statement, 1),
    ];
    assert_eq!(log[..begin.len()], begin);
    let end = [(Asked::Close, 1), (Asked::Close, 2)];
    assert_eq!(log[log.len() - 2..], end);
    // Reads, writes, and others, by their outcomes.
    let counts: Vec<u64> = total.statements.iter().map(|one| one.count()).collect();
    assert_eq!((counts, total.response.count()), (vec![10, 10, 0], 10));
    assert_eq!((total.reconnects, total.errors["network"].count), (1, 1));
    // A pause at the end of a transaction is a part of it.
    assert_eq!(total.response.sum_ns(), u128::from(SECOND));
}

/// Closes the first of two connections, opens another one, and executes a statement of the old one.
fn reopening(step: usize, opened: &[u32]) -> Request<'static> {
    match step {
        0 | 1 | 11 | 14 => Request::Open,
        10 | 13 => Request::Close { connection: 0 },
        12 => {
            assert_eq!(opened.last(), Some(&0));
            Request::Prepare {
                connection: 0,
                sql: "p",
            }
        }
        15 => {
            assert_eq!(opened.last(), Some(&0));
            Request::Execute {
                connection: 0,
                statement: opened[opened.len() - 2],
                params: Vec::new(),
            }
        }
        16 => Request::Done { kind: 0 },
        _ => Request::Ready,
    }
}

#[test]
fn a_closed_connection_leaves_its_number_and_takes_its_statements_along() {
    let (_, total) = drive_steps(reopening, u32::MAX);
    let count = total.response.count();
    assert!(count > 900, "{count}");
    assert_eq!(total.errors["script"].count, count);
    assert_eq!(total.statement_count(), 0);
}

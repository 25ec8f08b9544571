//! Users of a script: their connections, their statements, and what is counted.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use workload::catalog::{Catalog, Label};
use workload::options::OptionsError;
use workload::program::{self, Answer, Program, Request, Script};
use workload::session::{Connect, FailureKind, Param, Reply, Rows, Session};

use super::script::error;
use super::*;

/// Opens two connections, prepares a statement on the first, and uses both in each transaction.
#[derive(Debug)]
struct Both {
    step: usize,
    statement: u32,
}

impl Program for Both {
    fn resume(&mut self, answer: Answer<'_>) -> Request<'_> {
        self.step = match answer {
            Answer::Start => 0,
            Answer::Transaction => 4,
            Answer::Finish => 8,
            Answer::Failed(_) => return Request::Restart,
            Answer::Opened(number) => {
                self.statement = number;
                self.step + 1
            }
            Answer::Replied { rows, .. } => {
                assert_eq!(rows.columns.len(), usize::from(self.step == 5));
                self.step + 1
            }
            Answer::Continued => self.step + 1,
        };
        match self.step {
            0 | 1 => Request::Open,
            2 => Request::Prepare {
                connection: 0,
                sql: "p",
            },
            3 | 9 => Request::Ready,
            4 => Request::Execute {
                connection: 0,
                statement: self.statement,
                params: Vec::new(),
            },
            5 => Request::Run {
                connection: 1,
                sql: "q",
                wants_rows: true,
            },
            6 => Request::Pause(Duration::from_millis(98)),
            7 => Request::Done { kind: 0 },
            _ => Request::Close { connection: 1 },
        }
    }
}

#[derive(Debug)]
struct OfBoth;

impl Script for OfBoth {
    fn catalog(&self) -> Catalog {
        Catalog {
            labels: program::labels(),
            statements: Vec::new(),
        }
    }

    fn programs(&self, users: Range<u32>) -> Result<Vec<Box<dyn Program>>, OptionsError> {
        let (step, statement) = (0, 0);
        let program = |_| -> Box<dyn Program> { Box::new(Both { step, statement }) };
        Ok(users.map(program).collect())
    }
}

/// A server that notes what it is asked, and loses the connection of the third execution.
#[derive(Clone)]
struct Noting {
    clock: Simulation,
    asked: Rc<RefCell<Vec<String>>>,
}

impl Noting {
    fn count(&self, what: &str) -> usize {
        let asked = self.asked.borrow();
        asked.iter().filter(|asked| asked.starts_with(what)).count()
    }

    fn note(&self, what: &str, connection: usize) {
        self.asked.borrow_mut().push(format!("{what} {connection}"));
    }

    async fn ask(&self, what: &str, connection: usize) {
        self.note(what, connection);
        self.clock.sleep_until(self.clock.now_ns() + MS).await;
    }
}

struct OfNoting {
    server: Noting,
    number: usize,
}

impl Connect for Noting {
    type Session = OfNoting;

    async fn connect(&self, _: &Arc<Catalog>) -> Result<OfNoting, SessionError> {
        let number = self.count("open");
        self.note("open", number);
        Ok(OfNoting {
            server: self.clone(),
            number,
        })
    }
}

impl Session for OfNoting {
    async fn execute(&mut self, _: u32, _: &[Param<'_>]) -> Result<Reply, SessionError> {
        self.server.ask("execute", self.number).await;
        match self.server.count("execute") {
            3 => Err(error(FailureKind::Lost, 0)),
            _ => Ok(Reply {
                affected: 1,
                ..Reply::default()
            }),
        }
    }

    async fn query(&mut self, _: Label, _: &str) -> Result<Reply, SessionError> {
        Ok(Reply::default())
    }

    async fn fetch(&mut self, _: &str, rows: &mut Rows) -> Result<Reply, SessionError> {
        self.server.ask("fetch", self.number).await;
        rows.columns.push("c".to_owned());
        Ok(Reply {
            has_result: true,
            ..Reply::default()
        })
    }

    async fn prepare(&mut self, _: &str) -> Result<u32, SessionError> {
        self.server.ask("prepare", self.number).await;
        Ok(0)
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        Ok(())
    }

    async fn close(self) {
        self.server.note("close", self.number);
    }
}

#[test]
#[expect(
    clippy::arc_with_non_send_sync,
    reason = "the engine takes an Arc; a simulation has one thread"
)]
fn a_script_keeps_its_connections_and_statements() {
    let clock = simulation();
    let server = Noting {
        clock: clock.clone(),
        asked: Rc::default(),
    };
    let mut spec = lasting_s(1);
    spec.users = 1;
    let workload = BuiltIn::of_script(Arc::new(OfBoth));
    let (connector, stop) = (Arc::new(server.clone()), Stop::default());
    let mut total = Slice::new(3);
    let ended = run_on(
        clock,
        &spec,
        &connector,
        &workload,
        &stop,
        None,
        &mut |event| {
            if let LoadEvent::Second(second) = event {
                total.merge(&second.slice);
            }
        },
    );
    assert_eq!(ended.unwrap().end, End::Completed);
    let asked = server.asked.borrow();
    let begin = [
        "open 0",
        "open 1",
        "prepare 0",
        "execute 0",
        "fetch 1",
        "execute 0",
        "fetch 1",
        // The statement is prepared again on the new connection.
        "execute 0",
        "open 2",
        "prepare 2",
        "execute 2",
        "fetch 1",
    ];
    assert_eq!(asked[..begin.len()], begin);
    assert_eq!(asked[asked.len() - 2..], ["close 1", "close 2"]);
    // Reads, writes, and others, by their outcomes.
    let counts: Vec<u64> = total.statements.iter().map(|one| one.count()).collect();
    assert_eq!((counts, total.response.count()), (vec![10, 10, 0], 10));
    assert_eq!((total.reconnects, total.errors["network"].count), (1, 1));
}

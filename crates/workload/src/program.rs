//! Scripts: virtual users whose transactions a program decides step by step.
//!
//! A [`Program`] does no IO: it says what it needs, and is resumed with the answer. So a script
//! sees calls that block, while its worker serves other users.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use crate::catalog::{Catalog, Label, Labels, StatementClass};
use crate::options::OptionsError;
use crate::session::{Connections, Param, Reply, Rows, SessionError};
use crate::virtual_user::{Done, VirtualUser};

/// A script that is ready to run.
pub trait Script: fmt::Debug + Send + Sync {
    /// Its statements that are known beforehand. The first labels are those of [`labels`].
    fn catalog(&self) -> Catalog;

    /// The number of its kinds of transactions, as in [`Request::Done`].
    fn kinds(&self) -> usize {
        1
    }

    /// Creates the programs of these virtual users, on the thread that runs them.
    fn programs(&self, users: Range<u32>) -> Result<Vec<Box<dyn Program>>, OptionsError>;
}

/// What one virtual user does.
pub trait Program {
    /// Continues with the answer to the last request, or with what the load wants next.
    fn resume(&mut self, answer: Answer<'_>) -> Request<'_>;
}

/// What a program is resumed with.
#[derive(Debug)]
pub enum Answer<'a> {
    /// Open connections and prepare for transactions, up to [`Request::Ready`].
    Start,
    /// Run a transaction, up to [`Request::Done`]. After [`Request::Restart`], run it again.
    Transaction,
    /// The load is over: clean up, up to [`Request::Ready`].
    Finish,
    /// A statement succeeded. `rows` is empty unless they were asked for; they may be taken.
    Replied { reply: Reply, rows: &'a mut Rows },
    /// The number of the connection that was opened, or of the statement that was prepared.
    Opened(u32),
    /// A connection or statement was closed, or the pause is over.
    Continued,
    /// What was asked for failed.
    Failed(&'a SessionError),
}

/// What a program needs. Connections have numbers from 0.
#[derive(Debug)]
pub enum Request<'a> {
    Open,
    Close {
        connection: u32,
    },
    Run {
        connection: u32,
        sql: &'a str,
        /// Whether the program reads the rows.
        wants_rows: bool,
    },
    Prepare {
        connection: u32,
        sql: &'a str,
    },
    /// Executes a statement of the catalog, or one that was prepared.
    Execute {
        connection: u32,
        statement: u32,
        params: Vec<Param<'a>>,
    },
    Free {
        connection: u32,
        statement: u32,
    },
    Pause(Duration),
    /// The preparation or the cleaning up is complete.
    Ready,
    /// The transaction is complete.
    Done {
        /// Which kind of transaction it was.
        kind: u32,
    },
    /// The user runs no further transaction, and this one does not count.
    Last,
    /// Undo the transaction because of the last failure, and run it again.
    Restart,
    /// The load cannot go on: the error of the script, with its place.
    Fail(&'a str),
}

/// The labels of statements that are not in a catalog, by their outcome, as sysbench counts them.
pub fn labels() -> Labels {
    let mut labels = Labels::default();
    for class in StatementClass::ALL {
        labels.intern(class.to_string(), *class);
    }
    labels
}

/// The label of a statement with this outcome.
pub fn label(reply: &Reply) -> Label {
    let class = match (reply.has_result, reply.affected) {
        (true, _) => StatementClass::Read,
        (false, 1..) => StatementClass::Write,
        (false, 0) => StatementClass::Other,
    };
    Label::of_class(class)
}

/// A virtual user that runs a program.
pub struct ScriptUser {
    program: Box<dyn Program>,
    rows: Rows,
}

impl ScriptUser {
    pub fn new(program: Box<dyn Program>) -> Self {
        Self {
            program,
            rows: Rows::default(),
        }
    }

    /// Resumes the program until it has done what `begin` asks for.
    async fn run<S: Connections>(
        &mut self,
        begin: Answer<'static>,
        session: &mut S,
    ) -> Result<Done, SessionError> {
        let Self { program, rows } = self;
        let done = |kind, is_last| Done {
            kind,
            is_last,
            ..Done::default()
        };
        let mut request = program.resume(begin);
        loop {
            request = match request {
                Request::Ready => return Ok(Done::default()),
                Request::Done { kind } => return Ok(done(kind, false)),
                Request::Last => return Ok(done(0, true)),
                Request::Fail(message) => return Err(SessionError::of_script(message.to_owned())),
                other => {
                    *rows = Rows::default();
                    match serve(other, rows, session).await {
                        Ok(answer) => program.resume(answer),
                        Err(error) => {
                            let next = program.resume(Answer::Failed(&error));
                            match next {
                                Request::Restart => return Err(error),
                                // What the server refused is why the script fails.
                                Request::Fail(message) => {
                                    return Err(SessionError {
                                        sqlstate: error.sqlstate,
                                        number: error.number,
                                        ..SessionError::of_script(message.to_owned())
                                    });
                                }
                                _ => session.caught(&error),
                            }
                            next
                        }
                    }
                }
            };
        }
    }
}

/// Does what a program asks for.
async fn serve<'a, S: Connections>(
    request: Request<'_>,
    rows: &'a mut Rows,
    session: &mut S,
) -> Result<Answer<'a>, SessionError> {
    Ok(match request {
        Request::Open => Answer::Opened(session.open().await?),
        Request::Close { connection } => {
            session.select(connection);
            session.shut().await;
            Answer::Continued
        }
        Request::Run {
            connection,
            sql,
            wants_rows,
        } => {
            session.select(connection);
            let wanted = wants_rows.then_some(&mut *rows);
            let reply = session.run(sql, wanted).await?;
            Answer::Replied { reply, rows }
        }
        Request::Prepare { connection, sql } => {
            session.select(connection);
            Answer::Opened(session.prepare(&sql.into()).await?)
        }
        Request::Execute {
            connection,
            statement,
            params,
        } => {
            session.select(connection);
            let reply = session.execute(statement, &params).await?;
            Answer::Replied { reply, rows }
        }
        Request::Free {
            connection,
            statement,
        } => {
            session.select(connection);
            session.free(statement).await;
            Answer::Continued
        }
        Request::Pause(length) => {
            session.pause(length).await;
            Answer::Continued
        }
        // Only after an error is there anything to undo.
        Request::Restart => {
            let message = "the script restarts a transaction without an error";
            return Err(SessionError::of_script(message.to_owned()));
        }
        Request::Ready | Request::Done { .. } | Request::Last | Request::Fail(_) => {
            Answer::Continued
        }
    })
}

impl VirtualUser for ScriptUser {
    async fn start<S: Connections>(&mut self, session: &mut S) -> Result<(), SessionError> {
        self.run(Answer::Start, session).await.map(drop)
    }

    async fn transaction<S: Connections>(&mut self, session: &mut S) -> Result<Done, SessionError> {
        self.run(Answer::Transaction, session).await
    }

    async fn finish<S: Connections>(&mut self, session: &mut S) -> Result<(), SessionError> {
        self.run(Answer::Finish, session).await.map(drop)
    }
}

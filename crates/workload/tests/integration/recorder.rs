//! A session that records what it is sent.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use workload::built_in::{BuiltIn, BuiltInUser};
use workload::catalog::{Catalog, Label, StatementClass};
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::Dialect;
use workload::session::{Connections, FailureKind, Param, Reply, Rows, Session, SessionError};
use workload::virtual_user::{VirtualUser, Workload};

/// A parameter that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Int(i64),
    Text(String),
}

impl Value {
    /// Bytes of a text; 0 for a number.
    pub(crate) fn len(&self) -> usize {
        match self {
            Value::Int(_) => 0,
            Value::Text(text) => text.len(),
        }
    }
}

/// A statement that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) label: String,
    pub(crate) class: StatementClass,
    pub(crate) sql: String,
    pub(crate) params: Vec<Value>,
}

/// Answers every statement with `found` rows.
pub(crate) struct Recorder {
    catalog: Arc<Catalog>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) found: u64,
    failure: Option<(usize, SessionError)>,
}

pub(crate) fn failure(kind: FailureKind, number: Option<u32>) -> SessionError {
    SessionError {
        kind,
        sqlstate: None,
        number,
        message: "refused".to_owned(),
        statement: None,
    }
}

/// User `index` of four, and a recorder for its statements.
pub(crate) fn user(
    name: WorkloadName,
    options: &Options,
    dialect: &Dialect,
    index: u32,
) -> (BuiltInUser, Recorder) {
    let workload = BuiltIn::new(name, options, dialect, 11, 4).unwrap();
    let mut users = workload.users(index..index + 1)().unwrap();
    (users.remove(0), Recorder::new(&workload))
}

/// What user `index` of four sends.
pub(crate) fn record(
    name: WorkloadName,
    options: &Options,
    index: u32,
    transactions: u32,
) -> Recorder {
    let (mut user, mut recorder) = user(name, options, &Dialect::STANDARD, index);
    for _ in 0..transactions {
        run(user.transaction(&mut recorder)).unwrap();
    }
    recorder
}

impl Recorder {
    fn new(workload: &BuiltIn) -> Recorder {
        Recorder {
            catalog: Arc::clone(workload.catalog()),
            sent: Vec::new(),
            found: 1,
            failure: None,
        }
    }

    /// Fails the statement after so many, once.
    pub(crate) fn fail_at(&mut self, statements: usize, error: SessionError) {
        self.failure = Some((statements, error));
    }

    /// The integers sent as parameter `place` of the statements of that label.
    pub(crate) fn numbers(&self, label: &str, place: usize) -> impl Iterator<Item = i64> {
        let labeled = self.sent.iter().filter(move |sent| sent.label == label);
        labeled.filter_map(move |sent| match sent.params.get(place) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        })
    }

    fn answer(
        &mut self,
        label: Label,
        sql: &str,
        params: Vec<Value>,
    ) -> Result<Reply, SessionError> {
        let (name, class) = self.catalog.labels.iter().nth(label.index()).unwrap();
        let sent = Sent {
            label: name.to_owned(),
            class,
            sql: sql.to_owned(),
            params,
        };
        let number = self.sent.len();
        self.sent.push(sent);
        if let Some((_, error)) = self.failure.take_if(|(at, _)| *at == number) {
            return Err(error);
        }
        Ok(Reply {
            has_result: class == StatementClass::Read,
            rows: self.found,
            affected: self.found,
        })
    }
}

impl Session for Recorder {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let statement = self.catalog.statements[statement as usize].clone();
        let owned = |param: &Param<'_>| match param {
            Param::Int(number) => Value::Int(*number),
            Param::Text(text) => Value::Text(String::from_utf8(text.to_vec()).unwrap()),
            Param::Double(_) | Param::Null => panic!("{param:?}"),
        };
        let params = params.iter().map(owned).collect();
        self.answer(statement.label, &statement.sql, params)
    }

    async fn query(&mut self, label: Label, sql: &str) -> Result<Reply, SessionError> {
        self.answer(label, sql, Vec::new())
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        Ok(())
    }
}

impl Connections for Recorder {
    async fn open(&mut self) -> Result<u32, SessionError> {
        Ok(0)
    }

    fn select(&mut self, _: u32) {}

    async fn shut(&mut self) {}

    async fn run(&mut self, sql: &str, _: Option<&mut Rows>) -> Result<Reply, SessionError> {
        self.answer(Label::default(), sql, Vec::new())
    }

    async fn pause(&mut self, _: Duration) {}

    fn caught(&mut self, _: &SessionError) {}
}

/// Runs a future that never has to wait.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

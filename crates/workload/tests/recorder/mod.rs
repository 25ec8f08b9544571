//! A session that writes down what it is sent.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use workload::catalog::{Catalog, Kind};
use workload::session::{Param, Reply, Session, SessionError};

/// A parameter that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Int(i64),
    Text(String),
}

impl Value {
    /// Bytes of a text; 0 for a number.
    #[allow(dead_code, reason = "each test crate uses its part")]
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
    pub(crate) kind: Kind,
    pub(crate) sql: String,
    pub(crate) params: Vec<Value>,
}

/// Answers every statement with as many rows as it is told.
pub(crate) struct Recorder {
    catalog: Catalog,
    pub(crate) sent: Vec<Sent>,
    pub(crate) found: u64,
    failure: Option<(usize, SessionError)>,
}

impl Recorder {
    pub(crate) fn new(catalog: Catalog) -> Recorder {
        Recorder {
            catalog,
            sent: Vec::new(),
            found: 1,
            failure: None,
        }
    }

    /// Fails the statement after so many, once.
    pub(crate) fn fail_at(&mut self, statements: usize, error: SessionError) {
        self.failure = Some((statements, error));
    }

    /// The integers sent as parameter `place` of a kind of statement.
    #[allow(dead_code, reason = "each test crate uses its part")]
    pub(crate) fn numbers(&self, kind: Kind, place: usize) -> impl Iterator<Item = i64> {
        let of_kind = self.sent.iter().filter(move |sent| sent.kind == kind);
        of_kind.filter_map(move |sent| match sent.params.get(place) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        })
    }

    fn answer(&mut self, sent: Sent) -> Result<Reply, SessionError> {
        let number = self.sent.len();
        self.sent.push(sent);
        if let Some((_, error)) = self.failure.take_if(|(at, _)| *at == number) {
            return Err(error);
        }
        Ok(Reply {
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
            Param::Text(text) => Value::Text((*text).to_owned()),
        };
        self.answer(Sent {
            kind: statement.kind,
            sql: statement.sql,
            params: params.iter().map(owned).collect(),
        })
    }

    async fn query(&mut self, kind: Kind, sql: &str) -> Result<Reply, SessionError> {
        self.answer(Sent {
            kind,
            sql: sql.to_owned(),
            params: Vec::new(),
        })
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        Ok(())
    }
}

/// Runs a future that never has to wait.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return value;
        }
    }
}

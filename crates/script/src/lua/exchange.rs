//! What a script asks for and what it is given, in a form that can leave its state.

use std::mem;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Error, Lua, Nil, Variadic};
use workload::program::{Answer, Request};
use workload::session::{Param, Reply, Rows, SessionError};

use super::ScriptError;
use super::settings::is_lost;
use super::state::Host;

/// A statement whose rows the script reads. [`Asked::request`] has the other requests.
const FETCH: u32 = 3;
const FAIL: u32 = 12;

/// How statements begin that return rows.
const ROW_STATEMENTS: [&str; 9] = [
    "(", "select", "show", "with", "desc", "explain", "call", "values", "pragma",
];

/// A call by Lua: the request, a number (of a connection), a text or statement, and parameters.
pub(super) type Call = (u32, mlua::Value, mlua::Value, Variadic<mlua::Value>);

/// What the call returns: true and results, or false and what failed.
pub(super) type Returned = (bool, mlua::Value, mlua::Value, mlua::Value, mlua::Value);

#[derive(Debug)]
enum Bound {
    Value(Param<'static>),
    /// Where it lies in [`Asked::text`].
    Text(Range<usize>),
}

/// What a script asks for, in memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Asked {
    request: u32,
    number: f64,
    statement: u32,
    text: String,
    bound: Vec<Bound>,
}

fn number(value: &mlua::Value) -> f64 {
    match value {
        mlua::Value::Integer(value) => *value as f64,
        other => other.as_f64().unwrap_or_default(),
    }
}

impl Asked {
    pub(super) fn failure(message: impl Into<String>) -> Self {
        Self {
            request: FAIL,
            text: message.into(),
            ..Self::default()
        }
    }

    /// Takes over a call by Lua, or the failure that came instead.
    pub(super) fn take(&mut self, call: mlua::Result<Call>) {
        if let Err(error) = call.and_then(|call| self.read(&call)) {
            *self = Self::failure(ScriptError::from(error).0);
        }
    }

    fn read(&mut self, (request, first, second, values): &Call) -> mlua::Result<()> {
        self.request = *request;
        self.number = number(first);
        self.statement = number(second) as u32;
        self.text.clear();
        self.bound.clear();
        if let Some(text) = second.as_string() {
            self.text.push_str(&text.to_str()?);
        }
        values.iter().try_for_each(|value| self.bind(value))
    }

    fn bind(&mut self, value: &mlua::Value) -> mlua::Result<()> {
        self.bound.push(match value {
            mlua::Value::Nil => Bound::Value(Param::Null),
            mlua::Value::Integer(_) => Bound::Value(Param::Int(number(value) as i64)),
            mlua::Value::Number(value) => Bound::Value(Param::Double(*value)),
            mlua::Value::String(text) => {
                let start = self.text.len();
                self.text.push_str(&text.to_str()?);
                Bound::Text(start..self.text.len())
            }
            other => {
                let message = format!("a parameter is a {}", other.type_name());
                return Err(Error::RuntimeError(message));
            }
        });
        Ok(())
    }

    pub(super) fn connection(&self) -> u32 {
        self.number as u32
    }

    fn wants_rows(&self) -> bool {
        let sql = self.text.trim_start().as_bytes();
        let begins = |start: &&str| {
            let head = sql.get(..start.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
        };
        self.request == FETCH && ROW_STATEMENTS.iter().any(begins)
    }

    /// The request. The numbers are those that `prelude.lua` and `sql.lua` have.
    pub(super) fn request(&self) -> Request<'_> {
        let (connection, statement) = (self.connection(), self.statement);
        match self.request {
            0 => Request::Open,
            1 => Request::Close { connection },
            2 | FETCH => Request::Run {
                connection,
                wants_rows: self.wants_rows(),
                sql: &self.text,
            },
            4 => Request::Prepare {
                connection,
                sql: &self.text,
            },
            5 => Request::Execute {
                connection,
                statement,
                params: self.params(),
            },
            6 => Request::Free {
                connection,
                statement,
            },
            7 => Request::Pause(Duration::try_from_secs_f64(self.number).unwrap_or_default()),
            8 => Request::Ready,
            9 => Request::Done { kind: 0 },
            10 => Request::Last,
            11 => Request::Restart,
            _ => Request::Fail(&self.text),
        }
    }

    fn params(&self) -> Vec<Param<'_>> {
        let bound = self.bound.iter();
        let params = bound.map(|bound| match bound {
            Bound::Value(param) => *param,
            Bound::Text(range) => Param::Text(self.text.get(range.clone()).unwrap_or_default()),
        });
        params.collect()
    }
}

/// What a script is given for what it asked for.
#[derive(Debug)]
pub(super) enum Given {
    Nothing,
    /// A transaction. With a name, it calls that function or command.
    Transaction(Option<Arc<str>>),
    Replied(Reply, Rows),
    Opened(u32),
    Failed(SessionError),
}

impl Given {
    pub(super) fn of(answer: Answer<'_>, command: Option<&Arc<str>>) -> Self {
        match answer {
            Answer::Start | Answer::Finish | Answer::Continued => Self::Nothing,
            Answer::Transaction => Self::Transaction(command.cloned()),
            Answer::Replied { reply, rows } => Self::Replied(reply, mem::take(rows)),
            Answer::Opened(number) => Self::Opened(number),
            Answer::Failed(error) => Self::Failed(error.clone()),
        }
    }

    /// What Lua sees. Rows stay here until the script fetches them.
    pub(super) fn returned(
        self,
        lua: &Lua,
        host: &Host,
        connection: u32,
    ) -> mlua::Result<Returned> {
        let count = |count: u64| mlua::Value::Number(count as f64);
        let text = |text: &[u8]| lua.create_string(text).map(mlua::Value::String);
        let flag = mlua::Value::Boolean;
        Ok(match self {
            Self::Nothing => (true, Nil, Nil, Nil, Nil),
            Self::Transaction(None) => (true, flag(true), Nil, Nil, Nil),
            Self::Transaction(Some(name)) => (true, text(name.as_bytes())?, Nil, Nil, Nil),
            Self::Opened(number) => (true, count(number.into()), Nil, Nil, Nil),
            Self::Replied(reply, rows) => {
                let columns = count(rows.columns.len() as u64);
                host.user.borrow_mut().keep(connection, rows);
                let (rows, affected) = (count(reply.rows), count(reply.affected));
                (true, flag(reply.has_result), rows, affected, columns)
            }
            Self::Failed(error) => {
                let unnumbered = if is_lost(&error) { 2013 } else { 0 };
                let number = count(error.number.unwrap_or(unnumbered).into());
                let state = text(error.sqlstate.as_ref().map_or(&[][..], |state| &state[..]))?;
                let is_ignored = flag(host.common.settings.ignores(&error));
                (false, number, state, text(error.message.as_bytes())?, is_ignored)
            }
        })
    }
}

//! What a script asks for and what it is given, in a form that can leave its state.

use std::mem;
use std::time::Duration;

use mlua::Variadic;
use workload::program::{Answer, Program, Request};
use workload::session::{Param, SessionError};

use super::settings::{Value, number_of};
use super::state::Unfetched;
use super::{LuaScript, ScriptError};

/// The numbers of some requests; [`request`] has the others.
const CLOSE: u32 = 1;
/// A statement whose rows the script reads.
const FETCH: u32 = 3;
/// Statements that the script has deferred.
const EXECUTE: u32 = 5;
const LAST: u32 = 10;
const FAIL: u32 = 12;

/// What a script asks for: the number of a request, a connection or seconds, the number of a
/// statement, a text, and the statements that it has deferred: for each its number, how many
/// parameters it has, and these.
pub(super) type Asked = (
    u32,
    Option<f64>,
    Option<u32>,
    Option<String>,
    Variadic<Value>,
);

/// True and results, or false and what failed.
type Results = (bool, Value, Value, Value, Value, Value);

/// What a script is given for it: results, and the rows of a connection, which stay in Rust until
/// the script fetches them.
pub(super) type Given = (Results, Option<(u32, Unfetched)>);

/// Hands over to a script, up to what it asks for next.
pub(super) type Exchange = Box<dyn FnMut(Given) -> Asked>;

/// Has a script print a report: the name of its hook, and the numbers.
pub(super) fn report(mut exchange: Exchange, report: Vec<String>) -> Result<(), ScriptError> {
    let none = || Value::Missing;
    let wanted = (true, Value::List(report), none(), none(), none(), none());
    let mut asked = exchange((wanted, None));
    while ![LAST, FAIL].contains(&asked.0) {
        let refused = Value::Text("a hook for reports has no database".into());
        let results = (false, Value::Number(0.0), none(), refused, none(), none());
        asked = exchange((results, None));
    }
    asked.3.map_or(Ok(()), |mistake| Err(ScriptError(mistake)))
}

/// A virtual user, wherever its script runs.
pub(super) struct UserProgram {
    pub(super) script: LuaScript,
    pub(super) exchange: Exchange,
    pub(super) asked: Asked,
    /// How many of the values that were asked for belong to statements that are executed, or are
    /// being executed.
    pub(super) executed: usize,
}

impl Program for UserProgram {
    fn resume(&mut self, answer: Answer<'_>) -> Request<'_> {
        let is_failed = matches!(answer, Answer::Failed(_));
        if is_failed || self.executed == self.asked.4.len() {
            let given = self.given(answer);
            self.asked = (self.exchange)(given);
            self.executed = 0;
        }
        if self.asked.0 == EXECUTE {
            return self.execute();
        }
        request(&self.asked)
    }
}

impl UserProgram {
    /// The next of the statements that the script has deferred.
    fn execute(&mut self) -> Request<'_> {
        let left = self.asked.4.get(self.executed..).unwrap_or_default();
        let [Value::Number(statement), Value::Number(count), params @ ..] = left else {
            return Request::Fail("a statement without a number");
        };
        let count = (*count as usize).min(params.len());
        self.executed += 2 + count;
        Request::Execute {
            connection: connection(&self.asked),
            statement: *statement as u32,
            params: params.iter().take(count).map(param).collect(),
        }
    }

    fn given(&self, answer: Answer<'_>) -> Given {
        let number = |number: u64| Value::Number(number as f64);
        let connection = connection(&self.asked);
        let is_closed = self.asked.0 == CLOSE;
        let mut unfetched = is_closed.then_some((connection, Unfetched::new()));
        let (mut first, mut second) = (Value::Missing, Value::Missing);
        match answer {
            Answer::Failed(error) => return (self.failure(error), None),
            Answer::Start | Answer::Finish | Answer::Continued => {}
            Answer::Transaction => {
                let command = self.script.command.as_deref();
                first = command.map_or(Value::Bool(true), |name| Value::Text(name.into()));
            }
            Answer::Opened(opened) => first = number(opened.into()),
            Answer::Replied { reply, rows } => {
                first = number(reply.rows.max(reply.affected));
                second = number(rows.columns.len() as u64);
                unfetched = Some((connection, mem::take(&mut rows.rows).into()));
            }
        }
        let none = || Value::Missing;
        ((true, first, second, none(), none(), none()), unfetched)
    }

    fn failure(&self, error: &SessionError) -> Results {
        let state = error.sqlstate.into_iter().flatten();
        let statement = error.statement.as_deref();
        (
            false,
            Value::Number(number_of(error).into()),
            Value::Text(state.collect()),
            Value::Text(error.message.as_str().into()),
            Value::Bool(self.script.common.settings.ignores(error)),
            statement.map_or(Value::Missing, |statement| Value::Text(statement.into())),
        )
    }
}

/// The request of a script that fails.
pub(super) fn failed(error: impl Into<ScriptError>) -> Asked {
    (FAIL, None, None, Some(error.into().0), Variadic::new())
}

fn connection(asked: &Asked) -> u32 {
    asked.1.unwrap_or_default() as u32
}

/// The numbers are those that `prelude.lua` and `sql.lua` have.
fn request(asked: &Asked) -> Request<'_> {
    let connection = connection(asked);
    let (number, seconds, statement, sql, _) = asked;
    let statement = statement.unwrap_or_default();
    let sql = sql.as_deref().unwrap_or_default();
    match *number {
        0 => Request::Open,
        CLOSE => Request::Close { connection },
        2 | FETCH => Request::Run {
            connection,
            wants_rows: *number == FETCH,
            sql,
        },
        4 => Request::Prepare { connection, sql },
        6 => Request::Free {
            connection,
            statement,
        },
        7 => {
            let length = Duration::try_from_secs_f64(seconds.unwrap_or_default());
            Request::Pause(length.unwrap_or_default())
        }
        8 => Request::Ready,
        9 => Request::Done { kind: 0 },
        LAST => Request::Last,
        11 => Request::Restart,
        _ => Request::Fail(sql),
    }
}

fn param(value: &Value) -> Param<'_> {
    match value {
        // Lua does not tell whole numbers from others.
        Value::Number(number) if *number as i64 as f64 == *number => Param::Int(*number as i64),
        Value::Number(number) => Param::Double(*number),
        Value::Text(text) => Param::Text(text),
        Value::Bool(value) => Param::Int((*value).into()),
        Value::List(_) | Value::Missing => Param::Null,
    }
}

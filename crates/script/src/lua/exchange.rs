//! What a script asks for and what it is given, in a form that can leave its state.

use std::mem;
use std::time::Duration;

use mlua::Variadic;
use workload::program::{Answer, Program, Request};
use workload::session::Param;

use super::settings::{Value, number_of};
use super::state::Unfetched;
use super::{LuaScript, ScriptError};

/// A statement whose rows the script reads. [`request`] has the other requests.
const FETCH: u32 = 3;
const FAIL: u32 = 12;

/// What a script asks for: the number of a request, a connection or seconds, a text or the number
/// of a statement, and parameters.
pub(super) type Asked = (u32, Option<f64>, Value, Variadic<Value>);

/// What a script is given for it: true and results, or false and what failed; and the rows of a
/// connection, which stay in Rust until the script fetches them.
pub(super) type Given = (Variadic<Value>, Option<(u32, Unfetched)>);

/// Hands over to a script, up to what it asks for next.
pub(super) type Exchange = Box<dyn FnMut(Given) -> Asked>;

/// A virtual user, wherever its script runs.
pub(super) struct UserProgram {
    pub(super) script: LuaScript,
    pub(super) exchange: Exchange,
    pub(super) asked: Asked,
}

impl Program for UserProgram {
    fn resume(&mut self, answer: Answer<'_>) -> Request<'_> {
        let given = self.given(answer);
        self.asked = (self.exchange)(given);
        request(&self.asked)
    }
}

impl UserProgram {
    fn given(&self, answer: Answer<'_>) -> Given {
        let succeeded = |result| vec![Value::Bool(true), result];
        let number = |number: u64| Value::Number(number as f64);
        let mut unfetched = None;
        let values = match answer {
            Answer::Start | Answer::Finish | Answer::Continued => succeeded(Value::Missing),
            Answer::Transaction => succeeded(match &self.script.command {
                Some(name) => Value::Text(name.to_string()),
                None => Value::Bool(true),
            }),
            Answer::Opened(opened) => succeeded(number(opened.into())),
            Answer::Replied { reply, rows } => {
                let rows = mem::take(rows);
                unfetched = Some((connection(&self.asked), rows.rows.into()));
                let count = number(reply.rows.max(reply.affected));
                vec![Value::Bool(true), count, number(rows.columns.len() as u64)]
            }
            Answer::Failed(error) => {
                let state = error.sqlstate.into_iter().flatten();
                vec![
                    Value::Bool(false),
                    number(number_of(error).into()),
                    Value::Text(state.map(char::from).collect()),
                    Value::Text(error.message.clone()),
                    Value::Bool(self.script.common.settings.ignores(error)),
                ]
            }
        };
        (values.into(), unfetched)
    }
}

/// The request of a script that fails.
pub(super) fn failed(error: impl Into<ScriptError>) -> Asked {
    (FAIL, None, Value::Text(error.into().0), Variadic::new())
}

fn connection(asked: &Asked) -> u32 {
    asked.1.unwrap_or_default() as u32
}

/// The numbers are those that `prelude.lua` and `sql.lua` have.
fn request(asked: &Asked) -> Request<'_> {
    let connection = connection(asked);
    let (number, seconds, what, params) = asked;
    let (statement, sql) = match what {
        Value::Number(number) => (*number as u32, ""),
        Value::Text(text) => (0, text.as_str()),
        _ => (0, ""),
    };
    match *number {
        0 => Request::Open,
        1 => Request::Close { connection },
        2 | FETCH => Request::Run {
            connection,
            wants_rows: *number == FETCH,
            sql,
        },
        4 => Request::Prepare { connection, sql },
        5 => Request::Execute {
            connection,
            statement,
            params: params.iter().map(param).collect(),
        },
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
        10 => Request::Last,
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

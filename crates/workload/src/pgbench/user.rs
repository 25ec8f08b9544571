//! One virtual user: draws a script for each transaction, and runs its commands.

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::expr::{State, Value, Variable};
use super::parse::{Action, Command, line};
use super::sql::Template;
use crate::program::{Answer, Program, Request};
use crate::random;
use crate::session::{FailureKind, Param, Rows};

/// After so many transactions in a row that waited for nothing, the user pauses: it would keep
/// others from running.
const MAX_BUSY: u32 = 1_000;
const BUSY_PAUSE: Duration = Duration::from_millis(1);

pub(super) struct User {
    shared: Arc<Shared>,
    state: State,
    /// The state in which the transaction began.
    begun: State,
    /// Whether the transaction runs again.
    repeats: bool,
    script: usize,
    /// The number of the next command.
    next: usize,
    busy: u32,
    /// A statement, or the error that ends the load.
    text: String,
    params: Vec<Param<'static>>,
}

/// What commands lead to.
enum Step {
    Execute(u32),
    Run { wants_rows: bool },
    Pause(Duration),
    Done,
}

impl Program for User {
    fn resume(&mut self, answer: Answer<'_>) -> Request<'_> {
        let resumed = match answer {
            Answer::Start | Answer::Finish => return Request::Ready,
            Answer::Failed(error) => {
                // What was refused would be refused again.
                self.repeats = error.kind != FailureKind::Refused;
                return Request::Restart;
            }
            Answer::Replied { rows, .. } => self.store(rows),
            Answer::Transaction => {
                self.begin();
                Ok(())
            }
            Answer::Opened(_) | Answer::Continued => Ok(()),
        };
        let connection = 0;
        match resumed.and_then(|()| self.advance()) {
            Ok(Step::Execute(statement)) => Request::Execute {
                connection,
                statement,
                params: std::mem::take(&mut self.params),
            },
            Ok(Step::Run { wants_rows }) => Request::Run {
                connection,
                sql: &self.text,
                wants_rows,
            },
            Ok(Step::Pause(length)) => Request::Pause(length),
            Ok(Step::Done) => Request::Done {
                kind: self.script as u32,
            },
            Err(message) => self.fail(&message),
        }
    }
}

impl User {
    pub(super) fn new(shared: &Arc<Shared>, number: u32) -> Self {
        let mut variables = vec![Variable::Unset; shared.names.len()];
        let client_id = Variable::Known(Value::Int(number.into()));
        let known = [(shared.client_id, client_id)].into_iter();
        for (variable, value) in known.chain(shared.known.iter().cloned()) {
            if let Some(variable) = variables.get_mut(variable) {
                *variable = value;
            }
        }
        let rng = random::user(shared.seed, number);
        let state = State { rng, variables };
        Self {
            shared: Arc::clone(shared),
            begun: state.clone(),
            state,
            repeats: false,
            script: 0,
            next: 0,
            busy: 0,
            text: String::new(),
            params: Vec::new(),
        }
    }

    fn begin(&mut self) {
        self.next = 0;
        let (from, to) = if std::mem::take(&mut self.repeats) {
            (&self.begun, &mut self.state)
        } else {
            self.script = self.shared.draw(&mut self.state);
            (&self.state, &mut self.begun)
        };
        to.rng = from.rng.clone();
        to.variables.clone_from(&from.variables);
    }

    /// Runs commands up to one that needs the load.
    fn advance(&mut self) -> Result<Step, String> {
        let (shared, state) = (&*self.shared, &mut self.state);
        let commands = shared.commands(self.script);
        // Whether the branch before was not for this transaction.
        let mut skips = false;
        while let Some(command) = commands.get(self.next) {
            let number = self.next;
            self.next += 1;
            match &command.action {
                Action::Set(name, value) => {
                    let value = value.eval(state)?;
                    if let Some(variable) = state.variables.get_mut(name.number) {
                        *variable = Variable::Known(value);
                    }
                }
                Action::Elif(_) | Action::Else if !skips => {
                    self.next = next_branch(commands, number);
                }
                Action::If(condition) | Action::Elif(condition) => {
                    skips = !condition.eval(state)?.is_true();
                    if skips {
                        self.next = next_branch(commands, number);
                    }
                }
                Action::Else | Action::EndIf => skips = false,
                Action::Sleep(units, unit_us) => {
                    self.busy = 0;
                    let units = units.eval(state).and_then(Value::to_int);
                    let units = units.map_err(|error| format!("sleep: {error}"))?;
                    let length_us = u64::try_from(units).unwrap_or(0).saturating_mul(*unit_us);
                    return Ok(Step::Pause(Duration::from_micros(length_us)));
                }
                Action::Sql {
                    template,
                    statement,
                    result,
                } => {
                    self.busy = 0;
                    self.params.clear();
                    if let Some(statement) = statement
                        && bind(template, &state.variables, &mut self.params)
                    {
                        return Ok(Step::Execute(*statement));
                    }
                    self.text = template.filled(&state.variables, shared.escapes);
                    let wants_rows = result.is_some();
                    return Ok(Step::Run { wants_rows });
                }
            }
        }
        self.busy += 1;
        if self.busy > MAX_BUSY {
            self.busy = 0;
            return Ok(Step::Pause(BUSY_PAUSE));
        }
        Ok(Step::Done)
    }

    /// Stores the result of the statement that ran in variables, if it is for them.
    fn store(&mut self, rows: &Rows) -> Result<(), String> {
        let commands = self.shared.commands(self.script);
        let ran = commands.get(self.next.saturating_sub(1));
        let Some(Action::Sql {
            result: Some(result),
            ..
        }) = ran.map(|command| &command.action)
        else {
            return Ok(());
        };
        if result.is_one_row && rows.rows.len() != 1 {
            return Err(format!("expected one row, got {}", rows.rows.len()));
        }
        let row = rows.rows.last().into_iter().flatten();
        for (column, value) in rows.columns.iter().zip(row) {
            let name = format!("{}{column}", result.prefix);
            let number = self.shared.names.get(&name);
            if let Some(number) = number
                && let Some(variable) = self.state.variables.get_mut(*number)
            {
                *variable = Variable::of_text(value.as_deref().unwrap_or_default());
            }
        }
        Ok(())
    }

    /// Ends the load because of the command that ran.
    fn fail(&mut self, message: &str) -> Request<'_> {
        let commands = self.shared.commands(self.script);
        let ran = commands.get(self.next.saturating_sub(1));
        if let (Some(script), Some(ran)) = (self.shared.scripts.get(self.script), ran) {
            let line = line(&script.source.text, ran.at);
            self.text = format!("{}:{line}: {message}", script.source.name);
        }
        Request::Fail(&self.text)
    }
}

impl Shared {
    fn commands(&self, script: usize) -> &[Command] {
        let commands = self.scripts.get(script).map(|script| &script.commands);
        commands.map(Vec::as_slice).unwrap_or_default()
    }

    /// Draws a script.
    fn draw(&self, state: &mut State) -> usize {
        let weights = self.scripts.iter().map(|script| u64::from(script.source.weight));
        let mut left = random::below(&mut state.rng, weights.clone().sum());
        let drawn = weights.take_while(|weight| {
            let is_before = *weight <= left;
            left = left.saturating_sub(*weight);
            is_before
        });
        drawn.count()
    }
}

/// The command that begins the branch after that of command `number`, or ends the last one.
fn next_branch(commands: &[Command], number: usize) -> usize {
    let mut depth = 0_usize;
    let mut others = commands.iter().skip(number + 1);
    let between = others.position(|command| {
        let was = depth;
        match command.action {
            Action::If(_) => depth += 1,
            Action::EndIf => depth = depth.saturating_sub(1),
            Action::Elif(_) | Action::Else => {}
            _ => return false,
        }
        was == 0 && depth == 0
    });
    between.map_or(commands.len(), |between| number + 1 + between)
}

/// Adds the statement's parameters; `false` if the list cannot hold one of them: a text, or a
/// boolean, which is no parameter of every engine.
fn bind(template: &Template, variables: &[Variable], params: &mut Vec<Param<'static>>) -> bool {
    template.parameters().all(|number| {
        params.push(match variables.get(number) {
            None | Some(Variable::Unset | Variable::Known(Value::Null)) => Param::Null,
            Some(Variable::Known(Value::Int(value))) => Param::Int(*value),
            Some(Variable::Known(Value::Double(value))) => Param::Double(*value),
            Some(Variable::Known(Value::Bool(_)) | Variable::Text(_)) => return false,
        });
        true
    })
}

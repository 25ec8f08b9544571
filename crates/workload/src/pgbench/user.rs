//! One virtual user: draws a script for each transaction, and runs its commands.

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::expr::{State, Value, Variable};
use super::parse::Action;
use crate::program::{Answer, Program, Request};
use crate::random;
use crate::session::{FailureKind, Rows};

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
    /// The number of the command that runs.
    command: usize,
    /// Transactions since the user last waited.
    busy: u32,
    /// A statement, or the error that ends the load.
    text: String,
}

impl Program for User {
    fn resume(&mut self, answer: Answer<'_>) -> Request<'_> {
        match answer {
            Answer::Start | Answer::Finish => return Request::Ready,
            Answer::Failed(error) => {
                // What was refused would be refused again.
                self.repeats = error.kind != FailureKind::Refused;
                return Request::Restart;
            }
            Answer::Transaction => self.begin(),
            Answer::Replied { rows, .. } => {
                if let Err(message) = self.store(rows) {
                    return self.fail(&message);
                }
                self.waited();
            }
            Answer::Opened(_) | Answer::Continued => self.waited(),
        }
        match self.advance() {
            Ok(Some(length)) => Request::Pause(length),
            Ok(None) => self.request(),
            Err(message) => self.fail(&message),
        }
    }
}

impl User {
    pub(super) fn new(shared: &Arc<Shared>, number: u32) -> Self {
        let mut variables = shared.variables.clone();
        if let Some(client_id) = shared.names.get("client_id")
            && variables[*client_id] == Variable::Unset
        {
            variables[*client_id] = Variable::Known(Value::Int(number.into()));
        }
        let rng = random::user(shared.seed, number);
        let state = State { rng, variables };
        Self {
            shared: Arc::clone(shared),
            begun: state.clone(),
            state,
            repeats: false,
            script: 0,
            command: 0,
            busy: 0,
            text: String::new(),
        }
    }

    fn begin(&mut self) {
        self.command = 0;
        let (from, to) = if std::mem::take(&mut self.repeats) {
            (&self.begun, &mut self.state)
        } else {
            self.script = self.shared.draw(&mut self.state.rng);
            (&self.state, &mut self.begun)
        };
        to.rng = from.rng.clone();
        to.variables.clone_from(&from.variables);
    }

    /// Goes on to the next command after one that waited.
    fn waited(&mut self) {
        self.busy = 0;
        self.command += 1;
    }

    /// Runs commands up to a statement or the end, or up to a pause, whose length it returns.
    fn advance(&mut self) -> Result<Option<Duration>, String> {
        let commands = &self.shared.scripts[self.script].commands;
        let state = &mut self.state;
        // Whether the branch before was not for this transaction.
        let mut skips = false;
        while let Some(command) = commands.get(self.command) {
            let mut next = self.command + 1;
            match &command.action {
                Action::Sql(_) => return Ok(None),
                Action::Sleep(units, unit_s) => {
                    let length_s = units.eval(state)?.to_double()? * unit_s;
                    let length = Duration::try_from_secs_f64(length_s);
                    return Ok(Some(length.unwrap_or_default()));
                }
                Action::Set(variable, value) => {
                    let value = value.eval(state)?;
                    state.variables[*variable] = Variable::Known(value);
                }
                Action::Branch {
                    is_first,
                    condition,
                    other,
                } => {
                    let may_run = *is_first || skips;
                    let runs = may_run && condition.eval(state)?.is_true();
                    skips = may_run && !runs;
                    if !runs {
                        next = *other;
                    }
                }
            }
            self.command = next;
        }
        self.busy += 1;
        Ok((self.busy > MAX_BUSY).then_some(BUSY_PAUSE))
    }

    /// Asks for the statement that comes next, or ends the transaction.
    fn request(&mut self) -> Request<'_> {
        let Some(statement) = self.shared.statement(self.script, self.command) else {
            let kind = self.script as u32;
            return Request::Done { kind };
        };
        let (connection, variables) = (0, &self.state.variables);
        if let Some(number) = statement.number {
            return Request::Execute {
                connection,
                statement: number,
                params: statement.params(variables),
            };
        }
        self.text = statement.filled(variables, self.shared.escapes);
        Request::Run {
            connection,
            sql: &self.text,
            wants_rows: statement.result.is_some(),
        }
    }

    /// Stores the result of the statement that ran in variables, if it is for them.
    fn store(&mut self, rows: &Rows) -> Result<(), String> {
        let ran = self.shared.statement(self.script, self.command);
        let Some((prefix, is_one_row)) = ran.and_then(|statement| statement.result.as_ref()) else {
            return Ok(());
        };
        let count = rows.rows.len();
        if *is_one_row && count != 1 {
            return Err(format!("expected one row, got {count}"));
        }
        let row = rows.rows.last().into_iter().flatten();
        for (column, value) in rows.columns.iter().zip(row) {
            if let Some(number) = self.shared.names.get(&format!("{prefix}{column}")) {
                let value = value.as_deref().unwrap_or_default();
                self.state.variables[*number] = Variable::of_text(value);
            }
        }
        Ok(())
    }

    /// Ends the load because of the command that runs.
    fn fail(&mut self, message: &str) -> Request<'_> {
        let script = &self.shared.scripts[self.script];
        let line = script.commands.get(self.command).map_or(0, |it| it.line);
        self.text = format!("{}:{line}: {message}", script.name);
        Request::Fail(&self.text)
    }
}

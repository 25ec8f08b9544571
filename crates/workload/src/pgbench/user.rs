//! One virtual user: draws a script for each transaction, and runs its commands.

use std::sync::Arc;
use std::time::Duration;

use rand_distr::Distribution;

use super::Shared;
use super::expr::{State, Value, Variable};
use super::parse::Action;
use crate::program::{Answer, Program, Request};
use crate::random;
use crate::session::{FailureKind, Rows};

pub(super) struct User {
    shared: Arc<Shared>,
    state: State,
    script: usize,
    /// The state when the script began, from which it runs again.
    before: State,
    /// Whether the script runs again.
    repeats: bool,
    /// The number of the command that runs.
    command: usize,
    /// A statement, or the error that ends the load.
    text: String,
}

impl Program for User {
    fn resume(&mut self, answer: Answer<'_>) -> Request<'_> {
        match answer {
            Answer::Start => return Request::Open,
            Answer::Opened(_) | Answer::Finish => return Request::Ready,
            Answer::Failed(error) => {
                // What was refused would be refused again.
                self.repeats = error.kind != FailureKind::Refused;
                return Request::Restart;
            }
            Answer::Transaction => self.begin(),
            Answer::Replied { rows, .. } => match self.store(rows) {
                Ok(()) => self.command += 1,
                Err(message) => return self.fail(&message),
            },
            Answer::Continued => self.command += 1,
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
        if let Some(client_id) = shared.names.get("client_id") {
            variables[*client_id] = Variable::Known(Value::Int(number.into()));
        }
        let rng = random::user(shared.seed, number);
        let state = State { rng, variables };
        Self {
            shared: Arc::clone(shared),
            before: state.clone(),
            state,
            script: 0,
            repeats: false,
            command: 0,
            text: String::new(),
        }
    }

    fn begin(&mut self) {
        self.command = 0;
        let (from, to) = if std::mem::take(&mut self.repeats) {
            (&self.before, &mut self.state)
        } else {
            // To draw from one takes as long as to draw from several.
            if self.shared.scripts.len() > 1 {
                self.script = self.shared.weights.sample(&mut self.state.rng);
            }
            (&self.state, &mut self.before)
        };
        to.rng = from.rng.clone();
        to.variables.clone_from(&from.variables);
    }

    /// Runs commands up to a statement or the end, or up to a pause, whose length it returns.
    fn advance(&mut self) -> Result<Option<Duration>, String> {
        let commands = &self.shared.scripts[self.script];
        let state = &mut self.state;
        // Whether the branch before was not for this transaction.
        let mut skips = false;
        while let Some(command) = commands.get(self.command) {
            self.command = match &command.action {
                Action::Sql(_) => return Ok(None),
                Action::Sleep(units, unit_s) => {
                    let length_s = units.eval(state)?.to_double()? * unit_s;
                    let length = Duration::try_from_secs_f64(length_s);
                    return Ok(Some(length.unwrap_or_default()));
                }
                Action::Set(variable, value) => {
                    let value = value.eval(state)?;
                    state.variables[*variable] = Variable::Known(value);
                    self.command + 1
                }
                Action::Branch(is_first, condition, other) => {
                    let may_run = *is_first || skips;
                    let runs = may_run && condition.eval(state)?.is_true();
                    skips = may_run && !runs;
                    if runs { self.command + 1 } else { *other }
                }
            };
        }
        Ok(None)
    }

    /// Asks for the statement that comes next, or ends the transaction.
    fn request(&mut self) -> Request<'_> {
        let command = self.shared.scripts[self.script].get(self.command);
        let Some(Action::Sql(statement)) = command.map(|command| &command.action) else {
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
            wants_rows: statement.prefix.is_some(),
        }
    }

    /// Stores the row that the statement returned, if it is for variables.
    fn store(&mut self, rows: &Rows) -> Result<(), String> {
        let ran = self.shared.scripts[self.script].get(self.command);
        if let Some(Action::Sql(statement)) = ran.map(|command| &command.action)
            && let Some(prefix) = &statement.prefix
        {
            let [row] = rows.rows.as_slice() else {
                return Err(format!("expected one row, got {}", rows.rows.len()));
            };
            for (column, value) in rows.columns.iter().zip(row) {
                if let Some(number) = self.shared.names.get(&format!("{prefix}{column}")) {
                    let value = value.as_deref().unwrap_or_default();
                    self.state.variables[*number] = Variable::of_text(value);
                }
            }
        }
        Ok(())
    }

    /// Ends the load because of the command that runs.
    fn fail(&mut self, message: &str) -> Request<'_> {
        let command = self.shared.scripts[self.script].get(self.command);
        let place = command.map_or("", |command| command.place.as_str());
        self.text = format!("{place}: {message}");
        Request::Fail(&self.text)
    }
}

//! Users as coroutines of one state.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use mlua::Thread;
use workload::program::{Answer, Program, Request};

use super::exchange::{Asked, Given};
use super::state::{State, User};
use super::{Common, ScriptError};

/// LuaJIT lets Rust hold at most 8,000 references to the values of a state.
const USERS_PER_STATE: usize = 7_000;

struct CoroutineProgram {
    thread: Thread,
    state: Rc<State>,
    user: User,
    asked: Asked,
    command: Option<Arc<str>>,
}

/// The programs of these users, who call `command` or run events.
pub(super) fn programs(
    common: &Arc<Common>,
    command: Option<&Arc<str>>,
    users: Range<u32>,
) -> Result<Vec<Box<dyn Program>>, ScriptError> {
    let mut programs: Vec<Box<dyn Program>> = Vec::with_capacity(users.len());
    let mut state = Rc::new(State::new(common, common.settings.print.as_ref(), None)?);
    for user in users {
        if Rc::strong_count(&state) > USERS_PER_STATE {
            state = Rc::new(State::new(common, common.settings.print.as_ref(), None)?);
        }
        programs.push(Box::new(CoroutineProgram::new(&state, command, user)?));
    }
    Ok(programs)
}

impl CoroutineProgram {
    fn new(state: &Rc<State>, command: Option<&Arc<str>>, user: u32) -> mlua::Result<Self> {
        let life = state.life(user, command.is_some())?;
        Ok(Self {
            thread: state.lua.create_thread(life)?,
            state: Rc::clone(state),
            user: User::new(state.host.common.settings.seed, user),
            asked: Asked::default(),
            command: command.cloned(),
        })
    }
}

impl Program for CoroutineProgram {
    fn resume(&mut self, answer: Answer<'_>) -> Request<'_> {
        let State { lua, host, .. } = &*self.state;
        let given = Given::of(answer, self.command.as_ref());
        host.swap(&mut self.user);
        let returned = given.returned(lua, host, self.asked.connection());
        let call = returned.and_then(|returned| self.thread.resume(returned));
        host.swap(&mut self.user);
        self.asked.take(call);
        self.asked.request()
    }
}

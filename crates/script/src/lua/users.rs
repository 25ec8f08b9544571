//! Users as coroutines of one state, or with a thread and a state each.

use std::io;
use std::mem;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use mlua::{Error, Function, Lua, Thread};

use super::exchange::{Asked, Exchange, Given, failed};
use super::state::{CurrentUser, State, User};
use super::{Common, ScriptError};

/// LuaJIT lets Rust hold at most 8,000 references to the values of a state.
const USERS_PER_STATE: usize = 7_000;
/// Between two looks at whether the run was interrupted.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A link to a state on its own thread.
pub(super) type Link = Arc<Mutex<(Sender<Given>, Receiver<Asked>)>>;

/// Its other end.
pub(super) type StateEnd = (Receiver<Given>, Sender<Asked>);

/// These users, who call a command or run events, as coroutines.
pub(super) fn coroutines(
    common: &Arc<Common>,
    users: Range<u32>,
    is_command: bool,
) -> mlua::Result<Vec<Exchange>> {
    let mut state = Rc::new(State::new(common, 0, None)?);
    let mut exchanges = Vec::with_capacity(users.len());
    for user in users {
        if Rc::strong_count(&state) > USERS_PER_STATE {
            state = Rc::new(State::new(common, 0, None)?);
        }
        let thread = state.lua.create_thread(state.life(user, is_command)?)?;
        exchanges.push(resuming(thread, Rc::clone(&state), User::new(common, user)));
    }
    Ok(exchanges)
}

fn resuming(thread: Thread, state: Rc<State>, mut user: User) -> Exchange {
    Box::new(move |(results, unfetched)| {
        user.keep(unfetched);
        mem::swap(&mut *state.user.borrow_mut(), &mut user);
        let asked = thread.resume(results);
        mem::swap(&mut *state.user.borrow_mut(), &mut user);
        asked.unwrap_or_else(failed)
    })
}

/// Starts a thread with a state.
pub(super) fn start_thread(
    common: &Arc<Common>,
    user: u32,
    is_command: bool,
) -> Result<Link, ScriptError> {
    let (to_state, given) = mpsc::channel();
    let (to_program, asked) = mpsc::channel();
    let common = Arc::clone(common);
    let run = move || {
        // The life of a user begins with the answer `Start`, for which it does not ask.
        if given.recv().is_err() {
            return;
        }
        let end = (given, to_program.clone());
        let state = State::new(&common, user, Some(end));
        let life = state.and_then(|state| state.life(user, is_command)?.call::<()>(()));
        if let Err(error) = life {
            // Nobody waits for it if the load is over.
            let _ = to_program.send(failed(error));
        }
    };
    let builder = thread::Builder::new().name(format!("script-{user}"));
    let refused = |error: io::Error| ScriptError(format!("cannot start a thread: {error}"));
    builder.spawn(run).map_err(refused)?;
    Ok(Arc::new(Mutex::new((to_state, asked))))
}

/// The function by which Lua, on its own thread, waits for an answer.
pub(super) fn waiting(
    lua: &Lua,
    user: &CurrentUser,
    (given, asked): StateEnd,
) -> mlua::Result<Function> {
    let user = Rc::clone(user);
    lua.create_function(move |_, request: Asked| {
        let sent = asked.send(request).ok();
        let given = sent.and_then(|()| given.recv().ok());
        let (results, unfetched) = given.ok_or_else(|| Error::runtime("the load is over"))?;
        user.borrow_mut().keep(unfetched);
        Ok(results)
    })
}

/// Hands over to a thread, and blocks until the script asks for something. Therefore, its worker
/// should have no other users.
pub(super) fn blocking(link: &Link, interrupted: &Arc<AtomicBool>) -> Exchange {
    let (link, interrupted) = (Arc::clone(link), Arc::clone(interrupted));
    Box::new(move |given| {
        let link = link.lock().unwrap_or_else(PoisonError::into_inner);
        // If the thread has ended, the other channel tells.
        let _ = link.0.send(given);
        loop {
            match link.1.recv_timeout(LOOK_INTERVAL) {
                Ok(asked) => return asked,
                Err(RecvTimeoutError::Timeout) if !interrupted.load(Ordering::Relaxed) => {}
                Err(_) => return failed(ScriptError("the script was interrupted".to_owned())),
            }
        }
    })
}

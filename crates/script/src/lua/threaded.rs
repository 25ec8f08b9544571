//! States on threads of their own: those of users whose scripts block, and the global one.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use mlua::{Error, Function, HookTriggers, Lua, VmState};
use workload::program::{Answer, Program, Request};

use super::exchange::{Asked, Call, Given};
use super::state::{Host, State, User};
use super::{Common, ScriptError};

/// Instructions between two looks at whether the run was interrupted.
const INSTRUCTIONS: u32 = 1_000_000;

/// The end of a link at the state.
pub(super) struct StateEnd {
    given: Receiver<Given>,
    asked: Sender<Asked>,
}

/// The end of a link at the programs.
#[derive(Debug)]
pub(super) struct Link {
    given: Sender<Given>,
    asked: Receiver<Asked>,
}

impl StateEnd {
    /// The function by which Lua waits for an answer.
    pub(super) fn into_function(self, lua: &Lua, host: &Host) -> mlua::Result<Function> {
        let host = host.clone();
        let over = || Error::runtime("the load is over");
        lua.create_function(move |lua, call: Call| {
            let mut asked = Asked::default();
            asked.take(Ok(call));
            let connection = asked.connection();
            self.asked.send(asked).map_err(|_| over())?;
            let given = self.given.recv().map_err(|_| over())?;
            given.returned(lua, &host, connection)
        })
    }

    /// Lives the life of a user, or calls functions by their names.
    fn live(self, common: &Arc<Common>, user: u32, is_command: bool) -> Result<(), ScriptError> {
        let state = State::new(common, common.settings.print.as_ref(), Some(self))?;
        *state.host.user.borrow_mut() = User::new(common.settings.seed, user);
        if is_command {
            end_when_interrupted(&state.lua, common)?;
        }
        state.life(user, is_command)?.call::<()>(())?;
        Ok(())
    }
}

/// Ends endless loops when the run is interrupted.
fn end_when_interrupted(lua: &Lua, common: &Common) -> mlua::Result<()> {
    // Machine code calls no hooks.
    lua.load("jit.off()").exec()?;
    let interrupted = Arc::clone(&common.settings.interrupted);
    let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS);
    lua.set_global_hook(triggers, move |_, _| match interrupted.load(Ordering::Relaxed) {
        true => Err(Error::runtime("interrupted")),
        false => Ok(VmState::Continue),
    })
}

/// Starts the thread of a state.
pub(super) fn start(
    common: &Arc<Common>,
    user: u32,
    is_command: bool,
) -> Result<Arc<Mutex<Link>>, ScriptError> {
    let (given, to_state) = mpsc::channel();
    let (from_state, asked) = mpsc::channel();
    let common = Arc::clone(common);
    let run = move || {
        // The life of a user begins with the answer `Start`, for which it does not ask.
        if to_state.recv().is_err() {
            return;
        }
        let end = StateEnd {
            given: to_state,
            asked: from_state.clone(),
        };
        if let Err(error) = end.live(&common, user, is_command) {
            // Nobody waits for it if the load is over.
            let _ = from_state.send(Asked::failure(error.0));
        }
    };
    let builder = thread::Builder::new().name(format!("script-{user}"));
    let failed = |error: io::Error| ScriptError(format!("cannot start a thread: {error}"));
    builder.spawn(run).map_err(failed)?;
    Ok(Arc::new(Mutex::new(Link { given, asked })))
}

/// Hands over to a state on its thread, and blocks until the script asks for something. Therefore,
/// its worker should have no other users.
pub(super) struct ThreadProgram {
    link: Arc<Mutex<Link>>,
    asked: Asked,
    command: Option<Arc<str>>,
}

impl ThreadProgram {
    pub(super) fn new(link: Arc<Mutex<Link>>, command: Option<Arc<str>>) -> Self {
        Self {
            link,
            asked: Asked::default(),
            command,
        }
    }
}

impl Program for ThreadProgram {
    fn resume(&mut self, answer: Answer<'_>) -> Request<'_> {
        let given = Given::of(answer, self.command.as_ref());
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        // If the state has ended, the other channel tells.
        let _ = link.given.send(given);
        let ended = |_| Asked::failure("the thread of the script has ended");
        self.asked = link.asked.recv().unwrap_or_else(ended);
        drop(link);
        self.asked.request()
    }
}

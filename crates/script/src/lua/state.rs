//! A state of Lua: the API of scripts, and what Rust gives it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mlua::{Function, Lua, LuaString, ObjectLike, Table};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::users::{StateEnd, waiting};
use super::{Common, random, settings};

/// The API, in the order in which its parts use one another.
const API: [&str; 4] = [
    include_str!("prelude.lua"),
    include_str!("sql.lua"),
    include_str!("legacy.lua"),
    include_str!("report.lua"),
];

/// The rows of a result that the script has not fetched; `None` for NULL.
pub(super) type Unfetched = VecDeque<Vec<Option<String>>>;

/// What Rust keeps of a virtual user.
pub(super) struct User {
    pub(super) rng: Xoshiro256PlusPlus,
    /// What is left of the last result of each connection.
    results: BTreeMap<u32, Unfetched>,
}

/// The user that runs. Each coroutine puts its own here while it is resumed.
pub(super) type CurrentUser = Rc<RefCell<User>>;

impl User {
    pub(super) fn new(common: &Common, number: u32) -> Self {
        Self {
            rng: workload::random::user(common.settings.seed, number),
            results: BTreeMap::new(),
        }
    }

    /// Keeps the rows of a connection, in place of those of its statement before.
    pub(super) fn keep(&mut self, unfetched: Option<(u32, Unfetched)>) {
        match unfetched {
            Some((connection, rows)) if rows.is_empty() => drop(self.results.remove(&connection)),
            Some((connection, rows)) => drop(self.results.insert(connection, rows)),
            None => {}
        }
    }
}

/// A state with the API of scripts.
pub(super) struct State {
    pub(super) lua: Lua,
    /// What the parts of the API share with one another and with Rust.
    pub(super) core: Table,
    pub(super) user: CurrentUser,
}

impl State {
    /// Without `end`, users are coroutines.
    pub(super) fn new(
        common: &Arc<Common>,
        user: u32,
        end: Option<StateEnd>,
    ) -> mlua::Result<Self> {
        #[expect(
            unsafe_code,
            reason = "scripts use LuaJIT's ffi, as they do in sysbench"
        )]
        // SAFETY: a script is a program of the user's own, which may do what the user may.
        let lua = unsafe { Lua::unsafe_new() };
        let user = Rc::new(RefCell::new(User::new(common, user)));
        let core = natives(&lua, common, &user)?;
        if let Some(end) = end {
            core.set("wait", waiting(&lua, &user, end)?)?;
        }
        for part in API {
            lua.load(part).set_name("=sysbench").call::<()>(&core)?;
        }
        Ok(Self { lua, core, user })
    }

    /// The function that is a user's life.
    pub(super) fn life(&self, user: u32, is_command: bool) -> mlua::Result<Function> {
        self.core.call_function("life", (user, is_command))
    }
}

fn natives(lua: &Lua, common: &Arc<Common>, user: &CurrentUser) -> mlua::Result<Table> {
    let natives = lua.create_table()?;
    natives.set("settings", settings::table(lua, common)?)?;
    natives.set("rand", random::table(lua, common, user)?)?;
    let shared = Arc::clone(common);
    let print = lua.create_function(move |_, text: LuaString| {
        if let Some(print) = &shared.settings.print {
            print(&text.to_string_lossy());
        }
        Ok(())
    })?;
    let shared = Arc::clone(common);
    let count = lua.create_function(move |_, counter: usize| {
        if let Some(count) = shared.counters.get(counter) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    })?;
    let user = Rc::clone(user);
    let fetch = lua.create_function(move |lua, connection: u32| {
        let mut user = user.borrow_mut();
        let result = user.results.get_mut(&connection);
        let row = result.and_then(VecDeque::pop_front);
        // The collector may call functions of the script that draw.
        drop(user);
        row.map(|row| lua.create_sequence_from(row)).transpose()
    })?;
    natives.set("print", print)?;
    natives.set("count", count)?;
    natives.set("fetch", fetch)?;
    Ok(natives)
}

//! A state of Lua: the API of scripts, and what Rust gives it.

use std::cell::RefCell;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::vec;

use mlua::{Function, Lua, LuaString, Table};
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::session::Rows;

use super::threaded::StateEnd;
use super::{Common, Print, ScriptError, random, settings};

/// The API; the first part makes the core of the others.
const PRELUDE: &str = include_str!("prelude.lua");
const PARTS: [&str; 3] = [
    include_str!("sql.lua"),
    include_str!("legacy.lua"),
    include_str!("report.lua"),
];

/// The values of a row; `None` for NULL.
type Row = Vec<Option<String>>;

/// What Rust keeps of a virtual user.
pub(super) struct User {
    pub(super) rng: Xoshiro256PlusPlus,
    /// The rows that the script has not fetched, by connection.
    results: Vec<(u32, vec::IntoIter<Row>)>,
}

impl User {
    pub(super) fn new(seed: u64, number: u32) -> Self {
        Self {
            rng: random::generator(seed, number),
            results: Vec::new(),
        }
    }

    /// Keeps the rows of a statement in place of those of the one before.
    pub(super) fn keep(&mut self, connection: u32, rows: Rows) {
        self.results.retain(|(of, _)| *of != connection);
        if !rows.rows.is_empty() {
            self.results.push((connection, rows.rows.into_iter()));
        }
    }

    fn next_row(&mut self, connection: u32) -> Option<Row> {
        let mut results = self.results.iter_mut();
        results.find(|(of, _)| *of == connection)?.1.next()
    }
}

/// What the functions of a state need.
#[derive(Clone)]
pub(super) struct Host {
    pub(super) common: Arc<Common>,
    /// The user that runs. Each program puts its own here while it is resumed.
    pub(super) user: Rc<RefCell<User>>,
}

impl Host {
    pub(super) fn swap(&self, user: &mut User) {
        mem::swap(&mut *self.user.borrow_mut(), user);
    }
}

/// A state with the API of scripts.
pub(super) struct State {
    pub(super) lua: Lua,
    pub(super) core: Table,
    pub(super) host: Host,
}

impl State {
    /// Without `end`, users are coroutines.
    pub(super) fn new(
        common: &Arc<Common>,
        print: Option<&Print>,
        end: Option<StateEnd>,
    ) -> mlua::Result<Self> {
        let lua = new_lua();
        let host = Host {
            common: Arc::clone(common),
            user: Rc::new(RefCell::new(User::new(common.settings.seed, 0))),
        };
        add_search_dirs(&lua, common)?;
        let native = random::natives(&lua, &host)?;
        add_natives(&native, &lua, &host, print)?;
        if let Some(end) = end {
            native.set("ask", end.into_function(&lua, &host)?)?;
        }
        let settings = settings::table(&lua, common)?;
        let prelude = lua.load(PRELUDE).set_name("=sysbench");
        let core: Table = prelude.call((&native, &settings))?;
        for part in PARTS {
            let part = lua.load(part).set_name("=sysbench");
            part.call::<()>((&native, &settings, &core))?;
        }
        Ok(Self { lua, core, host })
    }

    /// The function that is a user's life, or that calls functions by their names.
    pub(super) fn life(&self, user: u32, is_command: bool) -> mlua::Result<Function> {
        self.core.get::<Function>("life")?.call((user, is_command))
    }

    /// Loads the script where nothing can wait; returns its user.
    pub(super) fn load(&self) -> Result<Table, ScriptError> {
        Ok(self.core.get::<Function>("load")?.call(())?)
    }
}

#[expect(unsafe_code, reason = "scripts use LuaJIT's ffi, as they do in sysbench")]
fn new_lua() -> Lua {
    // SAFETY: a script is a program of the user's own, which may do what the user may.
    unsafe { Lua::unsafe_new() }
}

fn add_search_dirs(lua: &Lua, common: &Common) -> mlua::Result<()> {
    let package: Table = lua.globals().get("package")?;
    let mut path: String = package.get("path")?;
    for dir in &common.source.search_dirs {
        let dir = dir.display();
        path.push_str(&format!(";{dir}/?.lua;{dir}/?/init.lua"));
    }
    package.set("path", path)
}

fn add_natives(
    native: &Table,
    lua: &Lua,
    host: &Host,
    print: Option<&Print>,
) -> mlua::Result<()> {
    let (print, user) = (print.cloned(), Rc::clone(&host.user));
    let print = lua.create_function(move |_, text: LuaString| {
        if let Some(print) = &print {
            print(&text.to_string_lossy());
        }
        Ok(())
    })?;
    let common = Arc::clone(&host.common);
    let count = lua.create_function(move |_, counter: usize| {
        if let Some(count) = common.counters.counts.get(counter) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    })?;
    let common = Arc::clone(&host.common);
    let created = lua.create_function(move |_, ()| {
        common.counters.has_driver.store(true, Ordering::Relaxed);
        Ok(())
    })?;
    let fetch = lua.create_function(move |lua, connection: u32| {
        let row = user.borrow_mut().next_row(connection);
        row.map(|row| lua.create_sequence_from(row)).transpose()
    })?;
    native.set("print", print)?;
    native.set("count", count)?;
    native.set("driver_created", created)?;
    native.set("fetch", fetch)
}

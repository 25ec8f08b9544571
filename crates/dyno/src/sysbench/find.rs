//! Finds a test as sysbench does.

use std::path::PathBuf;

use ::script::lua::Source;
use sysbench::options::{CommandLine, OptionError};
use sysbench::{bundled, native, scripts};
use workload::name::WorkloadName;

use crate::failure::Failure;

/// Where sysbench's scripts are installed.
const SYSTEM_DIR: &str = "/usr/share/sysbench";
const SYSTEM: &str =
    "/usr/local/share/lua/5.1/?.lua;/usr/share/lua/5.1/?.lua;/usr/share/sysbench/?.lua";
const STDIN: &str = "-";

pub(super) enum Test {
    Native(&'static str),
    Workload(WorkloadName),
    Script(Source),
}

/// The test of a command line: built in, the path of a file, a module of the user's, bundled, or a
/// module of the system's.
pub(super) fn test(line: &CommandLine) -> Result<Test, OptionError> {
    let test = line.test.as_deref().unwrap_or(STDIN);
    let script = |text: String, dir: Option<PathBuf>| {
        let dirs = dir.into_iter().chain([SYSTEM_DIR.into()]);
        Test::Script(Source {
            name: test.to_owned(),
            text,
            search_dirs: dirs.collect(),
        })
    };
    if let Some(native) = native::NAMES.into_iter().find(|name| *name == test) {
        return Ok(Test::Native(native));
    }
    if test == STDIN {
        let text = std::io::read_to_string(std::io::stdin());
        return Ok(script(text.map_err(Failure::usage)?, None));
    }
    let lua_path = std::env::var("LUA_PATH").unwrap_or_default();
    let own = Some(PathBuf::from(test)).filter(|path| path.is_file());
    let own = own.or_else(|| module(test, &format!("./?.lua;./?/init.lua;{lua_path}")));
    if own.is_none() {
        if let Some(workload) = bundled::workload(line.dialect, test) {
            return Ok(Test::Workload(workload));
        }
        if let Some(text) = scripts::text(line.dialect, test) {
            return Ok(script(text.to_owned(), None));
        }
    }
    let path = own.or_else(|| module(test, SYSTEM));
    let path = path.ok_or_else(|| line.unknown_test())?;
    let text = std::fs::read(&path).map_err(Failure::at("read", &path))?;
    let dir = path.parent().map(|dir| PathBuf::from(".").join(dir));
    Ok(script(String::from_utf8_lossy(&text).into_owned(), dir))
}

/// The first file that one of the templates names, in which `?` is the path of a module.
fn module(name: &str, templates: &str) -> Option<PathBuf> {
    let name = name.replace('.', "/");
    let paths = templates.split(';').map(|path| path.replace('?', &name));
    paths.map(PathBuf::from).find(|path| path.is_file())
}

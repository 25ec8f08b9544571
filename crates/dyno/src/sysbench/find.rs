//! Finds a test as sysbench does.

use std::path::{Path, PathBuf};

use ::script::lua::Source;
use sysbench::options::{CommandLine, OptionError};
use sysbench::{bundled, scripts};
use workload::name::WorkloadName;

use super::{fatal, native};
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
    if let Some(native) = native::NAMES.into_iter().find(|name| *name == test) {
        return Ok(Test::Native(native));
    }
    if test == STDIN {
        let text = std::io::read_to_string(std::io::stdin());
        let text = text.map_err(|error| fatal(Failure::usage(error)))?;
        return Ok(script(test, text, &[]));
    }
    let lua_path = std::env::var("LUA_PATH").unwrap_or_default();
    let own = Some(PathBuf::from(test)).filter(|path| path.is_file());
    let own = own.or_else(|| module(test, &format!("./?.lua;./?/init.lua;{lua_path}")));
    if let Some(path) = own {
        return file(test, &path);
    }
    if let Some(workload) = bundled::workload(line.dialect, test) {
        return Ok(Test::Workload(workload));
    }
    if let Some(text) = scripts::text(line.dialect, test) {
        return Ok(script(test, text.to_owned(), &[]));
    }
    let path = module(test, SYSTEM).ok_or_else(|| line.unknown_test())?;
    file(test, &path)
}

/// The first file that one of the templates names, in which `?` is the path of a module.
fn module(name: &str, templates: &str) -> Option<PathBuf> {
    let name = name.replace('.', "/");
    let paths = templates.split(';').map(|template| template.replace('?', &name));
    paths.map(PathBuf::from).find(|path| path.is_file())
}

fn file(test: &str, path: &Path) -> Result<Test, OptionError> {
    let text = std::fs::read(path).map_err(|error| fatal(Failure::at("read", path)(error)))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let own = path.parent().filter(|dir| *dir != Path::new(""));
    Ok(script(test, text, &[own.unwrap_or(Path::new("."))]))
}

fn script(test: &str, text: String, dirs: &[&Path]) -> Test {
    let dirs = dirs.iter().copied().chain([Path::new(SYSTEM_DIR)]);
    Test::Script(Source {
        name: test.to_owned(),
        text,
        search_dirs: dirs.map(Path::to_path_buf).collect(),
    })
}

//! Reads the files of the scripts that a study names.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use plan::{Plan, Script, digest, is_lua};
use script::lua::modules;
use workload::pgbench::built_in::is_built_in;

use crate::as_study::one_line;
use crate::failure::Failure;

const MAX_BYTES: u64 = 256 << 10;

/// Adds the texts of scripts to a plan. Paths are relative to `dir`.
pub(crate) fn read(plan: &mut Plan, dir: &Path) -> Result<(), Failure> {
    let mut known: BTreeMap<String, Vec<Script>> = BTreeMap::new();
    let loads = plan.trials.iter_mut().map(|trial| &mut trial.load);
    for load in loads.filter(|load| !load.scripts.is_empty()) {
        let typed = load.workload.value.clone();
        load.scripts = match known.get(&typed) {
            Some(scripts) => scripts.clone(),
            None => with_texts(&load.scripts, dir)
                .map_err(|failure| failure.span(load.workload.span))?,
        };
        // Without directories, so that results compare wherever the files were.
        load.workload.value = names(&load.scripts);
        known.insert(typed, load.scripts.clone());
    }
    Ok(())
}

/// These scripts, and the modules that one in Lua loads.
fn with_texts(scripts: &[Script], dir: &Path) -> Result<Vec<Script>, Failure> {
    let read = scripts
        .iter()
        .map(|script| match is_built_in(&script.path) {
            true => Ok(script.clone()),
            false => read_file(&dir.join(&script.path).display().to_string(), script.weight),
        });
    let mut all = read.collect::<Result<Vec<_>, _>>()?;
    let main = all.first().and_then(|main| Path::new(&main.path).parent());
    let dirs = [main.unwrap_or(Path::new("")).to_owned()];
    let mut next = 0;
    while let Some(script) = all.get(next).filter(|script| is_lua(&script.path)) {
        for path in modules(&script.text, &dirs) {
            let path = path.display().to_string();
            if all.iter().all(|known| known.path != path) {
                all.push(read_file(&path, 0)?);
            }
        }
        next += 1;
    }
    Ok(all)
}

fn read_file(path: &str, weight: u32) -> Result<Script, Failure> {
    let mut text = String::new();
    let file = File::open(path);
    let read = file.and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    let problem = match read {
        Ok(bytes) if bytes as u64 <= MAX_BYTES => {
            return Ok(Script {
                digest: digest(&text),
                text: text.into(),
                ..Script::new(path, weight)
            });
        }
        Ok(_) => format!("it is larger than {MAX_BYTES} bytes"),
        Err(error) => error.to_string(),
    };
    Err(Failure::usage(format!(
        "cannot read the script {path}: {problem}"
    )))
}

/// The names of scripts with their weights, without modules.
fn names(scripts: &[Script]) -> String {
    let scripts = scripts
        .iter()
        .filter(|script| script.weight > 0 || !is_lua(&script.path));
    let names = scripts.map(|script| match script.weight {
        1 => script.name().to_owned(),
        weight => format!("{}@{weight}", script.name()),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// The texts of all scripts of a plan as comments of its study.
pub(crate) fn as_comments(plan: &Plan) -> String {
    let scripts = plan.trials.iter().flat_map(|trial| &trial.load.scripts);
    let texts: BTreeMap<&str, &str> = scripts.map(|one| (&*one.path, &*one.text)).collect();
    let mut comments = String::new();
    for (path, text) in texts.iter().filter(|(_, text)| !text.is_empty()) {
        comments.push_str(&format!("\n# {}\n", one_line(path)));
        let lines = text.lines().map(|line| format!("#| {}\n", one_line(line)));
        comments.extend(lines);
    }
    comments
}

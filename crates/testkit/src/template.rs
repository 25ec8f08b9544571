//! Data directories: made once for each server version, then copied.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use crate::engine::Engine;
use crate::home;
use crate::process::{Account, output_of};

/// Goes up when a template is made differently, so that old ones are not used.
const REVISION: u32 = 1;

/// Makes `data` a new server's data directory.
pub(crate) fn copy_to(engine: Engine, data: &Path, account: &Account) {
    let name = format!("{}-{}-r{REVISION}", engine.name(), engine.version());
    let template = home::dir().join(&name);
    if !template.exists() {
        build(engine, &name, account);
    }
    let mut copy = Command::new("cp");
    copy.args(["--archive", "--reflink=auto", "--sparse=always"]);
    copy.arg(&template).arg(data);
    output_of(copy);
}

/// Builds the template unless another test process is faster.
fn build(engine: Engine, name: &str, account: &Account) {
    let template = home::dir().join(name);
    let lock = File::create(home::dir().join(format!("{name}.lock")))
        .expect("the kit's directory can be written");
    lock.lock().expect("the kit's directory can lock files");
    if template.exists() {
        return;
    }
    // Half a template must never be taken for one: it gets its name when it is whole.
    let partial = home::dir().join(format!("{name}.partial"));
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir(&partial).expect("the kit's directory can be written");
    account.own(&partial);
    engine.initialize(&partial, account);
    fs::rename(&partial, &template).expect("a finished template can be renamed");
}

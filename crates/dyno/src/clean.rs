//! `dyno clean`: removes what a killed run left behind.

use crate::cli::CleanArgs;
use crate::console::print;
use crate::failure::{Exit, Failure};

/// Ends processes and removes directories of dynos that are dead.
pub(crate) fn clean(args: &CleanArgs) -> Result<(), Failure> {
    let cleaned = lab::clean(args.templates)?;
    let mut parts = Vec::new();
    for (count, what) in [
        (cleaned.processes, "processes ended"),
        (cleaned.run_dirs, "directories of dead runs removed"),
        (cleaned.templates, "templates removed"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    let mut lines = Vec::new();
    if !parts.is_empty() {
        let freed = lab::shown_bytes(cleaned.bytes);
        lines.push(format!("{}; {freed} freed", parts.join(", ")));
    }
    lines.extend(cleaned.unseen.iter().map(not_looked_for));
    if lines.is_empty() && cleaned.left.is_empty() {
        lines.push("nothing was left behind".to_owned());
    }
    if !lines.is_empty() {
        print(&lines.join("\n"))?;
    }
    not_removed(&cleaned.left)
}

/// What stays is a failure here, though the next run passes over it.
fn not_removed(left: &[lab::Leftover]) -> Result<(), Failure> {
    let names: Vec<String> = left.iter().map(ToString::to_string).collect();
    match left {
        [] => Ok(()),
        _ => Err(Failure::new(Exit::Server, names.join("\n"))),
    }
}

fn not_looked_for(unseen: &lab::home::Unseen) -> String {
    format!(
        "not looked for: {}, because its disk is not mounted where it was; mount it there and run \
         dyno clean again, or, if it is gone for good, remove {}",
        unseen.path.display(),
        unseen.link.display()
    )
}

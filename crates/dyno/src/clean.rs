//! `dyno clean`: removes what a killed run left behind.

use crate::cli::CleanArgs;
use crate::console::print;
use crate::failure::Failure;

/// Kills the processes and removes the directories of dead runs.
pub(crate) fn clean(args: &CleanArgs) -> Result<(), Failure> {
    let cleaned = lab::clean(args.templates)?;
    let counts = [
        (cleaned.processes, "processes killed"),
        (cleaned.run_dirs, "run directories removed"),
        (cleaned.templates, "templates removed"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = counts.map(|(n, what)| format!("{n} {what}")).collect();
    let mut lines = Vec::new();
    if !parts.is_empty() {
        let freed = lab::shown_bytes(cleaned.bytes);
        lines.push(format!("{}; {freed} freed", parts.join(", ")));
    }
    lines.extend(cleaned.unmounted.iter().map(not_checked));
    if lines.is_empty() && cleaned.left.is_empty() {
        lines.push("nothing to clean up".to_owned());
    }
    if !lines.is_empty() {
        print(&lines.join("\n"))?;
    }
    // Leftovers are a failure of this command, although the next run ignores them.
    let left: Vec<String> = cleaned.left.iter().map(ToString::to_string).collect();
    match left.as_slice() {
        [] => Ok(()),
        left => Err(Failure::server(left.join("\n"))),
    }
}

fn not_checked(unmounted: &machine::home::Unmounted) -> String {
    format!(
        "not cleaned: {}, whose disk is not mounted; mount it and run dyno clean again, or, if the \
         disk no longer exists, remove {}",
        unmounted.path.display(),
        unmounted.run.display()
    )
}

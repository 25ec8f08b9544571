//! `dyno clean`: removes what a killed run left behind.

use crate::cli::CleanArgs;
use crate::failure::Failure;
use crate::results::print;

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
    if parts.is_empty() {
        return print("nothing was left behind");
    }
    let freed = lab::shown_bytes(cleaned.bytes);
    print(&format!("{}; {freed} freed", parts.join(", ")))
}

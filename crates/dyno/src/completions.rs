//! `dyno completions` and `dyno man`.

use crate::cli::{self, CompletionsArgs};
use crate::console::print;
use crate::failure::Failure;

pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "dyno", &mut script);
    print(String::from_utf8_lossy(&script).trim_end())
}

/// Prints one page with every command: its sections follow those of `dyno` itself.
pub(crate) fn man() -> Result<(), Failure> {
    let mut command = cli::with_environment();
    command.build();
    let mut page = Vec::new();
    let written = page_of(&command, &mut page);
    written.map_err(Failure::internal)?;
    print(String::from_utf8_lossy(&page).trim_end())
}

fn page_of(command: &clap::Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(page)?;
    for subcommand in command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
    {
        let name = subcommand.get_name().to_uppercase();
        page.extend_from_slice(format!(".SH \"DYNO {name}\"\n").as_bytes());
        let man = clap_mangen::Man::new(subcommand.clone());
        man.render_synopsis_section(page)?;
        man.render_description_section(page)?;
        man.render_options_section(page)?;
        man.render_extra_section(page)?;
    }
    Ok(())
}

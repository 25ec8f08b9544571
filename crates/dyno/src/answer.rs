//! Prints answers about results, and writes them to files on request.

use std::path::Path;

use ::report::Answer;

use crate::cli::AnswerArgs;
use crate::console::{layout, print, print_json};
use crate::failure::{Failure, stored};
use crate::progress::Screen;

/// Prints an answer and, on request, writes it in every format to files with this name.
pub(crate) fn show(
    answer: &impl Answer,
    name: &str,
    args: &AnswerArgs,
    screen: &Screen,
) -> Result<(), Failure> {
    match args.json {
        true => print_json(&json(answer)?)?,
        false => print(answer.text(layout()).trim_end())?,
    }
    match &args.out {
        Some(out) => write(answer, name, out, screen),
        None => Ok(()),
    }
}

pub(crate) fn json(answer: &impl Answer) -> Result<String, Failure> {
    let json = answer.json();
    json.map_err(Failure::internal)
}

/// Writes an answer in every format to a new directory.
pub(crate) fn write(
    answer: &impl Answer,
    name: &str,
    out: &Path,
    screen: &Screen,
) -> Result<(), Failure> {
    let page = answer.html();
    let page = page.map_err(Failure::internal)?;
    let formats = [
        ("html", page),
        ("md", answer.markdown()),
        ("csv", answer.csv()),
        ("json", json(answer)?),
    ];
    let files = formats.map(|(format, text)| (format!("{name}.{format}"), text));
    let files = files
        .each_ref()
        .map(|(name, text)| (name.as_str(), text.as_str()));
    store::write_files(out, &files).map_err(stored)?;
    let page = out.join(format!("{name}.html"));
    screen.line(&format!("page: {}", page.display()));
    Ok(())
}

//! Tells what results answer: on the screen, and as files where that was asked for.

use ::report::Answer;

use crate::cli::AnswerArgs;
use crate::console::{layout, print, print_json};
use crate::failure::{Exit, Failure};
use crate::progress::Screen;

/// Prints an answer, and writes it in all its forms to files of this name.
pub(crate) fn tell(
    answer: &impl Answer,
    name: &str,
    args: &AnswerArgs,
    screen: &Screen,
) -> Result<(), Failure> {
    let internal = |error: &dyn std::fmt::Display| Failure::new(Exit::Internal, error);
    let json = || answer.json().map_err(|error| internal(&error));
    match args.json {
        true => print_json(&json()?)?,
        false => print(layout().apply(|| answer.text()).trim_end())?,
    }
    let Some(out) = &args.out else {
        return Ok(());
    };
    let page = answer.html().map_err(|error| internal(&error))?;
    let forms = [
        ("html", page),
        ("md", answer.markdown()),
        ("csv", answer.csv()),
        ("json", json()?),
    ];
    let files = forms.map(|(form, text)| (format!("{name}.{form}"), text));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    store::write_files(out, &files)?;
    let page = out.join(format!("{name}.html"));
    screen.line(&format!("page: {}", page.display()));
    Ok(())
}

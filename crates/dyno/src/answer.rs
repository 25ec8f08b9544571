//! The commands that answer a question about results: each prints its answer, and on request writes
//! it to files.

use std::path::Path;

use ::report::history::History;
use ::report::rank::Ranking;
use ::report::size::{Question, Sizing};
use ::report::{Answer, AnswerError, Source};

use crate::cli::{AnswerArgs, ResultsArgs, SizeArgs};
use crate::console::{eprint, layout, print, print_json};
use crate::failure::{Failure, stored};
use crate::stored_result::StoredResult;

/// `dyno rank RESULT…`: leader boards of results of the same workload.
pub(crate) fn rank(args: &ResultsArgs) -> Result<(), Failure> {
    of_results(args, "rank", |sources| {
        Ranking::of(sources, &args.point, args.force)
    })
}

/// `dyno history RESULT…`: results of the same workload ordered by time, and where their level
/// changed.
pub(crate) fn history(args: &ResultsArgs) -> Result<(), Failure> {
    of_results(args, "history", |sources| History::of(sources, &args.point))
}

/// `dyno size RESULT --need TPS`: how many servers a load needs.
pub(crate) fn size(args: &SizeArgs) -> Result<(), Failure> {
    let stored = StoredResult::read(&args.result)?;
    let question = Question {
        need_per_s: args.need,
        efficiency: args.efficiency,
        price: args.price,
        point: &args.point,
    };
    let sizing = Sizing::of(&stored.result, &question).map_err(failure)?;
    show(&sizing, "size", &args.answer)
}

/// Answers a question about several results, each named after its directory; they compete by parent
/// directory if there are several.
fn of_results<A: Answer>(
    args: &ResultsArgs,
    name: &str,
    ask: impl FnOnce(&[Source<'_>]) -> Result<A, AnswerError>,
) -> Result<(), Failure> {
    let all = StoredResult::read_all(args)?;
    let names = StoredResult::names(&all);
    let parents: Vec<String> = all.iter().map(StoredResult::parent).collect();
    let compete = parents.iter().any(|parent| *parent != parents[0]);
    let sources = all.iter().zip(&names).zip(&parents);
    let sources = sources.map(|((stored, name), parent)| Source {
        category: if compete { parent } else { "" },
        name,
        result: &stored.result,
    });
    let answer = ask(&sources.collect::<Vec<_>>()).map_err(failure)?;
    show(&answer, name, &args.answer)
}

fn failure(error: AnswerError) -> Failure {
    let remedy = error.remedy();
    Failure::usage(error).perhaps(remedy)
}

/// Prints an answer and, on request, writes it in every format to files with this name.
pub(crate) fn show(answer: &impl Answer, name: &str, args: &AnswerArgs) -> Result<(), Failure> {
    match args.json {
        true => print_json(answer.json())?,
        false => print(answer.text(layout()).trim_end())?,
    }
    match &args.out {
        Some(out) => write(answer, name, out),
        None => Ok(()),
    }
}

/// Writes an answer in every format to a new directory.
pub(crate) fn write(answer: &impl Answer, name: &str, out: &Path) -> Result<(), Failure> {
    let page = answer.html();
    let page = page.map_err(|error| Failure::internal(error).context("cannot write the page"))?;
    let formats = [
        ("html", page),
        ("md", answer.markdown()),
        ("csv", answer.csv()),
        ("json", answer.json().map_err(Failure::internal)?),
    ];
    let files = formats.map(|(format, text)| (format!("{name}.{format}"), text));
    store::write_files(out, &files).map_err(stored)?;
    let page = out.join(format!("{name}.html"));
    eprint(&format!("page: {}", page.display()));
    Ok(())
}

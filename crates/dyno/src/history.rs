//! `dyno history RESULT…`: results of the same study over time.

use ::report::history::{History, Run};

use crate::answer::show;
use crate::cli::ResultsArgs;
use crate::failure::Failure;
use crate::progress::{Detail, Screen};
use crate::stored_result::StoredResult;

/// Shows results of the same workload ordered by time, and where their level changed.
pub(crate) fn history(args: &ResultsArgs) -> Result<(), Failure> {
    let screen = Screen::new(Detail::Bar);
    let all = StoredResult::read_all(args, &screen)?;
    let names = StoredResult::names(&all);
    let runs = names.iter().zip(&all).map(|(name, stored)| Run {
        name,
        result: &stored.result,
    });
    let history = History::of(&runs.collect::<Vec<_>>(), &args.point);
    let history = history.map_err(Failure::usage)?;
    show(&history, "history", &args.answer, &screen)
}

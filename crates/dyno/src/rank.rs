//! `dyno rank RESULT…`: leader boards.

use ::report::rank::{Entrant, RankError, Ranking};

use crate::answer::show;
use crate::cli::ResultsArgs;
use crate::failure::Failure;
use crate::progress::{Detail, Screen};
use crate::stored_result::StoredResult;

/// Ranks results of the same workload.
pub(crate) fn rank(args: &ResultsArgs) -> Result<(), Failure> {
    let screen = Screen::new(Detail::Bar);
    let all = StoredResult::read_all(args, &screen)?;
    let names = all
        .iter()
        .map(StoredResult::parent)
        .zip(StoredResult::names(&all));
    let names: Vec<(String, String)> = names.collect();
    let competing = names.iter().any(|(category, _)| *category != names[0].0);
    let entrants = names
        .iter()
        .zip(&all)
        .map(|((category, name), stored)| Entrant {
            category: if competing { category } else { "" },
            name,
            result: &stored.result,
        });
    let entrants: Vec<Entrant<'_>> = entrants.collect();
    let ranking = Ranking::of(&entrants, &args.point, args.force).map_err(|error| {
        let remedy = matches!(error, RankError::OtherWork { .. }).then_some(
            "choose a point that all results have with --point, or rank them anyway with --force",
        );
        Failure::usage(error).perhaps(remedy)
    })?;
    show(&ranking, "rank", &args.answer, &screen)
}

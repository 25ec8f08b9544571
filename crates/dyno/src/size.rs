//! `dyno size RESULT --need TPS`: how many servers a load needs.

use ::report::size::{Question, Sizing};

use crate::answer::show;
use crate::cli::SizeArgs;
use crate::failure::Failure;
use crate::progress::{Detail, Screen};
use crate::stored_result::StoredResult;

/// Calculates the number of servers from the throughput with each number of instances.
pub(crate) fn size(args: &SizeArgs) -> Result<(), Failure> {
    let screen = Screen::new(Detail::Bar);
    let stored = StoredResult::read(&args.result, &screen)?;
    let question = Question {
        need_per_s: args.need,
        efficiency: args.efficiency,
        price: args.price,
        point: &args.point,
    };
    let sizing = Sizing::of(&stored.result, &question).map_err(|error| {
        let remedy = error.wants_efficiency().then_some(
            "give the efficiency: with --efficiency 0.9, each additional server adds 90 % of the \
             throughput of a single one",
        );
        Failure::usage(error).perhaps(remedy)
    })?;
    show(&sizing, "size", &args.answer, &screen)
}

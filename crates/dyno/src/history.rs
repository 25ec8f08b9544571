//! `dyno history RESULT…`: the same study again and again.

use ::report::history::{History, Run};

use crate::cli::HistoryArgs;
use crate::failure::{Exit, Failure};
use crate::kept::{self, Kept};
use crate::progress::{Detail, Screen};
use crate::results::print;

/// Shows results of the same work in the order of time, and where their level changed.
pub(crate) fn history(args: &HistoryArgs) -> Result<(), Failure> {
    let screen = Screen::new(Detail::Bar);
    let all = Kept::read_all(&args.results, &screen)?;
    if let Some((first, others)) = all.split_first() {
        for other in others {
            kept::same_work(first, other, args.force, &screen)?;
        }
    }
    let names: Vec<String> = all.iter().map(Kept::name).collect();
    let runs = names.iter().zip(&all).map(|(name, kept)| Run {
        name,
        result: &kept.result,
    });
    let history = History::of(&runs.collect::<Vec<_>>(), &args.point);
    let history = history.map_err(|error| Failure::new(Exit::Usage, error))?;
    match args.json {
        true => {
            let json = history.json();
            print(&json.map_err(|error| Failure::new(Exit::Internal, error))?)
        }
        false => print(history.text().trim_end()),
    }
}

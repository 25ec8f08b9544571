//! `dyno rank RESULT…`: leader boards.

use ::report::rank::{Entrant, Ranking};

use crate::cli::RankArgs;
use crate::failure::{Exit, Failure};
use crate::kept::{self, Kept};
use crate::progress::{Detail, Screen};
use crate::results::print;

/// Ranks results of the same work.
pub(crate) fn rank(args: &RankArgs) -> Result<(), Failure> {
    let screen = Screen::new(Detail::Bar);
    let all = Kept::read_all(&args.results, &screen)?;
    if let Some((first, others)) = all.split_first() {
        for other in others {
            kept::same_work(first, other, args.force, &screen)?;
        }
    }
    let names: Vec<(String, String)> = all
        .iter()
        .map(|kept| (kept.parent(), kept.name()))
        .collect();
    let competing = names.iter().any(|(category, _)| *category != names[0].0);
    let entrants = names
        .iter()
        .zip(&all)
        .map(|((category, name), kept)| Entrant {
            category: if competing { category } else { "" },
            name,
            result: &kept.result,
        });
    let entrants: Vec<Entrant<'_>> = entrants.collect();
    let ranking = Ranking::of(&entrants, &args.point);
    let ranking = ranking.map_err(|error| Failure::new(Exit::Usage, error))?;
    print(ranking.text().trim_end())?;
    if let Some(out) = &args.out {
        let page = ranking.html();
        let page = page.map_err(|error| Failure::new(Exit::Internal, error))?;
        let files = [
            ("rank.html", page.as_str()),
            ("rank.md", &ranking.markdown()),
            ("rank.csv", &ranking.csv()),
        ];
        store::write_files(out, &files)?;
        screen.line(&format!("boards:  {}", out.join("rank.html").display()));
    }
    Ok(())
}

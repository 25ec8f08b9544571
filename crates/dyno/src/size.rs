//! `dyno size RESULT --need TPS`: how many servers a load needs.

use ::report::size::{Question, Sizing};

use crate::cli::SizeArgs;
use crate::failure::{Exit, Failure};
use crate::kept::Kept;
use crate::progress::{Detail, Screen};
use crate::results::print;

/// Plans servers from what one gave with each number of instances.
pub(crate) fn size(args: &SizeArgs) -> Result<(), Failure> {
    let screen = Screen::new(Detail::Bar);
    let kept = Kept::read(&args.result, &screen)?;
    let question = Question {
        need_per_s: args.need,
        efficiency: args.efficiency,
        price: args.price,
        point: &args.point,
    };
    let sizing = Sizing::of(&kept.result, &question).map_err(|error| {
        let remedy = error.wants_efficiency().then_some(
            "give it, like --efficiency 0.9: each server adds nine tenths of what one gives alone",
        );
        Failure::new(Exit::Usage, error).remedy(remedy)
    })?;
    let json = || {
        let json = sizing.json();
        json.map_err(|error| Failure::new(Exit::Internal, error))
    };
    match args.json {
        true => print(&json()?)?,
        false => print(sizing.text().trim_end())?,
    }
    if let Some(out) = &args.out {
        let page = sizing.html();
        let page = page.map_err(|error| Failure::new(Exit::Internal, error))?;
        let files = [
            ("size.html", page.as_str()),
            ("size.md", &sizing.markdown()),
            ("size.csv", &sizing.csv()),
            ("size.json", &json()?),
        ];
        store::write_files(out, &files)?;
        screen.line(&format!("sized:   {}", out.join("size.html").display()));
    }
    Ok(())
}

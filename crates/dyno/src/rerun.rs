//! `dyno compare BASE NEW --rerun`: measures two results anew, as the variants of one study.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use lab::{Lab, Trial};
use plan::key::VARIANT;
use plan::{format_duration, shown};
use study::{BASE, NEW, Study, Unlike};

use crate::as_study::{LONGEST_TITLE, one_line};
use crate::cli::{CompareArgs, RunArgs};
use crate::failure::Failure;
use crate::progress::Screen;
use crate::results::{Printed, environment};
use crate::resume;
use crate::run::run_study;
use crate::secrets::command_line;
use crate::stored_result::StoredResult;
use crate::study_file::PlannedStudy;

/// Runs the studies of two results as one, and returns the directory of its result.
pub(crate) fn rerun(
    args: &CompareArgs,
    sides: [&StoredResult; 2],
    screen: &Screen,
) -> Result<PathBuf, Failure> {
    let study = PlannedStudy::of(pair(args, sides)?);
    let trials = study.trials(&Lab::default())?;
    for (side, name) in sides.into_iter().zip([BASE, NEW]) {
        note_changes(side, name, &trials, screen)?;
    }
    let run = RunArgs {
        out: args.answer.out.clone(),
        ..RunArgs::default()
    };
    run_study(&run, &study, &[], Printed::Nothing)
}

/// The study of both sides.
fn pair(args: &CompareArgs, sides: [&StoredResult; 2]) -> Result<Study, Failure> {
    let [base, new] = sides;
    let [ours, theirs] = [base, new].map(|side| side.result.title.as_str());
    let title = match ours == theirs {
        true => ours.to_owned(),
        false => format!("{theirs} against {ours}"),
    };
    let title: String = title.chars().take(LONGEST_TITLE).collect();
    let mut compare = String::new();
    if let Some(starts) = args.starts {
        let _ = writeln!(compare, "starts = {starts}");
    }
    if let Some(budget) = args.budget {
        let _ = writeln!(compare, "budget = \"{}\"", format_duration(budget));
    }
    let joined = of_one(base)?.against(&of_one(new)?, &title, &compare);
    let text = joined.map_err(|unlike| refused(&unlike, sides))?;
    let text = text.ok_or_else(|| {
        let (base, new) = (base.path.display(), new.path.display());
        Failure::usage(format!(
            "nothing differs between the studies of {base} and {new}"
        ))
        .remedy(
            "their numbers differ by chance, or because a host or a server changed, which running \
             them again cannot undo; dyno compare BASE NEW shows what changed",
        )
    })?;
    let text = format!("# {}\n{text}", one_line(&command_line()));
    Study::parse("dyno compare --rerun", &text, engine::catalog()).map_err(Failure::usage)
}

/// The study of a result that can be one side.
fn of_one(side: &StoredResult) -> Result<Study, Failure> {
    let refused = |why: &str, remedy: &str| {
        let message = format!("{} {why}", side.path.display());
        Err(Failure::usage(message).remedy(remedy))
    };
    let Some(text) = &side.study else {
        return refused(
            "has no study, so it cannot be measured anew",
            "compare the results as they are, without --rerun",
        );
    };
    let label = side.path.join(store::names::STUDY).display().to_string();
    let study = Study::parse_as_run(&label, text, engine::catalog()).map_err(Failure::usage)?;
    if study.plan().axes.iter().any(|axis| axis == VARIANT) {
        return refused(
            "has variants, which were measured together",
            "compare these: dyno compare RESULT --base VARIANT --new VARIANT",
        );
    }
    if study.sets("server.url") {
        return refused(
            "was measured on a server that dyno did not start, and cannot start anew",
            "compare servers as they run: dyno bench URL1 URL2",
        );
    }
    Ok(study)
}

fn refused(unlike: &Unlike, [base, new]: [&StoredResult; 2]) -> Failure {
    let [ours, theirs] = unlike.values.each_ref().map(|value| {
        let value = value.as_deref().unwrap_or("not set");
        shown(value.replace('\n', " ").trim())
    });
    let message = format!(
        "`{}` is {ours} in {}, but {theirs} in {}",
        unlike.key,
        base.path.display(),
        new.path.display()
    );
    Failure::usage(message).remedy(
        "only servers, sites, volumes, and topologies can be compared anew, under the same load at \
         the same points: run both studies with the same value",
    )
}

/// Says what a side was measured with, where that has changed.
fn note_changes(
    side: &StoredResult,
    name: &str,
    trials: &[Trial],
    screen: &Screen,
) -> Result<(), Failure> {
    let (there, here) = (&side.result.environment, environment(&[]));
    let mut known = Vec::new();
    let own = trials.iter().filter(|t| t.planned.variant() == Some(name));
    let servers = own.map(|trial| resume::engine(&trial.target, &mut known));
    let servers = servers.collect::<Result<BTreeSet<String>, _>>()?;
    let recorded = side.result.trials.iter().map(|trial| &trial.setup.engine);
    let recorded: BTreeSet<String> = recorded.filter(|one| !one.is_empty()).cloned().collect();
    let version = |version: &String| BTreeSet::from([format!("dyno {version}")]);
    let pairs = [
        (recorded, servers),
        (version(&there.dyno_version), version(&here.dyno_version)),
    ];
    for (then, now) in pairs.into_iter().filter(|(then, now)| then != now) {
        let [then, now] = [then, now].map(|all| Vec::from_iter(all).join(" and "));
        let path = side.path.display();
        screen.line(&format!(
            "note: {path} was measured with {then}, and is measured anew with {now}"
        ));
    }
    Ok(())
}

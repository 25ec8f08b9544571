//! `dyno compare BASE NEW --rerun`: measures two results again, as the variants of one study.

use std::collections::BTreeSet;

use lab::Lab;
use study::{SIDES, Study, quoted};

use crate::as_study::one_line;
use crate::cli::{CompareArgs, OutputArgs, RunArgs};
use crate::console::eprint;
use crate::failure::Failure;
use crate::resume;
use crate::run::run_study;
use crate::secrets::command_line;
use crate::stored_result::StoredResult;
use crate::study_file::PlannedStudy;

/// Runs the studies of two results as one study.
pub(crate) fn rerun(args: &CompareArgs, sides: [&StoredResult; 2]) -> Result<(), Failure> {
    let study = PlannedStudy::of(pair(args, sides)?, "".as_ref())?;
    for (side, name) in sides.into_iter().zip(SIDES) {
        note_changes(side, name, &study)?;
    }
    let run = RunArgs {
        out: args.answer.out.clone(),
        output: OutputArgs {
            json: args.answer.json,
            ..OutputArgs::default()
        },
        ..RunArgs::default()
    };
    run_study(&run, &study, &[])
}

/// The study of both sides.
fn pair(args: &CompareArgs, [base, new]: [&StoredResult; 2]) -> Result<Study, Failure> {
    let starts = args.starts.map(|starts| format!("starts = {starts}\n"));
    let budget = args.budget.as_deref().map(quoted);
    let budget = budget.map(|budget| format!("budget = {budget}\n"));
    let compare: String = starts.into_iter().chain(budget).collect();
    let (ours, theirs) = (base.study()?, new.study()?);
    let text = ours.against(&theirs, &base.result.title, &compare);
    let text = text.map_err(Failure::usage)?;
    let text = format!("# {}\n{text}", one_line(&command_line()));
    Study::parse("dyno compare --rerun", &text, engine::catalog()).map_err(Failure::usage)
}

/// Notes the versions that a side was measured with, if they have changed.
fn note_changes(side: &StoredResult, name: &str, study: &PlannedStudy) -> Result<(), Failure> {
    let dyno = |version: &str| format!("dyno {version}");
    let recorded = side.result.trials.iter().map(|trial| &trial.setup.engine);
    let recorded = recorded.filter(|engine| !engine.is_empty()).cloned();
    let mut then = BTreeSet::from([dyno(&side.result.environment.dyno_version)]);
    then.extend(recorded);
    let mut now = BTreeSet::from([dyno(env!("CARGO_PKG_VERSION"))]);
    let (trials, mut known) = (study.trials(&Lab::default())?, Vec::new());
    for trial in trials.iter().filter(|t| t.planned.variant() == Some(name)) {
        now.insert(resume::engine(&trial.target, &mut known)?);
    }
    if then != now {
        let [then, now] = [then, now].map(|all| Vec::from_iter(all).join(" and "));
        let path = side.path.display();
        eprint(&format!(
            "note: {path} was measured with {then}, and is measured again with {now}"
        ));
    }
    Ok(())
}

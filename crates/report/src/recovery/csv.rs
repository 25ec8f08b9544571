//! Faults for spreadsheets and programs.

use measure::fault::{FaultRecord, Recovery};
use measure::recovery::numbers;
use measure::result::RunResult;
use measure::summary::TrialSummary;

use super::{exposed, in_flight};
use crate::columns::Columns;
use crate::keys;

/// A fault of a trial, and how its instance recovered, if it had an effect.
type Row<'a> = (&'a TrialSummary, &'a FaultRecord, Option<&'a Recovery>);

/// A line for each fault of each trial. `None` of a study without faults.
pub fn csv(result: &RunResult) -> Option<String> {
    let rows = result.trials.iter().flat_map(|trial| {
        let faults = trial.faults.iter();
        faults.map(move |fault| (trial, fault, fault.recovery.as_ref()))
    });
    let rows: Vec<Row<'_>> = rows.collect();
    let fates = ["committed", "not_committed", "unknown"];
    let columns = Columns::<Row<'_>>::new()
        .with("number", |(trial, ..)| trial.setup.planned.number)
        .with("label", |(trial, ..)| &trial.setup.planned.label)
        .each(keys::axes(result), |columns, key| {
            columns.with(key, move |(trial, ..)| keys::value(trial, key))
        })
        .with("repeat", |(trial, ..)| trial.setup.planned.repeat)
        .with("fault", |(_, fault, _)| fault.number)
        .with("instance", |(_, fault, _)| fault.instance)
        .with("server", |(_, fault, _)| fault.node)
        .with("fault.kind", |(_, fault, _)| fault.kind.to_string())
        .with("fault.target", |(_, fault, _)| &fault.target)
        .with("fault.volume", |(_, fault, _)| {
            fault.kind.is_of_volume().then(|| fault.volume.name())
        })
        .with("fault.device", |(_, fault, _)| fault.device)
        .with("fault.at_s", |(_, fault, _)| fault.asked_s)
        .with("fault.effect_s", |(_, fault, _)| fault.effect_s)
        .with("fault.heal_at_s", |(_, fault, _)| fault.heal_asked_s)
        .with("fault.healed_s", |(_, fault, _)| fault.healed_s)
        .with("fault.promote_at_s", |(_, fault, _)| {
            Some(fault.promotion.as_ref()?.asked_s)
        })
        .with("fault.promoted_s", |(_, fault, _)| {
            fault.promotion.as_ref()?.done_s
        })
        .each(numbers(), |columns, number| {
            columns.with(number.name, |(.., found)| (number.of)(found?))
        })
        .estimate("recovery.before_tps", |(.., found)| found?.before)
        .estimate("recovery.during_tps", |(.., found)| found?.during)
        .estimate("recovery.after_tps", |(.., found)| found?.after)
        .each(fates.into_iter().enumerate(), |columns, (place, fate)| {
            columns.with(format!("in_flight.{fate}"), move |(.., found)| {
                Some(in_flight(found?)?[place])
            })
        })
        .each(
            [1, 10, 100].into_iter().enumerate(),
            |columns, (place, ms)| {
                columns.with(format!("acknowledged_last_{ms}_ms"), move |(.., found)| {
                    Some(exposed(found?)?[place])
                })
            },
        )
        .with("recovery.window_s", |(.., found)| Some(found?.window_s))
        .with("recovery.censored", |(.., found)| {
            Some(found?.censored.join(" "))
        })
        .with("fault.server_ended_s", |(_, fault, _)| {
            Some(fault.crash.as_ref()?.at_s)
        })
        .with("scrub.found", |(_, fault, _)| Some(fault.scrub?.found))
        .with("scrub.corrected", |(_, fault, _)| {
            Some(fault.scrub?.corrected)
        })
        .with("scrub.uncorrectable", |(_, fault, _)| {
            Some(fault.scrub?.uncorrectable)
        })
        .with("error", |(_, fault, _)| {
            let promotion = fault.promotion.as_ref();
            let refused = promotion.and_then(|promotion| promotion.error.as_deref());
            let errors: Vec<&str> = refused.into_iter().chain(fault.error.as_deref()).collect();
            errors.join("; ")
        });
    (!rows.is_empty()).then(|| columns.csv(rows))
}

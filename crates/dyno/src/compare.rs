//! `dyno compare BASE NEW`: the differences between two results or variants.

use std::collections::{BTreeMap, BTreeSet};

use ::report::compare::{IntendedSetting, ResultComparison, Side, variants};
use plan::ServerSpec;
use study::Study;

use crate::answer::show;
use crate::cli::CompareArgs;
use crate::failure::Failure;
use crate::progress::{Detail, Screen};
use crate::stored_result::{self, StoredResult};

/// Compares two results, or two variants of one.
pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let screen = Screen::new(Detail::Bar);
    let base = StoredResult::read(&args.base_result, &screen)?;
    let both = match &args.new_result {
        Some(new) => two_results(args, &base, &StoredResult::read(new, &screen)?, &screen)?,
        None => two_variants(args, &base)?,
    };
    if both.is_empty() {
        let [base, new] = both.names();
        let message = format!("{base} and {new} have no point in common");
        let remedy = match args.new_result.is_some() && (args.base.is_none() || args.new.is_none())
        {
            true => {
                "compare results of studies that vary the same keys; if one has variants, choose \
                     one with --base or --new"
            }
            false => "compare results of the same study, or of studies that vary the same keys",
        };
        return Err(Failure::usage(message).remedy(remedy));
    }
    show(&both, "compare", &args.answer, &screen)
}

fn two_results(
    args: &CompareArgs,
    base: &StoredResult,
    new: &StoredResult,
    screen: &Screen,
) -> Result<ResultComparison, Failure> {
    if base.path == new.path {
        let message = format!("{} is given twice", args.base_result.display());
        return Err(Failure::usage(message)
            .remedy("give it once, and select two of its variants with --base and --new"));
    }
    stored_result::check_same_workload(base, new, args.force, screen)?;
    let (mut ours, mut theirs) = (base.name(), new.name());
    if ours == theirs {
        ours = args.base_result.display().to_string();
        theirs = args
            .new_result
            .as_deref()
            .map_or(theirs, |path| path.display().to_string());
    }
    for (stored, variant) in [(base, &args.base), (new, &args.new)] {
        if let Some(variant) = variant {
            check_variant(stored, variant)?;
        }
    }
    let meant = meant((base, args.base.as_deref()), (new, args.new.as_deref()));
    Ok(ResultComparison::of(
        &Side {
            name: &ours,
            result: &base.result,
            variant: args.base.as_deref(),
        },
        &Side {
            name: &theirs,
            result: &new.result,
            variant: args.new.as_deref(),
        },
        &meant,
    ))
}

/// Compares the selected variants: by default, the only two, or one with the study's first.
fn two_variants(args: &CompareArgs, stored: &StoredResult) -> Result<ResultComparison, Failure> {
    let existing = variants(&stored.result);
    let (base, new) = match (&args.base, &args.new, existing.as_slice()) {
        (Some(base), Some(new), _) => (base.as_str(), new.as_str()),
        (None, None, [base, new]) => (*base, *new),
        (Some(one), None, [base, new]) => (one.as_str(), if one == base { *new } else { *base }),
        (None, Some(one), [base, new]) => (if one == new { *base } else { *new }, one.as_str()),
        (None, Some(one), [base, ..]) => (*base, one.as_str()),
        (_, _, []) => {
            let message = format!("{} has no variants to compare", stored.path.display());
            return Err(
                Failure::usage(message).remedy("give a second result: dyno compare BASE NEW")
            );
        }
        _ => {
            let message = format!(
                "{} has the variants {}",
                stored.path.display(),
                existing.join(", ")
            );
            return Err(Failure::usage(message)
                .remedy("name one with --new; --base is the first unless it is given"));
        }
    };
    check_variant(stored, base)?;
    check_variant(stored, new)?;
    if base == new {
        let message = format!("the variant {base} is given twice");
        return Err(Failure::usage(message).remedy("name two variants with --base and --new"));
    }
    let meant = meant((stored, Some(base)), (stored, Some(new)));
    let side = |variant| Side {
        name: variant,
        result: &stored.result,
        variant: Some(variant),
    };
    Ok(ResultComparison::of(&side(base), &side(new), &meant))
}

fn check_variant(stored: &StoredResult, variant: &str) -> Result<(), Failure> {
    let existing = variants(&stored.result);
    if existing.contains(&variant) {
        return Ok(());
    }
    let message = format!("{} has no variant {variant}", stored.path.display());
    let remedy = match existing.is_empty() {
        true => "it has no variants: omit --base and --new".to_owned(),
        false => format!("its variants are {}", existing.join(", ")),
    };
    Err(Failure::usage(message).remedy(remedy))
}

/// The server settings in which the studies of the two sides differ.
fn meant(
    base: (&StoredResult, Option<&str>),
    new: (&StoredResult, Option<&str>),
) -> Vec<IntendedSetting> {
    let side = |(stored, variant): (&StoredResult, Option<&str>)| {
        let study = stored.study.as_deref().unwrap_or_default();
        settings(study, variant)
    };
    differing(&side(base), &side(new))
}

/// Each setting with its values in the trials of a variant.
type SettingValues = BTreeMap<String, Vec<String>>;

fn differing(base: &SettingValues, new: &SettingValues) -> Vec<IntendedSetting> {
    let names: BTreeSet<&String> = base.keys().chain(new.keys()).collect();
    let differing = names
        .into_iter()
        .filter(|name| base.get(*name) != new.get(*name));
    let value =
        |side: &SettingValues, name: &String| side.get(name).map(|values| values.join(", "));
    let meant = differing.map(|name| IntendedSetting {
        name: name.clone(),
        base: value(base, name),
        new: value(new, name),
    });
    meant.collect()
}

/// The settings in a study; empty if it cannot be read or is of a running server.
fn settings(text: &str, variant: Option<&str>) -> SettingValues {
    let plan = Study::parse_as_run("study.toml", text, engine::catalog());
    let plan = plan.and_then(|study| study.plan());
    let trials = plan.map_or(Vec::new(), |plan| plan.trials);
    let mut settings = SettingValues::new();
    for trial in trials {
        if variant.is_some() && trial.variant() != variant {
            continue;
        }
        let ServerSpec::Engine(spec) = trial.server else {
            continue;
        };
        for (name, value) in &spec.config {
            let values = settings.entry(name.to_lowercase().replace('-', "_"));
            let values = values.or_default();
            if !values.contains(&value.value) {
                values.push(value.value.clone());
            }
        }
    }
    settings
}

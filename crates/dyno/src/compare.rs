//! `dyno compare BASE NEW`: the differences between two results or variants.

use std::collections::{BTreeMap, BTreeSet};

use ::report::compare::{IntendedSetting, ResultComparison, Side};
use ::report::variants;
use plan::ServerSpec;

use crate::answer::show;
use crate::cli::CompareArgs;
use crate::failure::Failure;
use crate::rerun::rerun;
use crate::stored_result::{self, StoredResult};

pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let base = StoredResult::read(&args.base_result)?;
    let both = match &args.new_result {
        Some(new) => {
            let new = StoredResult::read(new)?;
            if args.rerun {
                return rerun(args, [&base, &new]);
            }
            two_results(args, &base, &new)?
        }
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
    show(&both, "compare", &args.answer)
}

fn two_results(
    args: &CompareArgs,
    base: &StoredResult,
    new: &StoredResult,
) -> Result<ResultComparison, Failure> {
    if base.path == new.path {
        let message = format!("{} is given twice", args.base_result.display());
        return Err(Failure::usage(message)
            .remedy("give it once, and select two of its variants with --base and --new"));
    }
    stored_result::check_same_workload(base, new, args.force)?;
    let (mut ours, mut theirs) = (base.name(), new.name());
    if ours == theirs {
        ours = args.base_result.display().to_string();
        theirs = args
            .new_result
            .as_deref()
            .map_or(theirs, |path| path.display().to_string());
    }
    comparison([
        (base, &ours, args.base.as_deref()),
        (new, &theirs, args.new.as_deref()),
    ])
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
    if base == new {
        let message = format!("the variant {base} is given twice");
        return Err(Failure::usage(message).remedy("name two variants with --base and --new"));
    }
    comparison([base, new].map(|variant| (stored, variant, Some(variant))))
}

/// A side: its result, what it is called, and the variant that is meant.
type Selected<'a> = (&'a StoredResult, &'a str, Option<&'a str>);

fn comparison(sides: [Selected<'_>; 2]) -> Result<ResultComparison, Failure> {
    for (stored, _, variant) in sides {
        variant.map_or(Ok(()), |variant| check_variant(stored, variant))?;
    }
    let [ours, theirs] = sides.map(|(stored, _, variant)| settings(stored, variant));
    let [base, new] = sides.map(|(stored, name, variant)| Side {
        name,
        result: &stored.result,
        variant,
    });
    Ok(ResultComparison::of(
        &base,
        &new,
        &differing(&ours, &theirs),
    ))
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

/// Each setting with its values in the trials of a variant.
type SettingValues = BTreeMap<String, Vec<String>>;

/// The server settings in which the studies of the two sides differ.
fn differing(base: &SettingValues, new: &SettingValues) -> Vec<IntendedSetting> {
    let names: BTreeSet<&String> = base.keys().chain(new.keys()).collect();
    let differing = names
        .into_iter()
        .filter(|name| base.get(*name) != new.get(*name));
    let value =
        |side: &SettingValues, name: &String| side.get(name).map(|values| values.join(", "));
    let settings = differing.map(|name| IntendedSetting {
        name: name.clone(),
        base: value(base, name),
        new: value(new, name),
    });
    settings.collect()
}

/// The settings in the study of a result; empty if it cannot be read or is of a running server.
fn settings(stored: &StoredResult, variant: Option<&str>) -> SettingValues {
    let trials = stored
        .study()
        .map_or(Vec::new(), |study| study.plan().trials);
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

//! What to write instead of an unknown key.

use crate::content::Giver;
use crate::name::Name;
use plan::key::{self, FAULT, KEYS, Kind, SECTIONS, SIZES, SWEEP, THRESHOLDS, VARIANT};
use plan::{did_you_mean, listed, nearest, shown};

/// For an unknown key in a part of a study.
pub(crate) fn key(giver: Giver, name: &str) -> String {
    // Faults are a list, of which no key names an entry.
    if ![Giver::File, Giver::Size].contains(&giver) && name.split('.').next() == Some(FAULT) {
        return faults_are_fixed();
    }
    let (near, known) = match giver {
        Giver::File => return key_of_file(name),
        Giver::Override => return key_of_override(name),
        Giver::Variant => (
            full_name(name).or_else(|| nearest(name, ["name"]).map(str::to_owned)),
            "a variant has a `name` and keys by their full names, such as `load.threads`",
        ),
        Giver::Size => (
            full_name(name),
            "a size has keys by their full names, such as `data.rows` or `sweep.\"load.threads\"`",
        ),
    };
    near.map_or_else(
        || known.to_owned(),
        |near| format!("did you mean `{near}`?"),
    )
}

fn faults_are_fixed() -> String {
    format!("faults are the same in every trial: edit [[{FAULT}]] at the top level of the file")
}

fn key_of_file(name: &str) -> String {
    let (section, _) = name.rsplit_once('.').unwrap_or_default();
    let word = key::last(name);
    let here = KEYS.iter().filter(|k| k.section() == section);
    let here = here.map(|k| k.last());
    if let Some(question) = did_you_mean(word, here.clone()) {
        return question;
    }
    let sections = SECTIONS.iter().copied();
    if section.is_empty() {
        let tables = [SWEEP, SIZES, THRESHOLDS, VARIANT, FAULT];
        match nearest(word, sections.clone().chain(tables)) {
            Some(list @ (VARIANT | FAULT)) => return format!("did you mean [[{list}]]?"),
            Some(near) => return format!("did you mean [{near}]?"),
            None => {}
        }
    }
    let homes = KEYS.iter().filter(|k| k.last() == word || k.name == name);
    let homes: Vec<_> = homes.map(|k| format!("[{}]", k.section())).collect();
    match homes.as_slice() {
        [] => {}
        [home] if home == "[]" => {
            return format!("`{word}` belongs at the top of the file, before any [section]");
        }
        _ => return format!("`{word}` belongs under {}", homes.join(" or ")),
    }
    if let Some(question) = did_you_mean(name, KEYS.iter().map(|k| k.name)) {
        return question;
    }
    let known = listed(here);
    match section {
        "" => {
            let all: Vec<_> = sections.chain([SWEEP]).map(|s| format!("[{s}]")).collect();
            let all = all.join(", ");
            format!(
                "the top of the file has {known}, the sections {all}, and any number of [[{VARIANT}]] and [[{FAULT}]]"
            )
        }
        "server" => {
            format!("[server] has {known}; settings of the server belong under [server.config]")
        }
        _ => format!("[{section}] has {known}"),
    }
}

fn key_of_override(name: &str) -> String {
    let in_section = |key: &&key::Key| !name.is_empty() && key.section() == name;
    if let Some(key) = KEYS.iter().find(in_section) {
        let key = key.name;
        return format!("`{name}` is a section; set one of its keys, such as `{key}`");
    }
    match name.split('.').next() {
        Some(VARIANT) => {
            "variants are defined in the file; set a key of one with variant.NAME.KEY".into()
        }
        Some(SIZES) => {
            "sizes are defined in the file; choose one with sizes=NAME, or set its keys".into()
        }
        _ => key_of_file(name),
    }
}

/// For an override of an unknown variant.
pub(crate) fn variant_of_override(names: &[&str]) -> String {
    match names {
        [] => "this study has no variants".into(),
        names => format!(
            "write variant.NAME.KEY; the study has the variants {}",
            names.join(", ")
        ),
    }
}

/// For an unknown axis.
pub(crate) fn axis(name: &str) -> String {
    if name.split('.').next() == Some(FAULT) {
        return faults_are_fixed();
    }
    if let Ok(Some(name)) = Name::find(name) {
        return format!("`{}` is the same in every trial", name.full());
    }
    match full_name(name) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "an axis is named by the full name of a key, such as \"load.threads\"".into(),
    }
}

/// The full name of the key, among those in which trials may differ, that `name` resembles.
fn full_name(name: &str) -> Option<String> {
    let axes = || KEYS.iter().filter(|k| k.axis);
    // Server settings have any name, so only the part before it can be corrected.
    for family in axes().filter(|k| matches!(k.kind, Kind::Settings)) {
        let parts = family.name.matches('.').count() + 1;
        let (at, _) = name.match_indices('.').nth(parts - 1).unwrap_or_default();
        let (head, rest) = name.split_at_checked(at).unwrap_or_default();
        if !head.is_empty() && nearest(head, [family.name]).is_some() {
            return Some(format!("{}{}", family.name, shown(rest)));
        }
    }
    let by_last_part = || {
        let last = nearest(key::last(name), axes().map(|k| k.last()))?;
        axes().find(|k| k.last() == last).map(|k| k.name)
    };
    let near = nearest(name, axes().map(|k| k.name)).or_else(by_last_part);
    near.map(str::to_owned)
}

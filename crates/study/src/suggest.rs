//! What to write instead of an unknown key.

use crate::name::Name;
use plan::key::{self, FAULT, KEYS, Kind, SECTIONS, SIZES, SWEEP, THRESHOLDS, VARIANT};
use plan::{nearest, shown};

/// For an unknown key in a section, or at the top.
pub(crate) fn key(section: &str, name: &str) -> String {
    let word = key::last(name);
    let here = KEYS
        .iter()
        .filter(|k| k.section() == section)
        .map(|k| k.last());
    if let Some(near) = nearest(word, here.clone()) {
        return format!("did you mean `{near}`?");
    }
    if section.is_empty() {
        match nearest(word, sections()) {
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
    if let Some(near) = nearest(name, KEYS.iter().map(|k| k.name)) {
        return format!("did you mean `{near}`?");
    }
    let known = here
        .map(|k| format!("`{k}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let sections = || SECTIONS.iter().map(|(name, _)| *name).chain([SWEEP]);
    match section {
        "" => {
            let all: Vec<_> = sections().map(|name| format!("[{name}]")).collect();
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

fn sections() -> impl Iterator<Item = &'static str> {
    SECTIONS
        .iter()
        .map(|(name, _)| *name)
        .chain([SWEEP, SIZES, THRESHOLDS, VARIANT, FAULT])
}

/// For an unknown axis.
pub(crate) fn axis(name: &str) -> String {
    if let Some(help) = fault(name) {
        return help;
    }
    if let Ok(Some(name)) = Name::find(name) {
        return format!("`{}` is the same in every trial", name.full());
    }
    match full_name(name) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "an axis is named by the full name of a key, such as \"load.threads\"".into(),
    }
}

/// For an unknown key in a variant.
pub(crate) fn key_of_variant(name: &str) -> String {
    let near = full_name(name).or_else(|| nearest(name, ["name"]).map(str::to_owned));
    let known = "a variant has a `name` and keys by their full names, such as `load.threads`";
    near_or_known(name, near, known)
}

/// For an unknown key in a size.
pub(crate) fn key_of_size(name: &str) -> String {
    let known =
        "a size has keys by their full names, such as `data.rows` or `sweep.\"load.threads\"`";
    near_or_known(name, full_name(name), known)
}

fn near_or_known(name: &str, near: Option<String>, known: &str) -> String {
    match (fault(name), near) {
        (Some(help), _) => help,
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => known.to_owned(),
    }
}

/// For a key of a list that is the same in every trial, outside of it.
fn fault(name: &str) -> Option<String> {
    (name.split('.').next()? == FAULT).then(|| {
        format!("faults are the same in every trial: edit [[{FAULT}]] at the top level of the file")
    })
}

/// For an override of an unknown key.
pub(crate) fn key_of_override(name: &str) -> String {
    if let Some(key) = KEYS
        .iter()
        .find(|k| k.section() == name && !name.is_empty())
    {
        return format!(
            "`{name}` is a section; set one of its keys, such as `{}`",
            key.name
        );
    }
    match name.split('.').next() {
        Some(VARIANT) => {
            return "variants are defined in the file; set a key of one with variant.NAME.KEY"
                .into();
        }
        Some(SIZES) => {
            return "sizes are defined in the file; choose one with sizes=NAME, or set its keys"
                .into();
        }
        _ => {}
    }
    if let Some(help) = fault(name) {
        return help;
    }
    let section = name.rsplit_once('.').map_or("", |(section, _)| section);
    key(section, name)
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

/// The full name of the key, among those in which trials may differ, that `name` resembles.
fn full_name(name: &str) -> Option<String> {
    let axes = || KEYS.iter().filter(|k| k.axis);
    // Server settings have any name, so only the part before it can be corrected.
    let families = || axes().filter(|k| matches!(k.kind, Kind::Settings));
    for family in families() {
        let parts = family.name.matches('.').count() + 1;
        let (at, _) = name.match_indices('.').nth(parts - 1).unwrap_or_default();
        let (head, rest) = name.split_at_checked(at).unwrap_or_default();
        if !head.is_empty() && nearest(head, [family.name]).is_some() {
            return Some(format!("{}{}", family.name, shown(rest)));
        }
    }
    let by_last_part = || nearest(key::last(name), axes().map(|k| k.last()));
    let near = nearest(name, axes().map(|k| k.name)).or_else(|| {
        axes()
            .find(|k| Some(k.last()) == by_last_part())
            .map(|k| k.name)
    });
    near.map(str::to_owned)
}

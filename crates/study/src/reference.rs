//! The reference pages, generated from the table of keys.

use plan::key::{KEYS, Key, Kind, Needs, SECTIONS};
use plan::{EngineTraits, FaultKind, FaultRules, alternatives};

const INTRO: &str = include_str!("reference_intro.md");
const OUTRO: &str = include_str!("reference_outro.md");
/// Where the second one has the settings that a study asks for by a word.
const BY_WORDS: &str = "{settings by words}";
/// Where it has what each kind of fault does.
const KINDS: &str = "{kinds of faults}";
/// The section whose keys are those of another.
const AS_VOLUME: &str = "log_volume";

/// The keys that most studies need, which the first page begins with.
const USUAL: [&str; 12] = [
    "title",
    "server.engine",
    "server.url",
    "data.tables",
    "data.rows",
    "load.workload",
    "load.threads",
    "load.warmup",
    "load.time",
    "load.rate",
    "load.repeats",
    "topology.instances",
];

/// A page beside the first one, with what many studies do without.
struct Page {
    file: &'static str,
    /// Title and first paragraph.
    intro: &'static str,
    /// Its sections of keys…
    sections: &'static [&'static str],
    /// …and its parts of [`OUTRO`], by their headings.
    parts: &'static [&'static str],
}

const PAGES: [Page; 3] = [
    Page {
        file: "study-platforms.md",
        intro: "# Studies: sites and volumes\n\nWhere the servers of a [study](study.md) run, and where their data is stored.\n",
        sections: &["site", "volume", AS_VOLUME],
        parts: &["Sites and volumes"],
    },
    Page {
        file: "study-login.md",
        intro: "# Studies: login and TLS\n\nHow a [study](study.md) logs in to a server that is already running.\n",
        sections: &[LOGIN],
        parts: &["Servers that are already running"],
    },
    Page {
        file: "study-faults.md",
        intro: "# Studies: faults, the ledger, and chaos\n\nWhat a [study](study.md) breaks under load, and what proves that no commit was lost.\n",
        sections: &["ledger", "chaos"],
        parts: &["`[[fault]]`", "`[ledger]`", "`[chaos]`"],
    },
];
/// The keys of `[server]` for logging in, which have a page of their own.
const LOGIN: &str = "server: login";

/// The pages that explain every key of a study file, in Markdown, by the names of their files.
pub fn reference_pages(engines: &[EngineTraits]) -> Vec<(&'static str, String)> {
    let is_elsewhere = |name: &&str| PAGES.iter().any(|page| page.sections.contains(name));
    let sections: Vec<&str> = SECTIONS.iter().map(|(section, _)| *section).collect();
    let first = sections.iter().filter(|name| !is_elsewhere(name));
    let mut study = format!("{INTRO}\n## The usual keys\n\n");
    study.push_str(&table(
        KEYS.iter().filter(|key| USUAL.contains(&key.name)),
        |key| key.name,
        engines,
    ));
    study.push_str("\n## At the top\n\n");
    study.push_str(&table(of_section(""), Key::last, engines));
    first.for_each(|section| study.push_str(&keys(section, engines)));
    let of_others: Vec<&str> = PAGES.iter().flat_map(|page| page.parts).copied().collect();
    parts(|heading| !of_others.contains(&heading), &mut study);
    let mut pages = vec![("study.md", study.replace(BY_WORDS, &by_words(engines)))];
    for page in PAGES {
        let mut text = page.intro.to_owned();
        let sections = page.sections.iter();
        sections.for_each(|section| text.push_str(&keys(section, engines)));
        parts(|heading| page.parts.contains(&heading), &mut text);
        pages.push((page.file, text.replace(KINDS, &kinds_of_faults())));
    }
    pages
}

fn kinds_of_faults() -> String {
    let rows = FaultKind::ALL.iter().map(|kind| {
        let FaultRules { does, heals, .. } = kind.rules();
        let heals = if heals.is_empty() { "–" } else { heals };
        format!("| `{kind}` | {does} | {heals} |")
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// What the words for durability and for the profile set, by engine and kind of cluster.
fn by_words(engines: &[EngineTraits]) -> String {
    let shown = |settings: plan::StaticSettings| {
        let settings = settings.iter();
        let settings = settings.map(|(name, value)| format!("`{name} = {value}`"));
        settings.collect::<Vec<_>>().join(", ")
    };
    let mut rows: Vec<(&str, String, Vec<&str>)> = Vec::new();
    for engine in engines {
        for kind in engine.clusters {
            let (durable, tuned) = (shown(kind.conduct.durable), shown(kind.conduct.tuned));
            let settings = format!("{durable} | {tuned}");
            let same = |row: &&mut (&str, String, _)| row.0 == engine.name && row.1 == settings;
            match rows.iter_mut().find(same) {
                Some((_, _, kinds)) => kinds.push(kind.name),
                None => rows.push((engine.name, settings, vec![kind.name])),
            }
        }
    }
    let rows = rows.iter().map(|(engine, settings, kinds)| {
        let kinds: Vec<_> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
        format!("| `{engine}` | {} | {settings} |", kinds.join(", "))
    });
    let head = "| engine | clusters | `equal` | `tuned` |\n|---|---|---|---|";
    let lines = std::iter::once(head.to_owned()).chain(rows);
    lines.collect::<Vec<_>>().join("\n")
}

/// Appends the parts of [`OUTRO`] with such headings.
fn parts(is_wanted: impl Fn(&str) -> bool, page: &mut String) {
    for part in format!("\n{OUTRO}").split("\n## ").skip(1) {
        let heading = part.lines().next().unwrap_or_default();
        if is_wanted(heading) {
            page.push_str(&format!("\n## {}\n", part.trim_end()));
        }
    }
}

fn keys(section: &str, engines: &[EngineTraits]) -> String {
    let doc = SECTIONS.iter().find(|(name, _)| *name == section);
    let doc = doc.map_or("", |(_, doc)| *doc);
    match section {
        AS_VOLUME => format!("\n## `[{section}]`\n\n{doc}\n"),
        LOGIN => format!(
            "\n## Keys of `[server]`\n\n{}",
            table(of_section(LOGIN), Key::last, engines)
        ),
        _ => format!(
            "\n## `[{section}]`\n\n{doc}\n\n{}",
            table(of_section(section), Key::last, engines)
        ),
    }
}

fn of_section(section: &str) -> impl Iterator<Item = &'static Key> {
    let of = |key: &Key| match (key.section(), key.needs) {
        ("server", Needs::RunningServer) => LOGIN,
        (name, _) => name,
    };
    KEYS.iter().filter(move |key| of(key) == section)
}

fn table(
    keys: impl Iterator<Item = &'static Key>,
    name: fn(&Key) -> &'static str,
    engines: &[EngineTraits],
) -> String {
    let mut text = String::from("| key | takes | default | meaning |\n|---|---|---|---|\n");
    for key in keys {
        text.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            name(key),
            takes(key, engines),
            default(key),
            key.doc
        ));
    }
    text
}

fn takes(key: &Key, engines: &[EngineTraits]) -> String {
    match key.kind {
        Kind::Engine => alternatives(&EngineTraits::names(engines, |_| true)),
        Kind::Cluster => engines
            .iter()
            .filter(|engine| !engine.clusters.is_empty())
            .map(|engine| {
                format!(
                    "`{}`: {}",
                    engine.name,
                    alternatives(&engine.cluster_names())
                )
            })
            .collect::<Vec<_>>()
            .join("; "),
        Kind::Url => {
            let schemes = engines.iter().flat_map(|engine| engine.schemes);
            let schemes: Vec<_> = schemes.map(|scheme| format!("`{scheme}://`")).collect();
            format!("an address: {}", schemes.join(", "))
        }
        _ => key.range(),
    }
}

fn default(key: &Key) -> String {
    match key.default {
        Some(text) => format!("`{text}`"),
        None if key.required => "required".into(),
        None => "–".into(),
    }
}

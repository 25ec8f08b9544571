//! The reference pages: texts with marks in braces, which stand for tables of keys.

use plan::key::{KEYS, Key, Kind, Needs};
use plan::{EngineTraits, FaultKind, FaultRules, alternatives};

const PAGES: [(&str, &str); 5] = [
    ("study.md", include_str!("../../../src/reference/study.md")),
    (
        "study-platforms.md",
        include_str!("../../../src/reference/study-platforms.md"),
    ),
    (
        "study-login.md",
        include_str!("../../../src/reference/study-login.md"),
    ),
    (
        "study-clusters.md",
        include_str!("../../../src/reference/study-clusters.md"),
    ),
    (
        "study-faults.md",
        include_str!("../../../src/reference/study-faults.md"),
    ),
];
/// The keys that most studies need, which the first page begins with.
#[rustfmt::skip]
const USUAL: [&str; 12] = [
    "title", "server.engine", "server.url", "data.tables", "data.rows", "load.workload",
    "load.threads", "load.warmup", "load.time", "load.rate", "load.repeats", "topology.instances",
];

/// The pages that explain every key of a study file, in Markdown, by the names of their files.
pub(super) fn reference_pages(engines: &[EngineTraits]) -> Vec<(&'static str, String)> {
    let whole = |line: &str| {
        let mark = line
            .strip_prefix('{')
            .and_then(|line| line.strip_suffix('}'));
        mark.map_or(line.to_owned(), |mark| marked(mark, engines)) + "\n"
    };
    let pages = PAGES.into_iter();
    pages
        .map(|(file, text)| (file, text.lines().map(whole).collect()))
        .collect()
}

fn marked(mark: &str, engines: &[EngineTraits]) -> String {
    let keys = |section: &str| {
        let keys = KEYS.iter().filter(|key| section_of(key) == section);
        table(keys.map(|key| row(key, key.last(), engines)))
    };
    match mark {
        "kinds of faults" => kinds_of_faults(),
        "settings by words" => by_words(engines),
        "usual keys" => {
            let usual = USUAL.into_iter();
            table(usual.filter_map(|name| Some(row(Key::find(name)?, name, engines))))
        }
        "keys at the top" => keys(""),
        "keys for login" => keys(LOGIN),
        _ => keys(mark.trim_start_matches("keys of ")),
    }
}

/// The keys of `[server]` for logging in, which have a page of their own.
const LOGIN: &str = "login";

fn section_of(key: &Key) -> &'static str {
    match (key.section(), key.needs) {
        ("server", Needs::RunningServer) => LOGIN,
        (name, _) => name,
    }
}

fn table(rows: impl Iterator<Item = String>) -> String {
    let head = "| key | takes | default | meaning |\n|---|---|---|---|".to_owned();
    let lines: Vec<_> = std::iter::once(head).chain(rows).collect();
    lines.join("\n")
}

fn row(key: &Key, name: &str, engines: &[EngineTraits]) -> String {
    let default = match key.default {
        Some(text) => format!("`{text}`"),
        None if key.required => "required".into(),
        None => "–".into(),
    };
    let takes = takes(key, engines);
    format!("| `{name}` | {takes} | {default} | {} |", key.doc)
}

fn takes(key: &Key, engines: &[EngineTraits]) -> String {
    match key.kind {
        Kind::Engine => alternatives(&EngineTraits::names(engines)),
        Kind::Cluster => {
            let engines = engines.iter().filter(|engine| !engine.clusters.is_empty());
            let kinds = engines.map(|engine| {
                let kinds = alternatives(&engine.cluster_names());
                format!("`{}`: {kinds}", engine.name)
            });
            kinds.collect::<Vec<_>>().join("; ")
        }
        Kind::Url => {
            let schemes = engines.iter().flat_map(|engine| engine.schemes);
            let schemes: Vec<_> = schemes.map(|scheme| format!("`{scheme}://`")).collect();
            format!("an address: {}", schemes.join(", "))
        }
        _ => key.range(),
    }
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
    let mut rows: Vec<(&str, String, Vec<String>)> = Vec::new();
    for engine in engines {
        for kind in engine.clusters {
            let (durable, tuned) = (shown(kind.conduct.durable), shown(kind.conduct.tuned));
            let (settings, name) = (format!("{durable} | {tuned}"), format!("`{}`", kind.name));
            let same = |row: &&mut (&str, String, _)| row.0 == engine.name && row.1 == settings;
            match rows.iter_mut().find(same) {
                Some((_, _, kinds)) => kinds.push(name),
                None => rows.push((engine.name, settings, vec![name])),
            }
        }
    }
    let rows = rows.iter().map(|(engine, settings, kinds)| {
        let kinds = kinds.join(", ");
        format!("\n| `{engine}` | {kinds} | {settings} |")
    });
    "| engine | clusters | `equal` | `tuned` |\n|---|---|---|---|".to_owned()
        + &rows.collect::<String>()
}

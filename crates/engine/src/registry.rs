//! All engines, and how they are found.

use std::sync::LazyLock;

use plan::{EngineTraits, Failure};

use crate::engine::{Engine, InProcess};
use crate::mysql::{MARIADB, MYSQL};
use crate::postgres::POSTGRES;
use crate::server::Server;
use crate::sqlite::SQLITE;

/// Adding an engine takes a folder and a line here.
pub const ENGINES: [&dyn Engine; 4] = [MARIADB, MYSQL, POSTGRES, SQLITE];

/// What parsing a study needs to know about each engine that dyno can start.
pub fn catalog() -> &'static [EngineTraits] {
    static CATALOG: LazyLock<Vec<EngineTraits>> = LazyLock::new(|| {
        let servers = servers().map(|server| {
            let kinds = server.traits().replication.iter();
            let clusters = kinds.map(|kind| kind.traits().cluster);
            EngineTraits {
                name: server.name(),
                schemes: server.schemes(),
                is_process: true,
                clusters: clusters.collect::<Vec<_>>().leak(),
                reserved_setting: server.traits().reserved_setting,
            }
        });
        let in_process = in_process().map(|InProcess { engine, .. }| EngineTraits {
            name: engine.name(),
            schemes: engine.schemes(),
            is_process: false,
            clusters: &[],
            reserved_setting: |_| None,
        });
        servers.chain(in_process).collect()
    });
    &CATALOG
}

/// The engine with this name in studies.
pub fn by_name(name: &str) -> Option<&'static dyn Engine> {
    ENGINES.into_iter().find(|engine| engine.name() == name)
}

pub fn servers() -> impl Iterator<Item = &'static dyn Server> {
    ENGINES.into_iter().filter_map(Engine::server)
}

pub fn in_process() -> impl Iterator<Item = InProcess> {
    ENGINES.into_iter().filter_map(Engine::in_process)
}

/// The engine for the scheme of a URL.
pub fn of_url(url: &str) -> Result<&'static dyn Engine, Failure> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    let engine = ENGINES
        .into_iter()
        .find(|engine| engine.schemes().contains(&scheme));
    engine.ok_or_else(|| {
        let forms = ENGINES.map(|engine| engine.about().url_syntax).join(", ");
        Failure::usage(format!("{url:?} is not the URL of a supported database"))
            .remedy(format!("use one of these forms: {forms}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_found_by_name_and_by_scheme() {
        for engine in ENGINES {
            assert_eq!(by_name(engine.name()).unwrap().name(), engine.name());
            for scheme in engine.schemes() {
                let found = of_url(&format!("{scheme}:x")).unwrap();
                assert_eq!(found.name(), engine.name());
            }
            let starts = engine.server().is_some();
            assert!(!(starts && engine.in_process().is_some()));
        }
        assert!(by_name("oracle").is_none());
        assert!(of_url("oracle://x").is_err() && of_url("").is_err());
    }
}

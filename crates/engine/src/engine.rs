//! What dyno must know of every engine.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::ENGINES;
use plan::EngineTraits;
use workload::schema::Dialect;

use crate::database::{Access, Database};
use crate::error::{Cause, EngineError};
use crate::server::Server;

/// A database engine.
pub trait Engine: fmt::Debug + Send + Sync {
    /// Its name in a study: `mariadb`.
    fn name(&self) -> &'static str;

    /// Its name as people write it: `MariaDB`.
    fn title(&self) -> &'static str;

    /// The schemes of the URLs that name its databases.
    fn schemes(&self) -> &'static [&'static str];

    /// The first of them, for examples.
    fn scheme(&self) -> &'static str {
        self.schemes().first().copied().unwrap_or_default()
    }

    /// How the URLs of its databases are written, for help and messages.
    fn url_syntax(&self) -> String {
        format!("{}://USER@HOST:PORT/DATABASE", self.scheme())
    }

    /// The environment variables that its own clients read for what a URL leaves out, and that
    /// dyno reads, too: names and meaning.
    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Its dialect of SQL.
    fn dialect(&self) -> &'static Dialect;

    /// Opens the database that a URL names and asks it for its version. `directory` holds the
    /// temporary databases of an engine that runs in process.
    ///
    /// # Errors
    /// When the URL names no database, or nobody answers there.
    fn open(
        &self,
        url: &str,
        access: &Access,
        directory: Option<&Path>,
    ) -> Result<Arc<dyn Database>, EngineError>;

    /// How it runs in this process; `None`: its servers are processes of their own.
    fn in_process(&self) -> Option<InProcess> {
        None
    }

    /// How its servers are started; `None`: they are not.
    fn server(&self) -> Option<&'static dyn Server> {
        None
    }
}

/// An engine that runs in this process.
#[derive(Debug, Clone, Copy)]
pub struct InProcess {
    /// The engine.
    pub engine: &'static dyn Engine,
    /// The version that is built in.
    pub version: &'static str,
    /// The URL of a temporary database.
    pub temporary_url: &'static str,
    /// A database's URL that is valid in any working directory; `None`: it names a temporary
    /// database without settings.
    pub absolute_url: fn(&str) -> Option<String>,
}

/// What the reader of studies must know of the engines that dyno can start.
pub fn catalog() -> &'static [EngineTraits] {
    static CATALOG: LazyLock<Vec<EngineTraits>> = LazyLock::new(|| {
        let traits = |engine: &dyn Engine| EngineTraits {
            name: engine.name(),
            schemes: engine.schemes(),
            is_process: engine.in_process().is_none(),
            clusters: engine.server().map_or(&[], clusters),
            reserved_setting: match engine.server() {
                Some(server) => server.reserved_setting(),
                None => |_| None,
            },
        };
        let engines = ENGINES.into_iter();
        let can_start =
            |engine: &&dyn Engine| engine.in_process().is_some() || engine.server().is_some();
        engines.filter(can_start).map(traits).collect()
    });
    &CATALOG
}

/// The ways in which servers replicate; they live as long as the catalog.
fn clusters(server: &dyn Server) -> &'static [&'static str] {
    let names = server.replication().iter().map(|kind| kind.name());
    names.collect::<Vec<_>>().leak()
}

/// The engine that a study calls `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Engine> {
    ENGINES.into_iter().find(|engine| engine.name() == name)
}

/// The engines that have servers.
pub fn servers() -> impl Iterator<Item = &'static dyn Server> {
    ENGINES.into_iter().filter_map(Engine::server)
}

/// The engines that run in this process.
pub fn in_process() -> impl Iterator<Item = InProcess> {
    ENGINES.into_iter().filter_map(Engine::in_process)
}

/// The engine whose databases have such URLs.
///
/// # Errors
/// When no engine knows the scheme.
pub fn of_url(url: &str) -> Result<&'static dyn Engine, EngineError> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    let engine = ENGINES
        .into_iter()
        .find(|engine| engine.schemes().contains(&scheme));
    engine.ok_or_else(|| EngineError::Failed {
        cause: Cause::Usage,
        message: format!("{url:?} is not the URL of a supported database"),
        remedy: Some(format!(
            "use one of these forms: {}",
            ENGINES.map(Engine::url_syntax).join(", ")
        )),
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

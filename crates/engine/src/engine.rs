//! What dyno has to know about every engine.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use workload::schema::Dialect;

use crate::database::{Access, Database};
use crate::failure::Failure;
use crate::server::Server;

/// A database engine.
pub trait Engine: fmt::Debug + Send + Sync {
    /// Its name in a study: `mariadb`.
    fn name(&self) -> &'static str;

    /// Its name in text: `MariaDB`.
    fn title(&self) -> &'static str;

    /// The schemes of the URLs that name its databases.
    fn schemes(&self) -> &'static [&'static str];

    /// The first scheme, for examples.
    fn scheme(&self) -> &'static str {
        self.schemes().first().copied().unwrap_or_default()
    }

    /// The syntax of its URLs, for help and messages.
    fn url_syntax(&self) -> String {
        format!("{}://USER@HOST:PORT/DATABASE", self.scheme())
    }

    /// The environment variables from which its own clients, and dyno, take what a URL omits:
    /// names and meaning.
    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Its dialect of SQL.
    fn dialect(&self) -> &'static Dialect;

    /// Opens the database that a URL names, and reads its version. An in-process engine creates
    /// temporary databases in `directory`.
    fn open(
        &self,
        url: &str,
        access: &Access,
        directory: Option<&Path>,
    ) -> Result<Arc<dyn Database>, Failure>;

    /// How it runs in this process; `None` if it has server processes.
    fn in_process(&self) -> Option<InProcess> {
        None
    }

    /// How its servers are started; `None` if it has none.
    fn server(&self) -> Option<&'static dyn Server> {
        None
    }
}

/// An engine that runs in this process.
#[derive(Debug, Clone, Copy)]
pub struct InProcess {
    pub engine: &'static dyn Engine,
    /// The built-in version.
    pub version: &'static str,
    /// The URL of a temporary database.
    pub temporary_url: &'static str,
    /// A database's URL that is valid in any working directory; `None`: it names a temporary
    /// database without settings.
    pub absolute_url: fn(&str) -> Option<String>,
}

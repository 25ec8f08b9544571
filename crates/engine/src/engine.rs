//! What every engine provides.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use plan::Failure;
use workload::schema::Dialect;

use crate::database::{Access, Database, ServerHandover};
use crate::server::Server;

/// How an engine opens a database: see [`Engine::open`].
pub(crate) type Open = fn(&str, &Access, Option<&Path>) -> Result<Arc<dyn Database>, Failure>;

/// How an engine opens the servers of a [`Handover`](crate::Handover) of this version.
pub(crate) type Reopen =
    fn(&'static dyn Engine, &str, &[ServerHandover]) -> Result<Arc<dyn Database>, Failure>;

/// What is the same for all databases of an engine.
#[derive(Debug)]
pub struct About {
    /// The name in a study, for example `mariadb`.
    pub name: &'static str,
    /// The name in text, for example `MariaDB`.
    pub title: &'static str,
    /// The schemes of URLs for its databases; the first one is for examples.
    pub schemes: &'static [&'static str],
    /// The syntax of URLs, for help and messages.
    pub url_syntax: &'static str,
    /// Names and meanings of the environment variables from which its own clients, and dyno, take
    /// what a URL omits.
    pub variables: &'static [(&'static str, &'static str)],
    pub dialect: &'static Dialect,
    /// What sysbench calls the driver of its clients.
    pub driver: &'static str,
    /// Statements that do the maintenance of all tables after a script has loaded them.
    pub settle: &'static [&'static str],
    pub flush: Flush,
    pub open: Open,
    /// `None` if its databases are in the process that opens them.
    pub reopen: Option<Reopen>,
}

/// How to make a server write out what it has deferred, such as dirty pages.
#[derive(Debug)]
pub struct Flush {
    /// Statements that start the flush, or perform it.
    pub start: &'static [&'static str],
    /// A query, which may itself perform the flush, and its column that is `0` once the flush is
    /// complete; `None` if `start` waits for that.
    pub left: Option<(&'static str, usize)>,
    /// Statements that restore the settings, on the same connection.
    pub restore: &'static [&'static str],
}

pub trait Engine: fmt::Debug + Send + Sync {
    fn about(&self) -> &About;

    /// Opens the database at a URL and reads its version. An in-process engine creates temporary
    /// databases in `directory`.
    fn open(
        &self,
        url: &str,
        access: &Access,
        directory: Option<&Path>,
    ) -> Result<Arc<dyn Database>, Failure> {
        (self.about().open)(url, access, directory)
    }

    /// `None` if the engine has server processes.
    fn in_process(&self) -> Option<InProcess> {
        None
    }

    /// `None` if the engine has no servers.
    fn server(&self) -> Option<&'static dyn Server> {
        None
    }

    fn name(&self) -> &'static str {
        self.about().name
    }

    fn title(&self) -> &'static str {
        self.about().title
    }

    fn schemes(&self) -> &'static [&'static str] {
        self.about().schemes
    }

    fn scheme(&self) -> &'static str {
        self.schemes().first().copied().unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy)]
pub struct InProcess {
    pub engine: &'static dyn Engine,
    pub version: &'static str,
    /// The URL of a temporary database.
    pub temporary_url: &'static str,
    /// Makes the URL of a database valid in any working directory; `None` if it names a temporary
    /// database without settings.
    pub absolute_url: fn(&str) -> Option<String>,
}

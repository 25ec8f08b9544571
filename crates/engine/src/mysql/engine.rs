//! MariaDB and MySQL as engines.

use std::path::Path;
use std::sync::Arc;

use client::mysql::DIALECT;
use workload::schema::Dialect;

use super::database;
use super::flavor::{Flavor, MARIADB, MYSQL};
use crate::database::{Access, Database};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::server::Server;

impl Engine for Flavor {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn schemes(&self) -> &'static [&'static str] {
        self.schemes
    }

    fn url_syntax(&self) -> String {
        format!("{}://USER@HOST:PORT/DATABASE[?socket=FILE]", self.name)
    }

    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn open(
        &self,
        url: &str,
        access: &Access,
        _: Option<&Path>,
    ) -> Result<Arc<dyn Database>, Failure> {
        database::open(url, access)
    }

    fn server(&self) -> Option<&'static dyn Server> {
        Some(match self.name == MARIADB.name() {
            true => MARIADB,
            false => MYSQL,
        })
    }
}

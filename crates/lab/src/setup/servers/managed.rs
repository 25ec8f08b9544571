//! Servers that a cluster manager starts.

use engine::manager::{ManagedServer, Manager};
use engine::{Paths, ServerFile};

use crate::account::Account;
use crate::failure::Failure;
use crate::servers::files::{write_for_server, write_program, write_readable};
use crate::servers::start::Launcher;

impl Launcher {
    /// Writes the files of the manager that starts the server in place of the laboratory.
    pub(super) fn managed(
        &self,
        paths: &Paths,
        account: &Account,
    ) -> Result<Option<Manager>, Failure> {
        let Some(membership) = &self.membership else {
            return Ok(None);
        };
        let manager = membership.manager(&ManagedServer {
            program: &self.installed.program,
            paths,
            config: &self.config,
            account: account.other_name(),
        })?;
        for file in manager.iter().flat_map(|manager| &manager.files) {
            self.write_of_manager(file, paths, account)?;
        }
        Ok(manager)
    }

    fn write_of_manager(
        &self,
        file: &ServerFile,
        paths: &Paths,
        account: &Account,
    ) -> Result<(), Failure> {
        let path = paths.dir.join(file.name);
        match file.is_executable {
            true => write_program(&path, &file.text)?,
            false => write_for_server(&path, &file.text, account)?,
        }
        match &file.kept {
            Some(kept) => write_readable(&self.keep.join(file.name), kept),
            None => Ok(()),
        }
    }
}

//! Writes the configuration of a server: one for the server, and one without secrets for the
//! result.

use engine::Paths;

use crate::account::Account;
use crate::failure::Failure;
use crate::servers::files::{write_for_server, write_readable};
use crate::servers::membership::Membership;
use crate::servers::start::Launcher;

/// Shown in place of a secret.
const HIDDEN: &str = "(hidden)";

impl Launcher {
    /// Writes the configuration for the server, and a copy without secrets for the result.
    /// `of_restart` replaces settings of the same names.
    pub(super) fn write_config(
        &self,
        paths: &Paths,
        account: &Account,
        of_restart: &[(String, String)],
    ) -> Result<(), Failure> {
        let engine = self.installed.engine;
        let on_site = self.on_site(paths);
        let text = |config: &_| engine.configuration(&self.installed, &on_site, config);
        let settings = self.settings(of_restart);
        write_for_server(&paths.config(), &text(&settings), account)?;
        let kept: Vec<(String, String)> = settings.iter().map(|one| self.shown(one)).collect();
        write_readable(&self.keep.join(engine.traits().config_file), &text(&kept))
    }

    /// The settings that make the server a member of its cluster, then the study's.
    fn settings(&self, of_restart: &[(String, String)]) -> Vec<(String, String)> {
        let own = self.membership.as_ref().map(Membership::settings);
        let is_replaced = |name: &String| of_restart.iter().any(|(other, _)| other == name);
        let own = own.into_iter().flatten();
        let own = own.filter(|(name, _)| !is_replaced(name));
        let rest = of_restart.iter().chain(&self.config);
        own.chain(rest.cloned()).collect()
    }

    /// A setting as the result shows it: a value that may be a secret is hidden.
    fn shown(&self, (name, value): &(String, String)) -> (String, String) {
        let engine = self.installed.engine;
        let value = match engine.is_secret(name, value) {
            true => HIDDEN,
            false => value,
        };
        (name.clone(), value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use engine::Installed;

    use super::*;
    use crate::servers::ProcessId;
    use crate::servers::password::Password;
    use crate::site::ThisHost;

    #[test]
    fn the_result_keeps_no_secret() {
        let engine = engine::servers().next().unwrap();
        let installed = Installed::nowhere(engine, "10.11.14");
        let launcher = Launcher {
            number: 1,
            installed,
            config: Vec::new(),
            fixed_port: None,
            connections: 1,
            site: Arc::new(ThisHost::default()),
            process: ProcessId::default(),
            keep: PathBuf::new(),
            membership: None,
            password: Password::default(),
        };
        let shown = |name: &str| launcher.shown(&(name.to_owned(), "x".to_owned())).1;
        assert_eq!(shown("S3-Secret-Key"), HIDDEN);
        assert_eq!(shown("max-connections"), "x");
    }
}

//! What a study must know of the engines that it can start.

use crate::alternatives;

/// An engine that a study can start.
#[derive(Debug, Clone, Copy)]
pub struct EngineTraits {
    /// Its name in a study.
    pub name: &'static str,
    /// The schemes of its databases' URLs.
    pub schemes: &'static [&'static str],
    /// Whether it runs as a process of its own, which a study can configure.
    pub is_process: bool,
    /// The ways in which its servers replicate.
    pub clusters: &'static [&'static str],
    /// Why a study cannot make the setting of this name; `None` if it can.
    pub reserved_setting: fn(&str) -> Option<&'static str>,
}

impl EngineTraits {
    /// Names of those for which `is` holds.
    pub fn names(engines: &[Self], is: impl Fn(&Self) -> bool) -> Vec<&'static str> {
        let these = engines.iter().filter(|engine| is(engine));
        these.map(|engine| engine.name).collect()
    }

    /// The same as TOML has them: `"a" or "b"`.
    pub fn quoted(engines: &[Self], is: impl Fn(&Self) -> bool) -> String {
        alternatives(&Self::names(engines, is)).replace('`', "")
    }
}

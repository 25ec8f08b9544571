//! Scripts that virtual users run in place of a workload.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{TextError, shown};

/// A script of a load, or a module that one in Lua loads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// Of its file, or the name of a script that is built in.
    pub path: String,
    /// How often it runs in proportion to the others.
    pub weight: u32,
    /// Of its text; empty for one that is built in.
    pub digest: String,
    /// Once the caller has read the file. It is not stored with each trial.
    #[serde(skip)]
    pub text: Arc<str>,
}

impl Script {
    pub fn new(path: &str, weight: u32) -> Self {
        Self {
            path: path.to_owned(),
            weight,
            ..Self::default()
        }
    }

    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// Reads scripts of pgbench with their weights, which are 1 if they are left out: `tpcb-like@2,
/// own.sql`.
pub fn parse_scripts(text: &str) -> Result<Vec<Script>, TextError> {
    text.split(',').map(|typed| script(typed.trim())).collect()
}

fn script(text: &str) -> Result<Script, TextError> {
    let weighted = text.rsplit_once('@');
    let weighted = weighted.and_then(|(path, weight)| Some((path, weight.parse().ok()?)));
    let (path, weight) = weighted.unwrap_or((text, 1));
    if path.is_empty() || path.contains(':') || is_lua(path) {
        let message = format!("`{}` is not a script of pgbench", shown(text));
        let help = "write the path of a file, or tpcb-like, simple-update, or select-only, with a \
                    weight where it is not 1: `own.sql@3`";
        return Err(TextError::new(message, help));
    }
    Ok(Script::new(path, weight))
}

/// Whether a workload or script of this name is in Lua.
pub fn is_lua(path: &str) -> bool {
    path.ends_with(".lua")
}

/// A digest of a text (FNV-1a), as 16 hexadecimal digits.
pub fn digest(text: &str) -> String {
    let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_follows_the_path() {
        let scripts = parse_scripts("tpcb-like@2, me@db/own.sql,x@0").unwrap();
        let read = scripts.iter().map(|one| (one.path.as_str(), one.weight));
        let expected = [("tpcb-like", 2), ("me@db/own.sql", 1), ("x", 0)];
        assert_eq!(read.collect::<Vec<_>>(), expected);
        assert_eq!(scripts[1].name(), "own.sql");
        for bad in ["", "a.sql,", "@2", "a.sql:3", "x.lua@2"] {
            assert!(parse_scripts(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_digest_is_that_of_fnv_1a() {
        assert_eq!(digest(""), "cbf29ce484222325");
        assert_eq!(digest("a"), "af63dc4c8601ec8c");
    }
}

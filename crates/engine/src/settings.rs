//! Settings: those that a study may put into configuration files, and those that servers report,
//! limited in size.

use std::collections::BTreeMap;

use plan::Failure;

use crate::remote::Rows;

pub type Settings = [(String, String)];

/// Maximum number of settings; no server has as many.
const MAX_SETTINGS: usize = 2000;
/// Maximum length of a value in a result, in characters.
const MAX_VALUE_CHARS: usize = 1000;
/// Maximum length of a value for checks, in characters.
const MAX_CHECKED_CHARS: usize = 200;
/// Replaces the value of a secret.
pub(crate) const HIDDEN: &str = "(hidden)";

/// Settings that differ from the defaults, from rows of name and value, without those in
/// `per_server`.
pub(crate) fn changed(
    rows: Rows,
    per_server: &str,
    is_secret: impl Fn(&str, &str) -> bool,
) -> Vec<(String, String)> {
    let shared = pairs(rows).filter(|(name, _)| !lists(per_server, name));
    let shown = shared.map(|(name, value)| {
        let value = match is_secret(&name, &value) {
            true => HIDDEN.to_owned(),
            false => value.chars().take(MAX_VALUE_CHARS).collect(),
        };
        (name, value)
    });
    shown.collect()
}

/// Settings for checks, from rows of name and value.
pub(crate) fn checked(rows: Rows) -> BTreeMap<String, String> {
    let cut = |value: String| value.chars().take(MAX_CHECKED_CHARS).collect();
    pairs(rows)
        .map(|(name, value)| (name.to_ascii_lowercase(), cut(value)))
        .collect()
}

fn pairs(rows: Rows) -> impl Iterator<Item = (String, String)> {
    let pairs = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        Some((cells.next()??, cells.next()??))
    });
    pairs.take(MAX_SETTINGS)
}

/// Parses a boolean as servers and their configuration files write it.
pub(crate) fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Minimum limit of connections: it costs next to nothing, and the default settings must not refuse
/// a load.
const MIN_CONNECTIONS: u32 = 1000;
/// For monitors, and for an administrator.
const SPARE_CONNECTIONS: u32 = 50;

/// Rejects settings that cannot be written, or for which `reserved` returns a reason. Names may
/// contain letters, digits and `punctuation`.
pub(crate) fn check_settings(
    config: &Settings,
    punctuation: &str,
    reserved: impl Fn(&str, &str) -> Option<&'static str>,
) -> Result<(), Failure> {
    for (name, value) in config {
        let bad = |why| bad_setting(name, why);
        let fits = |c: char| c.is_ascii_alphanumeric() || punctuation.contains(c);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(fits) {
            return Err(bad("this is not the name of a setting"));
        }
        // A line break would start another setting.
        if value.chars().any(char::is_control) {
            return Err(bad(
                "its value contains a line break or another control character",
            ));
        }
        if let Some(why) = reserved(name, value) {
            let message = format!("the setting {name} is dyno's own: {why}");
            let failure = Failure::usage(message).remedy("remove it from server.config");
            return Err(failure.key(format!("server.config.{name}")));
        }
    }
    Ok(())
}

/// Reasons why a study cannot set settings, and their names.
pub(crate) type Reserved = &'static [(&'static str, &'static str)];

/// Whether a list of names has a name; `*` stands for any ending.
pub(crate) fn lists(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| match known.strip_suffix('*') {
        Some(stem) => name.starts_with(stem),
        None => name == known,
    })
}

/// The failure for a setting that cannot be written to a configuration file.
pub(crate) fn bad_setting(name: &str, why: &str) -> Failure {
    Failure::usage(format!("the setting {name:?} cannot be written: {why}"))
        .remedy("correct or remove it in server.config")
        .key(format!("server.config.{name}"))
}

pub(crate) fn allowed_connections(users: u32) -> u32 {
    users.saturating_add(SPARE_CONNECTIONS).max(MIN_CONNECTIONS)
}

pub(crate) struct ConfigurationFile {
    text: String,
    line: fn(&str, &str) -> String,
}

impl ConfigurationFile {
    /// A file that begins with `head`; `line` writes a setting.
    pub(crate) fn new(head: String, line: fn(&str, &str) -> String) -> Self {
        Self { text: head, line }
    }

    /// Adds settings below a comment, if there are any.
    pub(crate) fn section<V: AsRef<str>>(&mut self, comment: &str, settings: &[(&str, V)]) {
        if !settings.is_empty() {
            self.text.push_str(&format!("\n# {comment}\n"));
        }
        for (name, value) in settings {
            self.text.push_str(&(self.line)(name, value.as_ref()));
        }
    }

    /// Adds the study's settings, which override those above them, and returns the text.
    pub(crate) fn finish<'a>(
        mut self,
        study: impl Iterator<Item = &'a (String, String)>,
    ) -> String {
        let study: Vec<_> = study.map(|(name, value)| (name.as_str(), value)).collect();
        self.section("The study's settings, which override those above.", &study);
        self.text
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{MARIADB, POSTGRES, Server};

    fn check(server: &dyn Server, name: &str, value: &str) -> Result<(), String> {
        let config = [(name.to_owned(), value.to_owned())];
        let checked = server.check_settings(&config);
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_cannot_leave_its_line() {
        for server in [MARIADB, POSTGRES] {
            assert_eq!(check(server, "work_mem", "1GB"), Ok(()));
            assert_eq!(check(server, "a.b", "x y"), Ok(()));
            assert_eq!(check(server, "a", ""), Ok(()));
            for (name, value) in [
                ("a", "1\nport = 1"),
                ("a", "1\rb"),
                ("[client]", "1"),
                ("!include", "/etc/passwd"),
                ("", "1"),
                ("a=b", "1"),
                ("a b", "1"),
                ("1a", "1"),
                ("ä", "1"),
            ] {
                assert!(check(server, name, value).is_err(), "{name:?} {value:?}");
            }
            let refused = check(server, "Port", "1").unwrap_err();
            assert!(refused.contains("server.port"), "{refused}");
        }
        assert_eq!(check(MARIADB, "innodb-page-size", "8k"), Ok(()));
        assert!(check(POSTGRES, "work-mem", "8MB").is_err());
        assert!(check(POSTGRES, "shared_preload_libraries", "/tmp/x").is_err());
    }

    /// Settings of a study.
    pub(crate) fn config(settings: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        settings.iter().map(owned).collect()
    }

    #[test]
    fn secrets_are_hidden_and_values_are_cut() {
        let row = |name: &str, value: &str| vec![Some(name.to_owned()), Some(value.to_owned())];
        let rows = vec![
            row("a", &"x".repeat(5000)),
            row("b", "secret"),
            vec![Some("c".to_owned()), None],
            row("port", "1"),
        ];
        let changed = changed(rows.clone(), "port", |name, _| name == "b");
        assert_eq!(changed.len(), 2);
        assert_eq!(changed[0].1.len(), MAX_VALUE_CHARS);
        assert_eq!(changed[1].1, HIDDEN);
        assert_eq!(checked(rows)["a"].len(), MAX_CHECKED_CHARS);
    }
}

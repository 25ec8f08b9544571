//! What a server's error log says about settings, and about why the server ended.

use super::settings::plain_name;
use crate::log::{Wording, has_word, shortened};

pub(super) const WORDING: Wording = Wording {
    errors: |log| log.lines().filter_map(error_words).collect(),
    warnings: |log| {
        let words = |line| words_of(line, "[Warning]");
        log.lines().filter_map(words).collect()
    },
    names,
    quote: '\'',
    unknown: "unknown ",
};
/// The beginning of the advice for interactive use that MariaDB's installation program prints.
const ADVICE: &str = "Installation of system tables failed";

pub(super) fn without_advice(log: &str) -> &str {
    log.split(ADVICE).next().unwrap_or_default()
}

/// The message of an error. Before the log is set up, messages begin with the program's name.
fn error_words(line: &str) -> Option<String> {
    words_of(line, "[ERROR]").or_else(|| {
        let is_plain = !line.starts_with(|c: char| c.is_ascii_digit()) && !line.contains(" [");
        (is_plain && line.contains(": ")).then(|| shortened(line))
    })
}

/// The message after the label, without MySQL's number and subsystem.
fn words_of(line: &str, label: &str) -> Option<String> {
    let (_, mut words) = line.split_once(label)?;
    words = words.trim_start();
    while let Some((_, rest)) = words
        .strip_prefix('[')
        .and_then(|inner| inner.split_once("] "))
    {
        words = rest;
    }
    Some(shortened(words.trim()))
}

/// Whether the text contains the setting's name, in any spelling, as a whole word.
fn names(text: &str, setting: &str) -> bool {
    let text = text.to_ascii_lowercase().replace('-', "_");
    let setting = plain_name(setting);
    has_word(&text, &setting, |c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::config;

    fn rejection(log: &str, settings: &[(&str, &str)]) -> Option<(String, String)> {
        let rejected = WORDING.rejected(log, &config(settings))?;
        Some((rejected.name, rejected.words))
    }

    const MARIADB: &str = "\
        2026-11-21 14:48:44 0 [Warning] Could not increase number of max_open_files to more than 20000 (request: 32184)\n\
        2026-11-21 14:48:44 0 [ERROR] Unknown suffix 'X' used for variable 'innodb-buffer-pool-size' (value '12X'). Legal suffix characters are: K, M\n\
        2026-11-21 14:48:44 0 [ERROR] /usr/sbin/mariadbd: Error while setting value '12X' to 'innodb-buffer-pool-size'\n\
        2026-11-21 14:48:44 0 [ERROR] Parsing options for plugin 'InnoDB' failed. Disabling plugin\n\
        2026-11-21 14:48:44 0 [ERROR] Aborting\n";
    const MYSQL: &str = "\
        2026-11-21T14:48:58.582Z 0 [Warning] [MY-010068] [Server] CA certificate ca.pem is self signed.\n\
        2026-11-21T14:48:58.586Z 0 [ERROR] [MY-000067] [Server] unknown variable 'no_such_option=1'.\n\
        2026-11-21T14:48:58.587Z 0 [ERROR] [MY-010119] [Server] Aborting\n";

    #[test]
    fn both_engines_words_about_a_setting_are_found() {
        let (name, words) = rejection(
            MARIADB,
            &[("port_open", "1"), ("innodb_buffer_pool_size", "12X")],
        )
        .unwrap();
        assert_eq!(name, "innodb_buffer_pool_size");
        assert!(words.starts_with("Unknown suffix 'X'"), "{words}");
        let (name, words) = rejection(MYSQL, &[("no-such-option", "1")]).unwrap();
        let expected = ("no-such-option", "unknown variable 'no_such_option=1'.");
        assert_eq!((name.as_str(), words.as_str()), expected);
    }

    #[test]
    fn an_error_that_names_only_the_value_is_about_the_setting_with_it() {
        let log = "/usr/sbin/mariadbd: Character set 'klingon' is not a compiled character set\n\
                   2026-11-21 14:48:57 0 [ERROR] Aborting\n";
        let (name, words) = rejection(log, &[("character-set-server", "klingon")]).unwrap();
        assert_eq!(name, "character-set-server");
        assert!(words.contains("compiled character set"), "{words}");
    }

    #[test]
    fn other_errors_are_nobodys_setting() {
        let log = "2026-11-21 14:48:44 0 [ERROR] Can't start server: Bind on TCP/IP port: Address already in use\n";
        assert_eq!(rejection(log, &[("innodb_io_capacity", "200")]), None);
        assert!(!names("innodb_io_capacity_max is 1", "innodb_io_capacity"));
    }

    #[test]
    fn a_value_that_was_corrected_is_a_note() {
        let log = "2026-11-21 14:48:44 0 [Warning] option 'innodb-page-size': unsigned value 3000 adjusted to 4096\n\
                   2026-11-21 14:48:44 0 [Warning] something else\n";
        let noted = WORDING.notes(log, &config(&[("innodb_page_size", "3000")]));
        let expected = ["option 'innodb-page-size': unsigned value 3000 adjusted to 4096"];
        assert_eq!(noted, expected);
    }
}

//! What a server's log says about settings, and about why the server ended.

use crate::log::{Wording, has_word, shortened};

pub(super) const WORDING: Wording = Wording {
    errors,
    warnings: |log| {
        let words = |line| words_of(line, "WARNING:  ");
        log.lines().filter_map(words).collect()
    },
    names,
    quote: '"',
    unknown: "unrecognized configuration parameter",
};
/// Beginnings of the last message of a server that exits.
const FATAL: [&str; 2] = ["FATAL:  ", BEFORE_LOG];
/// Errors in the configuration file are reported as `LOG`, before a `FATAL` message.
const ERRORS: [&str; 4] = ["LOG:  ", "FATAL:  ", "ERROR:  ", BEFORE_LOG];
/// Before the log is set up, messages begin with the program's name.
const BEFORE_LOG: &str = "postgres: ";

fn errors(log: &str) -> Vec<String> {
    // Otherwise, the server has started, and its messages are not errors.
    let is_fatal = |line: &str| FATAL.iter().any(|begin| line.contains(begin));
    if !log.lines().any(is_fatal) {
        return Vec::new();
    }
    let words_of = |line| ERRORS.iter().find_map(|level| words_of(line, level));
    log.lines().filter_map(words_of).collect()
}

/// The message after a level, without the position in the configuration file.
fn words_of(line: &str, level: &str) -> Option<String> {
    let (_, words) = line.split_once(level)?;
    let words = match words.rsplit_once(" in file \"") {
        Some((words, place)) if place.contains("\" line ") => words,
        _ => words,
    };
    Some(shortened(words))
}

/// Whether the text contains the setting's name as a whole word. Since version 17, the server
/// quotes all names and writes them in its own case.
fn names(text: &str, setting: &str) -> bool {
    let (text, setting) = (text.to_ascii_lowercase(), setting.to_ascii_lowercase());
    has_word(&text, &setting, |c| {
        c.is_ascii_alphanumeric() || "_./".contains(c)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Rejected;

    fn rejection(log: &str, settings: &[(&str, &str)]) -> Option<Rejected> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let config: Vec<_> = settings.iter().map(owned).collect();
        WORDING.rejected(log, &config)
    }

    #[test]
    fn an_unknown_name_is_found() {
        let log = "2026-11-22 09:14:53.997 UTC [29764] LOG:  skipping missing configuration file \"/x/postgresql.auto.conf\"\n\
                   2026-11-22 09:14:53.997 UTC [29764] LOG:  unrecognized configuration parameter \"foo\" in file \"/x/postgresql.conf\" line 11\n\
                   2026-11-22 09:14:53.997 UTC [29764] FATAL:  configuration file \"/x/postgresql.conf\" contains errors\n";
        let found = rejection(log, &[("work_mem", "4MB"), ("foo", "1")]).unwrap();
        assert_eq!(found.name, "foo");
        assert_eq!(found.words, "unrecognized configuration parameter \"foo\"");
        assert!(found.is_unknown);
    }

    #[test]
    fn a_bad_value_is_found_whatever_the_case_of_its_name() {
        let log = "2026-11-22 09:14:54.116 UTC [9] LOG:  invalid value for parameter \"work_mem\": \"12X\"\n\
                   2026-11-22 09:14:54.116 UTC [9] FATAL:  configuration file \"/x/postgresql.conf\" contains errors\n";
        let found = rejection(log, &[("Work_Mem", "12X")]).unwrap();
        assert_eq!(found.name, "Work_Mem");
        assert!(!found.is_unknown);
        let log = "postgres: superuser_reserved_connections (200) must be less than max_connections (99)\n";
        let settings = [("superuser_reserved_connections", "200")];
        assert!(rejection(log, &settings).is_some());
        let log = "2026-11-22 09:14:54.116 UTC [9] FATAL:  WAL archival cannot be enabled when wal_level is \"minimal\"\n";
        assert_eq!(
            rejection(log, &[("wal_level", "minimal")]).unwrap().name,
            "wal_level"
        );
    }

    #[test]
    fn what_a_server_that_runs_logs_is_not_about_a_setting() {
        let log = "2026-11-22 09:14:54.116 UTC [9] LOG:  checkpoint starting: wal fsync\n";
        assert!(rejection(log, &[("fsync", "off")]).is_none());
    }
}

//! Reads a server's error log: why it rejected settings or ended.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use engine::{Rejected, Server, Settings};

use crate::failure::{Fact, Failure};

/// Bytes that are read from the end of a log.
const TAIL_BYTES: u64 = 64 * 1024;
/// Maximum number of lines that a message quotes, and maximum length of each.
const SHOWN_LINES: usize = 15;
const SHOWN_CHARS: usize = 400;

/// The end of the log, but nothing before `start`, where this run of the server began.
pub(crate) fn read_tail(path: &Path, start: u64) -> String {
    read_end(path, start, TAIL_BYTES)
}

/// At most `max_bytes` from the end of a file, but nothing before `start`.
pub(crate) fn read_end(path: &Path, start: u64, max_bytes: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(start.max(len.saturating_sub(max_bytes))))?;
        let mut bytes = Vec::new();
        file.take(max_bytes).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The distinct messages that contain one of `words`, from those words on. Searches the whole log.
pub(super) fn said(path: &Path, words: &[&str]) -> BTreeSet<String> {
    let lines = File::open(path).map(|file| BufReader::new(file).split(b'\n'));
    let lines = lines.into_iter().flatten().map_while(Result::ok);
    lines
        .filter_map(|line| {
            let line = String::from_utf8_lossy(&line);
            let start = words.iter().find_map(|words| line.find(words))?;
            Some(shortened(&line[start..]))
        })
        .collect()
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return "(it is empty)".to_owned();
    }
    let shown = lines[lines.len().saturating_sub(SHOWN_LINES)..].iter();
    let shown: Vec<String> = shown.map(|line| shortened(line)).collect();
    shown.join("\n")
}

pub(super) fn ended(process: &str, how: &str, log: &str) -> String {
    format!("{process} {how}; its log ends:\n{}", last_lines(log))
}

/// Why a server ended before it was ready: a rejected setting, or the last lines of the log.
pub(crate) fn failure(
    engine: &dyn Server,
    server: &str,
    how: String,
    log: &str,
    config: &Settings,
) -> Failure {
    let failure = match engine.traits().wording.rejected(log, config) {
        Some(setting) => rejected(server, &setting, None),
        None => Failure::server(ended(server, &format!("failed: it {how}"), log)),
    };
    failure.fact(Fact::NotStarted)
}

/// The server refused a setting of the study; `near` is a similar name that it knows.
pub(super) fn rejected(server: &str, setting: &Rejected, near: Option<&str>) -> Failure {
    let Rejected { name, words, .. } = setting;
    let remedy = match near {
        Some(near) => format!("did you mean `{near}`? Correct or remove it in server.config"),
        None => "correct or remove it in server.config".to_owned(),
    };
    Failure::server(format!("{server} refused the setting {name}: {words}"))
        .remedy(remedy)
        .key(format!("server.config.{name}"))
}

/// A server runs but does not do what it was asked to.
pub(super) fn too_slow(server: &str, what: &str, limit: Duration, log: &str) -> Failure {
    let how = format!("did not {what} within {} s", limit.as_secs());
    Failure::server(ended(server, &how, log))
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_shown_by_its_last_lines_shortened() {
        let log = (0..100).map(|n| format!("{n} {}\n", "x".repeat(1000)));
        let shown = last_lines(&log.collect::<String>());
        assert_eq!(shown.lines().count(), SHOWN_LINES);
        assert!(shown.starts_with("85 ") && shown.chars().count() < 7000);
        assert_eq!(last_lines(" \n"), "(it is empty)");
    }
}

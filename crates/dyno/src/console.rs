//! All output passes through this file, which replaces control sequences from servers, results and
//! studies, and characters that the terminal cannot show.

use std::io::{IsTerminal, Write};
use std::sync::LazyLock;

use ::report::characters::{ascii, steers, visible};
use ::report::text::Layout;
use rustix::termios::tcgetwinsize;

use crate::failure::Failure;

/// Text is wrapped for terminals within this range of widths: longer lines are hard to read.
const WIDTHS: std::ops::RangeInclusive<usize> = 30..=100;

/// Whether the terminal shows only ASCII.
pub(crate) static ASCII: LazyLock<bool> =
    LazyLock::new(|| is_ascii(|name| std::env::var(name).ok()));

/// Prints a line on stderr. A failure to print is ignored: it must not end a measurement.
pub(crate) fn eprint(text: &str) {
    let stderr = std::io::stderr();
    let text = printable(text);
    let text = match stderr.is_terminal() {
        true => folded(&text, width(&stderr)),
        false => text,
    };
    let _ = writeln!(stderr.lock(), "{text}");
}

/// Prints to stdout; a closed pipe is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write_out(&printable(text))
}

/// Prints text to stdout as it is. A failure is ignored: it must not end a measurement.
pub(crate) fn write(text: &str) {
    let _ = write!(std::io::stdout().lock(), "{}", printable(text));
}

/// Prints JSON to stdout, with control characters as JSON escapes, so that its meaning is unchanged.
pub(crate) fn print_json(json: serde_json::Result<String>) -> Result<(), Failure> {
    let json = json.map_err(Failure::internal)?;
    write_out(&escaped(&json, *ASCII))
}

/// A text without characters that control the terminal or that it cannot show.
pub(crate) fn printable(text: &str) -> String {
    let text = visible(text);
    match *ASCII {
        true => ascii(&text).into_owned(),
        false => text.into_owned(),
    }
}

/// The layout of text for stdout.
pub(crate) fn layout() -> Layout {
    let stdout = std::io::stdout();
    Layout {
        width: match stdout.is_terminal() {
            true => width(&stdout),
            false => Layout::DEFAULT.width,
        },
        ascii: *ASCII,
    }
}

fn write_out(text: &str) -> Result<(), Failure> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::internal(
            format!("cannot write to stdout: {error}"),
        )),
        _ => Ok(()),
    }
}

/// The width of a terminal in columns, or the default if it is unknown.
fn width(terminal: impl std::os::fd::AsFd) -> usize {
    match tcgetwinsize(terminal) {
        Ok(size) if size.ws_col > 0 => {
            usize::from(size.ws_col).clamp(*WIDTHS.start(), *WIDTHS.end())
        }
        _ => Layout::DEFAULT.width,
    }
}

/// Whether the locale is C or POSIX, or its character set is not UTF-8. Without a locale, as in a
/// container, UTF-8 is assumed.
fn is_ascii(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let Some(locale) = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set) else {
        return false;
    };
    let charset = locale
        .split_once('.')
        .map(|(_, charset)| charset.to_ascii_lowercase());
    match charset {
        Some(charset) => !charset.starts_with("utf-8") && !charset.starts_with("utf8"),
        None => locale == "C" || locale == "POSIX",
    }
}

/// Wraps long lines between words; continuation lines are indented.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let mut folded = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            folded.push('\n');
        }
        fold(&mut folded, line, width);
    }
    folded
}

fn fold(folded: &mut String, line: &str, width: usize) {
    let blanks = line.len() - line.trim_start().len();
    let margin = " ".repeat((blanks + 2).min(width / 3));
    let mut rest = line;
    let mut room = width;
    loop {
        let after = rest.char_indices().nth(room);
        // A line is not broken within its indentation.
        let from = rest.len() - rest.trim_start().len();
        let place = after.and_then(|(at, c)| {
            let fitting = rest.get(from..at + c.len_utf8())?;
            Some(from + fitting.rfind(' ')?)
        });
        let Some(place) = place.filter(|place| *place > from) else {
            folded.push_str(rest);
            return;
        };
        folded.push_str(rest[..place].trim_end());
        folded.push('\n');
        folded.push_str(&margin);
        rest = rest[place..].trim_start();
        room = width - margin.len();
    }
}

/// JSON with control characters as escapes; with `only_ascii`, also with all non-ASCII characters
/// as escapes.
fn escaped(json: &str, only_ascii: bool) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && (steers(c) || (only_ascii && !c.is_ascii())) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_selects_the_character_set() {
        let of = |set: &[(&str, &str)]| {
            is_ascii(|name| {
                let value = set.iter().find(|(known, _)| *known == name)?.1;
                Some(value.to_owned())
            })
        };
        for set in [
            &[("LC_ALL", "C")][..],
            &[("LC_ALL", "POSIX"), ("LANG", "en_US.UTF-8")],
            &[("LANG", "de_DE.ISO-8859-1")],
            &[("LC_ALL", ""), ("LC_CTYPE", "C")],
        ] {
            assert!(of(set), "{set:?}");
        }
        for set in [
            &[][..],
            &[("LC_ALL", "C.UTF-8")],
            &[("LC_ALL", "en_US.utf8"), ("LANG", "C")],
            &[("LANG", "en_US")],
        ] {
            assert!(!of(set), "{set:?}");
        }
    }

    #[test]
    fn long_lines_are_folded_between_words() {
        let line = "  help: check host and port, and the network between them";
        assert_eq!(
            folded(line, 30),
            "  help: check host and port,\n    and the network between\n    them"
        );
        for kept in ["short", "", "a\nb", "\n\na", "    ", &"x".repeat(90)] {
            assert_eq!(folded(kept, 30), kept);
        }
        let words = "né ".repeat(50);
        assert!(
            folded(&words, 30)
                .lines()
                .all(|line| line.chars().count() <= 30)
        );
    }

    #[test]
    fn json_stays_the_same_json() {
        let text = "a\u{7f}\u{9b}2J\u{202e}é☃😀\u{1b}";
        let json = serde_json::to_string_pretty(&[text]).unwrap();
        for only_ascii in [false, true] {
            let escaped = escaped(&json, only_ascii);
            assert!(
                !escaped.chars().any(|c| c != '\n' && steers(c)),
                "{escaped}"
            );
            assert_eq!(escaped.is_ascii(), only_ascii);
            let read: [String; 1] = serde_json::from_str(&escaped).unwrap();
            assert_eq!(read, [text]);
        }
    }
}

//! Characters that a terminal would obey, or cannot show.

use std::borrow::Cow;

/// What stands for the characters beyond ASCII that dyno's own texts have.
#[rustfmt::skip]
const IN_ASCII: [(char, &str); 22] = [
    ('\u{a0}', " "), ('±', "+/-"), ('²', "2"), ('³', "3"), ('µ', "u"), ('μ', "u"), ('·', "-"),
    ('×', "x"), ('–', "-"), ('—', "-"), ('−', "-"), ('…', "..."), ('√', "sqrt "), ('≤', "<="),
    ('≥', ">="), ('κ', "kappa"), ('λ', "lambda"), ('σ', "sigma"), ('Σ', "sum "), ('→', "->"),
    ('ä', "ae"), ('ü', "ue"),
];

/// The text with every control character but tabs and the ends of lines written as `\u{1b}`, and so every
/// character that changes the direction of what follows. Without such characters it is the text
/// itself.
pub fn visible(text: &str) -> Cow<'_, str> {
    let kept = |c: char| c == '\n' || c == '\t' || !steers(c);
    if text.chars().all(kept) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if kept(c) => shown.push(c),
            c => shown.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// The text in ASCII only; what has no equivalent becomes `?`.
pub fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match IN_ASCII.iter().find(|(known, _)| *known == c) {
            Some((_, instead)) => plain.push_str(instead),
            None if c.is_ascii() => plain.push(c),
            None => plain.push('?'),
        }
    }
    Cow::Owned(plain)
}

/// Whether a terminal may do something at this character other than show it in its place.
pub fn steers(c: char) -> bool {
    let directs = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let ends_line = matches!(c, '\u{2028}' | '\u{2029}');
    c.is_control() || directs || ends_line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_instead() {
        assert_eq!(visible("a\nb é ±"), "a\nb é ±");
        assert_eq!(
            visible("\u{1b}[2J\u{9b}2J\u{7}\r\u{7f}\u{202e}x\u{2066}"),
            r"\u{1b}[2J\u{9b}2J\u{7}\u{d}\u{7f}\u{202e}x\u{2066}"
        );
    }

    #[test]
    fn ascii_has_an_equivalent_or_a_question_mark() {
        assert_eq!(ascii("1 ± 2 … 5 × µs ☃"), "1 +/- 2 ... 5 x us ?");
        assert!(ascii("Σσκλ√²–−\u{a0}").is_ascii());
    }
}

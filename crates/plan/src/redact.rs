//! Takes passwords out of text before anything shows or stores it.

use std::ops::Range;

/// The replacement of a password.
const STARS: &str = "***";
/// How the names of secrets end.
const WORDS: [&str; 9] = [
    "password",
    "passwd",
    "pwd",
    "secret",
    "secret_key",
    "access_key",
    "filekey",
    "token",
    "sst_auth",
];

/// Text without its passwords that maps offsets back to the original.
#[derive(Debug, Clone, Default)]
pub struct Redacted {
    pub text: String,
    cuts: Vec<(Range<usize>, usize)>,
}

impl Redacted {
    /// `known` lists ranges with their replacements; other passwords are recognized by their form.
    pub fn new(raw: &str, known: &[(Range<usize>, String)]) -> Self {
        let mut cuts: Vec<(Range<usize>, String)> = known.to_vec();
        cuts.extend(secrets(raw).into_iter().map(|r| (r, STARS.to_owned())));
        // A known place comes before the finer cuts inside it, which then go.
        cuts.sort_by_key(|(r, _)| (r.start, usize::MAX - r.end));
        let mut out = Self::default();
        let mut done = 0;
        for (range, new) in cuts {
            if range.start < done || raw.get(range.clone()).is_none() {
                continue;
            }
            out.text
                .push_str(raw.get(done..range.start).unwrap_or_default());
            out.text.push_str(&new);
            done = range.end;
            out.cuts.push((range, new.len()));
        }
        out.text.push_str(raw.get(done..).unwrap_or_default());
        out
    }

    /// The offset in the redacted text of an offset in the original.
    pub fn offset(&self, original: usize) -> usize {
        let mut moved = original;
        for (range, new_len) in &self.cuts {
            if range.end <= original {
                moved = moved + new_len - range.len();
            } else if range.start < original {
                moved -= original - range.start;
            }
        }
        moved
    }
}

/// `text` without anything that looks like a password: in an address, or after the name of
/// a secret and `=`.
pub fn redact(text: &str) -> String {
    Redacted::new(text, &[]).text
}

/// An address without its password, whatever characters it contains.
pub fn redact_url(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    match userinfo_password(url, start..url.len()) {
        Some(range) => redact(&format!(
            "{}{STARS}{}",
            &url[..range.start],
            &url[range.end..]
        )),
        None => redact(url),
    }
}

fn secrets(raw: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut done = 0;
    // What looks like an address inside an address belongs to it; looking at
    // it again would take time in the square of the length.
    for (at, mark) in raw.match_indices("://") {
        if at >= done {
            done = address_end(raw, at);
            found.extend(userinfo_password(raw, at + mark.len()..done));
        }
    }
    found.extend(assigned_passwords(raw));
    found
}

/// The password in `user:password@host…`. It ends at the last `@`, because users forget to encode
/// that character: hide too much rather than too little.
fn userinfo_password(raw: &str, address: Range<usize>) -> Option<Range<usize>> {
    let text = raw.get(address.clone())?;
    let at = text.rfind('@')?;
    let colon = text[..at].find(':')?;
    (colon + 1 < at).then(|| address.start + colon + 1..address.start + at)
}

/// An address ends with the quote that opened it, or at the next space.
fn address_end(raw: &str, mark: usize) -> usize {
    let scheme =
        raw[..mark].trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "+.-".contains(c));
    let quote = scheme
        .chars()
        .next_back()
        .filter(|c| matches!(c, '"' | '\''));
    let mut escaped = false;
    for (i, c) in raw[mark..].char_indices() {
        let ends = match quote {
            Some(q) => c == '\n' || (c == q && !escaped),
            None => c.is_whitespace() || c == '"' || c == '\'',
        };
        if ends {
            return mark + i;
        }
        escaped = quote == Some('"') && c == '\\' && !escaped;
    }
    raw.len()
}

/// The value in `password=…` (also `password = "…"`).
fn assigned_passwords(raw: &str) -> Vec<Range<usize>> {
    let lower = raw.to_ascii_lowercase().replace('-', "_");
    let mut found = Vec::new();
    for word in WORDS {
        let mut done = 0;
        for (at, _) in lower.match_indices(word) {
            if at < done {
                continue;
            }
            let after = &raw[at + word.len()..];
            let Some(value) = after
                .trim_start_matches(['"', '\'', ' ', '\t'])
                .strip_prefix('=')
            else {
                continue;
            };
            let value = value.trim_start_matches([' ', '\t']);
            let start = raw.len() - value.len();
            let (start, len) = match value.chars().next() {
                Some(q @ ('"' | '\'')) => (start + 1, value[1..].find([q, '\n'])),
                _ => (
                    start,
                    value.find(|c: char| c.is_whitespace() || "&\"'#".contains(c)),
                ),
            };
            let end = len.map_or(raw.len(), |len| start + len);
            done = end;
            if start < end {
                found.push(start..end);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_every_form() {
        for (raw, shown) in [
            ("any://u:p@h/db", "any://u:***@h/db"),
            ("any://u:p@h:1,i:2/db", "any://u:***@h:1,i:2/db"),
            (
                "url = \"any://u:p'@ q@h\" # x@y",
                "url = \"any://u:***@h\" # x@y",
            ),
            (
                "[\"a://u:p@h\", 'b://u:q\"@h']",
                "[\"a://u:***@h\", 'b://u:***@h']",
            ),
            ("url = \"a://u:p\\\"x@h", "url = \"a://u:***@h"),
            ("any://u@h:3306/db", "any://u@h:3306/db"),
            (
                "any://h/db?user=u&password=secret&x=1",
                "any://h/db?user=u&password=***&x=1",
            ),
            ("password = \"a b\"", "password = \"***\""),
            ("Pwd=x", "Pwd=***"),
            ("s3-secret-key = \"x\"", "s3-secret-key = \"***\""),
            ("ft_min_token_size = 3", "ft_min_token_size = 3"),
            ("nothing here", "nothing here"),
        ] {
            assert_eq!(redact(raw), shown);
        }
        assert_eq!(redact_url("u:p w'\"@h"), "u:***@h");
        assert_eq!(redact_url("any://u:p w@h"), "any://u:***@h");
    }

    #[test]
    fn offsets_follow() {
        let raw = "a://u:secret@h b";
        let redacted = Redacted::new(raw, &[]);
        assert_eq!(redacted.offset(15), redacted.text.find('b').unwrap());
        assert_eq!(redacted.offset(8), 6);
    }
}

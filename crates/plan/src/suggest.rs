//! Words in messages: the nearest known one, all of them, and user text.

/// Longer words are not compared, to bound the work.
const MAX_WORD_CHARS: usize = 40;
const MAX_SHOWN_CHARS: usize = 60;

/// The candidate (in lower case) that `word` most likely meant, if one is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > MAX_WORD_CHARS {
        return None;
    }
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&word, c), c))
        .filter(|(distance, c)| *distance <= 1 + length.min(c.chars().count()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// Asks whether the candidate that [`nearest`] finds was meant.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    Some(format!("did you mean `{}`?", nearest(word, candidates)?))
}

/// User text for a message: one short line without control characters.
pub fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.by_ref().take(MAX_SHOWN_CHARS).collect();
    let more = if chars.next().is_some() { "…" } else { "" };
    one_line(&first) + more
}

/// Escapes control characters.
fn one_line(text: &str) -> String {
    let escaped = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Lists words in Markdown.
pub fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<_> = words.into_iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// Lists the accepted words as TOML strings, in Markdown.
pub fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|w| format!("`\"{w}\"`")).collect();
    quoted.join(" or ")
}

//! Ranges of numbers as messages and the reference page show them.

/// A range in words, the digits as one would type them.
pub fn range_words(min: u64, max: u64) -> String {
    format!("from {} to {}", grouped(min), grouped(max))
}

/// Words to choose from, as TOML has them, in Markdown.
pub fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|w| format!("`\"{w}\"`")).collect();
    quoted.join(" or ")
}

/// Digits in groups of three, as TOML allows them to be typed.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('_');
        }
        out.push(c);
    }
    out
}

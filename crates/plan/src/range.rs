//! Ranges of numbers as messages and the reference page show them.

/// Describes a range; its numbers are written as a user would type them.
pub fn range_words(min: u64, max: u64) -> String {
    format!("from {} to {}", grouped(min), grouped(max))
}

/// Lists the accepted words as TOML strings, in Markdown.
pub fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|w| format!("`\"{w}\"`")).collect();
    quoted.join(" or ")
}

/// Groups digits by three, a form that TOML accepts.
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

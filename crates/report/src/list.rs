//! Several values as one text, and texts that may be empty.

/// Values that a text lists before it only counts.
const MOST: usize = 8;

/// Each value once, as they first appear.
pub(crate) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// The values of each key together, both as they first appear.
pub(crate) fn grouped<K: PartialEq, T>(
    pairs: impl IntoIterator<Item = (K, T)>,
) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Each thing with each of its parts.
pub(crate) fn with_parts<'a, T, P: 'a>(
    all: &'a [T],
    parts: impl Fn(&'a T) -> &'a [P],
) -> impl Iterator<Item = (&'a T, &'a P)> {
    all.iter()
        .flat_map(move |one| parts(one).iter().map(move |part| (one, part)))
}

pub(crate) fn joined<T: AsRef<str>>(parts: impl IntoIterator<Item = T>, between: &str) -> String {
    parts
        .into_iter()
        .enumerate()
        .fold(String::new(), |all, (place, part)| {
            all + if place > 0 { between } else { "" } + part.as_ref()
        })
}

pub(crate) fn joined_known<T: AsRef<str>>(
    parts: impl IntoIterator<Item = Option<T>>,
    between: &str,
) -> String {
    joined(parts.into_iter().flatten(), between)
}

/// `None` without any part.
pub(crate) fn joined_any<T: AsRef<str>>(
    parts: impl IntoIterator<Item = T>,
    between: &str,
) -> Option<String> {
    Some(joined(parts, between)).filter(|text| !text.is_empty())
}

/// `8 · 16 · 32`, and of many how many more there are.
pub(crate) fn listed<T: AsRef<str>>(values: &[T]) -> String {
    let some = joined(values.iter().take(MOST), " · ");
    match values.len().saturating_sub(MOST) {
        0 => some,
        more => format!("{some} · and {more} more"),
    }
}

/// The text between others, such as ` at ` before a point; nothing of an empty one.
pub(crate) fn around(before: &str, text: &str, after: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("{before}{text}{after}"),
    }
}

pub(crate) fn clause(holds: bool, text: &str) -> &str {
    if holds { text } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_are_counted() {
        let texts: Vec<String> = (1..=10).map(|number| number.to_string()).collect();
        assert_eq!(listed(&texts), "1 · 2 · 3 · 4 · 5 · 6 · 7 · 8 · and 2 more");
        assert_eq!(listed(&distinct(["a", "b", "a"])), "a · b");
        assert_eq!(listed::<String>(&[]), "");
    }
}

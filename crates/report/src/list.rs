//! Several values as one text.

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

pub(crate) fn joined<T: AsRef<str>>(parts: impl IntoIterator<Item = T>, between: &str) -> String {
    parts
        .into_iter()
        .enumerate()
        .fold(String::new(), |all, (place, part)| {
            all + if place > 0 { between } else { "" } + part.as_ref()
        })
}

/// `8 · 16 · 32`, and of many how many more there are.
pub(crate) fn listed<T: AsRef<str>>(values: &[T]) -> String {
    let some = joined(values.iter().take(MOST), " · ");
    match values.len().saturating_sub(MOST) {
        0 => some,
        more => format!("{some} · and {more} more"),
    }
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

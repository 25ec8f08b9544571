//! Formats digits for people.

/// Separates the thousands of a whole number, which may begin with a minus: `1,234,567`.
pub fn apart(digits: &str) -> String {
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits), |rest| ("-", rest));
    sign.to_owned() + &plan::grouped_by(',', digits)
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn thousands_are_apart() {
        for (digits, shown) in [("1", "1"), ("-123456", "-123,456"), ("1000", "1,000")] {
            assert_eq!(apart(digits), shown);
        }
    }
}

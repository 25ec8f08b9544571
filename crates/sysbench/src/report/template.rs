//! Templates: lines of text with fields, each after its conditions.
//!
//! A line's conditions stand before its first `|`, and it is left out unless all of them hold:
//! `0.4` or `1.x` for a version, `name=a,b` for a value that is one of these, and `name` for one
//! that is neither empty, 0, nor off. `!` negates what follows it, which may be several with `&`.
//!
//! `<name:39.2>` is a number with its width (if negative, it stands to the left) and decimals.
//! After them, `Ki`, `Mi`, and `M` are units; `k` and `ki` alone choose a binary prefix. A number
//! can be a term such as `<a+b*1000/c>`: `+` binds closest, then `*`, then `/`. A line with a field
//! without a value is left out.

use crate::options::Dialect;

/// The value of a name, if it has one.
type Value<'a> = &'a dyn Fn(&str) -> Option<String>;

pub(super) fn fill(template: &str, dialect: Dialect, value: Value<'_>) -> String {
    let lines = template.split_inclusive('\n');
    let lines = lines.filter_map(|line| line.split_once('|'));
    let shown = lines.filter(|(conditions, _)| {
        let mut conditions = conditions.split_whitespace();
        conditions.all(|condition| holds(condition, dialect, value))
    });
    let filled = shown.filter_map(|(_, text)| fill_line(text, value));
    filled.collect()
}

fn holds(condition: &str, dialect: Dialect, value: Value<'_>) -> bool {
    if let Some(conditions) = condition.strip_prefix('!') {
        let mut conditions = conditions.split('&');
        return !conditions.all(|condition| holds(condition, dialect, value));
    }
    let text = |name: &str| value(name).unwrap_or_default();
    match condition.split_once('=') {
        Some((name, words)) => words.split(',').any(|word| word == text(name)),
        None if condition.starts_with(['0', '1']) => dialect.is_one_of(condition),
        None => !["", "0", "off"].contains(&text(condition).as_str()),
    }
}

fn fill_line(line: &str, value: Value<'_>) -> Option<String> {
    let mut pieces = line.split('<');
    let mut text = pieces.next()?.to_owned();
    for piece in pieces {
        let (field, rest) = piece.split_once('>')?;
        let (name, form) = field.split_once(':').unwrap_or((field, ""));
        text += &match number(name, value) {
            Some(number) => formatted(number, form),
            None => value(name)?,
        };
        text += rest;
    }
    Some(text)
}

/// A number or a term. What is divided by 0 is 0: a rate before any time has passed.
fn number(term: &str, value: Value<'_>) -> Option<f64> {
    for operator in ['/', '*', '+'] {
        if let Some((left, right)) = term.split_once(operator) {
            let (left, right) = (number(left, value)?, number(right, value)?);
            return Some(match operator {
                '/' if right == 0.0 => 0.0,
                '/' => left / right,
                '*' => left * right,
                _ => left + right,
            });
        }
    }
    let text = value(term).unwrap_or_else(|| term.to_owned());
    text.parse().ok()
}

fn formatted(number: f64, form: &str) -> String {
    let (form, unit) = form.split_at(form.find(char::is_alphabetic).unwrap_or(form.len()));
    match unit {
        "k" => prefixed(number, ""),
        "ki" => prefixed(number, "i"),
        "Ki" => padded(number / 1024.0, form),
        "Mi" => padded(number / (1024.0 * 1024.0), form),
        "M" => padded(number / 1e6, form),
        _ => padded(number, form),
    }
}

fn padded(number: f64, form: &str) -> String {
    let (width, decimals) = form.split_once('.').unwrap_or((form, ""));
    let decimals: usize = decimals.parse::<u8>().unwrap_or(0).into();
    let width: i8 = width.parse().unwrap_or(0);
    let columns: usize = width.unsigned_abs().into();
    let text = format!("{number:.decimals$}");
    match width < 0 {
        true => format!("{text:<columns$}"),
        false => format!("{text:>columns$}"),
    }
}

/// With at most five digits, and a binary prefix, which `infix` follows.
pub(crate) fn prefixed(mut number: f64, infix: &str) -> String {
    let mut unit = String::new();
    for prefix in ["K", "M", "G", "T"] {
        if number >= 1024.0 {
            number /= 1024.0;
            unit = format!("{prefix}{infix}");
        }
    }
    let digits = (number as u64).to_string().len() as i32;
    let scale = 10_f64.powi(5 - digits);
    format!("{}{unit}", (number * scale).round() / scale)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Fills the text of a line without conditions.
    fn filled(text: &str, number: f64) -> String {
        filled_lines(&format!("|{text}"), number)
    }

    fn filled_lines(template: &str, number: f64) -> String {
        fill(template, Dialect::V10, &|name| match name {
            "one" => Some(number.to_string()),
            "two" => Some("2".to_owned()),
            "none" => Some("0".to_owned()),
            "word" => Some("read".to_owned()),
            "off" => Some("off".to_owned()),
            "empty" => Some(String::new()),
            _ => None,
        })
    }

    #[test]
    fn numbers_have_their_width_and_decimals() {
        for (template, text) in [
            ("<one>", "1234"),
            ("<one:.2>", "1234.50"),
            ("<one:8.2>", " 1234.50"),
            ("<one:-6>|", "1234  |"),
            ("<one:4.2>", "1234.50"),
            ("<one/two:.4>", "617.2500"),
            ("<one/none:.2>", "0.00"),
            ("<one*two>", "2469"),
            ("<one*two/two:.1>", "1234.5"),
            ("<two+one+two:.1>", "1238.5"),
            ("<one+two*two/two:.1>", "1236.5"),
            ("<one*1000>", "1234500"),
            ("<one/two:k>b", "617.25b"),
            ("<one:k>b", "1.2056Kb"),
            ("<one:ki>B", "1.2056KiB"),
            ("<two:ki>B", "2B"),
            ("<one:.2Ki>", "1.21"),
            ("<one:.4M>", "0.0012"),
            ("<one*one:.2Mi>", "1.45"),
            ("<word> <word:9>", "read read"),
        ] {
            assert_eq!(filled(template, 1234.5), text, "{template}");
        }
    }

    #[test]
    fn sizes_have_five_digits_and_a_binary_prefix() {
        for (bytes, text) in [
            (0.0, "0"),
            (1023.0, "1023"),
            (16_384.0, "16K"),
            (1_258_291_200.0, "1.1719G"),
            (54_595.5, "53.316K"),
            (1_043_046.4, "1018.6K"),
            (2_147_483_648.0, "2G"),
            (2_251_799_813_685_248.0, "2048T"),
        ] {
            assert_eq!(filled("<one:k>", bytes), text);
        }
    }

    #[test]
    fn a_line_without_a_value_or_whose_condition_fails_is_left_out() {
        for (template, text) in [
            ("|a\n|<three>b\n|c\nd\n", "a\nc\n"),
            ("word=read|a\nword=write|b\nword=write,read |c\n", "a\nc\n"),
            ("!word=read|a\n!word=write|b\n", "b\n"),
            ("two|a\nnone|b\noff|c\nempty|d\nthree|e\nword|f\n", "a\nf\n"),
            (
                "!two|a\n!none|b\n!off|c\n!empty|d\n!three|e\n",
                "b\nc\nd\ne\n",
            ),
            ("1.x|a\n1.0|b\n!0.x|c\n0.5|d\n1.1|e\n", "a\nb\nc\n"),
            ("1.0 word=read two|a\n1.0 word=read none|b\n", "a\n"),
            ("!1.0&two|a\n!1.0&none|b\n!1.1&two|c\n", "b\nc\n"),
            ("|<word/two>a\n|<two*three>b\n|<c", ""),
        ] {
            assert_eq!(filled_lines(template, 1.0), text, "{template}");
        }
    }

    proptest! {
        #[test]
        fn any_template_can_be_filled(field in ".{0,20}", number in proptest::num::f64::ANY) {
            filled_lines(&format!("{field}|<one:{field}> <{field}>"), number);
        }

        #[test]
        fn a_size_is_right_to_five_digits(bytes in 0_u64..1 << 50) {
            let text = filled("<one:k>", bytes as f64);
            let end = text.find(char::is_alphabetic).unwrap_or(text.len());
            let (number, prefix) = text.split_at(end);
            let power = ["", "K", "M", "G", "T"].iter().position(|one| *one == prefix);
            let unit = 1024_f64.powi(power.unwrap() as i32);
            let value = number.parse::<f64>().unwrap() * unit;
            prop_assert!((value - bytes as f64).abs() <= bytes as f64 * 5.1e-5, "{text}");
        }
    }
}

//! Templates: text with fields between angle brackets.
//!
//! `<name:39.2>` is a number with its width (if negative, it stands to the left) and decimals.
//! After them, `Ki`, `Mi`, and `M` are units; `k` and `ki` alone choose a binary prefix. `<a/b>`
//! and `<a*b>` are a quotient and a product. `<name=text>` and `<name!=text>` are conditions. A
//! line with a condition that does not hold, or a field without a value, is left out.

pub(super) fn fill(template: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let lines = template.split_inclusive('\n');
    lines.filter_map(|line| fill_line(line, value)).collect()
}

fn fill_line(line: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut pieces = line.split('<');
    let mut text = pieces.next()?.to_owned();
    for piece in pieces {
        let (field, rest) = piece.split_once('>')?;
        if let Some((name, wanted)) = field.split_once('=') {
            let named = name.trim_end_matches('!');
            let is_equal = value(named)? == wanted;
            if is_equal != (named == name) {
                return None;
            }
        } else {
            let (name, form) = field.split_once(':').unwrap_or((field, ""));
            text += &match number(name, value) {
                Some(number) => formatted(number, form),
                None => value(name)?,
            };
        }
        text += rest;
    }
    Some(text)
}

/// A number, or a term of them. What is divided by 0 is 0: a rate before any time has passed.
fn number(term: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<f64> {
    if let Some((dividend, divisor)) = term.split_once('/') {
        let (dividend, divisor) = (number(dividend, value)?, number(divisor, value)?);
        return Some(if divisor == 0.0 { 0.0 } else { dividend / divisor });
    }
    if let Some((left, right)) = term.split_once('*') {
        return Some(number(left, value)? * number(right, value)?);
    }
    value(term)?.parse().ok()
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
    if width < 0 {
        format!("{text:<columns$}")
    } else {
        format!("{text:>columns$}")
    }
}

/// With five digits, as C's `%.5g`.
fn prefixed(mut number: f64, infix: &str) -> String {
    let mut prefix = "";
    for larger in ["K", "M", "G", "T"] {
        if number >= 1024.0 {
            (number, prefix) = (number / 1024.0, larger);
        }
    }
    let scientific = format!("{number:.4e}");
    let exponent = scientific.rsplit_once('e');
    let exponent = exponent.and_then(|(_, digits)| digits.parse::<i32>().ok());
    let decimals = usize::try_from(4 - exponent.unwrap_or(0)).unwrap_or(0);
    let mut text = format!("{number:.decimals$}");
    if decimals > 0 {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    let infix = if prefix.is_empty() { "" } else { infix };
    text + prefix + infix
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(template: &str, number: f64) -> String {
        fill(template, &|name| match name {
            "one" => Some(number.to_string()),
            "two" => Some("2".to_owned()),
            "none" => Some("0".to_owned()),
            "word" => Some("read".to_owned()),
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
            ("a\n<three>b\nc\n", "a\nc\n"),
            ("<word=read>a\n<word=write>b\n", "a\n"),
            ("<word!=read>a\n<word!=write>b\n", "b\n"),
            ("<two=2>a\n<two!=0>\n<two=0>b\n", "a\n\n"),
            ("<empty!=>a\n<empty=>b\n<word!=><two=2>c\n", "b\nc\n"),
            ("<three=>a\n<three!=x>b\n<c", ""),
            ("<word/two>a\n<two*three>b\n", ""),
        ] {
            assert_eq!(filled(template, 1.0), text, "{template}");
        }
    }

    proptest! {
        #[test]
        fn any_template_can_be_filled(field in ".{0,20}", number in proptest::num::f64::ANY) {
            filled(&format!("<one:{field}> <{field}>"), number);
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

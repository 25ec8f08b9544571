//! Names and values of server settings, which dyno writes to the server's option file.

use toml::de::DeValue;

use crate::syntax::type_words;
use plan::{TextError, Value, shown};

/// Maximum number of different settings in a study.
pub(crate) const MAX_SETTINGS: usize = 100;
const MAX_NAME_BYTES: usize = 100;
/// Servers read option files in pieces of 4,096 bytes: the rest of a longer line would be read as
/// another line.
const MAX_VALUE_BYTES: usize = 1000;

/// The normalized name of a setting, with `_` for `-`.
pub(crate) fn name(typed: &str) -> Result<String, TextError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !typed.starts_with(|c: char| c.is_ascii_alphabetic()) || !typed.chars().all(fits) {
        return Err(TextError::new(
            format!("`{}` is not a valid name of a setting", shown(typed)),
            "a name consists of a letter and further letters, digits, `_`, `-` or `.`",
        ));
    }
    if typed.len() > MAX_NAME_BYTES {
        return Err(TextError::new(
            format!("the name `{}` is too long", shown(typed)),
            format!("a setting's name has at most {MAX_NAME_BYTES} characters"),
        ));
    }
    Ok(typed.replace('-', "_"))
}

/// The value of a setting for the server's option file, before quoting.
pub(crate) fn value(name: &str, typed: &DeValue<'_>) -> Result<Value, TextError> {
    let text = match typed {
        DeValue::String(text) => text,
        DeValue::Boolean(true) => "ON",
        DeValue::Boolean(false) => "OFF",
        DeValue::Integer(n) => {
            let number = i128::from_str_radix(n.as_str(), n.radix());
            let number = number.map_err(|_| too_long(name))?;
            let negative = |_| Value::Text(number.to_string());
            return Ok(number.try_into().map_or_else(negative, Value::Integer));
        }
        DeValue::Float(n) => match n.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => return Ok(Value::Number(number)),
            _ => return Err(no_value(name, &format!("`{}`", shown(n.as_str())))),
        },
        other => return Err(no_value(name, type_words(other))),
    };
    if text.len() > MAX_VALUE_BYTES {
        return Err(too_long(name));
    }
    // A line break could begin another setting, a section or an `!include`.
    if text.chars().any(char::is_control) {
        return Err(TextError::new(
            format!("`{name}` contains a line break or another control character"),
            "write the value on one line: it is a line of the server's option file",
        ));
    }
    Ok(text.into())
}

fn too_long(name: &str) -> TextError {
    TextError::new(
        format!("the value of `{name}` is too long"),
        format!("a setting has at most {MAX_VALUE_BYTES} bytes"),
    )
}

fn no_value(name: &str, what: &str) -> TextError {
    TextError::new(
        format!("`{name}` takes a string, a number or a boolean, not {what}"),
        "write the value as in the server's option file, in quotes",
    )
}

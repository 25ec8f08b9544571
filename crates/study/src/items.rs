//! Lists that a study keeps as one text: of values, or of tables such as `[[load.phase]]`.

use toml::de::{DeTable, DeValue};

use crate::name::Name;
use crate::read::wrong_type;
use plan::key::Kind;
use plan::{TextError, listed, shown};

/// The keys of a table in the order of its text, each with what is before and after its value.
type Fields = &'static [[&'static str; 3]];

const OF_MIX: Fields = &[
    ["workload", "", ""],
    ["weight", ":", ""],
    ["rate", ":", "/s"],
];
const OF_HOST: Fields = &[
    ["address", "", ""],
    ["cpus", " cpus=", ""],
    ["device", " device=", ""],
];
const OF_PHASE: Fields = &[
    ["name", "", ": "],
    ["time", "", " "],
    ["rate", "", "/s"],
    ["threads", "", " threads"],
];

/// The text of a value; that of a list has `between` between its values.
pub(crate) fn text(key: &Name, value: &DeValue<'_>, between: &str) -> Result<String, TextError> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.as_str().to_owned()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Boolean(is) if !matches!(key.key.kind, Kind::Hosts) => Ok(is.to_string()),
        DeValue::Array(list) => {
            let values = list.iter().map(|item| text(key, item.get_ref(), between));
            Ok(values.collect::<Result<Vec<_>, _>>()?.join(between))
        }
        DeValue::Table(table) => of_table(key, table),
        DeValue::Boolean(_) | DeValue::Datetime(_) => Err(wrong_type(key, value)),
    }
}

fn of_table(key: &Name, table: &DeTable<'_>) -> Result<String, TextError> {
    let fields = match key.key.kind {
        Kind::Mix => OF_MIX,
        Kind::Phases => OF_PHASE,
        Kind::Hosts => OF_HOST,
        _ => &[],
    };
    let names = || fields.iter().map(|[name, ..]| *name);
    for typed in table.keys() {
        let typed: &str = typed.get_ref();
        if !names().any(|name| name == typed) {
            let message = format!("unknown key `{}`", shown(typed));
            let help = format!("a table of `{}` has {}", key.full(), listed(names()));
            return Err(TextError::new(message, help));
        }
    }
    let mut item = String::new();
    for [name, before, after] in fields {
        if let Some(value) = table.get(*name) {
            let value = text(key, value.get_ref(), "..")?;
            if value.contains(',') {
                let message = format!("`{}` has a comma", shown(&value));
                let help = format!("write a table of `{}` for each", key.full());
                return Err(TextError::new(message, help));
            }
            item.extend([*before, value.as_str(), *after]);
        }
    }
    Ok(item)
}

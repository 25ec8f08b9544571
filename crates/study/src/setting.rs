//! Free settings of a server's own option file: which names and values a study
//! may write there.

use toml::de::DeValue;

use crate::error::Fault;
use plan::shown;

/// The most settings that one study names, in all its parts together.
pub(crate) const MAX_SETTINGS: usize = 100;
const MAX_NAME_BYTES: usize = 100;
/// Servers read option files in pieces of 4,096 bytes: the rest of a longer
/// line would be a line of its own.
const MAX_VALUE_BYTES: usize = 1000;

/// Prefixes that servers take off a name before they look it up.
const MODIFIERS: [&str; 6] = [
    "loose_", "skip_", "enable_", "disable_", "maximum_", "autoset_",
];

const OWN_FILES: &str = "each server has a directory of its own, for all its files";
const OWN_ADDRESS: &str = "each server listens on this host only, on a port and socket of its own";
const OWN_PROCESS: &str = "dyno starts the server on a prepared directory, and ends it";
const OWN_ACCOUNT: &str = "each server has a single account, whose password dyno sets at startup";
const OWN_LOG: &str = "the error log is kept with the result";
const SECRET: &str =
    "everything in a study is kept with its result, so a password does not belong in it";

/// Settings that are not the study's to make, and why; with `*` all that begin so.
const RESERVED: [(&str, &str); 28] = [
    ("basedir", "write it as `server.basedir`"),
    ("port", "write it as `server.port`"),
    ("datadir", OWN_FILES),
    ("pid_file", OWN_FILES),
    ("tmpdir", OWN_FILES),
    ("innodb_data_home_dir", OWN_FILES),
    ("innodb_log_group_home_dir", OWN_FILES),
    ("innodb_undo_directory", OWN_FILES),
    ("socket", OWN_ADDRESS),
    ("bind_address", OWN_ADDRESS),
    ("networking", OWN_ADDRESS),
    ("extra_port", OWN_ADDRESS),
    ("mysqlx*", OWN_ADDRESS),
    ("admin_address", OWN_ADDRESS),
    ("admin_port", OWN_ADDRESS),
    ("create_admin_listener_thread", OWN_ADDRESS),
    (
        "user",
        "servers run as an unprivileged user that dyno chooses",
    ),
    ("init_file", OWN_ACCOUNT),
    ("grant_tables", OWN_ACCOUNT),
    ("log_error", OWN_LOG),
    ("syslog", OWN_LOG),
    ("daemonize", OWN_PROCESS),
    ("bootstrap", OWN_PROCESS),
    ("initialize", OWN_PROCESS),
    ("initialize_insecure", OWN_PROCESS),
    ("chroot", OWN_PROCESS),
    ("wsrep_sst_auth", SECRET),
    ("ssl_passphrase", SECRET),
];
/// Whole names that look like one of those or like a password, and are neither: a server
/// takes a name that it knows before it takes it for the beginning of another.
const HARMLESS: [&str; 4] = [
    "ssl",
    "innodb",
    "mysql_native_password",
    "disconnect_on_expired_password",
];
/// A single letter begins many names, so servers take it for none.
const MIN_ABBREVIATION: usize = 2;
/// How the names of passwords end; shorter beginnings of it are other words.
const PASSWORD: &str = "password";
const MIN_PASSWORD: usize = 2;

/// The name of a setting in the form that tells equal ones: with `_` for `-`.
pub(crate) fn name(typed: &str) -> Result<String, Fault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !typed.starts_with(|c: char| c.is_ascii_alphabetic()) || !typed.chars().all(fits) {
        return Err(Fault::new(
            format!("`{}` is not the name of a setting", shown(typed)),
            "a name is a letter, then letters, digits, `_`, `-` or `.`",
        ));
    }
    if typed.len() > MAX_NAME_BYTES {
        return Err(Fault::new(
            format!("the name `{}` is too long", shown(typed)),
            format!("a setting's name has at most {MAX_NAME_BYTES} characters"),
        ));
    }
    let name = typed.replace('-', "_");
    match reserved_setting(&name) {
        Some(why) => Err(Fault::new(
            format!("the setting `{typed}` is not the study's to make"),
            why,
        )),
        None => Ok(name),
    }
}

/// Why a study cannot make the setting of this name in a server's option file; `None` where
/// it can. Servers take `-` for `_`, the beginning of a name for the whole, and leave out
/// some words before it, and what stands before a dot.
pub fn reserved_setting(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let after_dot = name.split_once('.').map(|(_, rest)| rest);
    let readings = [Some(name.as_str()), after_dot];
    readings
        .into_iter()
        .flatten()
        .find_map(|name| reserved(bare(name)))
}

/// A name without the words that servers take off.
fn bare(mut name: &str) -> &str {
    while let Some(rest) = MODIFIERS.iter().find_map(|word| name.strip_prefix(word)) {
        name = rest;
    }
    name
}

fn reserved(bare: &str) -> Option<&'static str> {
    if HARMLESS.contains(&bare) {
        return None;
    }
    let last = bare.rsplit('_').next().unwrap_or(bare);
    if last.len() >= MIN_PASSWORD && PASSWORD.starts_with(last) {
        return Some(SECRET);
    }
    let is_beginning_of = |own: &str| bare.len() >= MIN_ABBREVIATION && own.starts_with(bare);
    let is_meant = |own: &str| match own.strip_suffix('*') {
        Some(family) => bare.starts_with(family) || is_beginning_of(family),
        None => is_beginning_of(own),
    };
    let mut known = RESERVED.iter();
    known.find(|(own, _)| is_meant(own)).map(|(_, why)| *why)
}

/// The value of a setting as the server's option file has it, before quoting.
pub(crate) fn value(name: &str, typed: &DeValue<'_>) -> Result<String, Fault> {
    let text = match typed {
        DeValue::String(text) => text.to_string(),
        DeValue::Boolean(true) => "ON".to_owned(),
        DeValue::Boolean(false) => "OFF".to_owned(),
        DeValue::Integer(n) => i128::from_str_radix(n.as_str(), n.radix())
            .map_err(|_| too_long(name))?
            .to_string(),
        DeValue::Float(n) => match n.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => number.to_string(),
            _ => return Err(no_value(name, &format!("`{}`", shown(n.as_str())))),
        },
        other => return Err(no_value(name, crate::read::type_words(other))),
    };
    if text.len() > MAX_VALUE_BYTES {
        return Err(too_long(name));
    }
    // A line break would begin another setting, a section or an `!include`.
    if text.chars().any(char::is_control) {
        return Err(Fault::new(
            format!("`{name}` has a line break or another control character"),
            "write the value on one line: it is a line of the server's option file",
        ));
    }
    Ok(text)
}

fn too_long(name: &str) -> Fault {
    Fault::new(
        format!("the value of `{name}` is too long"),
        format!("a setting has at most {MAX_VALUE_BYTES} bytes"),
    )
}

fn no_value(name: &str, what: &str) -> Fault {
    Fault::new(
        format!("`{name}` takes a string, a number or a boolean, not {what}"),
        "write the value as in the server's option file, in quotes",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_form() {
        assert_eq!(
            name("innodb-buffer-pool-size").unwrap(),
            "innodb_buffer_pool_size"
        );
        for fine in [
            "log_error_verbosity",
            "skip_name_resolve",
            "port_open_timeout",
            "log_bin",
            "innodb_log_file_size",
            "validate_password.policy",
            "hot_cache.key_buffer_size",
            "innodb_data_file_path",
            "default_password_lifetime",
        ] {
            assert_eq!(name(fine).unwrap(), fine);
        }
    }

    #[test]
    fn a_whole_name_is_no_beginning_of_another() {
        for whole in HARMLESS {
            for fine in [
                whole.to_owned(),
                format!("skip_{whole}"),
                format!("loose_skip_{whole}"),
            ] {
                assert_eq!(name(&fine).unwrap(), fine);
            }
            assert_eq!(reserved_setting(&whole.to_uppercase()), None);
        }
        for beginning in ["ss", "ssl_p", "innodb_d", "mysql_native_passwor"] {
            assert!(name(beginning).is_err(), "{beginning}");
        }
    }

    #[test]
    fn what_is_not_the_studys_is_refused_in_every_spelling() {
        for (typed, _) in RESERVED {
            let typed = typed.trim_end_matches('*');
            assert!(name(typed).is_err(), "{typed}");
            assert!(
                name(&typed.replace('_', "-").to_uppercase()).is_err(),
                "{typed}"
            );
        }
        for typed in [
            "loose-datadir",
            "skip_networking",
            "skip-loose-log_error",
            "datad",
            "pi",
            "bind-addr",
            "loose_skip_Bind-Addr",
            "autoset_port",
            "any.bind_address",
            "any.skip-netw",
            "mysqlx",
            "mysqlx-max-connections",
            "admin_addr",
            "report_password",
            "report_pass",
            "",
            "-a",
            "a b",
            "a=b",
            "[client]",
            "!include",
            "a\nb",
            "ä",
        ] {
            assert!(name(typed).is_err(), "{typed:?}");
        }
        assert!(name(&"a".repeat(101)).is_err());
    }
}

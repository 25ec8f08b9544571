//! The password file of libpq, usually `~/.pgpass`: `host:port:database:user:password`.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const LIMIT_BYTES: u64 = 1 << 20;
/// Permissions of users other than the owner.
const OTHERS: u32 = 0o077;

/// What the fields of an entry must match: host, port, database, and user.
pub(super) type Login<'a> = [&'a str; 4];

/// The password for a login; `None` if there is no file or no matching entry.
pub(super) fn find(path: &Path, login: Login<'_>) -> Result<Option<String>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    let metadata = file.metadata().map_err(|error| failed(&error))?;
    if !metadata.is_file() {
        return Err(failed(&"not a regular file"));
    }
    if metadata.mode() & OTHERS != 0 {
        return Err(failed(
            &"other users have access to it; run chmod 0600 on the file",
        ));
    }
    let mut text = String::new();
    let read = file.take(LIMIT_BYTES).read_to_string(&mut text);
    read.map_err(|error| failed(&error))?;
    Ok(text.lines().find_map(|line| password(line, login)))
}

fn password(line: &str, login: Login<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line;
    for wanted in login {
        let (raw, field, tail) = split_field(rest)?;
        if raw != "*" && field != wanted {
            return None;
        }
        rest = tail;
    }
    Some(unescaped(rest))
}

/// The first field, as written and without its backslashes, and what follows its colon.
fn split_field(line: &str) -> Option<(&str, String, &str)> {
    let mut is_escaped = false;
    let end = line.find(|character| {
        let ends = character == ':' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        ends
    })?;
    let (field, tail) = line.split_at(end);
    Some((field, unescaped(field), &tail[1..]))
}

fn unescaped(field: &str) -> String {
    let mut characters = field.chars();
    let next = || match characters.next() {
        Some('\\') => characters.next(),
        other => other,
    };
    std::iter::from_fn(next).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const LOGIN: Login<'_> = ["db", "5432", "shop", "me"];

    #[test]
    fn the_first_line_that_matches_has_the_password() {
        for (line, found) in [
            ("db:5432:shop:me:secret", Some("secret")),
            ("*:*:*:*:any", Some("any")),
            (r"db:*:shop:me:a\:b\\c", Some(r"a:b\c")),
            ("db:*:shop:me:a:b", Some("a:b")),
            (r"d\b:5432:shop:me:x", Some("x")),
            ("other:5432:shop:me:x", None),
            ("db:5433:shop:me:x", None),
            ("db:5432:shop:you:x", None),
            (r"\*:*:*:*:x", None),
            ("# db:5432:shop:me:x", None),
            ("db:5432:shop:me", None),
            ("", None),
        ] {
            assert_eq!(password(line, LOGIN).as_deref(), found, "{line}");
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pgpass");
        assert_eq!(find(&path, LOGIN), Ok(None));
        fs::write(&path, "nobody:*:*:*:1\n*:*:*:*:2\n*:*:*:*:3\n").unwrap();
        for mode in [0o640, 0o604, 0o620, 0o777] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let why = find(&path, LOGIN).unwrap_err();
            assert!(why.contains("chmod 0600"), "{why}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(find(&path, LOGIN), Ok(Some("2".to_owned())));
        assert!(find(dir.path(), LOGIN).is_err());
    }
}

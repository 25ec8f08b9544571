//! The password of a private server's only account.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::failure::Failure;

/// The operating system's source of random bytes.
const RANDOM: &str = "/dev/urandom";
/// 192 bits cannot be guessed.
const RANDOM_BYTES: usize = 24;
const MAX_REPLICATION_CHARS: usize = 32;
/// Appended to satisfy password validation plugins, which require a symbol and a capital letter.
const ALL_CLASSES: &str = "-A1";

/// Random, for one run; never printed.
#[derive(Clone, Default)]
pub(super) struct Password(String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(***)")
    }
}

impl Password {
    pub(super) fn random() -> Result<Self, Failure> {
        let mut bytes = [0; RANDOM_BYTES];
        File::open(RANDOM)
            .and_then(|mut file| file.read_exact(&mut bytes))
            .map_err(Failure::at("read", Path::new(RANDOM)))?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(format!("{digits}{ALL_CLASSES}")))
    }

    /// 32 characters, the maximum that some engines accept for replication.
    pub(super) fn for_replication() -> Result<Self, Failure> {
        let Self(long) = Self::random()?;
        let shorter = long.len() - MAX_REPLICATION_CHARS;
        Ok(Self(long.chars().skip(shorter).collect()))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_new_each_time_and_not_shown() {
        let (one, other) = (Password::random().unwrap(), Password::random().unwrap());
        assert_ne!(one.text(), other.text());
        assert!(!format!("{one:?}").contains(one.text()));
    }
}

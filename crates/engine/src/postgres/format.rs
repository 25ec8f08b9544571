//! Settings that determine the format of data files. `initdb` fixes them; the server shows them by
//! these names but cannot change them.

use super::settings::{MEGABYTE, bytes, switch, value_of};
use crate::configuration::bad_setting;
use crate::failure::Failure;
use crate::settings::Settings;

const CHECKSUMS: &str = "data_checksums";
const SEGMENT: &str = "wal_segment_size";
/// The sizes that `initdb` accepts.
const SEGMENT_MEGABYTES: std::ops::RangeInclusive<u64> = 1..=1024;

/// Whether `initdb` fixes the setting.
pub(super) fn decides(name: &str) -> bool {
    [CHECKSUMS, SEGMENT].contains(&name.to_ascii_lowercase().as_str())
}

/// `initdb`'s options for a data directory with these settings. Whether checksums are on by default
/// depends on its version.
pub(super) fn options(config: &Settings, has_checksums: bool) -> Result<Vec<String>, Failure> {
    let mut options = Vec::new();
    if let Some(value) = value_of(config, CHECKSUMS) {
        match switch(value) {
            Some(true) => options.push("--data-checksums".to_owned()),
            Some(false) if has_checksums => options.push("--no-data-checksums".to_owned()),
            Some(false) => {}
            None => return Err(bad_setting(CHECKSUMS, "initdb takes on or off")),
        }
    }
    if let Some(value) = value_of(config, SEGMENT) {
        let megabytes = bytes(value, 1).map_or(0, |bytes| bytes / MEGABYTE);
        if !SEGMENT_MEGABYTES.contains(&megabytes) || !megabytes.is_power_of_two() {
            return Err(bad_setting(
                SEGMENT,
                "initdb takes a power of two from 1MB to 1024MB",
            ));
        }
        options.push(format!("--wal-segsize={megabytes}"));
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Option<Vec<String>> {
        options(&[(name.to_owned(), value.to_owned())], false).ok()
    }

    #[test]
    fn settings_of_the_format_are_options_of_initdb() {
        let one = |option: &str| Some(vec![option.to_owned()]);
        assert_eq!(of("Data_Checksums", "on"), one("--data-checksums"));
        assert_eq!(of("data_checksums", "OFF"), Some(Vec::new()));
        let off = [("data_checksums".to_owned(), "off".to_owned())];
        assert_eq!(options(&off, true).unwrap(), ["--no-data-checksums"]);
        assert_eq!(of("wal_segment_size", "1GB"), one("--wal-segsize=1024"));
        assert_eq!(of("shared_buffers", "1GB"), Some(Vec::new()));
        for (name, value) in [
            ("data_checksums", "maybe"),
            ("wal_segment_size", "64"),
            ("wal_segment_size", "3MB"),
            ("wal_segment_size", "2GB"),
        ] {
            assert_eq!(of(name, value), None, "{name} {value}");
        }
    }
}

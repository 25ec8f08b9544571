//! The tests and scripts of 0.4 and 0.5 that later versions do not bundle, in one script.

use crate::options::Dialect;

const OLTP: &str = include_str!("oltp.lua");
const NAMES: [&str; 8] = [
    "oltp",
    "oltp_simple",
    "select",
    "update_index",
    "update_non_index",
    "insert",
    "delete",
    "parallel_prepare",
];

/// The text of the test with this name or path.
pub fn text(dialect: Dialect, test: &str) -> Option<&'static str> {
    let has_them = dialect.is_old() || test.contains("oltp_legacy");
    (has_them && NAMES.contains(&name(test))).then_some(OLTP)
}

/// The name of a test that may be the path of its script.
pub(crate) fn name(test: &str) -> &str {
    let file = test.rsplit('/').next().unwrap_or(test);
    file.strip_suffix(".lua").unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use script::lua::{Settings, Source, declared};

    use super::*;

    #[test]
    fn scripts_are_known_where_they_exist() {
        for (dialect, test) in [
            (Dialect::V04, "oltp"),
            (Dialect::V05, "tests/db/update_index.lua"),
            (Dialect::V10, "tests/include/oltp_legacy/oltp.lua"),
        ] {
            assert!(text(dialect, test).is_some(), "{test}");
        }
        assert!(text(Dialect::V10, "oltp").is_none());
        assert!(text(Dialect::V05, "oltp_read_only.lua").is_none());
    }

    #[test]
    fn ids_of_large_tables_are_exact() {
        let ids = "oltp_table_size, num_threads, uniques = 250000000, 1, 900000001 print(unique())";
        let source = Source {
            name: "oltp".to_owned(),
            text: format!("{OLTP}{ids}"),
            search_dirs: Vec::new(),
        };
        let declared = declared(&source, &Settings::default()).unwrap();
        assert_eq!(declared.printed, "197483648\n");
    }
}

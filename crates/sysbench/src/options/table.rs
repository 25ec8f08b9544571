//! Every option, by dialect and group: `table.txt`.

use std::sync::LazyLock;

use super::dialect::Dialect;
use super::values::{KINDS, OptionDeclaration};
use crate::scripts;

const TABLE: &str = include_str!("table.txt");
pub(crate) const WITHOUT_EFFECT: &str = "Options without effect";

/// A title or the name of a test, and its options.
type Group = (&'static str, Vec<OptionDeclaration>);

/// The groups of each dialect.
static GROUPS: LazyLock<[Vec<Group>; 4]> =
    LazyLock::new(|| Dialect::NAMED.map(|(_, dialect)| read(dialect)));

/// The options that every test has.
pub(crate) fn common(dialect: Dialect) -> impl Iterator<Item = &'static Group> {
    groups(dialect).filter(|(title, _)| title.contains(' '))
}

/// The options of a test that comes with sysbench, by its name or path, in order of name. Empty if
/// it declares none in this dialect.
pub fn declarations(dialect: Dialect, test: &str) -> Vec<OptionDeclaration> {
    let name = scripts::name(test);
    let is_oltp = name.starts_with("oltp_") || name.starts_with("select_random_");
    let own = groups(dialect).filter(|(group, _)| match *group {
        "oltp_common" => is_oltp,
        group => group == name,
    });
    let mut found: Vec<_> = own.flat_map(|(_, options)| options).cloned().collect();
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    found
}

fn groups(dialect: Dialect) -> impl Iterator<Item = &'static Group> {
    GROUPS.get(dialect as usize).into_iter().flatten()
}

fn read(dialect: Dialect) -> Vec<Group> {
    let groups = TABLE
        .split("\n[")
        .filter_map(|group| group.split_once("]\n"));
    let read = groups.map(|(name, rows)| {
        let options = rows.lines().filter_map(|row| options(row, dialect));
        (name, options.flatten().collect::<Vec<_>>())
    });
    read.collect()
}

/// The options in a row, if this dialect has them.
fn options(row: &str, dialect: Dialect) -> Option<Vec<OptionDeclaration>> {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let &[versions, kind, default, names, help] = cells.as_slice() else {
        return None;
    };
    let (_, kind, _) = *KINDS.iter().find(|(word, ..)| *word == kind)?;
    let option = |name: &str| OptionDeclaration {
        name: name.to_owned(),
        description: help.to_owned(),
        kind,
        default: default.to_owned(),
    };
    let options = names.split(' ').map(option);
    dialect.is_one_of(versions).then(|| options.collect())
}

//! The statements of a workload: their labels and their texts.

use std::borrow::Cow;

pub use plan::StatementClass;

/// An interned name: its position in the [`Labels`] that interned it. A recorder
/// uses it as an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(u32);

impl Label {
    /// The position in [`Labels`], from 0.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Its label among [`program::labels`](crate::program::labels).
    pub(crate) fn of_class(class: StatementClass) -> Self {
        Self(class as u32)
    }
}

/// The labels of a workload, in the order in which results list them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels(Vec<(Cow<'static, str>, StatementClass)>);

impl Labels {
    /// The label of that name. A name keeps the class of its first use.
    pub fn intern(&mut self, name: impl Into<Cow<'static, str>>, class: StatementClass) -> Label {
        let name = name.into();
        let known = self.0.iter().position(|(known, _)| *known == name);
        let index = known.unwrap_or_else(|| {
            self.0.push((name, class));
            self.0.len() - 1
        });
        Label(index as u32)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The names with their classes, in the order of [`Label::index`].
    pub fn iter(&self) -> impl Iterator<Item = (&str, StatementClass)> {
        self.0.iter().map(|(name, class)| (name.as_ref(), *class))
    }
}

/// A statement that each connection can prepare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// What results call it.
    pub label: Label,
    /// Its text, with a placeholder of the dialect for each parameter.
    pub sql: String,
}

/// All statements of a workload. A statement's number is its index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// The labels of all statements, also of those that are never prepared.
    pub labels: Labels,
    /// The statements to prepare, in the order of their numbers.
    pub statements: Vec<Statement>,
}

impl Catalog {
    pub fn add(&mut self, label: Label, sql: String) {
        self.statements.push(Statement { label, sql });
    }
}

/// The class of a statement, judged by its first keyword.
pub(crate) fn class(sql: &str) -> StatementClass {
    let keyword = sql.split_whitespace().next().unwrap_or_default();
    match keyword.to_ascii_uppercase().as_str() {
        "SELECT" | "WITH" | "VALUES" | "TABLE" | "SHOW" => StatementClass::Read,
        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "MERGE" => StatementClass::Write,
        _ => StatementClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_label() {
        let mut labels = Labels::default();
        let begin = labels.intern("begin", StatementClass::Other);
        let insert = labels.intern("insert".to_owned(), StatementClass::Write);
        assert_eq!((begin.index(), insert.index()), (0, 1));
        assert_eq!(labels.intern("insert", StatementClass::Write), insert);
        assert_eq!(labels.count(), 2);
        let named: Vec<_> = labels.iter().collect();
        assert_eq!(
            named,
            [
                ("begin", StatementClass::Other),
                ("insert", StatementClass::Write)
            ]
        );
    }
}

//! Where a value was typed.

use std::ops::{Deref, Range};

/// The place of a value: in the file, in an override, or nowhere (a default).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub(crate) origin: Origin,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What the byte offsets of a [`Span`] count in. The order is the order in
/// which problems are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Origin {
    File,
    Override(usize),
    Nowhere,
}

impl Span {
    /// The place of what was not typed at all.
    pub const NOWHERE: Self = Self {
        origin: Origin::Nowhere,
        start: 0,
        end: 0,
    };

    pub(crate) fn new(origin: Origin, range: Range<usize>) -> Self {
        Self {
            origin,
            start: range.start,
            end: range.end,
        }
    }
}

/// A value and where it was typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it was typed.
    pub span: Span,
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

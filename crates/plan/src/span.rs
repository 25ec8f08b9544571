//! Where a value was typed.

use std::ops::{Deref, Range};

use serde::{Deserialize, Serialize};

/// The place of a value: in the file, in an override, or nowhere (a default).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub origin: Origin,
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

/// What the byte offsets of a [`Span`] count in. The order is the order in
/// which problems are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    File,
    Override(usize),
    /// A default, which has no text.
    Nowhere,
}

impl Default for Span {
    fn default() -> Self {
        Self::NOWHERE
    }
}

impl Span {
    pub const NOWHERE: Self = Self {
        origin: Origin::Nowhere,
        start: 0,
        end: 0,
    };

    pub fn new(origin: Origin, range: Range<usize>) -> Self {
        Self {
            origin,
            start: range.start,
            end: range.end,
        }
    }
}

/// A value and where it was typed. Compared and stored, it is the value alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Spanned<T> {
    pub value: T,
    #[serde(skip)]
    pub span: Span,
}

impl<T> Spanned<T> {
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// What `f` makes of the value, in the same place.
    pub fn try_map<U>(&self, f: impl FnOnce(&T) -> Option<U>) -> Option<Spanned<U>> {
        Some(Spanned::new(f(&self.value)?, self.span))
    }
}

impl<T> From<T> for Spanned<T> {
    fn from(value: T) -> Self {
        Self::new(value, Span::NOWHERE)
    }
}

impl<T: Default> Default for Spanned<T> {
    fn default() -> Self {
        T::default().into()
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

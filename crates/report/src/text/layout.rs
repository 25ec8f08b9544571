//! What a terminal can show: how wide it is, and whether only ASCII.

use std::cell::Cell;

/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Columns that running text may take.
    pub width: usize,
    /// Whether every character has to be ASCII.
    pub ascii: bool,
}

impl Layout {
    /// For a file, or a terminal of unknown width.
    pub const DEFAULT: Self = Self {
        width: 88,
        ascii: false,
    };

    /// Makes every text of this module that `make` asks for in this layout.
    pub fn apply<T>(self, make: impl FnOnce() -> T) -> T {
        let before = LAYOUT.replace(self);
        let made = make();
        LAYOUT.set(before);
        made
    }

    /// The layout that is in force.
    pub(super) fn current() -> Self {
        LAYOUT.get()
    }
}

thread_local! {
    static LAYOUT: Cell<Layout> = const { Cell::new(Layout::DEFAULT) };
}

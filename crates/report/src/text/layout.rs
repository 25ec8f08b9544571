//! What a terminal can show.

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
}

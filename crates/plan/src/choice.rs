//! Options that take one of a few words, whose meanings the documentation of their keys tells.

/// Declares an enum whose variants are the words of an option, in studies, messages, and results.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every choice, in the same order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The words, in the order in which they are documented.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl $crate::value::FromValue for $name {
            fn from_value(value: &$crate::value::Value) -> Option<Self> {
                match value.as_text()? {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use choice;

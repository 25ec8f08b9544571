//! Enumerations that are shown to people.

/// Declares an enum without fields, with the words for each variant.
macro_rules! words {
    (
        $(#[$about:meta])*
        $name:ident {
            $($(#[$variant_about:meta])* $variant:ident = $words:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$variant_about])* $variant,)+
        }

        impl $name {
            /// In the order of their declaration.
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            pub fn words(self) -> &'static str {
                match self {
                    $(Self::$variant => $words,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.words())
            }
        }
    };
}

pub(crate) use words;

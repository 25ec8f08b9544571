//! What server logs say about settings.

use crate::launch::Rejected;
use crate::settings::Settings;

/// Maximum length of a message that is shown.
const SHOWN_CHARS: usize = 400;

/// How a server mentions settings in the messages of its log.
#[derive(Debug)]
pub struct Wording {
    /// The messages that report errors.
    pub(crate) errors: fn(&str) -> Vec<String>,
    /// The messages that report warnings.
    pub(crate) warnings: fn(&str) -> Vec<String>,
    /// Whether a message names a setting.
    pub(crate) names: fn(&str, &str) -> bool,
    /// The quotation mark around values.
    pub(crate) quote: char,
    /// The server's words for a name that it does not know.
    pub(crate) unknown: &'static str,
}

impl Wording {
    /// The first setting of a study that an error in the log is about.
    pub fn rejected(&self, log: &str, config: &Settings) -> Option<Rejected> {
        let errors = (self.errors)(log);
        let found = |is_about: &dyn Fn(&str, &str, &str) -> bool| {
            errors.iter().find_map(|error| {
                let mut settings = config.iter();
                let (name, _) = settings.find(|(name, value)| is_about(error, name, value))?;
                Some(Rejected {
                    name: name.clone(),
                    words: error.clone(),
                    is_unknown: error.contains(self.unknown),
                })
            })
        };
        // Some errors name only the value: Unknown character set: 'klingon'.
        found(&|error, name, _| (self.names)(error, name)).or_else(|| {
            found(&|error, _, value| {
                !value.is_empty() && error.contains(&format!("{0}{value}{0}", self.quote))
            })
        })
    }

    /// The server's own messages about settings of a study that it corrected or warned about.
    pub fn notes(&self, log: &str, config: &Settings) -> Vec<String> {
        let is_about =
            |warning: &String| config.iter().any(|(name, _)| (self.names)(warning, name));
        let mut notes = (self.warnings)(log);
        notes.retain(is_about);
        notes.dedup();
        notes
    }
}

/// Whether a text contains a word whose neighbors are not `part`s of words.
pub(crate) fn has_word(text: &str, word: &str, part: impl Fn(char) -> bool + Copy) -> bool {
    text.match_indices(word).any(|(at, found)| {
        !text[..at].ends_with(part) && !text[at + found.len()..].starts_with(part)
    })
}

pub(crate) fn shortened(message: &str) -> String {
    match message.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

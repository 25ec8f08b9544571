//! Texts that the users of a worker share.

use std::collections::HashSet;
use std::sync::Arc;

/// Unused texts may take as much memory as those in use, and this many bytes more.
const UNUSED_BYTES: usize = 64 * 1024;

/// One copy of each text that users have.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    known: HashSet<Arc<str>>,
    bytes: usize,
    /// Beyond it, unused texts are removed: a script can prepare any number of different ones.
    limit_bytes: usize,
}

impl Texts {
    /// The copy of a text that users share.
    pub(crate) fn share(&mut self, text: &Arc<str>) -> Arc<str> {
        if let Some(known) = self.known.get(text) {
            return Arc::clone(known);
        }
        if self.bytes + text.len() > self.limit_bytes {
            self.remove_unused();
        }
        self.bytes += text.len();
        self.known.insert(Arc::clone(text));
        Arc::clone(text)
    }

    /// Doubles the limit, so that not every new text leads to a search through all others.
    fn remove_unused(&mut self) {
        self.known.retain(|text| Arc::strong_count(text) > 1);
        self.bytes = self.known.iter().map(|text| text.len()).sum();
        self.limit_bytes = 2 * self.bytes + UNUSED_BYTES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one() {
        let mut texts = Texts::default();
        let [first, second] = ["SELECT 1", "SELECT 1"].map(|text| texts.share(&text.into()));
        assert!(Arc::ptr_eq(&first, &second));
        assert_ne!(texts.share(&"SELECT 2".into()), first);
        assert_eq!(texts.known.len(), 2);
    }

    #[test]
    fn what_nobody_has_any_more_takes_little() {
        let mut texts = Texts::default();
        let kept: Vec<_> = (0..10_000)
            .map(|n| texts.share(&format!("kept {n}").into()))
            .collect();
        let kept_bytes: usize = kept.iter().map(|text| text.len()).sum();
        for n in 0..100_000 {
            texts.share(&format!("freed {n}").into());
            assert!(texts.bytes <= 2 * kept_bytes + UNUSED_BYTES, "{n}");
        }
        let bytes: usize = texts.known.iter().map(|text| text.len()).sum();
        assert_eq!(texts.bytes, bytes);
        assert!(kept.iter().all(|text| texts.known.contains(text)));
    }

    #[test]
    fn a_long_text_goes_with_its_last_user() {
        let mut texts = Texts::default();
        for letter in ["a", "b", "c"] {
            let long = texts.share(&letter.repeat(2 * UNUSED_BYTES).into());
            assert_eq!((texts.known.len(), Arc::strong_count(&long)), (1, 2));
        }
    }
}

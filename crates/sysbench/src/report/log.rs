//! sysbench's log: levels, verbosity, and messages that repeat.

/// How important a message is. The highest level that is shown is the verbosity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Fatal,
    Alert,
    Warning,
    Notice,
    Info,
    Debug,
}

impl Level {
    fn prefix(self) -> String {
        match self {
            Self::Notice | Self::Info => String::new(),
            _ => format!("{self:?}: ").to_uppercase(),
        }
    }
}

/// Writes messages, each in one piece, through a function.
#[derive(Debug)]
pub struct Log<W> {
    write: W,
    verbosity: u32,
    last: Option<String>,
    repeats: u64,
}

impl<W: FnMut(&str)> Log<W> {
    /// `verbosity` is from 0 (fatal messages only) to 5.
    pub fn new(verbosity: u32, write: W) -> Self {
        Self {
            write,
            verbosity,
            last: None,
            repeats: 0,
        }
    }

    /// Whether messages of this level are shown.
    pub fn shows(&self, level: Level) -> bool {
        level as u32 <= self.verbosity
    }

    /// Logs a message, which has no newline at its end. One that equals the last is only counted;
    /// the count is written before the next that differs.
    pub fn message(&mut self, level: Level, text: &str) {
        if !self.shows(level) {
            return;
        }
        if self.last.as_deref() == Some(text) {
            self.repeats = self.repeats.saturating_add(1);
            return;
        }
        self.last = Some(text.to_owned());
        self.write(&format!("{}{text}\n", level.prefix()));
    }

    /// Writes whole lines of a report.
    pub fn report(&mut self, lines: &str) {
        if self.shows(Level::Notice) && !lines.is_empty() {
            self.write(lines);
        }
    }

    fn write(&mut self, lines: &str) {
        match std::mem::take(&mut self.repeats) {
            0 => (self.write)(lines),
            count => (self.write)(&format!("(last message repeated {count} times)\n{lines}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(verbosity: u32, messages: &[(Level, &str)]) -> String {
        let mut written = String::new();
        let mut log = Log::new(verbosity, |text: &str| written.push_str(text));
        for (level, text) in messages {
            log.message(*level, text);
        }
        log.report("[ 1s ] thds: 1\n");
        written
    }

    #[test]
    fn messages_above_the_verbosity_are_dropped() {
        let messages = [
            (Level::Fatal, "a"),
            (Level::Alert, "b"),
            (Level::Warning, "c"),
            (Level::Notice, "d"),
            (Level::Info, "e"),
            (Level::Debug, "f"),
        ];
        let all = "FATAL: a\nALERT: b\nWARNING: c\nd\ne\nDEBUG: f\n[ 1s ] thds: 1\n";
        assert_eq!(logged(5, &messages), all);
        assert_eq!(
            logged(3, &messages),
            "FATAL: a\nALERT: b\nWARNING: c\nd\n[ 1s ] thds: 1\n"
        );
        assert_eq!(logged(0, &messages), "FATAL: a\n");
    }

    #[test]
    fn a_message_that_repeats_is_counted() {
        let failed = (Level::Fatal, "`thread_init' function failed");
        let messages = [failed, failed, failed, (Level::Fatal, "failed!")];
        let expected = "FATAL: `thread_init' function failed\n\
            (last message repeated 2 times)\n\
            FATAL: failed!\n\
            [ 1s ] thds: 1\n";
        assert_eq!(logged(3, &messages), expected);
        assert_eq!(
            logged(4, &[(Level::Info, "x"), (Level::Info, "x")]),
            "x\n(last message repeated 1 times)\n[ 1s ] thds: 1\n"
        );
    }
}

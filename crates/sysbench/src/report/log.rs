//! sysbench's log: levels and verbosity.

/// How important a message is. The highest level that is shown is the verbosity.
#[derive(Debug, Clone, Copy)]
pub enum Level {
    Fatal = 0,
    Warning = 2,
    Notice = 3,
}

/// Writes messages, each in one piece, through a function.
pub struct Log<W> {
    /// From 0 (fatal messages only) to 5.
    pub verbosity: u32,
    pub write: W,
}

impl<W: FnMut(&str)> Log<W> {
    /// Logs a message, which has no newline at its end.
    pub fn message(&mut self, level: Level, text: &str) {
        let prefix = match level {
            Level::Fatal => "FATAL: ",
            Level::Warning => "WARNING: ",
            Level::Notice => "",
        };
        if level as u32 <= self.verbosity {
            (self.write)(&format!("{prefix}{text}\n"));
        }
    }

    /// Writes whole lines of a report.
    pub fn report(&mut self, lines: &str) {
        if Level::Notice as u32 <= self.verbosity && !lines.is_empty() {
            (self.write)(lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(verbosity: u32) -> String {
        let mut written = String::new();
        let write = |text: &str| written.push_str(text);
        let mut log = Log { verbosity, write };
        log.message(Level::Fatal, "a");
        log.message(Level::Warning, "b");
        log.message(Level::Notice, "c");
        log.report("");
        log.report("[ 1s ] thds: 1\n");
        written
    }

    #[test]
    fn messages_above_the_verbosity_are_dropped() {
        let all = "FATAL: a\nWARNING: b\nc\n[ 1s ] thds: 1\n";
        assert_eq!(logged(5), all);
        assert_eq!(logged(3), all);
        assert_eq!(logged(2), "FATAL: a\nWARNING: b\n");
        assert_eq!(logged(0), "FATAL: a\n");
    }
}

//! A command line, taken apart.

use std::fs::read_to_string;

use super::dialect::Dialect;
use super::error::OptionError;
use super::help::usage;
use super::table::{WITHOUT_EFFECT, common};
use super::values::{Kind, OptionDeclaration, Values, meaning};
use super::word::{Word, in_file, masked};

/// Options of 1.0 with a former name: that name, the present one, and the number above which the
/// former counts.
pub(crate) const RENAMED: [(&str, &str, i32); 4] = [
    ("num-threads", "threads", 1),
    ("max-requests", "events", 0),
    ("max-time", "time", 0),
    ("tx-rate", "rate", 0),
];
const TEST_IS_DEPRECATED: &str = "WARNING: the --test option is deprecated. You can pass a script name or path on the command line without any options.";
const VALUE_IS_APART: &str = "hint: a value follows its option after '=', as in --threads=4";

/// A command line. Without `Debug`, because of the passwords.
#[derive(Clone, Default)]
pub struct CommandLine {
    pub dialect: Dialect,
    /// `None` and `-` stand for a script on the standard input.
    pub test: Option<String>,
    pub command: Option<String>,
    pub values: Values,
    /// Lines for stdout, before anything else.
    pub warnings: Vec<String>,
    /// Lines for stderr.
    pub notices: Vec<String>,
    /// The words without passwords, for results.
    pub argv: Vec<String>,
    /// Options that may be the test's.
    rest: Vec<Word>,
}

/// Reads the words after the program's name, up to the options that the test declares. The answers
/// to `--help` and `--version` are errors too.
pub fn parse(argv: &[String]) -> Result<CommandLine, OptionError> {
    let mut line = CommandLine::new(argv)?;
    for word in argv {
        match Word::of(word) {
            Some(option) if option.key == "config_file" => line.take_file(&option.value),
            Some(option) => line.take(option),
            None => line.take_bare(word)?,
        }
    }
    line.complete()?;
    Ok(line)
}

impl CommandLine {
    fn new(words: &[String]) -> Result<Self, OptionError> {
        let options: Vec<Word> = words.iter().filter_map(|word| Word::of(word)).collect();
        let last = |name: &str| {
            let given = options.iter().rfind(|word| word.key == name);
            given.map(|word| word.value.as_str())
        };
        let first = words.iter().find(|word| Word::of(word).is_none());
        let dialect = match last("dyno_dialect") {
            Some(name) => meaning(name, &Dialect::NAMED)
                .ok_or_else(|| OptionError::invalid("dyno-dialect", name))?,
            None => Dialect::spoken(&options, last("test"), first.map(String::as_str)),
        };
        let mut values = Values::default();
        values.declare_all(common(dialect).flat_map(|(_, options)| options));
        if last("dyno_dialect").is_none() && dialect == Dialect::Master {
            // Only who asks for it gets another distribution than every release has.
            values.set("rand-type", "special");
        }
        let test = last("test").filter(|test| !test.is_empty() && dialect != Dialect::Master);
        Ok(Self {
            dialect,
            test: test.map(str::to_owned),
            values,
            argv: words.iter().map(|word| masked(word)).collect(),
            ..Self::default()
        })
    }

    fn take(&mut self, option: Word) {
        if !self.values.set(&option.key, &option.value) {
            self.rest.push(option);
        }
    }

    fn take_file(&mut self, path: &str) {
        match read_to_string(path) {
            Ok(text) => in_file(&text).for_each(|option| self.take(option)),
            Err(why) => self.notices.push(format!("{path}: {why}")),
        }
    }

    fn take_bare(&mut self, word: &str) -> Result<(), OptionError> {
        let places = [&mut self.test, &mut self.command];
        let Some(place) = places.into_iter().find(|place| place.is_none()) else {
            return Err(OptionError {
                hint: Some(VALUE_IS_APART.to_owned()),
                ..OptionError::usage(format!("Unrecognized command line argument: {word}"))
            });
        };
        *place = Some(word.to_owned());
        Ok(())
    }

    /// What needs no test: answers, former names, and options without effect.
    fn complete(&mut self) -> Result<(), OptionError> {
        if self.values.bool("help") {
            return Err(OptionError::answer(usage(self.dialect)));
        }
        if self.values.bool("version") {
            let version = format!("sysbench {}", self.dialect.version());
            return Err(OptionError::answer(version));
        }
        let idle = common(self.dialect).filter(|(title, _)| *title == WITHOUT_EFFECT);
        for option in idle.flat_map(|(_, options)| options) {
            if self.values.text(&option.name) != option.default {
                self.notices
                    .push(format!("note: --{} has no effect", option.name));
            }
        }
        match self.dialect {
            Dialect::V10 => self.rename(),
            _ => Ok(()),
        }
    }

    /// Takes former names, under a warning.
    fn rename(&mut self) -> Result<(), OptionError> {
        if !self.values.text("test").is_empty() {
            self.notices.push(TEST_IS_DEPRECATED.to_owned());
        }
        for (former, name, least) in RENAMED {
            let number = self.values.int(former)?;
            if number > least {
                self.values.set(name, &number.to_string());
                let warning = format!("WARNING: --{former} is deprecated, use --{name} instead");
                self.warnings.push(warning);
            }
        }
        Ok(())
    }

    /// Takes the options that the test declares; 0.5 takes any others too, as text. So does a
    /// script that declares none, except in master. Fails if an option is unknown.
    pub fn finish(&mut self, declared: Option<&[OptionDeclaration]>) -> Result<(), OptionError> {
        self.values.declare_all(declared.unwrap_or_default());
        let takes_any = match declared {
            None => self.dialect != Dialect::Master,
            Some(_) => self.dialect == Dialect::V05,
        };
        for option in std::mem::take(&mut self.rest) {
            let Word { key, value, typed } = &option;
            if takes_any {
                self.values.declare(key, Kind::String, "");
            }
            if self.values.set(key, value) {
                continue;
            }
            match typed {
                Some(typed) => return Err(self.unknown(key, typed)),
                None => self.warnings.push(format!(
                    "WARNING: Global option '{key}' will not be exported, because the type is unknown"
                )),
            }
        }
        Ok(())
    }

    fn unknown(&self, key: &str, typed: &str) -> OptionError {
        let names = self.values.names().map(|(name, _)| name);
        let near = plan::nearest(key, names.filter(|name| *name != key));
        OptionError {
            hint: near.map(|near| format!("hint: did you mean --{}?", near.replace('_', "-"))),
            ..OptionError::usage(format!("invalid option: {typed}"))
        }
    }

    /// The error for a test that is found nowhere.
    pub fn unknown_test(&self) -> OptionError {
        let test = self.test.as_deref().unwrap_or_default();
        let why = "no such built-in test, file or module";
        OptionError::fatal(format!("Cannot find benchmark '{test}': {why}"))
    }

    /// The command; fails unless it is `help` or one that the test implements.
    pub fn command_of(&self, test: &str, implemented: &[&str]) -> Result<&str, OptionError> {
        let message = match self.command.as_deref() {
            Some(command) if command == "help" || implemented.contains(&command) => {
                return Ok(command);
            }
            Some(command @ ("prepare" | "run" | "cleanup")) => {
                format!("'{test}' test does not implement the '{command}' command.")
            }
            Some(command) => format!("Unknown command: {command}"),
            None => {
                format!("The '{test}' test requires a command argument. See 'sysbench {test} help'")
            }
        };
        Err(OptionError::usage(message))
    }
}

//! A command line, taken apart.

use super::dialect::Dialect;
use super::error::OptionError;
use super::help::usage;
use super::table::{declarations, groups, has_effect};
use super::values::{Declaration, Kind, Values};
use super::word::{Word, in_file, masked, with_hyphens};

/// Options of 1.0 with a former name: that name, the present one, and the number above which the
/// former counts.
pub(crate) const RENAMED: [(&str, &str, i32); 4] = [
    ("num_threads", "threads", 1),
    ("max_requests", "events", 0),
    ("max_time", "time", 0),
    ("tx_rate", "rate", 0),
];
const TEST_IS_DEPRECATED: &str = "WARNING: the --test option is deprecated. You can pass a script name or path on the command line without any options.";

/// Reads the text of a configuration file; an error is in the system's words.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

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
    hint: Option<String>,
}

/// Reads the words after the program's name, up to the options that the test declares. The answers
/// to `--help` and `--version` are errors too.
pub fn parse(argv: &[String], read: ReadFile<'_>) -> Result<CommandLine, OptionError> {
    let words: Vec<String> = argv.iter().map(|word| with_hyphens(word)).collect();
    let mut line = CommandLine::new(&words)?;
    for word in &words {
        match Word::of(word) {
            Some(option) => line.take(option, read),
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
        let first = words.iter().find(|word| !word.starts_with("--"));
        let dialect = match last("dyno_dialect") {
            Some(name) => Dialect::named(name)?,
            None => Dialect::spoken(&options, last("test"), first.map(String::as_str)),
        };
        let mut values = Values::new(!dialect.is_old());
        let common = groups(dialect).flat_map(|(_, options)| options);
        common.for_each(|option| values.declare(option.name, option.kind, option.default));
        if last("dyno_dialect").is_none() && dialect == Dialect::Master {
            // Only who asks for it gets another distribution than every release has.
            values.set("rand_type", "special");
        }
        let test = last("test").filter(|_| dialect.is_old());
        Ok(Self {
            dialect,
            test: test.map(str::to_owned),
            hint: hint(words, &values),
            values,
            argv: words.iter().map(|word| masked(word)).collect(),
            ..Self::default()
        })
    }

    fn take(&mut self, option: Word, read: ReadFile<'_>) {
        match option.key.as_str() {
            "test" if self.dialect == Dialect::V10 && !option.value.is_empty() => {
                self.notices.push(TEST_IS_DEPRECATED.to_owned());
                self.test = Some(option.value);
            }
            "config_file" => match read(&option.value) {
                Ok(text) => in_file(&text).for_each(|option| self.take_known(option)),
                Err(why) => self.notices.push(format!("{}: {why}", option.value)),
            },
            _ => self.take_known(option),
        }
    }

    fn take_known(&mut self, option: Word) {
        if !has_effect(&option.key) {
            let name = option.key.replace('_', "-");
            self.notices.push(format!("note: --{name} has no effect"));
        }
        if !self.values.set(&option.key, &option.value) {
            self.rest.push(option);
        }
    }

    fn take_bare(&mut self, word: &str) -> Result<(), OptionError> {
        let places = [&mut self.test, &mut self.command];
        let free = places.into_iter().find(|place| place.is_none());
        if let Some(place) = free {
            *place = Some(word.to_owned());
            return Ok(());
        }
        let message = match self.dialect.is_old() {
            true => "Multiple commands are not allowed.".to_owned(),
            false => format!("Unrecognized command line argument: {word}"),
        };
        Err(self.hinted(OptionError::usage(message)))
    }

    /// What needs no test: answers, former names, and all of 0.4.
    fn complete(&mut self) -> Result<(), OptionError> {
        let is_old = self.dialect.is_old();
        if self.values.bool("help") {
            return Err(OptionError::answer(usage(self.dialect), is_old.into()));
        }
        if self.values.bool("version") || (is_old && self.command.as_deref() == Some("version")) {
            let version = format!("sysbench {}", self.dialect.version());
            return Err(OptionError::answer(version, 0));
        }
        if is_old && self.command.is_none() {
            let usage = usage(self.dialect);
            let message = format!("Missing required command argument.\n{usage}");
            return Err(OptionError::usage(message));
        }
        match self.dialect {
            Dialect::V04 => {
                let test = self.test.as_deref().unwrap_or_default();
                let declared = declarations(self.dialect, test);
                self.finish(&declared)
            }
            Dialect::V10 => self.rename(),
            Dialect::V05 | Dialect::Master => Ok(()),
        }
    }

    fn rename(&mut self) -> Result<(), OptionError> {
        for (former, name, least) in RENAMED {
            let number = self.values.int(former)?;
            if number > least {
                self.values.set(name, &number.to_string());
                let former = former.replace('_', "-");
                let warning = format!("WARNING: --{former} is deprecated, use --{name} instead");
                self.warnings.push(warning);
            }
        }
        Ok(())
    }

    /// Takes the options of the test; 0.5 takes any others too, as text. Fails if one is unknown.
    pub fn finish(&mut self, declared: &[Declaration<'_>]) -> Result<(), OptionError> {
        for option in declared {
            self.values.declare(option.name, option.kind, option.default);
        }
        self.take_rest(self.dialect == Dialect::V05)
    }

    /// Takes the options of a script that declares none: any, as text, but none in master.
    pub fn legacy(&mut self) -> Result<(), OptionError> {
        self.take_rest(self.dialect != Dialect::Master)
    }

    fn take_rest(&mut self, takes_any: bool) -> Result<(), OptionError> {
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
        let name = typed.split('=').next().unwrap_or(typed);
        let names = self.values.names().map(|(name, _)| name);
        let near = plan::nearest(key, names.filter(|name| *name != key));
        OptionError {
            hint: near.map(|near| format!("hint: did you mean --{}?", near.replace('_', "-"))),
            ..OptionError::usage(match self.dialect {
                Dialect::V04 => format!("Unknown option: {name}.\n{}", usage(self.dialect)),
                _ => format!("invalid option: {typed}"),
            })
        }
    }

    /// The error for a test that is found nowhere.
    pub fn unknown_test(&self) -> OptionError {
        let test = self.test.as_deref().unwrap_or_default();
        self.hinted(OptionError::fatal(format!(
            "Cannot find benchmark '{test}': no such built-in test, file or module"
        )))
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
        Err(self.hinted(OptionError::usage(message)))
    }

    fn hinted(&self, error: OptionError) -> OptionError {
        OptionError {
            hint: self.hint.clone(),
            ..error
        }
    }
}

/// Advice about the first option whose value may stand in the next word.
fn hint(words: &[String], values: &Values) -> Option<String> {
    let mut pairs = words.iter().zip(words.iter().skip(1));
    let (option, _) = pairs.find(|(option, next)| {
        let kind = Word::of(option).map(|option| values.kind(&option.key));
        kind.is_some_and(|kind| kind != Some(Kind::Bool))
            && !option.contains('=')
            && !next.starts_with("--")
    })?;
    Some(format!("hint: write {option}=VALUE, with '=' and without a blank"))
}

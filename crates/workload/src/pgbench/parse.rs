//! Reads a script: its statements and meta commands.

use std::ops::Range;

use super::Source;
use super::expr::{self, Expr, Fault, Value};
use super::names::{self, Cursor, Name, Names};
use super::sql::{End, Template};

const NO_SHELL: &str =
    "shell commands are not supported: compute the value with \\set, or define it with -D";
const NO_PIPELINE: &str =
    "pipelines are not supported: every statement waits for its reply, so that its time is its own";

#[derive(Debug)]
pub(crate) struct Command {
    /// The byte of the script where it begins.
    pub(crate) at: usize,
    pub(crate) action: Action,
}

#[derive(Debug)]
pub(crate) enum Action {
    Sql {
        template: Template,
        /// Its number in the catalog, if it is there.
        statement: Option<u32>,
        result: Option<ResultUse>,
    },
    Set(Name, Expr),
    /// How many units of so many microseconds.
    Sleep(Expr, u64),
    If(Expr),
    Elif(Expr),
    Else,
    EndIf,
}

/// How `\gset` or `\aset` stores a result in variables.
#[derive(Debug)]
pub(crate) struct ResultUse {
    /// What precedes the columns' names.
    pub(crate) prefix: String,
    /// Whether it must be one row; otherwise, the last one counts.
    pub(crate) is_one_row: bool,
}

struct Parser<'a> {
    source: &'a Source,
    names: &'a mut Names,
    cursor: Cursor<'a>,
    /// Numbered as pgbench numbers them, but from 0.
    commands: Vec<Command>,
}

/// The commands of a script, or an error with its place. `escapes`: whether a backslash escapes the
/// next character of every string.
pub(crate) fn parse(
    source: &Source,
    names: &mut Names,
    escapes: bool,
) -> Result<Vec<Command>, String> {
    let mut parser = Parser {
        source,
        names,
        cursor: Cursor::new(&source.text),
        commands: Vec::new(),
    };
    while parser.statement(escapes)? {}
    check_branches(&source.name, &parser.commands)?;
    match parser.commands.is_empty() {
        true => Err(format!("empty command list for script \"{}\"", source.name)),
        false => Ok(parser.commands),
    }
}

/// An error if a branch has no beginning or no end.
fn check_branches(script: &str, commands: &[Command]) -> Result<(), String> {
    // Of each open \if, whether its \else has come.
    let mut open = Vec::new();
    let wrong = |number: usize, name: &str, problem: &str| {
        let place = format!("script \"{script}\" command {number}");
        Err(format!("condition error in {place}: \\{name} {problem}"))
    };
    for (number, command) in (1..).zip(commands) {
        let name = match command.action {
            Action::If(_) => {
                open.push(false);
                continue;
            }
            Action::Elif(_) => "elif",
            Action::Else => "else",
            Action::EndIf => "endif",
            _ => continue,
        };
        match open.pop() {
            None => return wrong(number, name, "without matching \\if"),
            Some(true) if name != "endif" => return wrong(number, name, "after \\else"),
            Some(_) if name != "endif" => open.push(name == "else"),
            Some(_) => {}
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => wrong(commands.len() + 1, "if", "without matching \\endif"),
    }
}

fn fault<T>(message: impl Into<String>, at: Option<usize>) -> Result<T, Fault> {
    let message = message.into();
    Err(Fault { message, at })
}

fn argument<'a>(line: &mut Cursor<'a>) -> Result<(usize, &'a str), Fault> {
    match line.word() {
        (_, "") => fault("missing argument", None),
        found => Ok(found),
    }
}

/// Refuses what follows the arguments of a command.
fn finish(line: &mut Cursor<'_>, message: &str) -> Result<(), Fault> {
    match line.word() {
        (_, "") => Ok(()),
        (at, _) => fault(message, Some(at)),
    }
}

impl<'a> Parser<'a> {
    /// Reads a statement, and the meta command that ends it; returns whether there may be more.
    fn statement(&mut self, escapes: bool) -> Result<bool, String> {
        self.cursor.take_while(char::is_whitespace);
        if self.cursor.rest().starts_with("--") {
            self.cursor.take_while(|c| c != '\n');
            return Ok(true);
        }
        let at = self.cursor.at;
        let (template, end) = Template::read(&mut self.cursor, self.names, escapes);
        if !template.is_empty() {
            let action = Action::Sql {
                template,
                statement: None,
                result: None,
            };
            self.commands.push(Command { at, action });
        }
        if end == End::Command {
            self.meta_command()?;
        }
        Ok(end != End::File)
    }

    fn meta_command(&mut self) -> Result<(), String> {
        let at = self.cursor.at - 1;
        let end = self.cursor.at + command_bytes(self.cursor.rest());
        let mut line = Cursor {
            text: self.source.text.get(..end).unwrap_or_default(),
            ..self.cursor
        };
        self.cursor.at = end;
        let name = line.word().1;
        let action = self.action(&name.to_ascii_lowercase(), &mut line);
        let action = action.map_err(|fault| described(self.source, &fault, name, at..end))?;
        let command = action.map(|action| Command { at, action });
        self.commands.extend(command);
        Ok(())
    }

    /// The command of that name, unless it only changes the one before.
    fn action(&mut self, name: &str, line: &mut Cursor<'a>) -> Result<Option<Action>, Fault> {
        Ok(Some(match name {
            "set" => {
                let (at, name) = argument(line)?;
                names::check(name).or_else(|message| fault(message, Some(at)))?;
                let value = expr::parse(*line, self.names)?;
                Action::Set(Name::new(name, self.names), value)
            }
            "sleep" => self.sleep(line)?,
            "if" => Action::If(expr::parse(*line, self.names)?),
            "elif" => Action::Elif(expr::parse(*line, self.names)?),
            "else" | "endif" => {
                finish(line, "unexpected argument")?;
                match name {
                    "else" => Action::Else,
                    _ => Action::EndIf,
                }
            }
            "gset" | "aset" => {
                self.use_result(name == "gset", line)?;
                return Ok(None);
            }
            "" => return Ok(None),
            "shell" | "setshell" => return fault(NO_SHELL, None),
            "startpipeline" | "syncpipeline" | "endpipeline" => return fault(NO_PIPELINE, None),
            _ => return fault("invalid command", None),
        }))
    }

    fn sleep(&mut self, line: &mut Cursor<'a>) -> Result<Action, Fault> {
        let (at, word) = argument(line)?;
        let is_suffix = |c: char| c.is_alphabetic() && !word.starts_with(':');
        let (number, suffix) = word.split_at(word.find(is_suffix).unwrap_or(word.len()));
        let units = match expr::parse(Cursor::new(number), self.names) {
            Ok(units @ (Expr::Constant(Value::Int(_)) | Expr::Variable(_))) => units,
            _ => {
                let message = format!("invalid sleep time, must be an integer ({word})");
                return fault(message, Some(at));
            }
        };
        let (at, unit) = match suffix {
            "" => line.word(),
            unit => (at + number.len(), unit),
        };
        let unit_us = match unit.to_ascii_lowercase().as_str() {
            "" | "s" => 1_000_000,
            "ms" => 1_000,
            "us" => 1,
            _ => {
                let message = format!("unrecognized time unit, must be us, ms or s ({unit})");
                return fault(message, Some(at));
            }
        };
        finish(line, "too many arguments")?;
        Ok(Action::Sleep(units, unit_us))
    }

    fn use_result(&mut self, is_one_row: bool, line: &mut Cursor<'a>) -> Result<(), Fault> {
        let prefix = line.word().1.to_owned();
        finish(line, "too many arguments")?;
        match self.commands.last_mut().map(|command| &mut command.action) {
            Some(Action::Sql { template, .. }) if template.is_joined && !is_one_row => {
                fault("\\aset must follow a single SQL command", None)
            }
            Some(Action::Sql { result, .. }) if result.is_none() => {
                *result = Some(ResultUse { prefix, is_one_row });
                Ok(())
            }
            _ => fault("\\gset must follow an SQL command", None),
        }
    }
}

/// Bytes up to the newline that ends a meta command; one after a backslash does not.
fn command_bytes(text: &str) -> usize {
    let mut bytes = 0;
    for line in text.split_inclusive('\n') {
        bytes += line.len();
        if !line.trim_end_matches(['\r', '\n']).ends_with('\\') {
            return bytes - usize::from(line.ends_with('\n'));
        }
    }
    bytes
}

/// The line of a byte, from 1.
pub(crate) fn line(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.matches('\n').count() + 1
}

/// A fault of the command in `range` with its place, the text, and a mark below the spot, as
/// pgbench shows it.
fn described(source: &Source, fault: &Fault, name: &str, range: Range<usize>) -> String {
    let (script, text) = (&source.name, &source.text);
    let (line, message) = (line(text, range.start), &fault.message);
    let mut shown = format!("{script}:{line}: {message} in command \"{name}\"\n");
    let Some(at) = fault.at else {
        shown += text.get(range).unwrap_or_default().trim_end();
        return shown;
    };
    let before = text.get(range.start..at).unwrap_or_default();
    let after = text.get(at..range.end).unwrap_or_default();
    let last = before.rsplit('\n').next().unwrap_or_default();
    let column = last.chars().count() + 1;
    shown += before;
    shown += after.lines().next().unwrap_or_default();
    shown + &format!("\n{:>column$} error found here", '^')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn commands(text: &str) -> Result<Vec<Command>, String> {
        let source = Source {
            name: "e.sql".to_owned(),
            text: text.to_owned(),
            weight: 1,
        };
        parse(&source, &mut Names::default(), false)
    }

    #[test]
    fn a_fault_is_shown_as_pgbench_shows_it() {
        for (text, name, message, column) in [
            ("\\set x 1 +", "set", "syntax error", 10),
            ("\\SET x foo(1)", "SET", "unexpected function name (foo)", 9),
            ("\\set x 1 ? 2", "set", "unexpected character (?)", 9),
            ("\\if", "if", "syntax error", 3),
            (
                "\\sleep a",
                "sleep",
                "invalid sleep time, must be an integer (a)",
                7,
            ),
            (
                "\\sleep 10q",
                "sleep",
                "unrecognized time unit, must be us, ms or s (q)",
                9,
            ),
            ("\\sleep 1 s 2", "sleep", "too many arguments", 11),
        ] {
            let blanks = " ".repeat(column);
            let expected = format!(
                "e.sql:1: {message} in command \"{name}\"\n{text}\n{blanks}^ error found here"
            );
            assert_eq!(commands(text).unwrap_err(), expected);
        }
        let error = commands("\\set x 1 \\\n + * 2\nSELECT").unwrap_err();
        assert!(error.ends_with("\n\\set x 1 \\\n + * 2\n   ^ error found here"));
    }

    #[test]
    fn faults_without_a_spot() {
        for (text, shown) in [
            ("\\foo", "e.sql:1: invalid command in command \"foo\"\n\\foo"),
            ("\n\\set", "e.sql:2: missing argument in command \"set\"\n\\set"),
            (
                "SELECT 1;\n\\set x 1\n\\gset",
                "e.sql:3: \\gset must follow an SQL command in command \"gset\"\n\\gset",
            ),
            (
                "\\if 1\n",
                "condition error in script \"e.sql\" command 2: \\if without matching \\endif",
            ),
            (
                "\\if 1\n\\else\n\\else\n\\endif",
                "condition error in script \"e.sql\" command 3: \\else after \\else",
            ),
            (
                "\\if 1\n\\else\n\\elif 1\n\\endif",
                "condition error in script \"e.sql\" command 3: \\elif after \\else",
            ),
            (
                "SELECT 1; \\endif",
                "condition error in script \"e.sql\" command 2: \\endif without matching \\if",
            ),
            (" -- x\n", "empty command list for script \"e.sql\""),
        ] {
            assert_eq!(commands(text).unwrap_err(), shown);
        }
        for (text, part) in [
            ("SELECT 1 \\gset a b", "too many arguments in command \"gset\""),
            ("\\if 1\n\\else x\n\\endif", "unexpected argument in command \"else\""),
            ("\\set 1x 1", "invalid variable name: \"1x\""),
            ("\\setshell x ls", "compute the value with \\set"),
            ("\\startpipeline", "every statement waits for its reply"),
            ("SELECT 1 \\; SELECT 2 \\aset", "\\aset must follow a single SQL command"),
        ] {
            let error = commands(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_meta_command_ends_the_statement_before_it() {
        let text = "SELECT 1 \\gset p_\n-- c\nUPDATE t\n\\set x 1";
        let commands = commands(text).unwrap();
        let [first, second, third] = commands.as_slice() else {
            panic!("{commands:?}");
        };
        let Action::Sql {
            result: Some(result),
            ..
        } = &first.action
        else {
            panic!("{first:?}");
        };
        assert_eq!((result.prefix.as_str(), result.is_one_row), ("p_", true));
        assert_eq!(second.at, text.find("UPDATE").unwrap());
        assert_eq!(line(text, third.at), 4);
    }

    proptest! {
        #[test]
        fn no_script_panics(
            text in r"(\\(set x|if|elif|else|endif|sleep|gset)|[a-z0-9:;'$(+ \n]|\\\n|ä){0,40}",
        ) {
            let _ = commands(&text);
        }
    }
}

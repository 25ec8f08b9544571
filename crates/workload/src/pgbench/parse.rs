//! Reads a script: its statements and meta commands.

use super::Source;
use super::expr::{self, Expr, Fault, Value, fault};
use super::names::{Names, checked_number, take, take_while, take_word};
use super::sql::Statement;

const NO_SHELL: &str =
    "shell commands are not supported: compute the value with \\set, or define it beforehand";
const NO_PIPELINE: &str =
    "pipelines are not supported: every statement waits for its reply, so that its time is its own";

#[derive(Debug)]
pub(crate) struct Command {
    /// The line of the script where it begins, from 1.
    pub(crate) line: usize,
    pub(crate) action: Action,
}

#[derive(Debug)]
pub(crate) enum Action {
    Sql(Statement),
    /// The number of the variable, and its value.
    Set(usize, Expr),
    /// How many units of so many seconds.
    Sleep(Expr, f64),
    /// The start of the branch of `\if` or, if it is not the first, of `\elif`, `\else`, or
    /// `\endif`; `other` is the command that starts the next one.
    Branch {
        is_first: bool,
        condition: Expr,
        other: usize,
    },
}

struct Parser<'a> {
    source: &'a Source,
    rest: &'a str,
    names: &'a mut Names,
    commands: Vec<Command>,
    /// The last branch of each condition without an end, and whether it is that of `\else`.
    open: Vec<(usize, bool)>,
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
        rest: &source.text,
        names,
        commands: Vec::new(),
        open: Vec::new(),
    };
    while !parser.rest.is_empty() {
        parser.read(escapes)?;
    }
    let (script, commands) = (&source.name, parser.commands);
    if let Some((branch, _)) = parser.open.last() {
        let line = commands[*branch].line;
        return Err(format!("{script}:{line}: \\if without matching \\endif"));
    }
    match commands.is_empty() {
        true => Err(format!("empty command list for script \"{script}\"")),
        false => Ok(commands),
    }
}

impl Parser<'_> {
    /// Reads a comment, a meta command, or a statement.
    fn read(&mut self, escapes: bool) -> Result<(), String> {
        let is_between = |c: char| c == ';' || c.is_whitespace();
        self.rest = self.rest.trim_start_matches(is_between);
        let before = self.source.text.len() - self.rest.len();
        let line = self.source.text[..before].matches('\n').count() + 1;
        if self.rest.starts_with("--") {
            take_while(&mut self.rest, |c| c != '\n');
        } else if self.rest.starts_with('\\') {
            let action = self.meta_command(line)?;
            self.commands.push(Command { line, action });
        } else if let Some(statement) = Statement::read(&mut self.rest, self.names, escapes) {
            let action = Action::Sql(statement);
            self.commands.push(Command { line, action });
        }
        Ok(())
    }

    /// Reads a meta command. A fault is shown with its place, the text, and a mark below the spot,
    /// as pgbench shows it.
    fn meta_command(&mut self, line: usize) -> Result<Action, String> {
        let bytes = command_bytes(self.rest);
        let command = take(&mut self.rest, bytes);
        // It goes on behind a backslash at the end of a line. Bytes keep their places.
        let text = command.replace("\\\n", "  ").replace("\\\r\n", "   ");
        let mut words = &text[1..];
        let name = take_word(&mut words);
        let action = self.action(&name.to_ascii_lowercase(), &mut words);
        action.map_err(|(message, left)| {
            let (before, after) = command.split_at(command.len() - left);
            let after = after.lines().next().unwrap_or_default();
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            let place = format!("{}:{line}", self.source.name);
            let shown = format!("{before}{after}\n{:>column$} error found here", '^');
            format!("{place}: {message} in command \"{name}\"\n{shown}")
        })
    }

    /// The command of that name, which precedes `words`.
    fn action(&mut self, name: &str, words: &mut &str) -> Result<Action, Fault> {
        let action = match name {
            "set" => {
                let spot = *words;
                let variable = checked_number(take_word(words), self.names);
                let variable = variable.map_err(|problem| fault(problem, spot))?;
                Action::Set(variable, expr::parse(words, self.names)?)
            }
            "sleep" => Action::Sleep(expr::parse(words, self.names)?, unit_s(words)?),
            "if" | "elif" | "else" | "endif" => self.branch(name, words)?,
            "gset" | "aset" => self.use_result(name == "gset", words)?,
            "shell" | "setshell" => return Err(fault(NO_SHELL, words)),
            "startpipeline" | "syncpipeline" | "endpipeline" => {
                return Err(fault(NO_PIPELINE, words));
            }
            _ => return Err(fault("invalid command", words)),
        };
        match words.is_empty() {
            true => Ok(action),
            false => Err(fault("syntax error", words)),
        }
    }

    fn branch(&mut self, name: &str, words: &mut &str) -> Result<Action, Fault> {
        let number = self.commands.len();
        if name != "if" {
            let open = self.open.pop();
            let (last, is_else) = open.ok_or_else(|| fault("no matching \\if", words))?;
            if is_else && name != "endif" {
                return Err(fault("must not follow \\else", words));
            }
            if let Action::Branch { other, .. } = &mut self.commands[last].action {
                *other = number;
            }
        }
        if name != "endif" {
            self.open.push((number, name == "else"));
        }
        Ok(Action::Branch {
            is_first: name == "if",
            condition: match name {
                "if" | "elif" => expr::parse(words, self.names)?,
                _ => Expr::Constant(Value::Bool(true)),
            },
            // Behind `\endif`, there is none.
            other: number + 1,
        })
    }

    /// The statement before, with a use of its result.
    fn use_result(&mut self, is_one_row: bool, words: &mut &str) -> Result<Action, Fault> {
        let problem = match self.commands.pop().map(|command| command.action) {
            Some(Action::Sql(statement)) if statement.is_joined && !is_one_row => {
                "\\aset must follow a single SQL command"
            }
            Some(Action::Sql(mut statement)) if statement.result.is_none() => {
                statement.result = Some((take_word(words).to_owned(), is_one_row));
                return Ok(Action::Sql(statement));
            }
            _ => "\\gset must follow an SQL command",
        };
        Err(fault(problem, words))
    }
}

/// The seconds of the unit of time that comes next.
fn unit_s(words: &mut &str) -> Result<f64, Fault> {
    let spot = *words;
    match take_word(words).to_ascii_lowercase().as_str() {
        "" | "s" => Ok(1.0),
        "ms" => Ok(1e-3),
        "us" => Ok(1e-6),
        _ => Err(fault("unrecognized time unit, must be us, ms or s", spot)),
    }
}

/// Bytes up to the newline that ends a meta command; one after a backslash does not.
fn command_bytes(text: &str) -> usize {
    let mut ends = text.match_indices('\n').map(|(at, _)| at);
    let end = ends.find(|at| !text[..*at].trim_end_matches('\r').ends_with('\\'));
    end.unwrap_or(text.len())
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
            ("\\SET x foo(1)", "SET", "unexpected function name (foo)", 7),
            ("\\set x 1 ? 2", "set", "syntax error", 9),
            ("\\set x 1 2", "set", "syntax error", 9),
            ("\\set 1x 1", "set", "invalid variable name: \"1x\"", 5),
            ("\\set", "set", "invalid variable name: \"\"", 4),
            ("\\if", "if", "syntax error", 3),
            ("\\sleep", "sleep", "syntax error", 6),
            (
                "\\sleep 10q",
                "sleep",
                "unrecognized time unit, must be us, ms or s",
                9,
            ),
            ("\\sleep 1 s 2", "sleep", "syntax error", 11),
            ("\\foo", "foo", "invalid command", 4),
            ("\\gset", "gset", "\\gset must follow an SQL command", 5),
            ("\\endif", "endif", "no matching \\if", 6),
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
    fn faults_of_several_commands() {
        for (text, part) in [
            (
                "SELECT 1;\n\\set x 1\n\\gset",
                "e.sql:3: \\gset must follow an SQL command",
            ),
            ("SELECT 1\n\\gset a\n\\gset b", "e.sql:3: \\gset must follow"),
            ("SELECT 1 \\gset a b", "syntax error in command \"gset\""),
            ("SELECT 1 \\; SELECT 2 \\aset", "\\aset must follow a single SQL command"),
            ("A;\n\\if 1\n", "e.sql:2: \\if without matching \\endif"),
            (
                "\\if 1\n\\else\n\\else\n\\endif",
                "e.sql:3: must not follow \\else in command \"else\"",
            ),
            (
                "\\if 1\n\\else\n\\elif 1\n\\endif",
                "e.sql:3: must not follow \\else in command \"elif\"",
            ),
            ("SELECT 1; \\endif", "e.sql:1: no matching \\if in command \"endif\""),
            ("\\if 1\n\\else x\n\\endif", "syntax error in command \"else\""),
            ("\\setshell x ls", "compute the value with \\set"),
            ("\\startpipeline", "every statement waits for its reply"),
            (" -- x\n", "empty command list for script \"e.sql\""),
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
        let Action::Sql(statement) = &first.action else {
            panic!("{first:?}");
        };
        assert_eq!(statement.text, "SELECT 1");
        assert_eq!(statement.result, Some(("p_".to_owned(), true)));
        assert_eq!((first.line, second.line, third.line), (1, 3, 4));
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

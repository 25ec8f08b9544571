//! Reads a script: its statements and meta commands.

use super::expr::{self, Expr, Value, syntax_error};
use super::names::{Names, number, take, take_word};
use super::sql::Statement;

#[derive(Debug)]
pub(crate) struct Command {
    /// The script, and the line where it begins, from 1.
    pub(crate) place: String,
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
    /// `\endif`: whether it is the first, its condition, and the command that starts the next one.
    Branch(bool, Expr, usize),
}

struct Parser<'a> {
    name: &'a str,
    text: &'a str,
    rest: &'a str,
    names: &'a mut Names,
    commands: Vec<Command>,
    /// The last branch of each condition without an end, and whether it is that of `\else`.
    open: Vec<(usize, bool)>,
}

/// The commands of a script, or an error with its place. `escapes`: whether a backslash escapes the
/// next character of every string.
pub(crate) fn parse(
    name: &str,
    text: &str,
    names: &mut Names,
    escapes: bool,
) -> Result<Vec<Command>, String> {
    let mut parser = Parser {
        name,
        text,
        rest: text,
        names,
        commands: Vec::new(),
        open: Vec::new(),
    };
    while !parser.rest.is_empty() {
        parser.read(escapes)?;
    }
    let commands = parser.commands;
    if let Some((branch, _)) = parser.open.last() {
        let place = &commands[*branch].place;
        return Err(format!("{place}: \\if without matching \\endif"));
    }
    // A user that never waits would keep others from running.
    let waits = |it: &Command| matches!(it.action, Action::Sql(_) | Action::Sleep(..));
    match commands.iter().any(waits) {
        true => Ok(commands),
        false => Err(format!("{name}: the script has no statement")),
    }
}

impl Parser<'_> {
    /// Reads a meta command, a statement, or comments.
    fn read(&mut self, escapes: bool) -> Result<(), String> {
        let is_between = |c: char| c == ';' || c.is_whitespace();
        self.rest = self.rest.trim_start_matches(is_between);
        let before = self.text.len() - self.rest.len();
        let line = self.text[..before].matches('\n').count() + 1;
        let place = format!("{}:{line}", self.name);
        if self.rest.starts_with('\\') {
            let action = self.meta_command();
            let action = action.map_err(|problem| format!("{place}: {problem}"))?;
            self.commands.push(Command { place, action });
        } else if let Some(statement) = Statement::read(&mut self.rest, self.names, escapes) {
            let action = Action::Sql(statement);
            self.commands.push(Command { place, action });
        }
        Ok(())
    }

    fn meta_command(&mut self) -> Result<Action, String> {
        let rest = self.rest;
        let mut ends = rest.match_indices('\n').map(|(at, _)| at);
        // It goes on behind a backslash at the end of a line.
        let end = ends.find(|at| !rest[..*at].trim_end_matches('\r').ends_with('\\'));
        let text = take(&mut self.rest, end.unwrap_or(rest.len()));
        let text = text.replace("\\\n", " ").replace("\\\r\n", " ");
        let words = &mut &text[1..];
        let action = match take_word(words).to_ascii_lowercase().as_str() {
            "set" => {
                let variable = number(take_word(words), self.names)?;
                Action::Set(variable, expr::parse(words, self.names)?)
            }
            "sleep" => Action::Sleep(expr::parse(words, self.names)?, unit_s(words)?),
            name @ ("if" | "elif" | "else" | "endif") => self.branch(name, words)?,
            // It changes the statement before.
            "gset" => match self.commands.pop().map(|command| command.action) {
                Some(Action::Sql(mut statement)) if statement.prefix.is_none() => {
                    statement.prefix = Some(take_word(words).to_owned());
                    Action::Sql(statement)
                }
                _ => return Err("\\gset must follow an SQL command".to_owned()),
            },
            "startpipeline" => Err("no pipelines: every statement waits for its reply")?,
            name => Err(format!("invalid command \\{name}"))?,
        };
        match words.is_empty() {
            true => Ok(action),
            false => Err(syntax_error(words)),
        }
    }

    fn branch(&mut self, name: &str, words: &mut &str) -> Result<Action, String> {
        let number = self.commands.len();
        if name != "if" {
            let (last, is_else) = self.open.pop().ok_or("no matching \\if")?;
            if is_else && name != "endif" {
                return Err(format!("\\{name} must not follow \\else"));
            }
            if let Action::Branch(.., other) = &mut self.commands[last].action {
                *other = number;
            }
        }
        if name != "endif" {
            self.open.push((number, name == "else"));
        }
        let condition = match name {
            "if" | "elif" => expr::parse(words, self.names)?,
            _ => Expr::Constant(Value::Bool(true)),
        };
        // Behind `\endif`, there is none.
        Ok(Action::Branch(name == "if", condition, number + 1))
    }
}

/// The seconds of the unit of time that comes next.
fn unit_s(words: &mut &str) -> Result<f64, String> {
    match take_word(words).to_ascii_lowercase().as_str() {
        "" | "s" => Ok(1.0),
        "ms" => Ok(1e-3),
        "us" => Ok(1e-6),
        unit => Err(format!(
            "unrecognized time unit {unit}, must be us, ms or s"
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn commands(text: &str) -> Result<Vec<Command>, String> {
        parse("e.sql", text, &mut Names::default(), false)
    }

    #[test]
    fn faults_have_their_place() {
        for (text, message) in [
            ("\\set x 1 +", "1: syntax error at \"\""),
            ("\n\\SET x foo(1)", "2: syntax error at \"foo(1)\""),
            ("\\set x 1 ? 2", "1: syntax error at \"? 2\""),
            ("\\set x 1 \\\n + * 2\nSELECT", "1: syntax error at \"* 2\""),
            ("\\set 1x 1", "1: invalid variable name: \"1x\""),
            ("\\set", "1: invalid variable name: \"\""),
            ("\\sleep", "1: syntax error at \"\""),
            (
                "\\sleep 10q",
                "1: unrecognized time unit q, must be us, ms or s",
            ),
            ("\\sleep 1 s 2", "1: syntax error at \"2\""),
            ("\\foo", "1: invalid command \\foo"),
            (
                "\\startpipeline",
                "1: no pipelines: every statement waits for its reply",
            ),
            ("\\gset", "1: \\gset must follow an SQL command"),
            (
                "A;\n\\set x 1\n\\gset",
                "3: \\gset must follow an SQL command",
            ),
            (
                "A\n\\gset a\n\\gset b",
                "3: \\gset must follow an SQL command",
            ),
            ("A \\gset a b", "1: syntax error at \"b\""),
            ("\\endif", "1: no matching \\if"),
            ("A; \\endif", "1: no matching \\if"),
            ("A;\n\\if 1\n", "2: \\if without matching \\endif"),
            ("\\if 1\n\\else\n\\else", "3: \\else must not follow \\else"),
            (
                "\\if 1\n\\else\n\\elif 1",
                "3: \\elif must not follow \\else",
            ),
            ("\\if 1\n\\else x\n\\endif", "2: syntax error at \"x\""),
        ] {
            assert_eq!(commands(text).unwrap_err(), format!("e.sql:{message}"));
        }
    }

    #[test]
    fn a_script_has_a_statement() {
        for text in ["", " -- x\n", "\\set x 1"] {
            let message = "e.sql: the script has no statement";
            assert_eq!(commands(text).unwrap_err(), message);
        }
        assert_eq!(commands("\\sleep 1").unwrap().len(), 1);
    }

    #[test]
    fn a_meta_command_ends_the_statement_before_it() {
        let text = "SELECT 1 \\gset p_\n-- c\nUPDATE t\n\\set x 1";
        let commands = commands(text).unwrap();
        let Action::Sql(statement) = &commands[0].action else {
            panic!("{commands:?}");
        };
        assert_eq!(statement.text, "SELECT 1");
        assert_eq!(statement.prefix.as_deref(), Some("p_"));
        let places: Vec<_> = commands
            .iter()
            .map(|command| command.place.as_str())
            .collect();
        assert_eq!(places, ["e.sql:1", "e.sql:2", "e.sql:4"]);
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

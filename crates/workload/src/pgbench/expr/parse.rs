//! Reads expressions by precedence climbing.

use super::functions::{FUNCTIONS, Function, OPERATORS, PREFIXES};
use super::{Expr, Value};
use crate::pgbench::names::{Names, is_name, number, take_while};

/// Most operands and parentheses of an expression, whose evaluation is recursive.
const MAX_OPERANDS: usize = 500;

pub(crate) fn syntax_error(rest: &str) -> String {
    format!("syntax error at \"{rest}\"")
}

struct Parser<'a, 'n> {
    /// From the token on.
    rest: &'a str,
    /// In lower case; empty at the end.
    token: String,
    names: &'n mut Names,
    /// How many more operands there may be.
    operands: usize,
}

/// Takes an expression from the front of a text.
pub(crate) fn parse(text: &mut &str, names: &mut Names) -> Result<Expr, String> {
    let mut parser = Parser {
        rest: text,
        token: String::new(),
        names,
        operands: MAX_OPERANDS,
    };
    parser.advance();
    let expr = parser.expr(1)?;
    *text = parser.rest;
    Ok(expr)
}

impl Parser<'_, '_> {
    fn advance(&mut self) {
        self.rest = self.rest[self.token.len()..].trim_start();
        self.token = self.rest[..token_bytes(self.rest)].to_ascii_lowercase();
    }

    fn eat(&mut self, word: &str) -> bool {
        let is_there = self.token == word;
        if is_there {
            self.advance();
        }
        is_there
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        match self.eat(word) {
            true => Ok(()),
            false => Err(syntax_error(self.rest)),
        }
    }

    /// An expression whose operators bind at least as strongly as `level`.
    fn expr(&mut self, level: u8) -> Result<Expr, String> {
        self.operands = self.operands.checked_sub(1).ok_or("expression too long")?;
        let mut expr = self.operand()?;
        loop {
            let token = self.token.clone();
            let operator = OPERATORS.iter().find(|(symbol, ..)| *symbol == token);
            let binds = match token.as_str() {
                "or" => 1,
                "and" => 2,
                "is" | "isnull" | "notnull" => 4,
                _ => operator.map_or(0, |(_, binds, _)| *binds),
            };
            if binds < level {
                return Ok(expr);
            }
            self.advance();
            expr = match (token.as_str(), operator) {
                ("is", _) => {
                    let is = !self.eat("not");
                    Expr::Is(is, Box::new(expr), self.constant()?)
                }
                ("isnull", _) => Expr::Is(true, Box::new(expr), Value::Null),
                ("notnull", _) => Expr::Is(false, Box::new(expr), Value::Null),
                (_, Some((.., function))) => {
                    Expr::Call(*function, vec![expr, self.expr(binds + 1)?])
                }
                _ => Expr::Logic(token == "or", Box::new([expr, self.expr(binds + 1)?])),
            };
        }
    }

    fn operand(&mut self) -> Result<Expr, String> {
        let token = self.token.clone();
        if let Some((_, binds, function)) = PREFIXES.iter().find(|(symbol, ..)| *symbol == token) {
            self.advance();
            return Ok(Expr::Call(*function, vec![self.expr(*binds)?]));
        }
        if let Some(function) = FUNCTIONS.iter().find(|(name, ..)| *name == token) {
            return self.call(function);
        }
        match token.as_str() {
            "case" => self.case(),
            "(" => {
                self.advance();
                let expr = self.expr(1)?;
                self.expect(")")?;
                Ok(expr)
            }
            _ if token.starts_with(':') => {
                let name = self.rest[1..token.len()].to_owned();
                let number = number(&name, self.names)?;
                self.advance();
                Ok(Expr::Variable(name, number))
            }
            _ => self.constant().map(Expr::Constant),
        }
    }

    fn constant(&mut self) -> Result<Value, String> {
        // A variable may also be `yes` or `inf`.
        let is_word = ["null", "true", "false"].contains(&self.token.as_str());
        let is_constant = is_word || self.token.starts_with(is_number);
        let value = Value::read(&self.token).filter(|_| is_constant);
        let value = value.ok_or_else(|| syntax_error(self.rest))?;
        self.advance();
        Ok(value)
    }

    fn case(&mut self) -> Result<Expr, String> {
        let mut branches = Vec::new();
        self.advance();
        while self.eat("when") {
            let condition = self.expr(1)?;
            self.expect("then")?;
            branches.push((condition, self.expr(1)?));
        }
        let otherwise = match self.eat("else") {
            true => self.expr(1)?,
            false => Expr::Constant(Value::Null),
        };
        self.expect("end")?;
        Ok(Expr::Case(branches, Box::new(otherwise)))
    }

    fn call(&mut self, called: &(&str, usize, usize, Function)) -> Result<Expr, String> {
        let (name, least, most, function) = called;
        self.advance();
        self.expect("(")?;
        let mut arguments = Vec::new();
        while self.token != ")" && (arguments.is_empty() || self.eat(",")) {
            arguments.push(self.expr(1)?);
        }
        self.expect(")")?;
        // The one argument that may be missing is a seed.
        if arguments.len() == *least && *most == *least + 1 {
            arguments.push(parse(&mut ":default_seed", self.names)?);
        }
        match (*least..=*most).contains(&arguments.len()) {
            true => Ok(Expr::Call(*function, arguments)),
            false => Err(format!("unexpected number of arguments ({name})")),
        }
    }
}

/// Whether a number can go on with this character; an exponent has no sign.
fn is_number(character: char) -> bool {
    character.is_ascii_digit() || ".eE".contains(character)
}

/// Bytes of the token with which a text begins: a number, a name, or a symbol.
fn token_bytes(text: &str) -> usize {
    let bytes_of = |mut text, is_part: fn(char) -> bool| take_while(&mut text, is_part).len();
    match text.as_bytes() {
        [] => 0,
        [b'0'..=b'9' | b'.', ..] => bytes_of(text, is_number),
        [b':', ..] => 1 + bytes_of(&text[1..], is_name),
        [b'<' | b'>' | b'!', b'=', ..] | [b'<', b'<' | b'>', ..] | [b'>', b'>', ..] => 2,
        _ => bytes_of(text, is_name).max(1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn problem(mut text: &str) -> String {
        parse(&mut text, &mut Names::default()).unwrap_err()
    }

    #[test]
    fn faults_show_where_the_text_stops_to_be_an_expression() {
        for (text, rest) in [
            ("1 +", ""),
            (" ", ""),
            ("foö(1)", "foö(1)"),
            ("1 + 1.5.5", "1.5.5"),
            ("(1", ""),
            ("(1 ? 2)", "? 2)"),
            ("(1 ! 2)", "! 2)"),
            ("(12abc)", "abc)"),
            ("(1e)", "1e)"),
            ("abs 1", "1"),
            ("abs(1 2)", "2)"),
            ("abs(1,)", ")"),
            ("1 is x", "x"),
            ("t", "t"),
            ("yes", "yes"),
            ("1 + inf", "inf"),
            ("nan", "nan"),
            ("case when 1 then 2", ""),
            ("case 1 when 2 then 3 end", "1 when 2 then 3 end"),
        ] {
            assert_eq!(
                problem(text),
                format!("syntax error at \"{rest}\""),
                "{text}"
            );
        }
        for (text, message) in [
            (":", "invalid variable name: \"\""),
            ("1 + :1x", "invalid variable name: \"1x\""),
            ("abs(1,2) + 3", "unexpected number of arguments (abs)"),
            ("least()", "unexpected number of arguments (least)"),
            ("hash(1,2,3)", "unexpected number of arguments (hash)"),
            ("pi(1)", "unexpected number of arguments (pi)"),
        ] {
            assert_eq!(problem(text), message, "{text}");
        }
    }

    #[test]
    fn the_rest_is_left() {
        for (text, left) in [
            ("1 2", "2"),
            ("10ms", "ms"),
            (":a - 1e2 s", "s"),
            ("1)", ")"),
        ] {
            let mut rest = text;
            assert!(parse(&mut rest, &mut Names::default()).is_ok(), "{text}");
            assert_eq!(rest, left);
        }
    }

    #[test]
    fn depth_is_limited() {
        for text in ["(".repeat(10_000), "1+".repeat(10_000), "- ".repeat(10_000)] {
            assert_eq!(problem(&text), "expression too long");
        }
        let long = vec!["1"; MAX_OPERANDS - 1].join(" + ");
        assert!(parse(&mut long.as_str(), &mut Names::default()).is_ok());
    }

    proptest! {
        #[test]
        fn no_text_panics(
            text in "([-+*/%<>=!|&#~():,. ä]|[0-9]{1,20}|1e9|:a|case|when|is|not|abs|\\PC){0,40}",
        ) {
            let _ = parse(&mut text.as_str(), &mut Names::default());
        }
    }
}

//! Reads expressions by precedence climbing.

use super::functions::{FUNCTIONS, OPERATORS, PREFIXES};
use super::{Expr, Value};
use crate::pgbench::names::{Names, checked_number, is_name, number, take_while};

/// Most operands and parentheses of an expression, whose evaluation is recursive.
const MAX_OPERANDS: usize = 500;

/// Why a command is not understood, and how many of its bytes are left at the spot.
pub(crate) type Fault = (String, usize);

pub(crate) fn fault(message: impl Into<String>, rest: &str) -> Fault {
    (message.into(), rest.len())
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
pub(crate) fn parse(text: &mut &str, names: &mut Names) -> Result<Expr, Fault> {
    let mut parser = Parser {
        rest: *text,
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

    fn expect(&mut self, word: &str) -> Result<(), Fault> {
        match self.eat(word) {
            true => Ok(()),
            false => Err(fault("syntax error", self.rest)),
        }
    }

    /// An expression whose operators bind at least as strongly as `level`.
    fn expr(&mut self, level: u8) -> Result<Expr, Fault> {
        let left = self.operands.checked_sub(1);
        self.operands = left.ok_or_else(|| fault("the expression is too long", self.rest))?;
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

    fn operand(&mut self) -> Result<Expr, Fault> {
        let token = self.token.clone();
        if let Some((_, binds, function)) = PREFIXES.iter().find(|(symbol, ..)| *symbol == token) {
            self.advance();
            // The lowest integer is none without its sign.
            if let Ok(number) = format!("{token}{}", self.token).parse::<i64>() {
                self.advance();
                return Ok(Expr::Constant(Value::Int(number)));
            }
            return Ok(Expr::Call(*function, vec![self.expr(*binds)?]));
        }
        match token.as_str() {
            "case" => self.case(),
            "(" => {
                self.advance();
                let expr = self.expr(1)?;
                self.expect(")")?;
                Ok(expr)
            }
            "null" | "true" | "false" => Ok(Expr::Constant(self.constant()?)),
            _ if token.starts_with(is_number) => self.number(&token),
            _ if token.starts_with(is_name) => self.call(&token),
            _ if token.starts_with(':') => {
                let name = self.rest[1..token.len()].to_owned();
                let number = checked_number(&name, self.names);
                let number = number.map_err(|problem| fault(problem, self.rest))?;
                self.advance();
                Ok(Expr::Variable(name, number))
            }
            _ => Err(fault("syntax error", self.rest)),
        }
    }

    fn constant(&mut self) -> Result<Value, Fault> {
        let value = match self.token.as_str() {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Err(fault("syntax error", self.rest)),
        };
        self.advance();
        Ok(value)
    }

    fn number(&mut self, text: &str) -> Result<Expr, Fault> {
        let (value, problem) = match text.contains(['.', 'e']) {
            true => (text.parse().map(Value::Double).ok(), "syntax error"),
            false => (text.parse().map(Value::Int).ok(), "bigint constant overflow"),
        };
        let value = value.ok_or_else(|| fault(problem, self.rest))?;
        self.advance();
        Ok(Expr::Constant(value))
    }

    fn case(&mut self) -> Result<Expr, Fault> {
        let mut parts = Vec::new();
        self.advance();
        while self.eat("when") {
            parts.push(self.expr(1)?);
            self.expect("then")?;
            parts.push(self.expr(1)?);
        }
        if self.eat("else") {
            parts.push(self.expr(1)?);
        }
        self.expect("end")?;
        Ok(Expr::Case(parts))
    }

    fn call(&mut self, name: &str) -> Result<Expr, Fault> {
        let known = FUNCTIONS.iter().find(|(known, ..)| *known == name);
        let unknown = || fault(format!("unexpected function name ({name})"), self.rest);
        let (_, least, most, function) = known.ok_or_else(unknown)?;
        self.advance();
        self.expect("(")?;
        let mut arguments = Vec::new();
        while self.token != ")" && (arguments.is_empty() || self.eat(",")) {
            arguments.push(self.expr(1)?);
        }
        // The one argument that may be missing is a seed.
        if arguments.len() == *least && *most == *least + 1 {
            let seed = "default_seed".to_owned();
            let number = number(&seed, self.names);
            arguments.push(Expr::Variable(seed, number));
        }
        if !(*least..=*most).contains(&arguments.len()) {
            let problem = format!("unexpected number of arguments ({name})");
            return Err(fault(problem, self.rest));
        }
        self.expect(")")?;
        Ok(Expr::Call(*function, arguments))
    }
}

fn is_number(character: char) -> bool {
    character.is_ascii_digit() || character == '.'
}

/// Bytes of the token with which a text begins: a number, a name, or a symbol.
fn token_bytes(text: &str) -> usize {
    let bytes_of = |mut text, is_part: fn(char) -> bool| take_while(&mut text, is_part).len();
    match text.as_bytes() {
        [] => 0,
        [b'0'..=b'9' | b'.', ..] => number_bytes(text),
        [b':', ..] => 1 + bytes_of(&text[1..], is_name),
        [b'<' | b'>' | b'!', b'=', ..] | [b'<', b'<' | b'>', ..] | [b'>', b'>', ..] => 2,
        _ => bytes_of(text, is_name).max(1),
    }
}

/// Bytes of a number: digits, a point, and an exponent.
fn number_bytes(text: &str) -> usize {
    let mut rest = text;
    take_while(&mut rest, is_number);
    let exponent = rest.strip_prefix(['e', 'E']).unwrap_or_default();
    let mut exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    match take_while(&mut exponent, |c| c.is_ascii_digit()) {
        "" => text.len() - rest.len(),
        _ => text.len() - exponent.len(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is wrong with a text that is no expression, and where.
    fn problem(text: &str) -> (String, usize) {
        let mut rest = text;
        let parsed = parse(&mut rest, &mut Names::default());
        let (problem, left) = parsed.err().unwrap_or_else(|| fault("syntax error", rest));
        (problem, text.len() - left)
    }

    #[test]
    fn faults_show_where_the_text_stops_to_be_an_expression() {
        for (text, message, at) in [
            ("1 +", "syntax error", 3),
            ("", "syntax error", 0),
            (" ", "syntax error", 1),
            ("1 ? 2", "syntax error", 2),
            (":", "invalid variable name: \"\"", 0),
            (":1x", "invalid variable name: \"1x\"", 0),
            ("1 !", "syntax error", 2),
            ("foö(1)", "unexpected function name (foö)", 0),
            ("abs(1,2) + 3", "unexpected number of arguments (abs)", 7),
            ("least()", "unexpected number of arguments (least)", 6),
            ("hash(1,2,3)", "unexpected number of arguments (hash)", 10),
            ("pi(1)", "unexpected number of arguments (pi)", 4),
            ("9223372036854775808", "bigint constant overflow", 0),
            ("1 + 9223372036854775809", "bigint constant overflow", 4),
            ("1 2", "syntax error", 2),
            ("12abc", "syntax error", 2),
            ("1.5.5", "syntax error", 0),
            ("1e", "syntax error", 1),
            ("(1", "syntax error", 2),
            ("1)", "syntax error", 1),
            ("abs 1", "syntax error", 4),
            ("abs(1 2)", "syntax error", 6),
            ("abs(1,)", "syntax error", 6),
            ("1 is 2", "syntax error", 5),
            ("case when 1 then 2", "syntax error", 18),
            ("case 1 when 2 then 3 end", "syntax error", 5),
        ] {
            assert_eq!(problem(text), (message.to_owned(), at), "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        for text in ["(".repeat(10_000), "1+".repeat(10_000), "- ".repeat(10_000)] {
            assert_eq!(problem(&text).0, "the expression is too long");
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

//! Reads expressions by precedence climbing.

use super::functions::{COMPARISON, FUNCTIONS, OPERATORS, Operator, not};
use super::{Expr, Value};
use crate::pgbench::names::{Cursor, Name, Names, is_name};

/// Most operands and parentheses of an expression, whose evaluation is recursive.
const MAX_OPERANDS: usize = 500;

/// Digits that are an integer only behind a sign.
const LOWEST: &str = "9223372036854775808";

/// Operators that are words, with how strongly they bind.
const WORDS: [(&str, u8); 5] = [
    ("or", 1),
    ("and", 2),
    ("is", 4),
    ("isnull", 4),
    ("notnull", 4),
];

/// Why a command is not understood, and the byte of the script that shows it.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) at: Option<usize>,
}

struct Parser<'a, 'n> {
    /// Behind the token.
    cursor: Cursor<'a>,
    /// Empty at the end.
    token: &'a str,
    names: &'n mut Names,
    /// How many more operands there may be.
    operands: usize,
}

/// The expression that is the rest of the text.
pub(crate) fn parse(cursor: Cursor<'_>, names: &mut Names) -> Result<Expr, Fault> {
    let mut parser = Parser {
        cursor,
        token: "",
        names,
        operands: MAX_OPERANDS,
    };
    parser.advance()?;
    let expr = parser.expr(1)?;
    parser.expect("")?;
    Ok(expr)
}

impl Parser<'_, '_> {
    fn advance(&mut self) -> Result<(), Fault> {
        self.cursor.skip_blanks();
        let rest = self.cursor.rest();
        self.token = self.cursor.take(token_bytes(rest));
        match rest.chars().next() {
            Some(unexpected) if self.token.is_empty() => Err(Fault {
                message: format!("unexpected character ({unexpected})"),
                at: Some(self.cursor.at),
            }),
            _ => Ok(()),
        }
    }

    /// A fault that shows at the last byte of the token.
    fn fault(&self, message: impl Into<String>) -> Fault {
        let last = usize::from(!self.token.is_empty());
        Fault {
            message: message.into(),
            at: Some(self.cursor.at - last),
        }
    }

    fn eat(&mut self, word: &str) -> Result<bool, Fault> {
        let is_there = self.token.eq_ignore_ascii_case(word);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    fn expect(&mut self, word: &str) -> Result<(), Fault> {
        match self.eat(word)? {
            true => Ok(()),
            false => Err(self.fault("syntax error")),
        }
    }

    /// An expression whose operators bind at least as strongly as `level`.
    fn expr(&mut self, level: u8) -> Result<Expr, Fault> {
        let left = self.operands.checked_sub(1);
        self.operands = left.ok_or_else(|| self.fault("the expression is too long"))?;
        let mut expr = self.operand()?;
        let mut last = 0;
        loop {
            let operator = self.token.to_ascii_lowercase();
            let word = WORDS.iter().find(|(word, _)| *word == operator);
            let known = known_operator(&operator);
            let binds = word.map(|(_, binds)| *binds).or(known.map(|(_, binds, _)| *binds));
            let Some(binds) = binds.filter(|binds| *binds >= level) else {
                return Ok(expr);
            };
            if (binds, last) == (COMPARISON, COMPARISON) {
                return Ok(expr);
            }
            last = binds;
            self.advance()?;
            expr = match (operator.as_str(), known) {
                (_, Some((.., function))) => {
                    Expr::Call(*function, vec![expr, self.expr(binds + 1)?])
                }
                ("isnull", _) => Expr::Is(Box::new(expr), Value::Null),
                ("notnull", _) => negated(Expr::Is(Box::new(expr), Value::Null)),
                ("is", _) => self.is(expr)?,
                (word, _) => Expr::Logic(word == "or", Box::new([expr, self.expr(binds + 1)?])),
            };
        }
    }

    /// What follows IS.
    fn is(&mut self, expr: Expr) -> Result<Expr, Fault> {
        let is_negated = self.eat("not")?;
        let value = constant(self.token).ok_or_else(|| self.fault("syntax error"))?;
        self.advance()?;
        let is = Expr::Is(Box::new(expr), value);
        Ok(if is_negated { negated(is) } else { is })
    }

    fn operand(&mut self) -> Result<Expr, Fault> {
        let token = self.token;
        if let Some(value) = constant(token) {
            self.advance()?;
            return Ok(Expr::Constant(value));
        }
        match token.to_ascii_lowercase().as_str() {
            "case" => self.case(),
            "not" => {
                self.advance()?;
                Ok(negated(self.expr(3)?))
            }
            "(" => {
                self.advance()?;
                let expr = self.expr(1)?;
                self.expect(")")?;
                Ok(expr)
            }
            "+" => {
                self.advance()?;
                self.expr(9)
            }
            "~" => self.prefixed("#", -1, 7),
            "-" => self.prefixed("-", 0, 9),
            name if name.starts_with(':') => {
                self.advance()?;
                Ok(Expr::Variable(Name::new(token.trim_start_matches(':'), self.names)))
            }
            word if word.starts_with(is_number) => self.number(token),
            word if word.starts_with(is_name) => self.call(word),
            _ => Err(self.fault("syntax error")),
        }
    }

    /// An operator before its operand, which is `operator` with `first` as its other operand.
    fn prefixed(&mut self, operator: &str, first: i64, level: u8) -> Result<Expr, Fault> {
        self.advance()?;
        if operator == "-" && self.eat(LOWEST)? {
            return Ok(Expr::Constant(Value::Int(i64::MIN)));
        }
        let operands = vec![Expr::Constant(Value::Int(first)), self.expr(level)?];
        let (.., function) = known_operator(operator).ok_or_else(|| self.fault("syntax error"))?;
        Ok(Expr::Call(*function, operands))
    }

    fn number(&mut self, text: &str) -> Result<Expr, Fault> {
        let value = match text.contains(['.', 'e', 'E']) {
            true => text.parse().map(Value::Double).ok(),
            false => text.parse().map(Value::Int).ok(),
        };
        let value = match value {
            Some(Value::Double(f64::INFINITY)) => {
                return Err(self.fault(format!("double constant overflow ({text})")));
            }
            None if text != LOWEST && !text.contains('.') => {
                return Err(self.fault(format!("bigint constant overflow ({text})")));
            }
            value => value.ok_or_else(|| self.fault("syntax error"))?,
        };
        self.advance()?;
        Ok(Expr::Constant(value))
    }

    fn case(&mut self) -> Result<Expr, Fault> {
        let mut parts = Vec::new();
        self.advance()?;
        self.expect("when")?;
        loop {
            parts.push(self.expr(1)?);
            self.expect("then")?;
            parts.push(self.expr(1)?);
            if !self.eat("when")? {
                break;
            }
        }
        if self.eat("else")? {
            parts.push(self.expr(1)?);
        }
        self.expect("end")?;
        Ok(Expr::Case(parts))
    }

    fn call(&mut self, name: &str) -> Result<Expr, Fault> {
        let known = FUNCTIONS.iter().find(|(known, ..)| *known == name);
        let unknown = || self.fault(format!("unexpected function name ({})", self.token));
        let (_, least, most, function) = known.ok_or_else(unknown)?;
        self.advance()?;
        self.expect("(")?;
        let mut arguments = Vec::new();
        while self.token != ")" && (arguments.is_empty() || self.eat(",")?) {
            arguments.push(self.expr(1)?);
        }
        if self.token != ")" {
            return Err(self.fault("syntax error"));
        }
        if !(*least..=*most).contains(&arguments.len()) {
            return Err(self.fault(match *most {
                usize::MAX => format!("at least one argument expected ({name})"),
                _ => format!("unexpected number of arguments ({name})"),
            }));
        }
        // Those with an argument that may be missing are those with a seed.
        if arguments.len() < *most && *most < usize::MAX {
            arguments.push(Expr::Variable(Name::new("default_seed", self.names)));
        }
        self.advance()?;
        Ok(Expr::Call(*function, arguments))
    }
}

fn known_operator(symbol: &str) -> Option<&'static Operator> {
    OPERATORS.iter().find(|(known, ..)| *known == symbol)
}

fn negated(expr: Expr) -> Expr {
    Expr::Call(not, vec![expr])
}

fn constant(word: &str) -> Option<Value> {
    match word.to_ascii_lowercase().as_str() {
        "null" => Some(Value::Null),
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn is_number(character: char) -> bool {
    character.is_ascii_digit() || character == '.'
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

fn bytes_of(text: &str, from: usize, is_part: fn(char) -> bool) -> usize {
    let mut part = Cursor { text, at: from };
    part.take_while(is_part).len()
}

/// Bytes of the token with which a text begins; 0 if it begins with none.
fn token_bytes(text: &str) -> usize {
    match text.as_bytes() {
        [b'0'..=b'9' | b'.', ..] => number_bytes(text),
        [b':', ..] => match bytes_of(text, 1, is_name) {
            0 => 0,
            bytes => 1 + bytes,
        },
        [b'<' | b'>' | b'!', b'=', ..] | [b'<', b'<' | b'>', ..] | [b'>', b'>', ..] => 2,
        [symbol, ..] if b"<>=|#&~+-*/%(),".contains(symbol) => 1,
        _ => bytes_of(text, 0, is_name),
    }
}

fn number_bytes(text: &str) -> usize {
    let digits = bytes_of(text, 0, is_number);
    let exponent = match text.as_bytes().get(digits..) {
        Some([b'e' | b'E', b'+' | b'-', ..]) => digits + 2,
        Some([b'e' | b'E', ..]) => digits + 1,
        _ => return digits,
    };
    match bytes_of(text, exponent, is_digit) {
        0 => digits,
        more => exponent + more,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fault(text: &str) -> (String, usize) {
        let fault = parse(Cursor::new(text), &mut Names::default()).unwrap_err();
        (fault.message, fault.at.unwrap())
    }

    #[test]
    fn faults_show_where_the_text_stops_to_be_an_expression() {
        for (text, message, at) in [
            ("1 +", "syntax error", 3),
            ("", "syntax error", 0),
            (" ", "syntax error", 1),
            ("1 ? 2", "unexpected character (?)", 2),
            (":", "unexpected character (:)", 0),
            ("1 !", "unexpected character (!)", 2),
            ("foo(1)", "unexpected function name (foo)", 2),
            ("abs(1,2) + 3", "unexpected number of arguments (abs)", 7),
            ("least()", "at least one argument expected (least)", 6),
            ("hash(1,2,3)", "unexpected number of arguments (hash)", 10),
            ("pi(1)", "unexpected number of arguments (pi)", 4),
            ("9223372036854775808", "syntax error", 18),
            (
                "9223372036854775809",
                "bigint constant overflow (9223372036854775809)",
                18,
            ),
            ("1e999", "double constant overflow (1e999)", 4),
            ("1 2", "syntax error", 2),
            ("12abc", "syntax error", 4),
            ("1.5.5", "syntax error", 4),
            ("1e", "syntax error", 1),
            ("(1", "syntax error", 2),
            ("1)", "syntax error", 1),
            ("abs 1", "syntax error", 4),
            ("abs(1 2)", "syntax error", 6),
            ("abs(1,)", "syntax error", 6),
            ("1 = 2 = 3", "syntax error", 6),
            ("1 is 2", "syntax error", 5),
            ("case when 1 then 2", "syntax error", 18),
            ("case 1 when 2 then 3 end", "syntax error", 5),
        ] {
            assert_eq!(fault(text), (message.to_owned(), at), "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        for text in ["(".repeat(10_000), "1+".repeat(10_000), "- ".repeat(10_000)] {
            assert_eq!(fault(&text).0, "the expression is too long");
        }
        let long = vec!["1"; MAX_OPERANDS - 1].join(" + ");
        assert!(parse(Cursor::new(&long), &mut Names::default()).is_ok());
    }

    proptest! {
        #[test]
        fn no_text_panics(
            text in "([-+*/%<>=!|&#~():,. ä]|[0-9]{1,20}|1e9|:a|case|when|is|not|abs|\\PC){0,40}",
        ) {
            let _ = parse(Cursor::new(&text), &mut Names::default());
        }
    }
}
